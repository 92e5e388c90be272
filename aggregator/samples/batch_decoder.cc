#include "aggregator/samples/batch_decoder.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/batch_fields.h"
#include "aggregator/samples/wire_reader.h"
#include "base/coding.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// Checks that a packed field has the expected number of elements.
absl::Status CheckCount(absl::string_view field, absl::string_view numbers,
                        size_t expected) {
  const size_t count = CountVarints(numbers);
  if (count == expected) return absl::OkStatus();
  return Malformed(field, " has ", count, " elements instead of ", expected);
}

// Checks that the readers consumed all their numbers without errors.
absl::Status CheckAllRead(absl::string_view fields,
                          std::initializer_list<const VarintReader*> readers) {
  for (const VarintReader* reader : readers) {
    if (!reader->has_read_all()) return Malformed(fields, " cannot be read");
  }
  return absl::OkStatus();
}

class Decoder {
 public:
  Decoder(const BatchLimits& limits, const QueryFilter& filter,
          Dictionary* dictionary)
      : limits_(limits), filter_(filter), dictionary_(*dictionary) {}

  absl::Status DecodeBlocks(absl::string_view message, DecodedBatch* batch) {
    BlockFields blocks;
    RETURN_IF_ERROR(blocks.Read(message));
    RETURN_IF_ERROR(DecodeClocks(blocks));
    for (const absl::string_view queried : blocks.queries) {
      RETURN_IF_ERROR(query_.Read(queried));
      ASSIGN_OR_RETURN(auto query, dictionary_.FindQuery(query_.query));
      if (filter_ && !filter_(*query)) continue;
      Frame frame;
      frame.query = std::move(query);
      frame.clocks = clocks_;
      frame.epoch_number = dictionary_.epoch_number();
      RETURN_IF_ERROR(DecodeQuery(&frame));
      batch->frames.push_back(std::move(frame));
      batch->encoded.push_back(queried);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status DecodeClocks(const BlockFields& blocks) {
    const size_t count = CountVarints(blocks.perf_time_100nsec);
    RETURN_IF_ERROR(CheckCount("BlockColumns.perf_time_stamp",
                               blocks.perf_time_stamp, count));
    RETURN_IF_ERROR(
        CheckCount("BlockColumns.perf_freq", blocks.perf_freq, count));
    auto clocks = std::make_shared<std::vector<perflib::Clocks>>(count);
    VarintReader times_100nsec(blocks.perf_time_100nsec);
    VarintReader time_stamps(blocks.perf_time_stamp);
    VarintReader freqs(blocks.perf_freq);
    uint64_t time_100nsec = 0;
    uint64_t time_stamp = 0;
    uint64_t freq = 0;
    for (perflib::Clocks& tick : *clocks) {
      time_100nsec += UnZigZag(times_100nsec.Next());
      time_stamp += UnZigZag(time_stamps.Next());
      freq += UnZigZag(freqs.Next());
      tick = {.perf_time_stamp = static_cast<int64_t>(time_stamp),
              .perf_time_100nsec = static_cast<int64_t>(time_100nsec),
              .perf_freq = static_cast<int64_t>(freq)};
    }
    clocks_ = std::move(clocks);
    return CheckAllRead("BlockColumns' clocks",
                        {&times_100nsec, &time_stamps, &freqs});
  }

  absl::Status DecodeQuery(Frame* frame) {
    RETURN_IF_ERROR(DecodeRuns(frame));
    const size_t columns = query_.columns.size();
    // A query that failed in all blocks has no columns.
    if (frame->runs.empty() && columns == 0) return DecodeFailures(frame);
    if (columns != frame->query->columns.size()) {
      return Malformed("QueryColumns.columns has ", columns,
                       " elements instead of ", frame->query->columns.size());
    }
    frame->columns.resize(columns);
    for (size_t i = 0; i < columns; ++i) {
      RETURN_IF_ERROR(
          DecodeColumn(query_.columns[i], frame->runs, &frame->columns[i]));
    }
    return DecodeFailures(frame);
  }

  absl::Status DecodeRuns(Frame* frame) {
    const size_t count = CountVarints(query_.instances);
    RETURN_IF_ERROR(CheckRunCounts(count));
    RETURN_IF_ERROR(FindInstances(count));
    frame->runs.resize(count);
    for (size_t i = 0; i < count; ++i) {
      frame->runs[i].instance = std::move(instances_[i]);
    }
    RETURN_IF_ERROR(ReadTicks(frame));
    values_per_column_ = 0;
    for (Frame::Run& run : frame->runs) RETURN_IF_ERROR(PlaceRun(&run));
    total_values_ += values_per_column_ * query_.columns.size();
    return total_values_ > limits_.max_values ? TooManyValues()
                                              : absl::OkStatus();
  }

  absl::Status CheckRunCounts(size_t count) {
    total_runs_ += count;
    if (total_runs_ > limits_.max_runs) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a batch of more than ", limits_.max_runs, " runs (max_runs)"));
    }
    const size_t given = query_.first_block.empty() ? 0 : count;
    RETURN_IF_ERROR(
        CheckCount("QueryColumns.first_block", query_.first_block, given));
    return CheckCount("QueryColumns.block_count", query_.block_count, given);
  }

  absl::Status FindInstances(size_t count) {
    ids_.clear();
    ids_.reserve(count);
    VarintReader differences(query_.instances);
    uint32_t id = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto difference = static_cast<uint32_t>(differences.Next());
      ids_.push_back(id += static_cast<uint32_t>(UnZigZag(difference)));
    }
    RETURN_IF_ERROR(CheckAllRead("QueryColumns.instances", {&differences}));
    return dictionary_.FindInstances(ids_, &instances_);
  }

