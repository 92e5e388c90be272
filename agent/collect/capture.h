// Keeps the blocks that an agent reads, so that they can be decoded and played
// again.
//
// Each query handle has a directory "TIME-NUMBER" with capture.json, which says
// what was asked, and a file for each block: "000000001.block". Beyond a limit
// the oldest blocks go, also those of former runs, and with the last block of a
// handle that is closed its directory.

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
#include "base/clock.h"
#include "base/logging.h"
#include "fleetperf/v1/capture.pb.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// Not thread-safe.
class Capture {
 public:
  struct Options {
    std::string directory;
    // What the files may take on disk, where each takes whole pages of 4 KiB.
    uint64_t max_bytes = uint64_t{256} << 20;
    std::string machine;
    std::string operating_system;
    const Clock* clock = &Clock::Real();
  };

  // Makes the directory if need be, and finds what former runs left in it.
  static absl::StatusOr<std::unique_ptr<Capture>> Open(Options options);

  // The blocks of one query handle, from now on. `identifiers` are what
  // PerfQueryCounterInfo returned. Returns its number.
  absl::StatusOr<size_t> Begin(
      const std::vector<const ResolvedQuery*>& queries,
      const std::vector<perflib::CounterIdentifier>& identifiers);

  // Keeps a block of the handle. One that cannot be kept is logged and missing.
  void Add(size_t number, absl::string_view block);

  // The handle is closed.
  void End(size_t number);

 private:
  struct Handle {
    std::string directory;
    uint64_t disk_bytes = 0;  // of capture.json
    uint64_t last_block = 0;  // the number of the newest
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
  size_t opened_ = 0;         // by this run
  std::deque<Block> blocks_;  // the oldest first
  uint64_t disk_bytes_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_CAPTURE_H_
