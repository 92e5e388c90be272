// The cost of a tick of each counterset on this Linux machine, with many
// processes.
//
//   linux_collect [PROCESSES]
//
// PROCESSES (1000) idle processes are added to those of the machine. The
// baseline reads /proc/PID/stat of every process and discards it. The last
// column is the ratio to the floor of countersets with few values in a file:
// one read of each of their files, which stay open.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/collect/plan.h"
#include "agent/collect/registrations.h"
#include "agent/source/linux/linux_source.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_list.h"
#include "base/os/os.h"
#include "perflib/block_reader.h"
#include "tests/bench/measure.h"

namespace fleetperf::bench {
namespace {

constexpr int kRounds = 5;
constexpr int kTicks = 10;

// They end with this object.
class IdleProcesses {
 public:
  explicit IdleProcesses(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid < 0) break;  // a limit
      if (pid == 0) {
        for (;;) pause();
      }
      pids_.push_back(pid);
    }
  }
  ~IdleProcesses() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  IdleProcesses(const IdleProcesses&) = delete;
  IdleProcesses& operator=(const IdleProcesses&) = delete;

  size_t size() const { return pids_.size(); }

 private:
  std::vector<pid_t> pids_;
};

// The queries of a tick.
struct Subject {
  Subject(std::string title, std::unique_ptr<agent::QueryHandle> queries)
      : name(std::move(title)), handle(std::move(queries)) {}

  std::string name;
  std::unique_ptr<agent::QueryHandle> handle;
  std::string block;
};

using Registrations = std::vector<perflib::CountersetRegistration>;

// Appends identifiers of the counters of a counterset that are in `names`, of
// all if there are none.
void AddIdentifiers(const perflib::CountersetRegistration& registration,
                    const std::vector<std::string>& names,
                    std::vector<perflib::CounterIdentifier>* identifiers) {
  perflib::CounterIdentifier identifier = {
      .counterset = registration.guid,
      .counter_id = perflib::kWildcardCounter,
      .instance = registration.HasInstances() ? "*" : ""};
  if (names.empty()) identifiers->push_back(identifier);
  for (const auto& counter : registration.counters) {
    if (std::find(names.begin(), names.end(), counter.name) == names.end()) {
      continue;
    }
    identifier.counter_id = counter.counter_id;
    identifiers->push_back(identifier);
  }
}

// Each counterset with all counters but the ones that a plan must name.
void AddCountersets(agent::Source& source, const Registrations& registrations,
                    std::vector<std::unique_ptr<Subject>>* subjects) {
  for (const auto& registration : registrations) {
    std::vector<perflib::CounterIdentifier> identifiers;
    AddIdentifiers(registration, {}, &identifiers);
    subjects->push_back(std::make_unique<Subject>(
        registration.name, source.OpenQueryHandle().value()));
    (void)subjects->back()->handle->AddCounters(&identifiers);
  }
}

// The default plan's queries of one interval, without the agent's own counters.
void AddDefaultPlan(agent::Source& source, const Registrations& registrations,
                    absl::Duration interval,
                    std::vector<std::unique_ptr<Subject>>* subjects) {
  std::vector<perflib::CounterIdentifier> identifiers;
  for (const PlannedQuery& query : agent::DefaultPlan().queries) {
    if (query.interval != interval) continue;
    for (const auto& registration : registrations) {
      if (registration.name != query.counterset) continue;
      AddIdentifiers(registration, query.counters, &identifiers);
    }
  }
  subjects->push_back(std::make_unique<Subject>(
      absl::StrCat("default plan, ", absl::FormatDuration(interval)),
      source.OpenQueryHandle().value()));
  (void)subjects->back()->handle->AddCounters(&identifiers);
}

// The files whose values a counterset shows at every tick.
struct Floor {
  absl::string_view counterset;
  std::vector<std::string> paths;
  std::vector<int> descriptors = {};
};

// Returns the paths of this process's open files in a directory.
std::vector<std::string> OpenFilesIn(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    std::string path = std::filesystem::read_symlink(entry, ignored).string();
    if (absl::StartsWith(path, directory)) paths.push_back(std::move(path));
  }
  return paths;
}

