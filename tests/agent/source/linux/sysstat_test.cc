// Compares countersets with what mpstat, iostat, pidstat and sar say about this
// machine in the same seconds. Skipped without them; `deploy/install-deps
// references` unpacks all but sar, which works only if sysstat is installed.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kKib;
using testing::Reading;

// Returns the path of a program of sysstat, or "".
std::string SysstatProgram(const std::string& name) {
  const char* home = std::getenv("HOME");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  for (const std::string& directory :
       {std::string(), cache != nullptr
                           ? absl::StrCat(cache, "/fleetperf/peers/sysstat")
                           : absl::StrCat(home == nullptr ? "" : home,
                                          "/.cache/fleetperf/peers/sysstat")}) {
    std::string path = directory + "/usr/bin/" + name;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

class SysstatTest : public testing::LinuxFixture {
 protected:
  // The tools start within the counters' window and end before it does. On a
  // busy machine the windows can differ by much, so that a comparison is tried
  // again.
  static constexpr int kAttempts = 10;

  SysstatTest() {
    for (const std::string directory : {"proc", "sys"}) {
      std::filesystem::create_directory_symlink("/" + directory,
                                                PathOf(directory));
    }
  }

  // Returns what the program prints.
  std::string Run(const std::string& program, const std::string& arguments) {
    const std::string path = SysstatProgram(program);
    if (path.empty()) return "";
    FILE* pipe = popen(("LC_ALL=C " + path + " " + arguments).c_str(), "r");
    std::string output;
    char buffer[4096];
    while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe)) {
      output.append(buffer, bytes);
    }
    pclose(pipe);
    return output;
  }
  // Returns a list of the first report.
  static nlohmann::json List(const std::string& output,
                             const std::string& name) {
    return nlohmann::json::parse(
        output)["sysstat"]["hosts"][0]["statistics"][0][name];
  }
  Reading SampleNow(const std::string& counterset) {
    clock_.Advance(absl::Seconds(1));  // each sample is a tick of its own
    return Sample(counterset);
  }
};

bool IsClose(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance;
}

// Percentages of the time that the kernel accounts to the processor.
TEST_F(SysstatTest, ProcessorTimesAgreeWithMpstat) {
  if (SysstatProgram("mpstat").empty()) GTEST_SKIP() << "no mpstat";
  const std::pair<const char*, std::vector<const char*>> kTimes[] = {
      {"% User Time", {"usr", "nice", "guest", "gnice"}},
      {"% Privileged Time", {"sys", "irq", "soft"}},
      {"% Idle Time", {"idle", "iowait"}},
      {"% Steal Time", {"steal"}}};
  constexpr double kTolerance = 5;
  std::string differences;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    differences.clear();
    const Reading before = SampleNow("Processor");
    const std::string output = Run("mpstat", "-P ALL -o JSON 2 1");
    const Reading after = SampleNow("Processor");
    const nlohmann::json lines = List(output, "cpu-load");
    EXPECT_EQ(lines.size(), after.names.size());  // all, or _Total
    for (const auto& line : lines) {
      const std::string cpu = line["cpu"];
      if (cpu == "all") continue;
      const auto growth = [&](const char* counter) {
        return static_cast<double>(*after.Get(cpu, counter) -
                                   *before.Get(cpu, counter));
      };
      double whole = 0;
      for (const auto& time : kTimes) whole += growth(time.first);
      for (const auto& [counter, columns] : kTimes) {
        double theirs = 0;
        for (const char* column : columns) theirs += line[column].get<double>();
        const double ours = 100 * growth(counter) / whole;
        if (IsClose(ours, theirs, kTolerance)) continue;
        absl::StrAppend(&differences, cpu, " ", counter, ": ", ours,
                        ", mpstat ", theirs, "\n");
      }
    }
    if (differences.empty()) return;
  }
  FAIL() << differences;
}

