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

#include <cstddef>
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
#include "aggregator/store/codec/chunk_format.h"
#include "aggregator/store/codec/chunk_head.h"
#include "aggregator/store/codec/fold_memo.h"

namespace fleetperf::aggregator {

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
  // Provides these clocks, decoded from the same head, to the other functions.
  void SetClocks(Clocks clocks) { clocks_ = std::move(clocks); }
  // Lets ReadFolded use and extend the folds of the same chunk, which must
  // outlive this object.
  void SetFolds(FoldMemo* folds) { folds_ = folds; }
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
  // Calculates the fold of a run from its samples, of which the changes take
  // `size` bytes at `begin` of its column's values. The column is numbered in
  // the chunk.
  absl::StatusOr<std::optional<RunFold>> FoldSamples(FoldKind kind,
                                                     size_t column, size_t run,
                                                     uint64_t first,
                                                     uint64_t begin,
                                                     uint64_t size);

  std::shared_ptr<const ChunkHead> head_;
  uint32_t epoch_number_ = 0;
  ReadBody read_body_;
  Clocks clocks_;  // null: not decoded
  FoldMemo* folds_ = nullptr;
  std::vector<uint64_t> numbers_;  // reused
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_
