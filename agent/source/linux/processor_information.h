// The counterset "Processor Information".
//
// Instances are "node,cpu" with the kernel's numbers, "node,_Total" and
// "_Total". Times come from /proc/stat, which counts in units of 10 ms.
// Interrupts come from /proc/interrupts and /proc/softirqs. Frequencies and
// idle states come from /sys/devices/system/cpu.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INFORMATION_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INFORMATION_H_

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class ProcessorInformation : public Provider {
 public:
  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit ProcessorInformation(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The fields of a cpu line of /proc/stat, in its order.
  enum Field {
    kUser,
    kNice,
    kSystem,
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

  // The events of a CPU: the sum of a file's rows. The kernel prints each row
  // with 32 bits and may remove rows. total() never decreases.
  class EventCount {
   public:
    // One reading of the file: Begin, Add for each row, End.
    void Begin();
    void Add(uint64_t row);
    void End();
    uint64_t total() const { return total_; }

   private:
    bool was_read_ = false;
    bool has_rows_ = false;
    uint64_t sum_ = 0;
    uint64_t last_sum_ = 0;
    uint64_t total_ = 0;
  };

  struct Cpu {
    uint32_t number = 0;
    uint32_t node = 0;
    std::string utf16_name;
    std::array<uint64_t, kNumFields> jiffies = {};
    bool online = false;
    EventCount interrupts;
    EventCount clock_interrupts;
    EventCount softirqs;
    std::optional<ProcFile> frequency;
    uint64_t maximum_khz = 0;
    std::vector<IdleState> idle_states;
  };

  struct Node {
    explicit Node(uint32_t number);
    std::string utf16_total_name;
    Totals totals;
  };

  absl::Status ReadStat();
  absl::Status ReadInterrupts();
  absl::Status ReadSoftirqs();
  void ReadFrequency(Cpu& cpu, CountersetSample* sample);
  void ReadIdleStates(Cpu& cpu, CountersetSample* sample);
  void AddCpu(Cpu& cpu, ColumnSet needed, CountersetSample* sample);
  // Returns the CPU with that number; creates it on first use.
  Cpu& GetCpu(uint32_t number);
  void FindNodes();

  const std::string root_;
  ProcFile stat_;
  ProcFile interrupts_;
  ProcFile softirqs_;
  std::string buffer_;
  std::map<uint32_t, Cpu> cpus_;
  std::map<uint32_t, Node> nodes_;
  absl::flat_hash_map<uint32_t, uint32_t> node_of_cpu_;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INFORMATION_H_
