// Reads the counters of the online CPUs.
//
// Times come from /proc/stat, which counts in units of 10 ms. Interrupts come
// from /proc/interrupts and /proc/softirqs. Frequencies, idle states and
// throttling come from /sys/devices/system/cpu.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_READER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_READER_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/interrupt_table.h"
#include "agent/source/linux/not_busy_time.h"
#include "agent/source/linux/proc_file.h"
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

  struct IdleState {
    size_t time_column;
    size_t transitions_column;
    ProcFile time;
    ProcFile usage;
  };

  struct Cpu {
    explicit Cpu(const std::string& directory);

    uint32_t number = 0;
    uint32_t node = 0;
    uint64_t last_pass = 0;  // the last one in which it was online
    std::array<uint64_t, kNumFields> jiffies = {};
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
  absl::Status Read(ColumnSet needed, const perflib::Clocks& clocks);

  // All CPUs that have been online so far, by number.
  std::map<uint32_t, Cpu>& cpus() { return cpus_; }
  bool IsOnline(const Cpu& cpu) const { return cpu.last_pass == pass_; }

  // Sets the values of an online CPU in the last row of `sample`, after Read:
  // those of the columns in `needed` and of any column of "Processor". Columns
  // are those of kProcessorCounters.
  void SetValues(Cpu& cpu, ColumnSet needed, CountersetSample* sample);

 private:
  absl::Status ReadStat(const perflib::Clocks& clocks);
  void UpdateTimes(absl::string_view fields, int64_t elapsed, Cpu& cpu);
  absl::Status ReadInterrupts();
  absl::Status ReadSoftirqs();
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
  void FindNodes();

  const std::string root_;
  ProcFile stat_;
  ProcFile interrupts_;
  ProcFile softirqs_;
  std::string buffer_;
  InterruptTableMemory table_memory_;
  std::vector<uint64_t> sums_;  // of the columns of a table
  std::vector<uint64_t> clock_counts_;
  ElapsedTime elapsed_;
  std::map<uint32_t, Cpu> cpus_;
  uint64_t pass_ = 1;  // a new Cpu was in none
  absl::flat_hash_map<uint32_t, uint32_t> node_of_cpu_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_READER_H_
