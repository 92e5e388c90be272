// Every counter of the machine as a whole and of its filesystems, compared with
// this machine's files, adjtimex() and statvfs(), and with recorded trees.

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "agent/source/linux/system/clock_discipline.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::MachineFiles;
using testing::NumberIn;
using testing::Reading;
using testing::WordList;

// The number of processors in a list such as "0-3,6".
uint64_t SizeOfList(const std::string& list) {
  uint64_t size = 0;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    size += *NumberIn(ends.back()) - *NumberIn(ends.front()) + 1;
  }
  return size;
}

void AddProcessors(const MachineFiles& files, Fields* fields) {
  const std::string directory = "sys/devices/system/cpu/";
  const WordList online = files.Line(directory + "online");
  const WordList present = files.Line(directory + "present");
  if (online.empty()) return;
  (*fields)["online"] = SizeOfList(online[0]);
  if (present.empty()) return;
  (*fields)["offline"] = SizeOfList(present[0]) - SizeOfList(online[0]);
}

// "0.29" is 29.
uint64_t Hundredths(const std::string& word) {
  return *NumberIn(absl::StrReplaceAll(word, {{".", ""}}));
}

// Three averages, the threads that run and all threads: 0.29 0.13 0.05 1/74 52.
void AddLoad(const MachineFiles& files, Fields* fields) {
  const WordList words = files.Line("proc/loadavg");
  if (words.size() < 4) return;
  (*fields)["load 1"] = Hundredths(words[0]);
  (*fields)["load 5"] = Hundredths(words[1]);
  (*fields)["load 15"] = Hundredths(words[2]);
  const std::vector<absl::string_view> threads = absl::StrSplit(words[3], '/');
  (*fields)["threads"] = *NumberIn(threads.back());
}

// The kernel's sysctl/fs.rst.
void AddTables(const MachineFiles& files, Fields* fields) {
  const auto add = [&](const std::string& file, size_t position,
                       const std::string& name) {
    const WordList words = files.Line("proc/sys/fs/" + file);
    if (position < words.size()) (*fields)[name] = *NumberIn(words[position]);
  };
  add("file-nr", 0, "files");
  add("file-nr", 2, "files limit");
  add("inode-nr", 0, "inodes");
  add("inode-nr", 1, "inodes free");
  add("dentry-state", 0, "dentries");
  add("dentry-state", 1, "dentries unused");
  add("dentry-state", 4, "dentries negative");
}

// The threads that run, or could, and the idle processors' number is less.
void AddQueue(const MachineFiles& files, Fields* fields) {
  uint64_t processors = 0;
  for (const WordList& words : files.Lines("proc/stat")) {
    if (absl::StartsWith(words.at(0), "cpu") && words[0] != "cpu") ++processors;
  }
  const uint64_t running = (*fields)["procs_running"];
  (*fields)["queue"] = running - std::min(running, processors);
}

uint64_t CountProcesses(const MachineFiles& files) {
  const WordList names = files.Names("proc");
  return static_cast<uint64_t>(std::count_if(
      names.begin(), names.end(),
      [](const std::string& name) { return NumberIn(name).has_value(); }));
}

// adjtimex(2). Some containers do not allow it.
void AddClock(Fields* fields) {
  timex clock = {};
  const int state = adjtimex(&clock);
  if (state < 0) return;
  const bool is_in_ns = (clock.status & STA_NANO) != 0;
  const bool is_unsynchronized = (clock.status & STA_UNSYNC) != 0;
  (*fields)["synchronized"] = state != TIME_ERROR && !is_unsynchronized;
  (*fields)["offset"] =
      static_cast<uint64_t>(std::labs(clock.offset) / (is_in_ns ? 1000 : 1));
  (*fields)["esterror"] = static_cast<uint64_t>(clock.esterror);
  (*fields)["maxerror"] = static_cast<uint64_t>(clock.maxerror);
}