// To be called after a tick, which opens the files of the cgroups.
std::vector<Floor> OpenFloors() {
  std::vector<Floor> floors = {
      {"Linux Cgroup", OpenFilesIn("/sys/fs/cgroup/")},
      {"Linux Pressure",
       {"/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"}},
      {"Linux Socket", {"/proc/net/sockstat", "/proc/net/sockstat6"}},
      {"Linux Conntrack",
       {"/proc/sys/net/netfilter/nf_conntrack_count",
        "/proc/net/stat/nf_conntrack"}},
      {"Memory", {"/proc/meminfo", "/proc/vmstat"}},
      {"Linux Memory", {"/proc/meminfo", "/proc/vmstat"}},
      {"NUMA Node Memory",
       {"/sys/devices/system/node/node0/meminfo",
        "/sys/devices/system/node/node0/numastat"}},
      {"PhysicalDisk", {"/proc/diskstats"}},
  };
  for (Floor& floor : floors) {
    for (const std::string& path : floor.paths) {
      const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (descriptor >= 0) floor.descriptors.push_back(descriptor);
    }
  }
  return floors;  // open until the end of the process
}

void ReadFloor(const Floor& floor) {
  static char buffer[16384];
  for (const int descriptor : floor.descriptors) {
    Keep(pread(descriptor, buffer, sizeof(buffer), 0));
  }
}

size_t ValuesIn(const std::string& bytes) {
  perflib::ParsedBlock block;
  perflib::ReadBlock(bytes, &block);
  size_t values = 0;
  for (const perflib::QueryResult& result : block.results) {
    for (const uint32_t size : block.ValueSizes(result)) values += size != 0;
  }
  return values;
}

void ReadStats() {
  std::vector<uint32_t> pids;
  (void)agent::ListProcesses("/proc", &pids);
  std::string buffer;
  for (const uint32_t pid : pids) {
    agent::ProcFile file(absl::StrCat("/proc/", pid, "/stat"),
                         agent::ProcFile::Kind::kSmall);
    Keep(file.Read(&buffer).ok());
  }
}

void Run(int processes) {
  RaiseOpenFileLimit();
  const IdleProcesses idle(processes);
  const auto source = agent::MakeLinuxSource({.max_open_files = 8192});
  std::vector<std::string> warnings;
  const auto registrations = agent::LoadRegistrations(
      *source, {}, std::atomic<bool>(false), &warnings);
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const int seconds : {1, 10}) {
    AddDefaultPlan(*source, *registrations, absl::Seconds(seconds), &subjects);
  }
  AddCountersets(*source, *registrations, &subjects);
  std::vector<Candidate> candidates = {{"stat of all processes", ReadStats}};
  for (const auto& subject : subjects) {
    candidates.push_back({subject->name, [&subject] {
                            (void)subject->handle->QueryCounterData(
                                &subject->block);
                          }});
  }
  for (const Candidate& candidate : candidates) candidate.run();
  const std::vector<Floor> floors = OpenFloors();
  for (const Floor& floor : floors) {
    candidates.push_back(
        {std::string(floor.counterset), [&floor] { ReadFloor(floor); }});
  }
  Measure(kRounds, kTicks, &candidates);

  std::printf("%zu idle processes more, CPU time of a tick:\n", idle.size());
  std::printf("%-26s %10s %10s %10s %10s\n", "", "us", "values", "ns/value",
              "floors");
  std::printf("%-26s %10.1f\n", candidates[0].name.c_str(),
              candidates[0].nanos / 1e3);
  for (size_t i = 0; i < subjects.size(); ++i) {
    const double nanos = candidates[i + 1].nanos;
    const size_t values = ValuesIn(subjects[i]->block);
    std::printf("%-26s %10.1f %10zu", subjects[i]->name.c_str(), nanos / 1e3,
                values);
    if (values > 0) std::printf(" %10.0f", nanos / static_cast<double>(values));
    for (size_t j = subjects.size() + 1; j < candidates.size(); ++j) {
      if (candidates[j].name != subjects[i]->name) continue;
      std::printf(" %10.1f", nanos / candidates[j].nanos);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Run(argc > 1 ? std::atoi(argv[1]) : 1000);
}
