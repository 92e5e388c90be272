// A source that plays a capture.

#ifndef FLEETPERF_AGENT_SOURCE_REPLAY_REPLAY_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_REPLAY_REPLAY_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/source/source.h"
#include "fleetperf/v1/capture.pb.h"

namespace fleetperf::agent {

// The file that describes a recording, and the suffix of its block files.
inline constexpr char kCaptureFile[] = "capture.json";
inline constexpr char kBlockEnding[] = ".block";

// The blocks of one query handle.
struct Recording {
  v1::Capture capture;
  std::vector<std::string> block_paths;  // in capture order
};

// Reads every subdirectory of `directory` that has a capture.json, sorted by
// name and therefore by time. Error messages name the bad file.
absl::StatusOr<std::vector<Recording>> ReadRecordings(
    const std::string& directory);

// The source's query handle accepts exactly the captured queries.
// QueryCounterData returns one block after the other, then OutOfRange. A file
// that cannot be read fails with a different error.
std::unique_ptr<Source> MakeReplaySource(Recording recording);

// Returns the time of a block: PerfTime100NSec in the first bytes of the file.
// Returns the infinite past if the file is too short.
absl::Time BlockTime(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_REPLAY_REPLAY_SOURCE_H_