FieldsByInstance ReadSystem(const MachineFiles& files) {
  Fields fields;
  files.AddNumbers("proc/stat", &fields);
  AddQueue(files, &fields);
  AddLoad(files, &fields);
  AddTables(files, &fields);
  AddProcessors(files, &fields);
  fields["directories"] = CountProcesses(files);
  const WordList uptime = files.Line("proc/uptime");
  if (!uptime.empty()) fields["uptime"] = Hundredths(uptime[0]);
  // An elapsed time is that since the start, on a clock with a frequency.
  fields["start"] = 0;
  fields["frequency"] = 10'000'000;
  return {{"", fields}};
}

CountersetFormulas SystemFormulas() {
  constexpr uint64_t kHundredth = 100'000;  // of a second, in 100 ns
  return {
      .counterset = "System",
      .counters = {{"Context Switches/sec", {"ctxt"}},
                   {"Processes", {"directories"}},
                   {"Threads", {"threads"}},
                   {"Processor Queue Length", {"queue"}},
                   {"System Up Time", {"start"}},
                   {"id:1100", {"uptime"}, kHundredth},
                   {"id:1101", {"frequency"}},
                   {"Processes Created/sec", {"processes"}},
                   {"Processes Blocked", {"procs_blocked"}},
                   {"Load Average 1 Minute", {"load 1"}},
                   {"Load Average 5 Minutes", {"load 5"}},
                   {"Load Average 15 Minutes", {"load 15"}},
                   {"Processes Running", {"procs_running"}},
                   {"Files Open", {"files"}},
                   {"Files Open Limit", {"files limit"}},
                   {"% Files Open Of Limit", {"files"}},
                   {"id:1102", {"files limit"}},  // of which it is a percentage
                   {"Inodes", {"inodes"}},
                   {"Inodes Free", {"inodes free"}},
                   {"Directory Entries", {"dentries"}},
                   {"Directory Entries Unused", {"dentries unused"}},
                   {"Directory Entries Negative", {"dentries negative"}},
                   {"Processors Online", {"online"}},
                   {"Processors Offline", {"offline"}},
                   {"Clock Synchronized", {"synchronized"}},
                   {"Clock Offset", {"offset"}},
                   {"Clock Estimated Error", {"esterror"}},
                   {"Clock Maximum Error", {"maxerror"}}},
      .read = ReadSystem,
  };
}

// The kernel's psi.rst. Lines: some avg10=0.00 avg60=0.00 avg300=0.00 total=5.
FieldsByInstance ReadPressure(const MachineFiles& files) {
  FieldsByInstance resources;
  for (const char* resource : {"cpu", "memory", "io", "irq"}) {
    for (const WordList& words :
         files.Lines(absl::StrCat("proc/pressure/", resource))) {
      // "CPU full is undefined at the system level": it is 0.
      if (absl::string_view(resource) == "cpu" && words[0] == "full") continue;
      const std::pair<std::string, std::string> total =
          absl::StrSplit(words.back(), absl::MaxSplits('=', 1));
      resources[resource][words[0]] = NumberIn(total.second).value();
    }
  }
  return resources;
}

CountersetFormulas LinuxPressureFormulas() {
  constexpr uint64_t kMicrosecond = 10;  // in units of 100 ns
  return {.counterset = "Linux Pressure",
          .counters = {{"% Some Stall Time", {"some"}, kMicrosecond},
                       {"% Full Stall Time", {"full"}, kMicrosecond}},
          .read = ReadPressure};
}

class SystemOfThisMachineTest : public testing::EveryCounterFixture {};

TEST_F(SystemOfThisMachineTest, System) {
  UseThisMachine();
  CountersetFormulas formulas = SystemFormulas();
  formulas.read = [this](const MachineFiles& files) {
    FieldsByInstance machine = ReadSystem(files);
    AddClock(&machine[""]);
    // The fixture replaces the agent's reading by a value of its own.
    clock_discipline_ = ReadClockDiscipline();
    return machine;
  };
  ExpectEveryCounter(formulas);
}

TEST_F(SystemOfThisMachineTest, LinuxPressure) {
  UseThisMachine();
  ExpectEveryCounter(LinuxPressureFormulas());
}

