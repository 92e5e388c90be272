#include "agent/source/linux/process/process_countersets.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/process/process_counters.h"
#include "agent/source/linux/units.h"
#include "agent/source/linux/uptime.h"
#include "base/status_macros.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::Clocks;

constexpr uint32_t kKernelProcessId =
    2;  // kthreadd, the kernel threads' parent
// No process has this pid.
constexpr uint32_t kEndedId = 0;

// The counts of reaped_children_.
enum EndedCount { kUser, kSystem, kMinorFaults, kMajorFaults };

// The columns of reaped_io_, in its order.
constexpr ProcessColumn kIoCounts[] = {
    kReadOperationsPerSec, kWriteOperationsPerSec,  kReadBytesPerSec,
    kWriteBytesPerSec,     kStorageReadBytesPerSec, kStorageWriteBytesPerSec};

std::string NameOf(ProcessNaming naming, absl::string_view name, uint32_t pid) {
  switch (naming) {
    case ProcessNaming::kName:
      return std::string(name);
    case ProcessNaming::kNameAndPid:
      return absl::StrCat(name, ":", pid);
    case ProcessNaming::kCgroup:
      return absl::StrCat("/", name, ":", pid);
  }
  return "";
}

// A pattern for all counters names none.
bool Names(const std::string& planned, const perflib::CounterSpec& counter) {
  return (planned != "*" && perflib::Pattern(planned).Matches(counter.name)) ||
         planned == absl::StrCat("id:", counter.id);
}

}  // namespace

constinit const LinuxCounterset ProcessV2::kCounterset = {
    .guid = "{19198372-6c42-5181-88ad-e91e0127bdbc}",
    .name = "Process V2",
    .help = "Processes, as name:pid.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances =
        "`name:pid`, `kthreadd:2` for all kernel threads, `ended:0` "
        "for what processes used after the last tick that saw them, "
        "`_Total`; names that the kernel cut after 15 bytes come from "
        "the command line",
    .counters = kProcessCounters,
};

constinit const LinuxCounterset Process::kCounterset = {
    .guid = "{bea5d626-7d63-50c1-b436-817d0ce5183a}",
    .name = "Process",
    .help = "Processes, as name.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances =
        "as Process V2, without `:pid`; no `Idle`, which is not in "
        "`_Total` either",
    .counters = kProcessCounters,
};

constinit const LinuxCounterset CgroupProcess::kCounterset = {
    .guid = "{638f5545-c356-51c2-beee-cdcb267f854e}",
    .name = "Linux Cgroup Process",
    .help =
        "Processes, as /cgroup/name:pid. The cgroup of a systemd unit ends "
        "with its name.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances =
        "as Process V2, after the cgroup's name in Linux Cgroup and `/`",
    .counters = kProcessCounters,
};

ProcessV2::ProcessV2(const std::string& root,
                     std::shared_ptr<ProcessReader> reader)
    : ProcessCounterset(kCounterset, ProcessNaming::kNameAndPid, root,
                        std::move(reader)) {}

Process::Process(const std::string& root, std::shared_ptr<ProcessReader> reader)
    : ProcessCounterset(kCounterset, ProcessNaming::kName, root,
                        std::move(reader)) {}

CgroupProcess::CgroupProcess(const std::string& root,
                             std::shared_ptr<ProcessReader> reader)
    : ProcessCounterset(kCounterset, ProcessNaming::kCgroup, root,
                        std::move(reader)) {}

ProcessCounterset::ProcessCounterset(const LinuxCounterset& counterset,
                                     ProcessNaming naming,
                                     const std::string& root,
                                     std::shared_ptr<ProcessReader> reader)
    : Provider(MakeRegistration(counterset)),
      naming_(naming),
      reader_(std::move(reader)),
      values_(root, reader_.get()),
      uptime_file_(root + "/proc/uptime", ProcFile::Kind::kSmall),
      kernel_totals_(ProcessTotalKinds(), NewInstance::kStartedAtZero),
      totals_(ProcessTotalKinds(), NewInstance::kStartedAtZero),
      utf16_kernel_name_(
          perflib::Utf16FromUtf8(NameOf(naming, "kthreadd", kKernelProcessId))),
      utf16_ended_name_(
          perflib::Utf16FromUtf8(NameOf(naming, "ended", kEndedId))),
      utf16_total_name_(perflib::Utf16FromUtf8(perflib::kAggregateInstance)) {}

DefinedCounters ProcessCounterset::DefineCounters(
    std::vector<PlannedQuery>* queries) {
  named_ = 0;
  for (const PlannedQuery& query : *queries) {
    if (!IsNamedBy(query)) continue;
    for (const std::string& planned : query.counters) {
      for (size_t column = 0; column < kNumProcessColumns; ++column) {
        if (Has(kExpensiveColumns, column) &&
            Names(planned, kProcessCounters[column].spec)) {
          named_ |= Bit(column);
        }
      }
    }
  }
  return {};
}

absl::Status ProcessCounterset::Sample(ColumnSet needed, const Clocks& clocks,
                                       CountersetSample* sample) {
  RETURN_IF_ERROR(reader_->Begin(clocks));
  const auto uptime = ReadOrNote(uptime_file_, &buffer_, sample);
  uptime_ = uptime.has_value() ? Uptime100NSec(*uptime) : std::nullopt;
  needed_ = needed & (named_ | ~kExpensiveColumns);

  totals_.Begin();
  kernel_totals_.Begin();
  kernel_threads_.Reset(kNumProcessColumns);
  reaped_children_.Begin();
  has_io_ = false;
  if (NeedsIo()) reaped_io_.Begin();
  for (const uint32_t pid : reader_->pids()) AddProcess(pid, clocks, sample);
  reader_->Finish();
  if (sample->rows() == 0 && kernel_threads_.rows() == 0) {
    sample->Note(
        "no file /proc/PID/stat can be read; all processes are absent");
    return absl::OkStatus();
  }
  AddKernelThreads(sample);
  AddEnded(sample);
  AddTotal(sample);
  return absl::OkStatus();
}

