#include "aggregator/store/batch_decoder.h"

#include <google/protobuf/arena.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

template <typename... Parts>
absl::Status Malformed(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Numbers that are all there or, where they may be left out, all missing.
absl::Status CheckLength(absl::string_view field, size_t length,
                         size_t expected) {
  if (length == expected) return absl::OkStatus();
  return Malformed(field, " has ", length, " elements instead of ", expected);
}

class Decoder {
 public:
  Decoder(const BatchLimits& limits, const QueryFilter& filter,
          Dictionary* dictionary)
      : limits_(limits), filter_(filter), dictionary_(*dictionary) {}

  absl::Status DecodeBlocks(const v1::BlockColumns& blocks,
                            std::vector<Frame>* frames) {
    RETURN_IF_ERROR(DecodeClocks(blocks));
    for (const v1::QueryColumns& columns : blocks.queries()) {
      ASSIGN_OR_RETURN(auto query, dictionary_.FindQuery(columns.query()));
      if (filter_ && !filter_(*query)) continue;
      Frame frame;
      frame.query = std::move(query);
      frame.clocks = clocks_;
      RETURN_IF_ERROR(DecodeQuery(columns, &frame));
      frames->push_back(std::move(frame));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status DecodeClocks(const v1::BlockColumns& blocks) {
    const int count = blocks.perf_time_100nsec_size();
    RETURN_IF_ERROR(CheckLength("BlockColumns.perf_time_stamp",
                                blocks.perf_time_stamp_size(), count));
    RETURN_IF_ERROR(
        CheckLength("BlockColumns.perf_freq", blocks.perf_freq_size(), count));
    auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
    clocks->reserve(count);
    uint64_t time_100nsec = 0;
    uint64_t time_stamp = 0;
    uint64_t freq = 0;
    for (int i = 0; i < count; ++i) {
      time_100nsec += static_cast<uint64_t>(blocks.perf_time_100nsec(i));
      time_stamp += static_cast<uint64_t>(blocks.perf_time_stamp(i));
      freq += static_cast<uint64_t>(blocks.perf_freq(i));
      clocks->push_back(
          {.perf_time_stamp = static_cast<int64_t>(time_stamp),
           .perf_time_100nsec = static_cast<int64_t>(time_100nsec),
           .perf_freq = static_cast<int64_t>(freq)});
    }
    clocks_ = std::move(clocks);
    return absl::OkStatus();
  }

  absl::Status DecodeQuery(const v1::QueryColumns& columns, Frame* frame) {
    RETURN_IF_ERROR(DecodeRuns(columns, frame));
    // A query that failed in all blocks has no columns.
    if (frame->runs.empty() && columns.columns_size() == 0) {
      return DecodeFailures(columns, frame);
    }
    RETURN_IF_ERROR(CheckLength("QueryColumns.columns", columns.columns_size(),
                                frame->query->columns.size()));
    frame->columns.resize(columns.columns_size());
    for (int i = 0; i < columns.columns_size(); ++i) {
      RETURN_IF_ERROR(
          DecodeColumn(columns.columns(i), *frame, &frame->columns[i]));
    }
    return DecodeFailures(columns, frame);
  }

  absl::Status DecodeRuns(const v1::QueryColumns& columns, Frame* frame) {
    const int count = columns.instances_size();
    total_runs_ += static_cast<uint64_t>(count);
    if (total_runs_ > limits_.max_runs) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a batch of more than ", limits_.max_runs, " runs (max_runs)"));
    }
    const bool whole = columns.first_block_size() == 0;
    if (!whole) {
      RETURN_IF_ERROR(CheckLength("QueryColumns.first_block",
                                  columns.first_block_size(), count));
    }
    RETURN_IF_ERROR(CheckLength("QueryColumns.block_count",
                                columns.block_count_size(), whole ? 0 : count));
    ids_.clear();
    uint32_t id = 0;
    for (const int32_t difference : columns.instances()) {
      ids_.push_back(id += static_cast<uint32_t>(difference));
    }
    RETURN_IF_ERROR(dictionary_.FindInstances(ids_, &instances_));
    frame->runs.reserve(count);
    values_per_column_ = 0;
    for (int i = 0; i < count; ++i) {
      Frame::Run run{.instance = std::move(instances_[i]),
                     .first_tick = whole ? 0 : columns.first_block(i),
                     .tick_count = whole
                                       ? static_cast<uint32_t>(clocks_->size())
                                       : columns.block_count(i)};
      if (run.tick_count == 0 || run.first_tick >= clocks_->size() ||
          run.tick_count > clocks_->size() - run.first_tick) {
        return Malformed("a run of ", run.tick_count, " blocks from block ",
                         run.first_tick, " in a message of ", clocks_->size());
      }
      run.begin = static_cast<uint32_t>(values_per_column_);
      values_per_column_ += run.tick_count;
      if (values_per_column_ > limits_.max_values) return TooManyValues();
      frame->runs.push_back(std::move(run));
    }
    total_values_ += values_per_column_ * columns.columns_size();
    return total_values_ > limits_.max_values ? TooManyValues()
                                              : absl::OkStatus();
  }

  absl::Status TooManyValues() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a batch of more than ", limits_.max_values, " values (max_values)"));
  }

  absl::Status DecodeColumn(const v1::Column& from, const Frame& frame,
                            FrameColumn* column) {
    RETURN_IF_ERROR(
        CheckLength("Column.first", from.first_size(), frame.runs.size()));
    column->constant = from.differences_size() == 0;
    if (column->constant) {
      column->values.assign(from.first().begin(), from.first().end());
    } else {
      RETURN_IF_ERROR(CheckLength("Column.differences", from.differences_size(),
                                  values_per_column_ - frame.runs.size()));
      column->values.resize(values_per_column_);
      uint64_t* to = column->values.data();
      const int64_t* difference = from.differences().data();
      for (size_t i = 0; i < frame.runs.size(); ++i) {
        uint64_t value = from.first(static_cast<int>(i));
        *to++ = value;
        for (uint32_t tick = 1; tick < frame.runs[i].tick_count; ++tick) {
          *to++ = value += static_cast<uint64_t>(*difference++);
        }
      }
    }
    return DecodeMissing(from, column);
  }

  absl::Status DecodeMissing(const v1::Column& from, FrameColumn* column) {
    for (const uint32_t position : from.missing()) {
      if (position >= values_per_column_) {
        return Malformed("Column.missing has position ", position, " of ",
                         values_per_column_);
      }
      if (!column->missing.empty() && position <= column->missing.back()) {
        return Malformed("Column.missing does not ascend at ", position);
      }
      column->missing.push_back(position);
    }
    return absl::OkStatus();
  }

  absl::Status DecodeFailures(const v1::QueryColumns& columns, Frame* frame) {
    for (const v1::QueryFailure& failure : columns.failures()) {
      if (failure.block() >= clocks_->size()) {
        return Malformed("QueryFailure.block is ", failure.block(),
                         " in a message of ", clocks_->size(), " blocks");
      }
      if (!frame->failures.empty() &&
          failure.block() <= frame->failures.back().tick) {
        return Malformed("QueryFailure.block does not ascend at ",
                         failure.block());
      }
      frame->failures.push_back(
          {.tick = failure.block(), .status = failure.status()});
    }
    return absl::OkStatus();
  }

  const BatchLimits& limits_;
  const QueryFilter& filter_;
  Dictionary& dictionary_;
  // Of the blocks being decoded.
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks_;
  std::vector<uint32_t> ids_;
  std::vector<std::shared_ptr<const Instance>> instances_;
  uint64_t values_per_column_ = 0;
  uint64_t total_values_ = 0;
  uint64_t total_runs_ = 0;
};

// In memory of its own: a batch has hundreds of small parts.
std::shared_ptr<v1::BatchContent> MakeContent() {
  using google::protobuf::Arena;
  google::protobuf::ArenaOptions options;
  options.start_block_size = 8 << 10;
  options.max_block_size = 64 << 10;
  auto arena = std::make_shared<Arena>(options);
  auto* content = Arena::CreateMessage<v1::BatchContent>(arena.get());
  return {std::move(arena), content};
}

LossCause FromProto(v1::LossCause cause) {
  return v1::LossCause_IsValid(cause) ? static_cast<LossCause>(cause)
                                      : LossCause::kUnknown;
}

}  // namespace