  absl::Status ReadTicks(Frame* frame) {
    if (query_.first_block.empty()) {
      for (Frame::Run& run : frame->runs) {
        run.tick_count = static_cast<uint32_t>(clocks_->size());
      }
      return absl::OkStatus();
    }
    VarintReader first_ticks(query_.first_block);
    VarintReader tick_counts(query_.block_count);
    for (Frame::Run& run : frame->runs) {
      run.first_tick = static_cast<uint32_t>(first_ticks.Next());
      run.tick_count = static_cast<uint32_t>(tick_counts.Next());
    }
    return CheckAllRead("QueryColumns.first_block and block_count",
                        {&first_ticks, &tick_counts});
  }

  // Sets the position of the run's values in a column.
  absl::Status PlaceRun(Frame::Run* run) {
    const size_t ticks = clocks_->size();
    if (run->tick_count == 0 || run->first_tick >= ticks ||
        run->tick_count > ticks - run->first_tick) {
      return Malformed("a run of ", run->tick_count, " blocks from block ",
                       run->first_tick, " in a message of ", ticks);
    }
    run->begin = static_cast<uint32_t>(values_per_column_);
    values_per_column_ += run->tick_count;
    return values_per_column_ > limits_.max_values ? TooManyValues()
                                                   : absl::OkStatus();
  }

