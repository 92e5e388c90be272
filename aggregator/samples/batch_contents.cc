#include "aggregator/samples/batch_contents.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/samples/wire_reader.h"
#include "base/status_macros.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Allocates definitions in an arena, since the first batch of an agent has
// hundreds.
std::shared_ptr<v1::Definitions> MakeDefinitions() {
  using google::protobuf::Arena;
  auto arena = std::make_shared<Arena>();
  auto* definitions = Arena::CreateMessage<v1::Definitions>(arena.get());
  return {std::move(arena), definitions};
}

bool ReadDefinitions(absl::string_view bytes, BatchContents* contents) {
  if (contents->definitions == nullptr) {
    contents->definitions = MakeDefinitions();
  }
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  return contents->definitions->MergeFromCodedStream(&stream) &&
         stream.ConsumedEntireMessage();
}

bool ReadRetired(absl::string_view bytes, std::vector<uint32_t>* retired) {
  VarintReader numbers(bytes);
  while (numbers.left() > 0) {
    retired->push_back(static_cast<uint32_t>(numbers.Next()));
  }
  return numbers.ok();
}

bool ReadLoss(absl::string_view bytes, std::vector<Loss>* losses) {
  v1::Loss loss;
  if (!loss.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return false;
  }
  losses->push_back({.machine = CanonicalName(loss.machine()),
                     .start = FromProto(loss.start()),
                     .end = FromProto(loss.end()),
                     .ticks = loss.ticks(),
                     .cause = FromProto(loss.cause())});
  return true;
}

// Stops after the first loss above the limit.
bool ReadContents(absl::string_view bytes, size_t max_losses,
                  BatchContents* contents) {
  using Content = v1::BatchContent;
  FieldReader reader(bytes);
  bool ok = true;
  while (ok && contents->losses.size() <= max_losses && reader.Next()) {
    switch (reader.field()) {
      case Content::kDefinitionsFieldNumber:
        ok = ReadDefinitions(reader.Bytes(), contents);
        break;
      case Content::kBlocksFieldNumber:
        contents->blocks.push_back(reader.Bytes());
        break;
      case Content::kRetiredInstancesFieldNumber:
        ok = ReadRetired(reader.Bytes(), &contents->retired_instances);
        break;
      case Content::kLossesFieldNumber:
        ok = ReadLoss(reader.Bytes(), &contents->losses);
        break;
      default:  // a field of a later version
        break;
    }
  }
  return ok && reader.ok();
}

absl::StatusOr<BatchContents> ParseContents(absl::string_view bytes,
                                            size_t max_losses) {
  BatchContents contents;
  if (!ReadContents(bytes, max_losses, &contents)) {
    return absl::InvalidArgumentError("Batch.payload is not a BatchContent");
  }
  if (contents.losses.size() > max_losses) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a batch of more than ", max_losses, " losses (max_losses)"));
  }
  return contents;
}

}  // namespace

absl::StatusOr<BatchContents> ParseBatch(const v1::Batch& batch,
                                         const BatchLimits& limits) {
  const std::string& payload = batch.payload();
  if (payload.size() > limits.max_payload_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a payload of ", payload.size(), " bytes, more than ",
                     limits.max_payload_bytes, " (max_payload_bytes)"));
  }
  if (batch.content_size() > limits.max_content_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("contents of ", batch.content_size(), " bytes, more than ",
                     limits.max_content_bytes, " (max_content_bytes)"));
  }
  switch (batch.compression()) {
    case v1::COMPRESSION_NONE: {
      if (payload.size() == batch.content_size()) {
        return ParseContents(payload, limits.max_losses);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("Batch.payload has ", payload.size(),
                       " bytes instead of ", batch.content_size()));
    }
    case v1::COMPRESSION_ZSTD: {
      auto decompressed = std::make_shared<std::string>();
      RETURN_IF_ERROR(
          ZstdDecompress(payload, batch.content_size(), decompressed.get()));
      ASSIGN_OR_RETURN(BatchContents contents,
                       ParseContents(*decompressed, limits.max_losses));
      contents.decompressed = std::move(decompressed);
      return contents;
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "Batch.compression is ", static_cast<int>(batch.compression())));
  }
}

absl::StatusOr<BatchContents> ParseContents(absl::string_view bytes) {
  return ParseContents(bytes, std::numeric_limits<size_t>::max());
}

std::string EncodeLosses(const std::vector<Loss>& losses) {
  v1::BatchContent content;
  for (const Loss& lost : losses) {
    v1::Loss* loss = content.add_losses();
    loss->set_machine(lost.machine);
    *loss->mutable_start() = ToProto(lost.start);
    *loss->mutable_end() = ToProto(lost.end);
    loss->set_ticks(lost.ticks);
    loss->set_cause(ToProto(lost.cause));
  }
  return content.SerializeAsString();
}

}  // namespace fleetperf::aggregator
