// Reads the counters of the online CPUs.
//
// Times come from /proc/stat, which counts in units of 10 ms. Interrupts come
// from /proc/interrupts and /proc/softirqs. Frequencies, idle states and
// throttling come from /sys/devices/system/cpu.
//
// In a container, /proc/stat may number the CPUs of its cpuset from 0 (lxcfs).
// If the cpuset changes, a line shows another CPU, whose times are larger or
// smaller. So a time that falls, or that grows faster than time_bound.h allows,
// ends the CPU's life.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_READER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/not_busy_time.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/processor/interrupt_table.h"
#include "agent/source/linux/time_bound.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Thread-compatible.
class ProcessorReader {
 public:
  // The fields of a cpu line of /proc/stat, in its order.
  enum Field {
    kUser,
    kNice,
    kSys,
    kIdle,
    kIoWait,
    kIrq,
    kSoftIrq,
    kSteal,
    kGuest,
    kGuestNice,
    kNumFields
  };

  using Jiffies = std::array<uint64_t, kNumFields>;

  struct IdleState {
    size_t time_column;
    size_t transitions_column;
    ProcFile time;
    ProcFile usage;
  };

  struct Cpu {
    explicit Cpu(const std::string& directory);

    // The time in the kernel, and that of all work.
    uint64_t PrivilegedJiffies() const;
    uint64_t BusyJiffies() const;
    // The CPU in its present life, for Totals::Add.
    uint64_t TotalsKey() const { return uint64_t{lives} << 32 | number; }

    uint32_t number = 0;
    uint32_t lives = 0;       // that ended because of its times
    uint64_t life_start = 0;  // of kLifeStartCounter
    uint64_t last_pass = 0;   // the last one in which it was online
    Jiffies jiffies = {};
    size_t num_fields = 0;  // that the last pass had; 0 without times
    NotBusyTime not_busy;
    EventCount interrupts;
    EventCount clock_interrupts;
    EventCount softirqs;
    ProcFile frequency;
    ProcFile frequency_limit;
    uint64_t highest_khz;  // 0 if it is unknown
    std::optional<ProcFile> throttles;
    std::optional<ProcFile> throttle_time;
    std::vector<IdleState> idle_states;
  };

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit ProcessorReader(const std::string& root);

  // Finds the online CPUs, and reads the files of columns in `needed` that
  // have the values of all CPUs.
  // `sample` notes files that cannot be read.
  void Read(ColumnSet needed, const perflib::Clocks& clocks,
            CountersetSample* sample);

  // All CPUs that have been online so far, by number.
  std::map<uint32_t, Cpu>& cpus() { return cpus_; }
  bool IsOnline(const Cpu& cpu) const { return cpu.last_pass == pass_; }

  // Sets the values of an online CPU in the last row of `sample`, after Read:
  // those of the columns in `needed` and of any column of "Processor". Columns
  // are those of kProcessorCounters.
  void SetValues(Cpu& cpu, ColumnSet needed, CountersetSample* sample);

 private:
  void ReadStat(const perflib::Clocks& clocks, CountersetSample* sample);
  static std::optional<size_t> ParseFields(absl::string_view text,
                                           Jiffies* jiffies);
  void UpdateTimes(const Jiffies& jiffies, size_t num_fields,
                   const perflib::Clocks& clocks, int64_t elapsed, Cpu& cpu);
  // Returns whether the times of a CPU can have become `now` since the last
  // reading.
  bool Continues(const Jiffies& last, const Jiffies& now) const;
  // These return whether the file has counts.
  bool ReadInterrupts(CountersetSample* sample);
  bool ReadSoftirqs(CountersetSample* sample);
  // Sets sums_ and calls `use` for each row.
  bool ReadTable(ProcFile& file, CountersetSample* sample,
                 absl::FunctionRef<void(const InterruptRow& row)> use);
  void AddToSums(const InterruptRow& row);
  // Updates a count of the CPUs of the last table, in its order.
  void UpdateCounts(EventCount Cpu::*count, absl::Span<const uint64_t> sums);
  void SetTimes(const Cpu& cpu, CountersetSample* sample);
  void SetFrequencies(Cpu& cpu, ColumnSet needed, CountersetSample* sample);
  void SetThrottling(Cpu& cpu, CountersetSample* sample);
  void SetIdleStates(Cpu& cpu, ColumnSet needed, CountersetSample* sample);
  std::optional<uint64_t> ReadNumber(ProcFile& file);
  // Returns the CPU with that number; creates it on first use.
  Cpu& GetCpu(uint32_t number);
  void FindIdleStates(const std::string& directory, Cpu& cpu);

  const std::string root_;
  ProcFile stat_;
  ProcFile interrupts_;
  ProcFile softirqs_;
  std::string buffer_;
  InterruptTableMemory table_memory_;
  std::vector<uint64_t> sums_;  // of the columns of a table
  std::vector<uint64_t> clock_counts_;
  TimeBound bound_;
  // Whether the last pass read them.
  bool has_interrupts_ = false;
  bool has_clock_interrupts_ = false;
  bool has_softirqs_ = false;
  ElapsedTime elapsed_;
  std::map<uint32_t, Cpu> cpus_;
  uint64_t pass_ = 1;  // a new Cpu was in none
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_READER_H_