  absl::Status TooManyValues() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a batch of more than ", limits_.max_values, " values (max_values)"));
  }

  absl::Status DecodeColumn(absl::string_view message,
                            const std::vector<Frame::Run>& runs,
                            FrameColumn* to) {
    ColumnFields column;
    RETURN_IF_ERROR(column.Read(message));
    to->constant = column.differences.empty();
    const size_t differences =
        to->constant ? 0 : values_per_column_ - runs.size();
    // Each number has at least one byte. The check bounds the allocation by the
    // size of the input.
    if (column.first.size() < runs.size() ||
        column.differences.size() < differences) {
      return WrongColumn(column, runs.size(), differences);
    }
    VarintReader first(column.first);
    VarintReader later(column.differences);
    to->values.resize(runs.size() + differences);
    uint64_t* value = to->values.data();
    for (const Frame::Run& run : runs) {
      uint64_t last = *value++ = first.Next();
      if (to->constant) continue;
      for (uint32_t tick = 1; tick < run.tick_count; ++tick) {
        *value++ = last += UnZigZag(later.Next());
      }
    }
    if (!first.has_read_all() || !later.has_read_all()) {
      return WrongColumn(column, runs.size(), differences);
    }
    return DecodeMissing(column.missing, to);
  }

  // Returns the error of an invalid column.
  static absl::Status WrongColumn(const ColumnFields& column, size_t first,
                                  size_t differences) {
    RETURN_IF_ERROR(CheckCount("Column.first", column.first, first));
    RETURN_IF_ERROR(
        CheckCount("Column.differences", column.differences, differences));
    return Malformed("a Column cannot be read");
  }

  absl::Status DecodeMissing(absl::string_view missing, FrameColumn* column) {
    VarintReader positions(missing);
    while (positions.left() > 0) {
      const auto position = static_cast<uint32_t>(positions.Next());
      if (!positions.ok()) return Malformed("Column.missing cannot be read");
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

  absl::Status DecodeFailures(Frame* frame) {
    for (const absl::string_view message : query_.failures) {
      Frame::Failure failure;
      RETURN_IF_ERROR(ReadFailure(message, &failure));
      if (failure.tick >= clocks_->size()) {
        return Malformed("QueryFailure.block is ", failure.tick,
                         " in a message of ", clocks_->size(), " blocks");
      }
      if (!frame->failures.empty() &&
          failure.tick <= frame->failures.back().tick) {
        return Malformed("QueryFailure.block does not ascend at ",
                         failure.tick);
      }
      frame->failures.push_back(failure);
    }
    return absl::OkStatus();
  }

  const BatchLimits& limits_;
  const QueryFilter& filter_;
  Dictionary& dictionary_;
  // State of the blocks being decoded.
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks_;
  QueryFields query_;
  std::vector<uint32_t> ids_;
  std::vector<std::shared_ptr<const Instance>> instances_;
  uint64_t values_per_column_ = 0;
  uint64_t total_values_ = 0;
  uint64_t total_runs_ = 0;
};

// Copies the columns of a batch that is not compressed, which the decoded batch
// may outlive.
void CopyContent(DecodedBatch* decoded) {
  auto copy = std::make_shared<std::string>();
  for (const absl::string_view encoded : decoded->encoded) {
    copy->append(encoded.data(), encoded.size());
  }
  absl::string_view rest = *copy;
  for (absl::string_view& encoded : decoded->encoded) {
    encoded = rest.substr(0, encoded.size());
    rest.remove_prefix(encoded.size());
  }
  decoded->content = std::move(copy);
}

}  // namespace

uint64_t CountValues(const DecodedBatch& decoded) {
  uint64_t values = 0;
  for (const Frame& frame : decoded.frames) {
    for (const Frame::Run& run : frame.runs) {
      values += uint64_t{run.tick_count} * frame.columns.size();
    }
  }
  return values;
}

size_t MemoryOf(const DecodedBatch& decoded) {
  size_t bytes = decoded.losses.size() * sizeof(Loss);
  if (decoded.content != nullptr) bytes += decoded.content->size();
  for (const Frame& frame : decoded.frames) {
    bytes += sizeof(Frame) + frame.runs.size() * sizeof(Frame::Run);
    for (const FrameColumn& column : frame.columns) {
      bytes += sizeof(FrameColumn) +
               column.values.size() * sizeof(column.values[0]) +
               column.missing.size() * sizeof(column.missing[0]);
    }
  }
  return bytes;
}

absl::StatusOr<DecodedBatch> DecodeBatch(const BatchContents& contents,
                                         const BatchLimits& limits,
                                         const QueryFilter& filter,
                                         Dictionary* dictionary) {
  DecodedBatch decoded;
  Decoder decoder(limits, filter, dictionary);
  for (const absl::string_view blocks : contents.blocks) {
    RETURN_IF_ERROR(decoder.DecodeBlocks(blocks, &decoded));
  }
  decoded.losses = contents.losses;
  if (contents.decompressed != nullptr) {
    decoded.content = contents.decompressed;
  } else {
    CopyContent(&decoded);
  }
  return decoded;
}

}  // namespace fleetperf::aggregator