// The first report has the totals since the start.
TEST_F(SysstatTest, DiskTotalsAgreeWithIostat) {
  if (SysstatProgram("iostat").empty()) GTEST_SKIP() << "no iostat";
  const Reading before = SampleNow("PhysicalDisk");
  const std::string output = Run("iostat", "-d -k -o JSON");
  const Reading after = SampleNow("PhysicalDisk");
  size_t disks = 0;
  const nlohmann::json lines = List(output, "disk");
  for (const auto& line : lines) {
    const std::string disk = line["disk_device"];
    if (before.rows.count(disk) == 0) continue;  // a device mapper or loop
    ++disks;
    const std::pair<const char*, const char*> kBytes[] = {
        {"Disk Read Bytes/sec", "kB_read"},
        {"Disk Write Bytes/sec", "kB_wrtn"}};
    for (const auto& [counter, column] : kBytes) {
      const uint64_t kib = line[column];
      EXPECT_GE(kib, *before.Get(disk, counter) / kKib) << disk << counter;
      EXPECT_LE(kib, *after.Get(disk, counter) / kKib) << disk << counter;
    }
  }
  // iostat leaves out those never used.
  if (disks == 0) GTEST_SKIP() << "no whole disk in use";
}

TEST_F(SysstatTest, ProcessAgreesWithPidstat) {
  if (SysstatProgram("pidstat").empty()) GTEST_SKIP() << "no pidstat";
  // Always busy.
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) getppid();
  }
  const absl::Cleanup end_child = [child] {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  };
  const std::string suffix = absl::StrCat(":", child);
  const auto row = [&](const Reading& reading) {
    for (const auto& [name, values] : reading.rows) {
      if (absl::EndsWith(name, suffix)) return values;
    }
    return testing::Values();
  };
  std::string difference = "pidstat says nothing";
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const testing::Values before = row(SampleNow("Process V2"));
    const std::string output =
        Run("pidstat", absl::StrCat("-u -r -h -H -p ", child, " 2 1"));
    const testing::Values after = row(SampleNow("Process V2"));
    // Time UID PID %usr %system %guest %wait %CPU CPU minflt/s majflt/s VSZ RSS
    const std::vector<std::string> lines =
        absl::StrSplit(output, '\n', absl::SkipEmpty());
    if (lines.empty()) continue;
    const std::vector<std::string> words =
        absl::StrSplit(lines.back(), ' ', absl::SkipEmpty());
    double percent = 0;
    uint64_t kib = 0;
    if (words.size() < 13 || !absl::SimpleAtod(words[7], &percent) ||
        !absl::SimpleAtoi(words[11], &kib)) {
      continue;
    }
    EXPECT_EQ(after.at("Virtual Bytes"), kib * kKib);
    const double jiffies = static_cast<double>(after.at("% Processor Time") -
                                               before.at("% Processor Time")) /
                           static_cast<double>(kJiffy);
    // Of two seconds, 100 jiffies each. The counter's window is longer.
    if (jiffies >= percent * 2 - 2 && jiffies <= percent * 2 + 20) {
      difference.clear();
      break;
    }
    difference = absl::StrCat(jiffies, " jiffies, pidstat ", percent, " %");
  }
  EXPECT_EQ(difference, "");
}

// Columns of sar -n DEV: the time, the interface, rxpck/s, txpck/s, rxkB/s,
// txkB/s.
TEST_F(SysstatTest, InterfacesAgreeWithSar) {
  if (SysstatProgram("sar").empty()) GTEST_SKIP() << "no sar";
  std::string differences;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    differences.clear();
    const Reading before = SampleNow("Network Interface");
    const std::string output = Run("sar", "-n DEV 2 1");
    const Reading after = SampleNow("Network Interface");
    size_t compared = 0;
    for (const absl::string_view line : absl::StrSplit(output, '\n')) {
      const std::vector<std::string> words =
          absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() < 6 || words[0] == "Average:") continue;
      double kib_per_second = 0;
      if (after.rows.count(words[1]) == 0 ||
          !absl::SimpleAtod(words[4], &kib_per_second)) {
        continue;
      }
      ++compared;
      const std::string counter = "Bytes Received/sec";
      const double ours = static_cast<double>(*after.Get(words[1], counter) -
                                              *before.Get(words[1], counter));
      const double theirs = kib_per_second * 2 * kKib;
      if (theirs > ours + 2 * kKib || theirs < ours * 0.8 - 16 * kKib) {
        absl::StrAppend(&differences, words[1], ": ", ours, " bytes, sar ",
                        theirs, "\n");
      }
    }
    if (compared == 0) differences = "sar shows no interface: " + output;
    if (differences.empty()) return;
  }
  FAIL() << differences;
}

}  // namespace
}  // namespace fleetperf::agent
