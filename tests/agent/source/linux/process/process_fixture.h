// Processes of a Linux machine made of files.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_PROCESS_PROCESS_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_PROCESS_PROCESS_FIXTURE_H_

#include <cstdint>
#include <string>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::testing {

inline constexpr char kProcesses[] = "Process V2";

class ProcessFixture : public LinuxFixture {
 protected:
  static constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD

  // The fields of /proc/PID/stat that tests set.
  struct Stat {
    std::string name = "cat";
    uint64_t flags = 0x00400000;
    uint64_t user_jiffies = 0;
    uint64_t system_jiffies = 0;
    uint64_t start_jiffies = 1000;
    uint64_t threads = 1;
    uint32_t parent = 77;
    // The times of children that it has waited for.
    uint64_t children_user_jiffies = 0;
    uint64_t children_system_jiffies = 0;
    char state = 'S';
  };

  ProcessFixture() { Write("proc/uptime", "500.25 1.00\n"); }

  // All other fields have numbers that no counter shows.
  static std::string StatLine(uint32_t pid, const Stat& stat) {
    return absl::StrCat(pid, " (", stat.name, ") ", std::string(1, stat.state),
                        " ", stat.parent, " 78 79 80 -1 ", stat.flags,
                        // faults: minor, of children, major, of children
                        " 0 111 0 222 ", stat.user_jiffies, " ",
                        stat.system_jiffies, " ", stat.children_user_jiffies,
                        " ", stat.children_system_jiffies,
                        // priority, nice
                        " 20 0 ", stat.threads, " 0 ", stat.start_jiffies,
                        // sizes, limit, addresses
                        " 0 0 18446744073709551615 1 2 3 4 5 0 0 0 0\n");
  }
  void WriteProcess(uint32_t pid, const Stat& stat) {
    Write(absl::StrCat("proc/", pid, "/stat"), StatLine(pid, stat));
  }
  void WriteFile(uint32_t pid, absl::string_view file, absl::string_view text) {
    Write(absl::StrCat("proc/", pid, "/", file), text);
  }
  void Link(const std::string& target, const std::string& path) {
    std::filesystem::create_directories(
        std::filesystem::path(PathOf(path)).parent_path());
    std::filesystem::create_symlink(target, PathOf(path));
  }
  void EndProcess(uint32_t pid) { Remove(absl::StrCat("proc/", pid)); }
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_PROCESS_PROCESS_FIXTURE_H_
