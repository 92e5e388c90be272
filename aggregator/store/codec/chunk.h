// A chunk: what was collected of one machine in some consecutive ticks, in few
// bytes, so that a reader touches only the columns and instances it wants.
//
// The head has the clocks, once for all, and says where in the body things are.
// The body has a section for each query: its instances and their runs, then
// column after column, in each run after run. docs/store.md has the layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Of the format, which docs/store.md describes.
inline constexpr uint64_t kChunkVersion = 1;
// Of a chunk's body, in bytes. What says that it has more is damaged.
inline constexpr uint64_t kMaxBodySize = UINT32_MAX;

// Reads a chunk. Thread-compatible.
class Chunk {
 public:
  // Fills `bytes` with that part of the chunk's body.
  using ReadBody = std::function<absl::Status(uint64_t offset, uint64_t size,
                                              std::string* bytes)>;

  // Errors of these are DataLoss if the chunk is damaged, and those of
  // `read_body`.
  static absl::StatusOr<Chunk> Open(absl::string_view head,
                                    uint32_t epoch_number, ReadBody read_body);

  const std::vector<perflib::Clocks>& clocks() const { return *clocks_; }
  // The shapes of the queries, by section.
  size_t sections() const { return sections_.size(); }
  uint32_t ShapeOf(size_t section) const { return sections_[section].shape; }

  struct TickRange {
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
  };
  // The ticks of a section's query. `columns` says, by number, which columns
  // are wanted; the others stay empty. Runs that lie outside of `ticks` are
  // left out. `wants` is asked of the instances of the others; empty: all are
  // wanted.
  absl::StatusOr<Frame> Read(
      size_t section, std::shared_ptr<const CollectedQuery> query,
      const std::vector<bool>& columns, const TickRange& ticks,
      const std::function<bool(const Instance&)>& wants) const;

 private:
  struct Section {
    uint32_t shape = 0;
    std::vector<Frame::Failure> failures;
    uint64_t run_count = 0;
    uint64_t begin = 0;  // of its tables, in the body
    uint64_t tables_size = 0;
    // Of each column: what says where its runs are, and these.
    std::vector<uint64_t> index_sizes;
    std::vector<uint64_t> values_sizes;
  };
  // The runs that are wanted.
  struct Runs {
    std::vector<size_t> numbers;   // in the section
    std::vector<uint64_t> begins;  // of all the section's, in its columns
    uint64_t values = 0;           // in a column of the section
  };

  Chunk() = default;
  bool ParseHead(absl::string_view head);
  bool ParseSection(absl::string_view* head, uint64_t* body_size);
  absl::Status ReadRuns(const Section& section, const TickRange& ticks,
                        const std::function<bool(const Instance&)>& wants,
                        Frame* frame, Runs* runs) const;
  absl::Status ReadColumn(const Section& section, size_t column, uint64_t begin,
                          const Runs& runs, const Frame& frame,
                          FrameColumn* to) const;

  uint32_t epoch_number_ = 0;
  ReadBody read_body_;
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks_;
  std::vector<Section> sections_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_H_
