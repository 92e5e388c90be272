// Opens events.
//
//   ASSIGN_OR_RETURN(Counter instructions,
//                    Builder(Hardware(HardwareEvent::kInstructions)).Build());
//   RETURN_IF_ERROR(instructions.Enable());
//   Work();
//   RETURN_IF_ERROR(instructions.Disable());
//   ASSIGN_OR_RETURN(const uint64_t count, instructions.Read());

#ifndef FLEETPERF_DRIVER_PERF_EVENT_BUILDER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_BUILDER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

// How far a sample's instruction pointer may be from the event.
enum class SampleSkid { kArbitrary, kConstant, kRequestZero, kRequireZero };

// A value: one Builder can open any number of events. Each option names the
// field or flag of perf_event_attr that it sets, and the kernel that introduced
// it if that is later than 3.0.
//
// Defaults: this thread on any CPU; disabled; the event's flags, which exclude
// the kernel and the hypervisor for events that user mode has; read format
// kTotalTimeEnabled | kTotalTimeRunning; descriptors that exec closes.
class Builder {
 public:
  explicit Builder(Event event, System& system = LinuxSystem());

  // Opens the event. Errors name the event and the next step:
  //   PermissionDenied    perf_event_paranoid, or the missing capability
  //   ResourceExhausted   RLIMIT_NOFILE
  //   NotFound            no such event or PMU on this machine
  //   Unimplemented       an option that this kernel is too old for
  //   InvalidArgument     all else that the kernel refuses
  absl::StatusOr<Counter> Build() const;
  // Opens the event as a member of the group that `leader` leads.
  absl::StatusOr<Counter> BuildWithGroup(const Counter& leader) const;

  // Target. ObserveProcess takes a thread id, too. AnyProcess needs OneCpu, and
  // CAP_PERFMON or perf_event_paranoid below 1. ObserveCgroup takes the open
  // directory of a cgroup (which must stay open until Build), and needs OneCpu.
  Builder& ObserveSelf();
  Builder& ObserveProcess(int pid);
  Builder& AnyProcess();
  Builder& ObserveCgroup(int directory);
  Builder& OneCpu(int cpu);
  Builder& AnyCpu();

  // Counting.
  Builder& Enabled(bool on = true);  // not disabled
  Builder& Inherit(bool on = true);  // child processes count, too
  Builder& InheritStat(bool on = true);
  Builder& InheritThread(bool on = true);  // only threads; Linux 5.13
  Builder& Pinned(bool on = true);         // always on the PMU, or in error
  Builder& Exclusive(bool on = true);      // the only group on the PMU
  Builder& EnableOnExec(bool on = true);
  Builder& RemoveOnExec(bool on = true);  // Linux 5.13
  Builder& ExcludeUser(bool on = true);
  Builder& ExcludeKernel(bool on = true);
  Builder& ExcludeHypervisor(bool on = true);
  Builder& ExcludeIdle(bool on = true);
  Builder& ExcludeHost(bool on = true);   // Linux 3.2
  Builder& ExcludeGuest(bool on = true);  // Linux 3.2
  Builder& IncludeKernel() { return ExcludeKernel(false); }
  Builder& IncludeHypervisor() { return ExcludeHypervisor(false); }

  // Reading: bits of namespace read_format. kGroup implies kId.
  Builder& ReadFormat(uint64_t bits);

  // Sampling: every `period` events, or about `hertz` times a second.
  Builder& SamplePeriod(uint64_t period);
  Builder& SampleFrequency(uint64_t hertz);
  // Adds bits of namespace sample to the fields of each record.
  Builder& Sample(uint64_t bits);
  Builder& Skid(SampleSkid skid);                   // precise_ip
  Builder& BranchSampleType(uint64_t bits);         // Linux 3.4
  Builder& SampleRegsUser(uint64_t registers);      // Linux 3.7
  Builder& SampleRegsIntr(uint64_t registers);      // Linux 3.19
  Builder& SampleStackUser(uint32_t bytes);         // Linux 3.7
  Builder& SampleMaxStack(uint16_t frames);         // Linux 4.8
  Builder& SampleIdAll(bool on = true);             // ids in all records
  Builder& ExcludeCallchainKernel(bool on = true);  // Linux 3.7
  Builder& ExcludeCallchainUser(bool on = true);    // Linux 3.7
  // When poll(2) reports the ring: after that many records, or bytes.
  Builder& WakeupEvents(uint32_t records);
  Builder& WakeupWatermark(uint32_t bytes);
  Builder& AuxWatermark(uint32_t bytes);   // Linux 4.1
  Builder& AuxSampleSize(uint32_t bytes);  // Linux 5.5
  Builder& AuxOutput(bool on = true);      // Linux 5.4
  Builder& WriteBackward(bool on = true);  // Linux 4.7
  // The clock of times in records: CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
  // CLOCK_REALTIME, CLOCK_BOOTTIME or CLOCK_TAI. Linux 4.1.
  Builder& ClockId(int clock);
  // A synchronous SIGTRAP for each overflow, with `data`. Linux 5.13; implies
  // RemoveOnExec.
  Builder& Sigtrap(uint64_t data);

  // Further records.
  Builder& Mmap(bool on = true);
  Builder& MmapData(bool on = true);
  Builder& Mmap2(bool on = true);    // Linux 3.12
  Builder& BuildId(bool on = true);  // Linux 5.12
  Builder& Comm(bool on = true);
  Builder& CommExec(bool on = true);       // Linux 3.16
  Builder& Task(bool on = true);           // fork and exit
  Builder& ContextSwitch(bool on = true);  // Linux 4.3
  Builder& Namespaces(bool on = true);     // Linux 4.12
  Builder& Ksymbol(bool on = true);        // Linux 5.1
  Builder& BpfEvent(bool on = true);       // Linux 5.1
  Builder& Cgroup(bool on = true);         // Linux 5.7
  Builder& TextPoke(bool on = true);       // Linux 5.8

  const Event& event() const { return event_; }
  System& system() const { return *system_; }
  // The attributes as Build passes them, except the address of a probe's text.
  const Attributes& attributes() const { return attributes_; }
  // Direct access, for attributes that are newer than this library.
  Attributes& mutable_attributes() { return attributes_; }

  // The attributes as `perf` prints them, one "field value" per line; fields
  // that are 0 are omitted.
  std::string DebugString() const;

 private:
  Builder& Set(uint64_t flag, bool on);
  absl::StatusOr<Counter> Open(int group) const;

  Event event_;
  System* system_;
  Attributes attributes_;
  int pid_ = 0;
  int cpu_ = -1;
  bool is_cgroup_ = false;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_BUILDER_H_