// Returns the options of the filesystem that is mounted there, "rw" or "ro"
// first. Lines of mountinfo: six words, optional ones, "-", the type, the
// source, the options. The last mount is on top.
std::string OptionsOf(const MachineFiles& files, const std::string& path) {
  std::string options;
  for (const std::string& line : files.Text("proc/self/mountinfo")) {
    const WordList words = absl::StrSplit(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.end() - dash < 4 || words.size() < 5) continue;
    // The kernel writes a space as its octal code.
    if (absl::StrReplaceAll(words[4], {{"\\040", " "}}) == path) {
      options = dash[3];
    }
  }
  return options;
}

// The kernel's sysfs-fs-ext4: the errors of a filesystem by its device.
std::string ErrorFileOf(dev_t device) {
  std::error_code none;
  const std::string link =
      absl::StrCat("/sys/dev/block/", major(device), ":", minor(device));
  const std::filesystem::path target =
      std::filesystem::read_symlink(link, none);
  return absl::StrCat("sys/fs/ext4/", target.filename().string(),
                      "/errors_count");
}

Fields ReadFilesystem(const MachineFiles& files, const std::string& path) {
  Fields fields;
  struct statvfs space;
  if (statvfs(path.c_str(), &space) != 0) return fields;
  const uint64_t used = space.f_blocks - space.f_bfree;
  fields["size"] = space.f_blocks * space.f_frsize;
  fields["used"] = used * space.f_frsize;
  fields["free"] = space.f_bfree * space.f_frsize;
  fields["available"] = space.f_bavail * space.f_frsize;
  if (space.f_files != 0) {
    fields["inodes"] = space.f_files;
    fields["inodes free"] = space.f_ffree;
    fields["inodes used"] = space.f_files - space.f_ffree;
  }
  fields["read only"] = absl::StartsWith(OptionsOf(files, path), "ro");
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    files.AddNumber(ErrorFileOf(status.st_dev), "errors", &fields);
  }
  return fields;
}

CountersetFormulas LinuxFilesystemFormulas() {
  return {.counterset = "Linux Filesystem",
          .counters = {{"Size Bytes", {"size"}},
                       {"Used Bytes", {"used"}},
                       {"Free Bytes", {"free"}},
                       {"Available Bytes", {"available"}},
                       {"% Used", {"used"}},
                       {"id:1100", {"used", "available"}},  // as df counts
                       {"Inodes", {"inodes"}},
                       {"Inodes Free", {"inodes free"}},
                       {"% Inodes Used", {"inodes used"}},
                       {"id:1101", {"inodes"}},
                       {"Read Only", {"read only"}},
                       {"Device Errors", {"errors"}}},
          .has_more_instances = true};
}

// All that answer.
TEST_F(SystemOfThisMachineTest, Filesystems) {
  UseThisMachine({"proc/self", "sys", "dev"});
  // Mount points are paths of this machine, not of the tree with the links.
  ask_for_space_ = [root = PathOf("").size() - 1](const std::string& path) {
    return SpaceOf(path.substr(root));
  };
  WordList paths;
  const Reading reading = Sample("Linux Filesystem");
  for (const std::string& path : reading.names) {
    if (reading.Get(path, "Size Bytes").has_value()) paths.push_back(path);
  }
  CountersetFormulas formulas = LinuxFilesystemFormulas();
  formulas.read = [paths](const MachineFiles& files) {
    FieldsByInstance filesystems;
    for (const std::string& path : paths) {
      filesystems[path] = ReadFilesystem(files, path);
    }
    return filesystems;
  };
  ExpectEveryCounter(formulas);
}

class RecordedSystemTest : public testing::RecordedTrees {};

TEST_F(RecordedSystemTest, Pressure) {
  Unpack("pressure-root-002");
  ExpectEveryCounter(LinuxPressureFormulas());
}

// Of open files, inodes and directory entries.
TEST_F(RecordedSystemTest, Tables) {
  Unpack("procsys-root-001");
  CountersetFormulas formulas = SystemFormulas();
  // The tree has none of their files.
  formulas = Without(
      {"Context Switches/sec", "Threads", "Processor Queue Length",
       "System Up Time", "id:1100", "id:1101", "Processes Created/sec",
       "Processes Blocked", "Load Average 1 Minute", "Load Average 5 Minutes",
       "Load Average 15 Minutes", "Processes Running"},
      formulas);
  ExpectEveryCounter(formulas);
}

}  // namespace
}  // namespace fleetperf::agent
