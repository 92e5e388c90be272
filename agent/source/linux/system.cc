#include "agent/source/linux/system.h"

#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/process_list.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "agent/source/linux/uptime.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kContextSwitchesPerSec,
  kProcesses,
  kThreads,
  kProcessorQueueLength,
  kSystemUpTime,
  kUptimeClock,
  kUptimeFrequency,
  kProcessesCreatedPerSec,
  kProcessesBlocked,
  kLoadAverage1,
  kLoadAverage5,
  kLoadAverage15,
  kNumColumns
};

constexpr uint32_t kClockId = kFirstLinuxCounterId + 100;
constexpr uint32_t kFrequencyId = kFirstLinuxCounterId + 101;
constexpr int32_t kLoadScale = -2;  // /proc/loadavg has two decimals

constexpr CounterSpec kCounters[] = {
    {0, kPerfCounterCounter, "Context Switches/sec",
     "Switches of all processors from one thread to another."},
    {1, kPerfCounterRawcount, "Processes", "Processes that exist."},
    {2, kPerfCounterRawcount, "Threads", "Threads that exist."},
    {3, kPerfCounterRawcount, "Processor Queue Length",
     "Threads that are ready to run, less one for each processor."},
    {4, kPerfElapsedTime, "System Up Time", "Time since the last start.",
     kNoCounter, kClockId, kFrequencyId},
    {kClockId, kPerfCounterLargeRawcount, "", ""},
    {kFrequencyId, kPerfCounterLargeRawcount, "", ""},
    {kFirstLinuxCounterId + 0, kPerfCounterCounter, "Processes Created/sec",
     "Processes and threads that were started."},
    {kFirstLinuxCounterId + 1, kPerfCounterRawcount, "Processes Blocked",
     "Threads that wait for I/O and cannot be interrupted."},
    {kFirstLinuxCounterId + 2, kPerfCounterRawcount, "Load Average 1 Minute",
     "Threads running or waiting for a processor or a disk, averaged over a "
     "minute.",
     kNoCounter, kNoCounter, kNoCounter, kLoadScale},
    {kFirstLinuxCounterId + 3, kPerfCounterRawcount, "Load Average 5 Minutes",
     "The same, averaged over five minutes.", kNoCounter, kNoCounter,
     kNoCounter, kLoadScale},
    {kFirstLinuxCounterId + 4, kPerfCounterRawcount, "Load Average 15 Minutes",
     "The same, averaged over fifteen minutes.", kNoCounter, kNoCounter,
     kNoCounter, kLoadScale},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kStatColumns =
    Bit(kContextSwitchesPerSec) | Bit(kProcessorQueueLength) |
    Bit(kProcessesCreatedPerSec) | Bit(kProcessesBlocked);
constexpr ColumnSet kLoadColumns = Bit(kThreads) | Bit(kLoadAverage1) |
                                   Bit(kLoadAverage5) | Bit(kLoadAverage15);
constexpr ColumnSet kUptimeColumns =
    Bit(kSystemUpTime) | Bit(kUptimeClock) | Bit(kUptimeFrequency);

// Parses "0.29" as 29.
uint64_t NextHundredths(absl::string_view* text) {
  const uint64_t whole = NumberOrZero(text);
  if (!text->empty() && text->front() == '.') text->remove_prefix(1);
  return whole * 100 + NumberOrZero(text);
}

}  // namespace

System::System(const std::string& root)
    : Provider(MakeRegistration("{e230de28-3a98-59c7-93c5-bf691d2085ad}",
                                "System", "The machine as a whole.",
                                kCountersetSingleInstance, kCounters)),
      root_(root),
      stat_(root + "/proc/stat"),
      load_average_(root + "/proc/loadavg", ProcFile::Kind::kSmall),
      uptime_(root + "/proc/uptime", ProcFile::Kind::kSmall) {}

absl::Status System::Sample(ColumnSet needed, const Clocks&,
                            CountersetSample* sample) {
  sample->AddInstance("", 0);
  if ((needed & kStatColumns) != 0) RETURN_IF_ERROR(ReadStat(sample));
  if ((needed & kLoadColumns) != 0) RETURN_IF_ERROR(ReadLoadAverage(sample));
  if ((needed & kUptimeColumns) != 0) RETURN_IF_ERROR(ReadUptime(sample));
  if (Has(needed, kProcesses)) RETURN_IF_ERROR(CountProcesses(sample));
  return absl::OkStatus();
}

absl::Status System::ReadStat(CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, stat_.Read(&buffer_));
  uint64_t cpus = 0;
  uint64_t running = 0;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    const absl::string_view key = NextWord(&line);
    if (absl::StartsWith(key, "cpu") && key.size() > 3) {
      ++cpus;
    } else if (key == "ctxt") {
      sample->Set(kContextSwitchesPerSec, NumberOrZero(&line));
    } else if (key == "processes") {
      sample->Set(kProcessesCreatedPerSec, NumberOrZero(&line));
    } else if (key == "procs_running") {
      running = NumberOrZero(&line);
    } else if (key == "procs_blocked") {
      sample->Set(kProcessesBlocked, NumberOrZero(&line));
    }
  }
  sample->Set(kProcessorQueueLength, running > cpus ? running - cpus : 0);
  return absl::OkStatus();
}

// Parses "0.29 0.13 0.05 1/74 2352": three averages, then running/all threads.
absl::Status System::ReadLoadAverage(CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, load_average_.Read(&buffer_));
  for (const Column column : {kLoadAverage1, kLoadAverage5, kLoadAverage15}) {
    sample->Set(column, NextHundredths(&text));
  }
  NumberOrZero(&text);
  if (!text.empty()) text.remove_prefix(1);
  sample->Set(kThreads, NumberOrZero(&text));
  return absl::OkStatus();
}

absl::Status System::ReadUptime(CountersetSample* sample) {
  ASSIGN_OR_RETURN(const absl::string_view text, uptime_.Read(&buffer_));
  sample->Set(kSystemUpTime, 0);  // the start time on the clock set below
  sample->Set(kUptimeClock, Uptime100NSec(text));
  sample->Set(kUptimeFrequency, k100NSecPerSecond);
  return absl::OkStatus();
}

absl::Status System::CountProcesses(CountersetSample* sample) {
  std::vector<uint32_t> pids;
  RETURN_IF_ERROR(ListProcesses(root_ + "/proc", &pids));
  sample->Set(kProcesses, pids.size());
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
