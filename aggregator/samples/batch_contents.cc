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

// Returns the number of occurrences of a field, or nullopt.
std::optional<size_t> CountFields(absl::string_view message, uint32_t field) {
  FieldReader reader(message);
  size_t count = 0;
  while (reader.Next()) count += reader.field() == field ? 1 : 0;
  if (!reader.ok()) return std::nullopt;
  return count;
}

// Returns the number of counters of a serialized v1::CountersetDefinition.
std::optional<size_t> CountCounters(absl::string_view counterset) {
  FieldReader reader(counterset);
  size_t count = 0;
  while (reader.Next()) {
    if (reader.field() != v1::CountersetDefinition::kRegistrationFieldNumber) {
      continue;
    }
    const auto counters = CountFields(
        reader.Bytes(), v1::CountersetRegistration::kCountersFieldNumber);
    if (!counters.has_value()) return std::nullopt;
    count += *counters;
  }
  if (!reader.ok()) return std::nullopt;
  return count;
}

// Counts the elements of a v1::BatchContent. Stops with an error at the first
// one above a limit.
class ContentCounter {
 public:
  explicit ContentCounter(const BatchLimits& limits) : limits_(limits) {}

  absl::Status Count(absl::string_view content) {
    using Content = v1::BatchContent;
    FieldReader reader(content);
    while (reader.Next()) {
      switch (reader.field()) {
        case Content::kDefinitionsFieldNumber: {
          const auto definitions = CountDefinitions(reader.Bytes());
          if (!definitions.has_value()) return NotABatch();
          RETURN_IF_ERROR(Add(*definitions, limits_.max_definitions,
                              "definitions", &counts_.definitions));
          break;
        }
        case Content::kBlocksFieldNumber:
          RETURN_IF_ERROR(
              Add(1, limits_.max_blocks, "blocks", &counts_.blocks));
          RETURN_IF_ERROR(CountBlocks(reader.Bytes()));
          break;
        case Content::kRetiredInstancesFieldNumber:
          RETURN_IF_ERROR(Add(CountVarints(reader.Bytes()), limits_.max_retired,
                              "retired instances", &counts_.retired));
          break;
        case Content::kLossesFieldNumber:
          RETURN_IF_ERROR(
              Add(1, limits_.max_losses, "losses", &counts_.losses));
          break;
        default:  // a field of a later version
          break;
      }
    }
    return reader.ok() ? absl::OkStatus() : NotABatch();
  }

  const BatchCounts& counts() const { return counts_; }

  static absl::Status NotABatch() {
    return absl::InvalidArgumentError("Batch.payload is not a BatchContent");
  }

 private:
  // What cannot be read is found when it is decoded.
  absl::Status CountBlocks(absl::string_view blocks) {
    FieldReader reader(blocks);
    while (reader.Next()) {
      if (reader.field() != v1::BlockColumns::kQueriesFieldNumber) continue;
      RETURN_IF_ERROR(Add(1, limits_.max_queries, "queries", &counts_.queries));
      RETURN_IF_ERROR(CountColumns(reader.Bytes()));
    }
    return absl::OkStatus();
  }

  absl::Status CountColumns(absl::string_view query) {
    FieldReader reader(query);
    while (reader.Next()) {
      if (reader.field() != v1::QueryColumns::kColumnsFieldNumber &&
          reader.field() != v1::QueryColumns::kFailuresFieldNumber) {
        continue;
      }
      RETURN_IF_ERROR(Add(1, limits_.max_columns, "columns", &counts_.columns));
    }
    return absl::OkStatus();
  }

  // `name`: of the elements; that of the limit has its first word.
  static absl::Status Add(size_t more, size_t max, absl::string_view name,
                          size_t* count) {
    *count += more;
    if (*count <= max) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("a batch of more than ", max, " ", name, " (max_",
                     name.substr(0, name.find(' ')), ")"));
  }

  const BatchLimits& limits_;
  BatchCounts counts_;
};

bool ReadContents(absl::string_view bytes, BatchContents* contents) {
  using Content = v1::BatchContent;
  FieldReader reader(bytes);
  bool ok = true;
  while (ok && reader.Next()) {
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
                                            const BatchLimits& limits) {
  ContentCounter counter(limits);
  RETURN_IF_ERROR(counter.Count(bytes));
  BatchContents contents;
  contents.counts = counter.counts();
  contents.blocks.reserve(contents.counts.blocks);
  contents.retired_instances.reserve(contents.counts.retired);
  contents.losses.reserve(contents.counts.losses);
  if (!ReadContents(bytes, &contents)) return ContentCounter::NotABatch();
  return contents;
}

}  // namespace

BatchLimits BatchLimits::None() {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  return {.max_payload_bytes = std::numeric_limits<uint32_t>::max(),
          .max_content_bytes = std::numeric_limits<uint32_t>::max(),
          .max_values = std::numeric_limits<uint64_t>::max(),
          .max_runs = std::numeric_limits<uint64_t>::max(),
          .max_losses = kNone,
          .max_definitions = kNone,
          .max_blocks = kNone,
          .max_queries = kNone,
          .max_columns = kNone,
          .max_retired = kNone};
}

std::optional<size_t> CountDefinitions(absl::string_view definitions) {
  using Fields = v1::Definitions;
  FieldReader reader(definitions);
  size_t count = 0;
  while (reader.Next()) {
    ++count;
    std::optional<size_t> parts = 0;
    if (reader.field() == Fields::kQueriesFieldNumber) {
      parts =
          CountFields(reader.Bytes(), v1::QueryDefinition::kColumnsFieldNumber);
    } else if (reader.field() == Fields::kCountersetsFieldNumber) {
      parts = CountCounters(reader.Bytes());
    }
    if (!parts.has_value()) return std::nullopt;
    count += *parts;
  }
  if (!reader.ok()) return std::nullopt;
  return count;
}

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
        return ParseContents(payload, limits);
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
                       ParseContents(*decompressed, limits));
      contents.decompressed = std::move(decompressed);
      return contents;
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "Batch.compression is ", static_cast<int>(batch.compression())));
  }
}

absl::StatusOr<BatchContents> ParseContents(absl::string_view bytes) {
  return ParseContents(bytes, BatchLimits::None());
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