absl::StatusOr<std::shared_ptr<v1::BatchContent>> ParseBatch(
    const v1::Batch& batch, const BatchLimits& limits) {
  if (batch.payload().size() > limits.max_payload_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a payload of ", batch.payload().size(), " bytes, more than ",
        limits.max_payload_bytes, " (max_payload_bytes)"));
  }
  if (batch.content_size() > limits.max_content_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("contents of ", batch.content_size(), " bytes, more than ",
                     limits.max_content_bytes, " (max_content_bytes)"));
  }
  std::string decompressed;
  absl::string_view bytes;
  switch (batch.compression()) {
    case v1::COMPRESSION_NONE:
      bytes = batch.payload();
      RETURN_IF_ERROR(
          CheckLength("Batch.payload", bytes.size(), batch.content_size()));
      break;
    case v1::COMPRESSION_ZSTD:
      RETURN_IF_ERROR(
          ZstdDecompress(batch.payload(), batch.content_size(), &decompressed));
      bytes = decompressed;
      break;
    default:
      return Malformed("Batch.compression is ",
                       static_cast<int>(batch.compression()));
  }
  const std::shared_ptr<v1::BatchContent> content = MakeContent();
  if (!content->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Malformed("Batch.payload is no BatchContent");
  }
  return content;
}

