// A chunk holds the samples of one machine over some consecutive ticks in a
// compact form. Readers fetch only the columns and instances they need.
//
// The head holds the clocks, which all queries share, and the location of every
// other part. A chunk has one section per query: its instances and runs, and an
// index and the values of each column, run by run. Tables of instances and
// indexes are in the head if they are small, and otherwise in the body; values
// are in the body. Clocks and values are decoded only when a reader needs them:
// fold.h tells what serves in their place. docs/reference/store.md has the
// layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/codec/fold.h"

namespace fleetperf::aggregator {

// The version of the format that is written, which docs/reference/store.md
// describes. Versions 1 to 4 are read, too: version 4 has fewer folds of
// runs, the body of version 3 has each index before its values, version 2 also
// lacks folds, and version 1 also lacks births and the times of tick intervals.
inline constexpr uint64_t kChunkVersion = 5;
// The largest size of the tables and indexes in a head: as much as one read of
// the body would take.
inline constexpr uint64_t kMaxIndexesInHead = 16 << 10;
// The maximum size of a chunk's body, in bytes. A chunk that claims more is
// damaged.
inline constexpr uint64_t kMaxBodySize = UINT32_MAX;

// The parsed head of a chunk.
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

  // A part among the tables and indexes, or among the values. In versions
  // before 4, both are one sequence.
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

  ChunkHead() = default;
  bool ParseAll(absl::string_view head);
  bool ParseSection(absl::string_view* head);
  bool GetColumns(absl::string_view* head, Section* section);
  // Sets a part to these many bytes after those before it. Returns false if
  // there are too many bytes.
  bool AppendIndex(uint64_t size, Part* part);
  bool AppendValues(uint64_t size, Part* part);
  static bool Append(uint64_t size, uint64_t* all, Part* part);
  bool GetIntervalTimes(absl::string_view* head, Section* section);
  bool GetFailures(absl::string_view* head, Section* section);
  void SetEnds(absl::string_view lists);

  uint64_t version_ = 0;
  uint64_t ticks_ = 0;
  absl::string_view clock_lists_;  // encoded
  std::optional<ClocksFold> clocks_fold_;
  Clocks ends_;  // null: unknown
  std::vector<Section> sections_;
  std::vector<Column> columns_;
  std::vector<Frame::Failure> failures_;
  std::vector<int64_t> interval_times_;
  absl::string_view indexes_;      // empty: in the body
  uint64_t indexes_size_ = 0;      // since version 4
  uint64_t values_size_ = 0;       // before version 4, with the indexes
  uint64_t values_begin_ = 0;      // in the body
  std::vector<uint64_t> numbers_;  // reused while parsing
  std::vector<uint64_t> sizes_;    // same
};

// Reads a chunk. Thread-compatible.
class Chunk {
 public:
  // Returns `size` bytes at `offset` of the chunk's body. They must be valid
  // until the next call.
  using ReadBody = std::function<absl::StatusOr<absl::string_view>(
      uint64_t offset, uint64_t size)>;
  using Clocks = ChunkHead::Clocks;

  // All functions return DataLoss if the chunk is damaged, and pass on the
  // errors of `read_body`.
  Chunk(std::shared_ptr<const ChunkHead> head, uint32_t epoch_number,
        ReadBody read_body)
      : head_(std::move(head)),
        epoch_number_(epoch_number),
        read_body_(std::move(read_body)) {}
  // Opens a chunk, which `head` must outlive.
  static absl::StatusOr<Chunk> Open(absl::string_view head,
                                    uint32_t epoch_number, ReadBody read_body);

  // Returns the clocks of all ticks. Decodes them in the first call.
  absl::StatusOr<Clocks> ReadClocks();
  // Same, if they are decoded already.
  void SetClocks(Clocks clocks) { clocks_ = std::move(clocks); }
  // See ChunkHead.
  const Clocks& ends() const { return head_->ends(); }
  int64_t second_time() const { return head_->second_time(); }
  size_t sections() const { return head_->sections(); }
  uint32_t ShapeOf(size_t section) const { return head_->ShapeOf(section); }

  struct TickRange {
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
  };
  // Returns the ticks of a section's query. `columns` selects the columns by
  // number; the others stay empty. Runs outside of `ticks` are omitted, and so
  // are the runs of instances for which `wants` returns false. An empty `wants`
  // selects all instances.
  absl::StatusOr<Frame> Read(size_t section,
                             std::shared_ptr<const CollectedQuery> query,
                             const std::vector<bool>& columns,
                             const TickRange& ticks,
                             const std::function<bool(const Instance&)>& wants);

  // Like Read, but returns a folded frame (see Frame::fold) of all ticks.
  // std::nullopt if the samples cannot be folded: the data has a break, or a
  // wanted instance is not in all ticks. If not `includes_all_ticks`, the
  // caller needs only some of the ticks, and no instance of the query may be
  // absent from one.
  absl::StatusOr<std::optional<Frame>> ReadFolded(
      size_t section, std::shared_ptr<const CollectedQuery> query,
      const std::vector<bool>& columns, bool includes_all_ticks,
      const std::function<bool(const Instance&)>& wants);

 private:
  using Part = ChunkHead::Part;
  using Column = ChunkHead::Column;
  using Section = ChunkHead::Section;

  // The selected runs.
  struct Runs {
    // Run numbers in the section.
    std::vector<size_t> numbers;
    // First position in a column, for every run of the section.
    std::vector<uint64_t> begins;
    uint64_t values = 0;    // in a column, of all runs of the section
    bool are_whole = true;  // all runs of the section have all ticks
  };

  absl::StatusOr<absl::string_view> ReadIndex(const Part& part) const;
  // Reads a part of these values.
  absl::StatusOr<absl::string_view> ReadValues(const Part& of, uint64_t offset,
                                               uint64_t size) const;
  // Returns a frame without columns.
  absl::StatusOr<Frame> BeginFrame(
      const Section& section, std::shared_ptr<const CollectedQuery> query,
      const TickRange& ticks, const std::function<bool(const Instance&)>& wants,
      Runs* runs) const;
  absl::Status ReadRuns(const Section& section, const TickRange& ticks,
                        const std::function<bool(const Instance&)>& wants,
                        Frame* frame, Runs* runs) const;
  absl::Status ReadColumn(const Section& section, size_t column,
                          const Runs& runs, const Frame& frame,
                          FrameColumn* to) const;
  absl::StatusOr<bool> FoldColumn(const Section& section, size_t column,
                                  const Runs& runs, const CollectedQuery& query,
                                  FrameColumn* to);

  std::shared_ptr<const ChunkHead> head_;
  uint32_t epoch_number_ = 0;
  ReadBody read_body_;
  Clocks clocks_;                  // null: not decoded
  std::vector<uint64_t> numbers_;  // reused
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_
