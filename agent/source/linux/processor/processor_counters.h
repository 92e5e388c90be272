// The counters of "Processor Information". "Processor" has the first of them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNTERS_H_

#include <cstddef>
#include <iterator>
#include <vector>

#include "agent/source/linux/counters.h"
#include "agent/source/totals.h"
#include "perflib/counter_type.h"

namespace fleetperf::agent {

enum ProcessorColumn : size_t {
  kProcessorTime,
  kUserTime,
  kPrivilegedTime,
  kInterruptsPerSec,
  kDpcTime,
  kInterruptTime,
  kDpcsQueuedPerSec,
  kIdleTime,
  kC1Time,
  kC2Time,
  kC3Time,
  kC1Transitions,
  kC2Transitions,
  kC3Transitions,
  kStealTime,
  kGuestTime,
  kIoWaitTime,
  kLifeStart,
  kNumProcessorColumns,  // of "Processor"
  kFrequency = kNumProcessorColumns,
  kPercentOfMaximum,
  kClockInterruptsPerSec,
  kParkingStatus,
  kPerformanceLimit,
  kThermalThrottles,
  kThermalThrottleTime,
  kAverageIdleTime,
  kIdleBreakEvents,
  kPerformance,
  kUtility,
  kPrivilegedUtility,
  kAverageIdleTimeBase,
  kPerformanceBase,
  kUtilityBase,
  kNumProcessorInformationColumns
};

inline constexpr uint32_t kAverageIdleTimeBaseId = 22;
inline constexpr uint32_t kPerformanceBaseId = 25;
inline constexpr uint32_t kUtilityBaseId = 27;

// Ids below 1000 are the Windows ids.
inline constexpr LinuxCounter kProcessorCounters[] = {
    {{0, perflib::kPerf100NsecTimerInv, "% Processor Time",
      "Time the processor was busy."},
     "%",
     "/proc/stat user, nice, system, irq, softirq, steal",
     "The sum of % User Time, % Privileged Time and % Steal Time. Time that "
     "the "
     "kernel accounts to nothing is not busy."},
    {{1, perflib::kPerf100NsecTimer, "% User Time",
      "Time in user mode, guests included."},
     "%",
     "/proc/stat user, nice"},
    {{2, perflib::kPerf100NsecTimer, "% Privileged Time",
      "Time in the kernel, interrupts and softirqs included."},
     "%",
     "/proc/stat system, irq, softirq"},
    {{3, perflib::kPerfCounterCounter, "Interrupts/sec",
      "Interrupts that the processor served."},
     "interrupts/s",
     "/proc/interrupts",
     "The cost of a reading grows with interrupts times CPUs."},
    {{4, perflib::kPerf100NsecTimer, "% DPC Time",
      "Time in softirqs, Linux's deferred procedure calls."},
     "%",
     "/proc/stat softirq",
     "Sampled at timer ticks unless the kernel has "
     "CONFIG_IRQ_TIME_ACCOUNTING."},
    {{5, perflib::kPerf100NsecTimer, "% Interrupt Time",
      "Time in interrupt handlers."},
     "%",
     "/proc/stat irq",
     "Sampled at timer ticks unless the kernel has "
     "CONFIG_IRQ_TIME_ACCOUNTING."},
    {{6, perflib::kPerfCounterCounter, "DPCs Queued/sec",
      "Softirqs that the processor ran."},
     "softirqs/s",
     "/proc/softirqs"},
    {{8, perflib::kPerf100NsecTimer, "% Idle Time",
      "Time with nothing to run, waiting for I/O included."},
     "%",
     "/proc/stat idle, iowait",
     "With % Processor Time less than 100 % where the kernel accounts some "
     "time to nothing, as under hypervisors."},
    {{9, perflib::kPerf100NsecTimer, "% C1 Time",
      "Time in idle states that take less than 10 us to leave."},
     "%",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/time",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{10, perflib::kPerf100NsecTimer, "% C2 Time",
      "Time in idle states that take 10 us to 99 us to leave."},
     "%",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/time",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{11, perflib::kPerf100NsecTimer, "% C3 Time",
      "Time in idle states that take 100 us or more to leave."},
     "%",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/time",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{12, perflib::kPerfCounterBulkCount, "C1 Transitions/sec",
      "How often a state of % C1 Time was entered."},
     "transitions/s",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/usage",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{13, perflib::kPerfCounterBulkCount, "C2 Transitions/sec",
      "How often a state of % C2 Time was entered."},
     "transitions/s",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/usage",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{14, perflib::kPerfCounterBulkCount, "C3 Transitions/sec",
      "How often a state of % C3 Time was entered."},
     "transitions/s",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/usage",
     "Windows counts by ACPI state. Absent in most virtual machines."},
    {{kFirstLinuxCounterId + 0, perflib::kPerf100NsecTimer, "% Steal Time",
      "Time in which the hypervisor ran something else."},
     "%",
     "/proc/stat steal"},
    {{kFirstLinuxCounterId + 1, perflib::kPerf100NsecTimer, "% Guest Time",
      "Time spent running virtual machines; part of % User Time."},
     "%",
     "/proc/stat guest, guest_nice"},
    {{kFirstLinuxCounterId + 2, perflib::kPerf100NsecTimer, "% IO Wait Time",
      "Idle time with I/O outstanding; part of % Idle Time."},
     "%",
     "/proc/stat iowait",
     "An estimate by the kernel: waiting threads belong to no CPU."},
    kLifeStartCounter,
    {{17, perflib::kPerfCounterRawcount, "Processor Frequency",
      "The processor's frequency in MHz."},
     "MHz",
     "/sys/devices/system/cpu/cpuN/cpufreq scaling_cur_freq",
     "Absent in most virtual machines."},
    {{18, perflib::kPerfCounterRawcount, "% of Maximum Frequency",
      "The processor's frequency as a percentage of its highest."},
     "%",
     "/sys/devices/system/cpu/cpuN/cpufreq scaling_cur_freq, cpuinfo_max_freq",
     "The maximum includes turbo, so that values are below those of Windows."},
    {{20, perflib::kPerfCounterCounter, "Clock Interrupts/sec",
      "Interrupts of the processor's own timer."},
     "interrupts/s",
     "/proc/interrupts LOC",
     "Absent without this row, which only x86 has. An idle CPU stops its "
     "timer."},
    {{16, perflib::kPerfCounterRawcount, "Parking Status",
      "1 for a processor that is not in use, else 0; in `_Total`, their "
      "number."},
     "processors",
     "/sys/devices/system/cpu/present, online",
     "Administrators take processors offline, not the kernel. Linux has no "
     "instances of those; `_Total` counts them every 10 s."},
    {{30, perflib::kPerfCounterRawcount, "% Performance Limit",
      "The highest frequency allowed, as a percentage of the processor's "
      "highest."},
     "%",
     "/sys/devices/system/cpu/cpuN/cpufreq scaling_max_freq, cpuinfo_max_freq",
     "Limits set by administrators and thermal daemons; limits that the "
     "hardware applies by itself are in Thermal Throttles."},
    {{kFirstLinuxCounterId + 3, perflib::kPerfCounterLargeDelta,
      "Thermal Throttles",
      "How often heat made the hardware slow the core down."},
     "events",
     "/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count",
     "Only Intel. Threads of a core count its events each."},
    {{kFirstLinuxCounterId + 4, perflib::kPerf100NsecTimer,
      "% Thermal Throttle Time", "Time in which heat slowed the core down."},
     "%",
     "/sys/devices/system/cpu/cpuN/thermal_throttle/"
     "core_throttle_total_time_ms",
     "Only Intel. Since Linux 5.6."},
    {{21, perflib::kPerfPrecision100NsTimer, "Average Idle Time",
      "How long the processor stayed in an idle state, on average, in units of "
      "100 ns.",
      kAverageIdleTimeBaseId},
     "100 ns",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/time, usage",
     "Idle time per Idle Break Event. `_Total` is the average of all "
     "processors' stays. Absent in most virtual machines."},
    {{23, perflib::kPerfCounterBulkCount, "Idle Break Events/sec",
      "How often the processor left an idle state."},
     "events/s",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/usage",
     "The sum of the transitions. Absent in most virtual machines."},
    {{24, perflib::kPerfAverageBulk, "% Processor Performance",
      "The processor's frequency while it was not idle, as a percentage of the "
      "nominal one.",
      kPerformanceBaseId},
     "%",
     "perf_event msr/aperf/, msr/mperf/",
     "Exceeds 100 with turbo. Only x86, not in virtual machines, and with "
     "CAP_PERFMON. A reading interrupts the processor."},
    {{26, perflib::kPerfAverageBulk, "% Processor Utility",
      "The work that the processor did, as a percentage of that at its nominal "
      "frequency without idling.",
      kUtilityBaseId},
     "%",
     "perf_event msr/aperf/, msr/tsc/",
     "As % Processor Performance."},
    {{28, perflib::kPerfAverageBulk, "% Privileged Utility",
      "The work that the processor did in the kernel, as a percentage of that "
      "at its nominal frequency without idling.",
      kUtilityBaseId},
     "%",
     "perf_event msr/aperf/, msr/tsc/; /proc/stat",
     "The part of % Processor Utility that % Privileged Time has of % "
     "Processor "
     "Time: the kernel's cycles are not counted apart. As % Processor "
     "Performance."},
    {{kAverageIdleTimeBaseId, perflib::kPerfLargeRawBase, "", ""},
     "",
     "/sys/devices/system/cpu/cpuN/cpuidle/stateN/usage"},
    {{kPerformanceBaseId, perflib::kPerfAverageBase, "", ""},
     "",
     "perf_event msr/mperf/"},
    {{kUtilityBaseId, perflib::kPerfAverageBase, "", ""},
     "",
     "perf_event msr/tsc/"},
};
static_assert(std::size(kProcessorCounters) == kNumProcessorInformationColumns);

