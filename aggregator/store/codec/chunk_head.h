// The head of a chunk: its clocks, its sections, and where the parts of each
// section are.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_HEAD_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/codec/fold.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The parsed head of a chunk. Immutable, so thread-safe.
class ChunkHead {
 public:
  using Clocks = std::shared_ptr<const std::vector<perflib::Clocks>>;

  // Parses a head, which must outlive the result. Returns DataLoss if the head
  // is damaged.
  static absl::StatusOr<std::shared_ptr<const ChunkHead>> Parse(
      absl::string_view head);

  // Decodes the clocks of all ticks. Returns DataLoss if they are damaged.
  absl::StatusOr<Clocks> DecodeClocks() const;
  // Returns the first and the last clocks of a chunk whose ticks are in order.
  // Null if this is unknown without decoding the clocks.
  const Clocks& ends() const { return ends_; }
  // PerfTime100NSec of the second tick. Only if ends() are known.
  int64_t second_time() const {
    return static_cast<int64_t>(
        static_cast<uint64_t>(ends_->front().perf_time_100nsec) +
        static_cast<uint64_t>(clocks_fold_->second));
  }
  // Returns the number of sections. Each section holds one query.
  size_t sections() const { return sections_.size(); }
  // Returns the shape number of a section's query.
  uint32_t ShapeOf(size_t section) const { return sections_[section].shape; }

  // The bytes in memory, about, without those of the encoded head.
  size_t size() const;

 private:
  friend class Chunk;

  // A part of the tables and indexes, of the values, or of a list below.
  struct Part {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Column {
    Part index;
    Part values;
  };
  // Heads of many machines are in memory, so sections share their lists.
  struct Section {
    uint32_t shape = 0;
    uint32_t run_count = 0;
    Part tables;
    Part failures;        // in failures_
    Part interval_times;  // in interval_times_
    Part columns;         // in columns_
  };

  // Sets a part to the next `count` elements of a list, which the caller adds.
  // Returns false if there are too many.
  template <typename T>
  static bool PlaceNext(uint64_t count, const std::vector<T>& list, Part* part);
  template <typename T>
  static std::vector<T> CopyOf(const std::vector<T>& list, const Part& part) {
    const auto begin = list.begin() + part.begin;
    return {begin, begin + part.size};
  }

  // Lists that sections are parsed into, in turn.
  struct Scratch {
    std::vector<uint64_t> numbers;
    std::vector<uint64_t> sizes;
  };

  ChunkHead() = default;
  bool ParseAll(absl::string_view head);
  bool ParseSection(absl::string_view* head, Scratch* scratch);
  bool GetColumns(absl::string_view* head, Scratch* scratch, Section* section);
  // Sets a part to the next `size` bytes, and adds them to `all`. Returns false
  // if a body cannot have as many.
  static bool Append(uint64_t size, uint64_t* all, Part* part);
  bool GetIntervalTimes(absl::string_view* head, std::vector<uint64_t>* numbers,
                        Section* section);
  bool GetFailures(absl::string_view* head, std::vector<uint64_t>* numbers,
                   Section* section);
  void SetEnds(absl::string_view lists);

  uint64_t ticks_ = 0;
  absl::string_view clock_lists_;  // encoded
  std::optional<ClocksFold> clocks_fold_;
  Clocks ends_;  // null: unknown
  std::vector<Section> sections_;
  std::vector<Column> columns_;
  std::vector<Frame::Failure> failures_;
  std::vector<int64_t> interval_times_;
  absl::string_view indexes_;  // empty: in the body
  uint64_t indexes_size_ = 0;
  uint64_t values_size_ = 0;
  uint64_t values_begin_ = 0;  // in the body
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_HEAD_H_