void ProcessCounterset::AddProcess(uint32_t pid, const Clocks& clocks,
                                   CountersetSample* sample) {
  ProcessStat stat;
  ProcessReader::Process* process = reader_->Read(pid, &stat);
  if (process == nullptr) return;
  const bool is_kernel_thread = stat.IsKernelThread();
  CountersetSample* rows = is_kernel_thread ? &kernel_threads_ : sample;
  rows->AddInstance(is_kernel_thread
                        ? absl::string_view()
                        : reader_->Utf16Name(*process, naming_, clocks),
                    pid);
  values_.Set(stat, is_kernel_thread ? 0 : needed_, process, rows);
  const size_t row = rows->rows() - 1;
  Totals& totals = is_kernel_thread ? kernel_totals_ : totals_;
  totals.Add(process->identity, rows->Row(row), rows->Present(row));
  if (is_kernel_thread) return;
  SetElapsedTime(stat.start * k100NSecPerJiffy, sample);
  AddToReapedChildren(*process, stat, *sample);
}

void ProcessCounterset::AddToReapedChildren(
    const ProcessReader::Process& process, const ProcessStat& stat,
    const CountersetSample& sample) {
  const ReapedChildren::Process family = {
      .identity = process.identity,
      .parent = static_cast<uint32_t>(stat.parent)};
  ReapedChildren::Process times = family;
  times.own = {stat.user, stat.system, stat.minor_faults, stat.major_faults};
  times.children = {stat.children_user, stat.children_system,
                    stat.children_minor_faults, stat.children_major_faults};
  reaped_children_.Add(process.pid, times);

  const size_t row = sample.rows() - 1;
  const auto is_known = [&](ProcessColumn column) {
    return sample.HasValue(row, column);
  };
  if (!NeedsIo() ||
      !std::all_of(std::begin(kIoCounts), std::end(kIoCounts), is_known)) {
    return;
  }
  has_io_ = true;
  ReapedChildren::Process io = family;
  for (size_t i = 0; i < std::size(kIoCounts); ++i) {
    io.children[i] = sample.Value(row, kIoCounts[i]);
  }
  reaped_io_.Add(process.pid, io);
}

void ProcessCounterset::AddKernelThreads(CountersetSample* sample) {
  if (kernel_threads_.rows() == 0) return;
  sample->AddInstance(utf16_kernel_name_, kKernelProcessId);
  sample->Set(kProcessId, kKernelProcessId);
  SetElapsedTime(0, sample);  // they started with the machine
  kernel_totals_.Finish(sample);
  const size_t row = sample->rows() - 1;
  totals_.Add(kKernelProcessId, sample->Row(row), sample->Present(row));
}

void ProcessCounterset::AddEnded(CountersetSample* sample) {
  const auto has_ended = [this](uint32_t pid) {
    return reader_->HasEnded(pid);
  };
  ended_ += reaped_children_.Finish(has_ended);
  if (NeedsIo()) total_io_ += reaped_io_.Finish(has_ended);
  sample->AddInstance(utf16_ended_name_, kEndedId);
  sample->Set(kProcessorTime,
              (ended_[kUser] + ended_[kSystem]) * k100NSecPerJiffy);
  sample->Set(kUserTime, ended_[kUser] * k100NSecPerJiffy);
  sample->Set(kPrivilegedTime, ended_[kSystem] * k100NSecPerJiffy);
  sample->Set(kPageFaultsPerSec, ended_[kMinorFaults] + ended_[kMajorFaults]);
  sample->Set(kMajorPageFaultsPerSec, ended_[kMajorFaults]);
  const size_t row = sample->rows() - 1;
  totals_.Add(kEndedId, sample->Row(row), sample->Present(row));
}

void ProcessCounterset::AddTotal(CountersetSample* sample) {
  sample->AddInstance(utf16_total_name_, 0);
  for (const ProcessColumn of_none :
       {kPriorityBase, kProcessId, kCreatingProcessId}) {
    sample->Set(of_none, 0);
  }
  SetElapsedTime(0, sample);
  totals_.Finish(sample);
  if (!has_io_) return;
  for (size_t i = 0; i < std::size(kIoCounts); ++i) {
    sample->Set(kIoCounts[i], total_io_[i]);
  }
  const size_t row = sample->rows() - 1;
  sample->Set(kDataOperationsPerSec,
              sample->Value(row, kReadOperationsPerSec) +
                  sample->Value(row, kWriteOperationsPerSec));
  sample->Set(kDataBytesPerSec, sample->Value(row, kReadBytesPerSec) +
                                    sample->Value(row, kWriteBytesPerSec));
}

void ProcessCounterset::SetElapsedTime(uint64_t start,
                                       CountersetSample* sample) const {
  if (!uptime_.has_value()) return;
  sample->Set(kElapsedTime, start);
  sample->Set(kClock, *uptime_);
  sample->Set(kFrequency, k100NSecPerSecond);
}

bool ProcessCounterset::NeedsIo() const { return (needed_ & kIoColumns) != 0; }

}  // namespace fleetperf::agent