// Returns how columns of several CPUs are combined: times and frequencies are
// averaged, events are added, and so are the parts of quotients.
inline std::vector<TotalKind> ProcessorTotalKinds(size_t columns) {
  std::vector<TotalKind> kinds(kNumProcessorInformationColumns,
                               TotalKind::kMeanGrowth);
  for (const ProcessorColumn events :
       {kInterruptsPerSec, kDpcsQueuedPerSec, kC1Transitions, kC2Transitions,
        kC3Transitions, kClockInterruptsPerSec, kThermalThrottles,
        kAverageIdleTime, kIdleBreakEvents, kPerformance, kUtility,
        kPrivilegedUtility, kAverageIdleTimeBase, kPerformanceBase,
        kUtilityBase}) {
    kinds[events] = TotalKind::kGrowth;
  }
  for (const ProcessorColumn level :
       {kFrequency, kPercentOfMaximum, kPerformanceLimit}) {
    kinds[level] = TotalKind::kMean;
  }
  kinds[kParkingStatus] = TotalKind::kNone;
  // A total begins a new life with each of its CPUs: the growth of that CPU is
  // unknown, and the total without it would be too small.
  kinds[kLifeStart] = TotalKind::kHighest;
  kinds.resize(columns);
  return kinds;
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNTERS_H_
