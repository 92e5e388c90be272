#include "driver/perf_event/builder.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/perf_event/attribute_names.h"
#include "driver/perf_event/open_error.h"

namespace fleetperf::perf_event {
namespace {

constexpr int kInvalidCpu = -2;  // the kernel refuses it; -1 is any CPU

}  // namespace

Builder::Builder(Event event, System& system)
    : event_(std::move(event)), system_(&system) {
  attributes_.type = event_.type;
  attributes_.config = event_.config;
  attributes_.config1 = event_.config1;
  attributes_.config2 = event_.config2;
  attributes_.config3 = event_.config3;
  attributes_.breakpoint_type = event_.breakpoint_type;
  attributes_.flags = event_.flags | flag::kDisabled;
  attributes_.read_format =
      read_format::kTotalTimeEnabled | read_format::kTotalTimeRunning;
}

absl::StatusOr<Counter> Builder::Build() const { return Open(-1); }

absl::StatusOr<Counter> Builder::BuildWithGroup(const Counter& leader) const {
  return Open(leader.descriptor());
}

absl::StatusOr<Counter> Builder::Open(int group) const {
  Attributes attributes = attributes_;
  if (!event_.probe_text.empty()) {
    attributes.config1 = reinterpret_cast<uintptr_t>(event_.probe_text.c_str());
  }
  const unsigned long flags =
      PERF_FLAG_FD_CLOEXEC | (is_cgroup_ ? PERF_FLAG_PID_CGROUP : 0);
  const int opened = system_->Open(&attributes, pid_, cpu_, group, flags);
  if (opened < 0) {
    return OpenError(*system_, -opened,
                     {.event = &event_,
                      .attributes = &attributes_,
                      .known_size = attributes.size,
                      .pid = pid_,
                      .cpu = cpu_,
                      .is_cgroup = is_cgroup_});
  }
  Descriptor descriptor(*system_, opened);
  uint64_t id = 0;
  const int result = system_->Ioctl(opened, PERF_EVENT_IOC_ID,
                                    reinterpret_cast<unsigned long>(&id));
  if (result < 0) {
    return absl::ErrnoToStatus(
        -result, absl::StrCat(event_.name, ": cannot get the id"));
  }
  return Counter(std::move(descriptor), event_.name, attributes, id);
}

Builder& Builder::Set(uint64_t bit, bool on) {
  attributes_.flags = on ? attributes_.flags | bit : attributes_.flags & ~bit;
  return *this;
}

// Target.

Builder& Builder::ObserveSelf() { return ObserveProcess(0); }
Builder& Builder::ObserveProcess(int pid) {
  pid_ = pid;
  is_cgroup_ = false;
  return *this;
}
Builder& Builder::AnyProcess() { return ObserveProcess(-1); }
Builder& Builder::ObserveCgroup(int directory) {
  pid_ = directory;
  is_cgroup_ = true;
  return *this;
}
Builder& Builder::OneCpu(int cpu) {
  cpu_ = cpu < 0 ? kInvalidCpu : cpu;
  return *this;
}
Builder& Builder::AnyCpu() {
  cpu_ = -1;
  return *this;
}

// Counting.

Builder& Builder::Enabled(bool on) { return Set(flag::kDisabled, !on); }
Builder& Builder::Inherit(bool on) { return Set(flag::kInherit, on); }
Builder& Builder::InheritStat(bool on) { return Set(flag::kInheritStat, on); }
Builder& Builder::InheritThread(bool on) {
  return Set(flag::kInheritThread, on);
}
Builder& Builder::Pinned(bool on) { return Set(flag::kPinned, on); }
Builder& Builder::Exclusive(bool on) { return Set(flag::kExclusive, on); }
Builder& Builder::EnableOnExec(bool on) { return Set(flag::kEnableOnExec, on); }
Builder& Builder::RemoveOnExec(bool on) { return Set(flag::kRemoveOnExec, on); }
Builder& Builder::ExcludeUser(bool on) { return Set(flag::kExcludeUser, on); }
Builder& Builder::ExcludeKernel(bool on) {
  return Set(flag::kExcludeKernel, on);
}
Builder& Builder::ExcludeHypervisor(bool on) {
  return Set(flag::kExcludeHypervisor, on);
}
Builder& Builder::ExcludeIdle(bool on) { return Set(flag::kExcludeIdle, on); }
Builder& Builder::ExcludeHost(bool on) { return Set(flag::kExcludeHost, on); }
Builder& Builder::ExcludeGuest(bool on) { return Set(flag::kExcludeGuest, on); }

Builder& Builder::ReadFormat(uint64_t bits) {
  if ((bits & read_format::kGroup) != 0) bits |= read_format::kId;
  attributes_.read_format = bits;
  return *this;
}

// Sampling.

Builder& Builder::SamplePeriod(uint64_t period) {
  attributes_.sample_period = period;
  return Set(flag::kFrequency, false);
}
Builder& Builder::SampleFrequency(uint64_t hertz) {
  attributes_.sample_period = hertz;
  return Set(flag::kFrequency, true);
}
Builder& Builder::Sample(uint64_t bits) {
  attributes_.sample_type |= bits;
  return *this;
}
Builder& Builder::Skid(SampleSkid skid) {
  attributes_.flags &= ~(3ull << flag::kPreciseIpShift);
  attributes_.flags |= static_cast<uint64_t>(skid) << flag::kPreciseIpShift;
  return *this;
}
Builder& Builder::BranchSampleType(uint64_t bits) {
  attributes_.branch_sample_type = bits;
  return *this;
}
Builder& Builder::SampleRegsUser(uint64_t registers) {
  attributes_.sample_regs_user = registers;
  return *this;
}
Builder& Builder::SampleRegsIntr(uint64_t registers) {
  attributes_.sample_regs_intr = registers;
  return *this;
}
Builder& Builder::SampleStackUser(uint32_t bytes) {
  attributes_.sample_stack_user = bytes;
  return *this;
}
Builder& Builder::SampleMaxStack(uint16_t frames) {
  attributes_.sample_max_stack = frames;
  return *this;
}
Builder& Builder::SampleIdAll(bool on) { return Set(flag::kSampleIdAll, on); }
Builder& Builder::ExcludeCallchainKernel(bool on) {
  return Set(flag::kExcludeCallchainKernel, on);
}
Builder& Builder::ExcludeCallchainUser(bool on) {
  return Set(flag::kExcludeCallchainUser, on);
}
Builder& Builder::WakeupEvents(uint32_t records) {
  attributes_.wakeup = records;
  return Set(flag::kWatermark, false);
}
Builder& Builder::WakeupWatermark(uint32_t bytes) {
  attributes_.wakeup = bytes;
  return Set(flag::kWatermark, true);
}
Builder& Builder::AuxWatermark(uint32_t bytes) {
  attributes_.aux_watermark = bytes;
  return *this;
}
Builder& Builder::AuxSampleSize(uint32_t bytes) {
  attributes_.aux_sample_size = bytes;
  return *this;
}
Builder& Builder::AuxOutput(bool on) { return Set(flag::kAuxOutput, on); }
Builder& Builder::WriteBackward(bool on) {
  return Set(flag::kWriteBackward, on);
}
Builder& Builder::ClockId(int clock) {
  attributes_.clock_id = clock;
  return Set(flag::kUseClockId, true);
}
Builder& Builder::Sigtrap(uint64_t data) {
  attributes_.signal_data = data;
  return Set(flag::kSigtrap | flag::kRemoveOnExec, true);
}

// Further records.

Builder& Builder::Mmap(bool on) { return Set(flag::kMmap, on); }
Builder& Builder::MmapData(bool on) { return Set(flag::kMmapData, on); }
Builder& Builder::Mmap2(bool on) { return Set(flag::kMmap2, on); }
Builder& Builder::BuildId(bool on) { return Set(flag::kBuildId, on); }
Builder& Builder::Comm(bool on) { return Set(flag::kComm, on); }
Builder& Builder::CommExec(bool on) { return Set(flag::kCommExec, on); }
Builder& Builder::Task(bool on) { return Set(flag::kTask, on); }
Builder& Builder::ContextSwitch(bool on) {
  return Set(flag::kContextSwitch, on);
}
Builder& Builder::Namespaces(bool on) { return Set(flag::kNamespaces, on); }
Builder& Builder::Ksymbol(bool on) { return Set(flag::kKsymbol, on); }
Builder& Builder::BpfEvent(bool on) { return Set(flag::kBpfEvent, on); }
Builder& Builder::Cgroup(bool on) { return Set(flag::kCgroup, on); }
Builder& Builder::TextPoke(bool on) { return Set(flag::kTextPoke, on); }

std::string Builder::DebugString() const {
  std::string text;
  for (const UsedAttribute& used : UsedAttributes(attributes_)) {
    absl::StrAppend(&text, used.name, " ", used.value, "\n");
  }
  return text;
}

}  // namespace fleetperf::perf_event
