// Writes the blocks that an agent reads to disk, for decoding and replay.
//
// Each query handle has a directory "TIME-NUMBER". It contains capture.json,
// which describes the queries, and one file per block: "000000001.block".
// Beyond the size limit, the oldest blocks are removed, including those of
// former runs. The directory of a closed handle is removed with its last block.

#ifndef FLEETPERF_AGENT_COLLECT_CAPTURE_H_
#define FLEETPERF_AGENT_COLLECT_CAPTURE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/collect/resolve.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "fleetperf/v1/capture.pb.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// Thread-compatible.
class Capture {
 public:
  struct Options {
    std::string directory;
    // The upper bound of the files' size on disk, in whole pages of 4 KiB.
    uint64_t max_bytes = uint64_t{256} << 20;
    std::string machine;
    std::string operating_system;
    const Clock* clock = &Clock::Real();
  };

  // Creates the directory if needed and reads the captures of former runs.
  static absl::StatusOr<std::unique_ptr<Capture>> Open(Options options);

  // Starts the capture of a query handle and returns its number. `identifiers`
  // is the result of PerfQueryCounterInfo.
  absl::StatusOr<size_t> Begin(
      const std::vector<const ResolvedQuery*>& queries,
      const std::vector<perflib::CounterIdentifier>& identifiers);

  // Writes a block of the handle. A block that cannot be written is logged and
  // skipped.
  void Add(size_t number, absl::string_view block);

  // Ends the capture of a closed handle.
  void End(size_t number);

 private:
  struct Handle {
    std::string directory;
    uint64_t disk_bytes = 0;  // of capture.json
    uint64_t last_block = 0;  // the number of the newest block
    uint64_t kept_blocks = 0;
    bool is_open = false;
  };
  struct Block {
    size_t handle;
    uint64_t number;
    uint64_t disk_bytes;
  };

  explicit Capture(Options options) : options_(std::move(options)) {}

  absl::Status FindFormerRuns();
  absl::Status Write(const std::string& path, absl::string_view block);
  void RemoveOldest();
  void RemoveIfDone(size_t number);

  const Options options_;
  LogOncePerCause log_;
  std::map<size_t, Handle> handles_;  // by number
  size_t next_handle_ = 0;
  size_t opened_ = 0;         // handles opened by this run
  std::deque<Block> blocks_;  // oldest first
  uint64_t disk_bytes_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_CAPTURE_H_
