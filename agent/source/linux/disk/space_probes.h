// Asks filesystems for their space without waiting for silent ones, such as a
// network filesystem whose server is down.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_SPACE_PROBES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_SPACE_PROBES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace fleetperf::agent {

// Returns the sum, or the largest number if it is larger: filesystems on a
// network claim any size.
constexpr uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  return a + b < a ? std::numeric_limits<uint64_t>::max() : a + b;
}

struct FilesystemSpace {
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;       // for the superuser
  uint64_t available_bytes = 0;  // for everyone
  uint64_t inodes = 0;           // 0 if the filesystem has no fixed number
  uint64_t free_inodes = 0;

  uint64_t UsedBytes() const { return bytes - std::min(bytes, free_bytes); }
  // Without the space that is reserved for the superuser, as df counts.
  uint64_t UsableBytes() const {
    return SaturatedSum(UsedBytes(), available_bytes);
  }
};

// Returns std::nullopt if the filesystem cannot be asked. May block without
// end. Thread-safe.
using AskForSpace =
    std::function<std::optional<FilesystemSpace>(const std::string& path)>;

// Asks the kernel, by statvfs.
std::optional<FilesystemSpace> SpaceOf(const std::string& path);

// The probe of one filesystem. Its state is guarded by the SpaceProbes that it
// is used with.
struct SpaceProbe {
  std::string path;         // does not change
  bool is_open = false;     // asked, but not answered
  bool is_awaited = false;  // by a call of Ask
  bool is_prompt = true;    // answers within the patience
  bool has_answer = false;  // not yet returned
  std::optional<FilesystemSpace> answer;
};

// Threads that ask. One thread is enough while all filesystems answer; each
// that hangs keeps one, up to a maximum. Then the other questions wait, and
// also while the system starts no thread. Thread-compatible. The threads may
// outlive the object.
class SpaceProbes {
 public:
  SpaceProbes(AskForSpace ask, size_t max_threads, absl::Duration patience);
  ~SpaceProbes();
  SpaceProbes(const SpaceProbes&) = delete;
  SpaceProbes& operator=(const SpaceProbes&) = delete;

  // Asks the filesystems that have no open question, and waits until all
  // answered that usually do, at most for the patience.
  void Ask(absl::Span<const std::shared_ptr<SpaceProbe>> probes);

  // Returns the answer that came since the last call, which may belong to an
  // earlier question.
  std::optional<FilesystemSpace> TakeAnswer(SpaceProbe* probe);

 private:
  class Threads;
  const std::shared_ptr<Threads> threads_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_SPACE_PROBES_H_
