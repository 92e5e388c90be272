// The processes of /proc: their stat lines and the names of their instances.
//
// Invariants:
// - A pid with another start time is another process.
// - At most max_open_files stat files stay open between passes.
// - Finish() forgets processes that the pass did not read.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_READER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_stat.h"
#include "agent/source/linux/process/thread_counts.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// The ways to name a process.
enum class ProcessNaming : uint8_t {
  kNameAndPid,  // nginx:812
  kName,        // nginx
  kCgroup,      // /system.slice/nginx.service/nginx:812
};
inline constexpr size_t kProcessNamings = 3;

// Shared by countersets. Thread-compatible.
class ProcessReader {
 public:
  // `root` is the directory that holds proc: "" on a real machine. Files beyond
  // `max_open_files` are opened on every read, which is slower.
  ProcessReader(std::string root, size_t max_open_files);

  struct Process {
    Process(uint32_t number, std::string stat_path)
        : pid(number), stat(std::move(stat_path), ProcFile::Kind::kSmall) {}

    uint32_t pid;
    ProcFile stat;
    uint64_t identity = 0;   // ProcessIdentity
    std::string name;        // that of the stat line
    std::string whole_name;  // empty until it is needed
    // The names of its instances by naming; empty until they are needed.
    std::array<std::string, kProcessNamings> utf16_names;
    int64_t cgroup_read_at = 0;  // PerfTimeStamp
    ProcessThreadCounts threads;
    uint64_t pass = 0;  // the last pass that read it
  };

  // Lists the processes and returns their number. A pass that follows in the
  // same tick uses this list.
  absl::StatusOr<size_t> Count(const perflib::Clocks& clocks);
  // Whether the last list had the processes of other users: every PID namespace
  // has a process 1, which the mount option hidepid hides.
  bool SeesOthers() const { return !pids_.empty() && pids_.front() == 1; }

  // One pass: Begin, Read for each of pids(), Finish.
  absl::Status Begin(const perflib::Clocks& clocks);
  absl::Span<const uint32_t> pids() const { return pids_; }
  // Returns null if the process has ended. Both results are valid until the
  // next Read.
  Process* Read(uint32_t pid, ProcessStat* stat);
  void Finish();

  // Returns the name of an instance in UTF-16. Valid until the next Read.
  absl::string_view Utf16Name(Process& process, ProcessNaming naming,
                              const perflib::Clocks& clocks);

  bool HasEnded(uint32_t pid);
  std::string PathOf(uint32_t pid, absl::string_view file) const;

 private:
  // Reads the stat line. Forgets another process that had this pid.
  bool ReadLine(Process& process, ProcessStat* stat);
  std::string ReadWholeName(const Process& process);
  std::string CgroupOf(uint32_t pid);

  const std::string root_;
  const size_t max_open_files_;
  std::string buffer_;
  std::vector<uint32_t> pids_;
  std::optional<int64_t> counted_at_;  // PerfTimeStamp, until a pass uses pids_
  absl::flat_hash_map<uint32_t, Process> processes_;  // by pid
  size_t open_files_ = 0;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_READER_H_
