// Keeps the blocks that an agent reads, so that they can be decoded and played
// again.
//
// Each query handle has a directory "TIME-NUMBER" with capture.json, which says
// what was asked, and a file for each block: "000000001.block". Beyond a limit
// the oldest blocks go, also those of former runs.

#ifndef FLEETPERF_AGENT_COLLECT_CAPTURE_H_
#define FLEETPERF_AGENT_COLLECT_CAPTURE_H_

#include <cstdint>
#include <deque>
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
    uint64_t max_bytes = uint64_t{256} << 20;
    std::string machine;
    std::string operating_system;
    const Clock* clock = &Clock::Real();
  };

  // Makes the directory if need be, and finds what is in it.
  static absl::StatusOr<std::unique_ptr<Capture>> Open(Options options);

  // The blocks of one query handle, from now on. `identifiers` are what
  // PerfQueryCounterInfo returned. Returns its number.
  absl::StatusOr<size_t> Begin(
      const std::vector<const ResolvedQuery*>& queries,
      const std::vector<perflib::CounterIdentifier>& identifiers);

  // Keeps a block of the handle. One that cannot be kept is logged and missing.
  void Add(size_t number, absl::string_view block);

 private:
  struct File {
    std::string path;
    uint64_t bytes;
  };
  struct Handle {
    std::string directory;
    uint64_t blocks = 0;
  };

  explicit Capture(Options options) : options_(std::move(options)) {}

  absl::Status FindFiles();
  absl::Status Write(const std::string& path, absl::string_view block);
  void RemoveOldest();

  const Options options_;
  LogOncePerCause log_;
  std::deque<File> files_;  // the oldest first
  uint64_t bytes_ = 0;
  std::vector<Handle> handles_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_CAPTURE_H_