absl::StatusOr<DecodedBatch> DecodeBatch(const v1::BatchContent& content,
                                         const BatchLimits& limits,
                                         const QueryFilter& filter,
                                         Dictionary* dictionary) {
  DecodedBatch decoded;
  Decoder decoder(limits, filter, dictionary);
  for (const v1::BlockColumns& blocks : content.blocks()) {
    RETURN_IF_ERROR(decoder.DecodeBlocks(blocks, &decoded.frames));
  }
  decoded.losses = DecodeLosses(content);
  return decoded;
}

std::vector<Loss> DecodeLosses(const v1::BatchContent& content) {
  std::vector<Loss> losses;
  for (const v1::Loss& loss : content.losses()) {
    losses.push_back({.machine = loss.machine(),
                      .start = fleetperf::FromProto(loss.start()),
                      .end = fleetperf::FromProto(loss.end()),
                      .ticks = loss.ticks(),
                      .cause = FromProto(loss.cause())});
  }
  return losses;
}

std::string EncodeLosses(const std::vector<Loss>& losses) {
  v1::BatchContent content;
  for (const Loss& lost : losses) {
    v1::Loss* loss = content.add_losses();
    loss->set_machine(lost.machine);
    *loss->mutable_start() = ToProto(lost.start);
    *loss->mutable_end() = ToProto(lost.end);
    loss->set_ticks(lost.ticks);
    loss->set_cause(static_cast<v1::LossCause>(lost.cause));
  }
  return content.SerializeAsString();
}

static_assert(static_cast<int>(LossCause::kSpoolFull) ==
              v1::LOSS_CAUSE_SPOOL_FULL);
static_assert(static_cast<int>(LossCause::kPowerCut) ==
              v1::LOSS_CAUSE_POWER_CUT);

absl::string_view LossCauseName(LossCause cause) {
  switch (cause) {
    case LossCause::kUnknown:
      return "unknown";
    case LossCause::kSpoolFull:
      return "spool_full";
    case LossCause::kSpoolExpired:
      return "spool_expired";
    case LossCause::kSpoolDamaged:
      return "spool_damaged";
    case LossCause::kDiskFull:
      return "disk_full";
    case LossCause::kRejected:
      return "rejected";
    case LossCause::kOverrun:
      return "overrun";
    case LossCause::kSourceFailed:
      return "source_failed";
    case LossCause::kPowerCut:
      return "power_cut";
  }
  return "unknown";
}

}  // namespace fleetperf::aggregator
