// A source that plays what a capture kept.

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

// The name of the file beside a recording's blocks, and the blocks' ending.
inline constexpr char kCaptureFile[] = "capture.json";
inline constexpr char kBlockEnding[] = ".block";

// The blocks of one query handle.
struct Recording {
  v1::Capture capture;
  std::vector<std::string> block_paths;  // in their order
};

// Every directory in `directory` that has a capture.json, by name, which is by
// time. An error names the file that is wrong.
absl::StatusOr<std::vector<Recording>> ReadRecordings(
    const std::string& directory);

// Its query handle takes the queries that were captured and no others, and
// QueryCounterData returns one block after the other, then OutOfRange. A file
// that cannot be read is an error of its own.
std::unique_ptr<Source> MakeReplaySource(Recording recording);

// The time of a block: PerfTime100NSec in the file's first bytes; the infinite
// past if there are too few.
absl::Time BlockTime(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_REPLAY_REPLAY_SOURCE_H_
