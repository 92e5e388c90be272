// A machine whose events follow a script, for tests of programs that count
// events: its PMU has as many counters, wraps, takes turns and fails as told.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_SYSTEM_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/simulation/simulated_event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

struct SimulatedMachine {
  int cpus = 1;
  // Of each CPU's PMU. Events of the CPU's PMU (hardware, cache and raw) need
  // one each; a group needs all of its own at the same time.
  int hardware_counters = 4;
  int counter_width = 48;
  // How long groups stay on the PMU if not all fit.
  absl::Duration turn = absl::Milliseconds(4);
  uint64_t timestamp_hertz = 2'000'000'000;
  // Whether the page of an event permits RDPMC, and has a clock.
  bool user_rdpmc = true;
  bool user_time = true;
  // How often the page changes while it is read.
  int torn_reads = 0;
  // The size of perf_event_attr that the kernel knows.
  uint32_t known_attributes = sizeof(Attributes);
  int max_descriptors = 1 << 20;
  int paranoid = 2;
  // Whether the process has CAP_PERFMON.
  bool is_privileged = true;
  std::string release = "6.12.0";
};

// The calls that can fail on request.
enum class SimulatedCall { kOpen, kIoctl, kRead, kMap, kPoll };

// Time passes only in Advance, unless a clock is given. The process runs on CPU
// 0 all the time. Thread-safe.
class SimulatedSystem final : public System {
 public:
  explicit SimulatedSystem(SimulatedMachine machine = {});
  ~SimulatedSystem() override;

  // The script. All events of namespace Software exist, with a rate of 0; other
  // events exist on a CPU once they have a rate there. Rates are in counts per
  // second of all modes together; excluding modes changes nothing.
  void SetRate(const Event& event, uint64_t per_second);  // on all CPUs
  void SetRate(const Event& event, int cpu, uint64_t per_second);
  void Advance(absl::Duration duration);
  // Lets time pass as `now` says, at each call of the System.
  void FollowClock(std::function<absl::Time()> now);

  // Adds to an event at once.
  void Count(const Event& event, int cpu, uint64_t count);

  // The next `times` calls return -error.
  void Fail(SimulatedCall call, int error, int times = 1);
  // An offline CPU has no events: open ones stop for good, as the kernel's do.
  void SetOnline(int cpu, bool is_online);

  // Files of /proc and /sys. The constructor adds those of the settings above
  // and of the PMUs cpu and software.
  void SetFile(const std::string& path, std::string text);
  void RemoveFile(const std::string& path);
  // Adds a PMU: its files `type` and `format/NAME`, and `cpumask` if not empty.
  void AddPmu(absl::string_view name, uint32_t type,
              const std::map<std::string, std::string>& formats,
              absl::string_view cpumask = "");

  int open_descriptors() const;

  // System.
  int Open(Attributes* attributes, int pid, int cpu, int group,
           unsigned long flags) override;
  int Close(int descriptor) override;
  int Ioctl(int descriptor, unsigned long request,
            unsigned long argument) override;
  int64_t Read(int descriptor, void* buffer, size_t size) override;
  int Map(int descriptor, size_t size, uint64_t offset, bool writable,
          void** address) override;
  void Unmap(void* address, size_t size) override;
  int Poll(int descriptor, short events, int timeout_milliseconds,
           short* occurred) override;
  bool has_rdpmc() const override { return true; }
  uint64_t ReadPmc(uint32_t index) override;
  uint64_t ReadTimestampCounter() override;
  absl::StatusOr<std::string> ReadFile(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) override;
  size_t page_size() const override { return 4096; }

 private:
  struct Failure {
    int error = 0;
    int times = 0;
  };

  void CatchUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceLocked(absl::Duration duration)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunTurn(uint64_t nanoseconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WritePages() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int TakeFailure(SimulatedCall call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int CheckOpen(Attributes* attributes, int pid, int cpu, int group) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SimulatedEvent* Find(int descriptor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The events of a group, the leader first.
  std::vector<SimulatedEvent*> GroupOf(SimulatedEvent* leader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t RateOf(const SimulatedEvent& event) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SimulatedMachine machine_;
  mutable absl::Mutex mutex_;
  std::function<absl::Time()> clock_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_ ABSL_GUARDED_BY(mutex_);
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> files_ ABSL_GUARDED_BY(mutex_);
  std::map<SimulatedCall, Failure> failures_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> is_online_ ABSL_GUARDED_BY(mutex_);
  // By event and CPU.
  std::map<std::pair<EventKey, int>, uint64_t> rates_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::unique_ptr<SimulatedEvent>> events_
      ABSL_GUARDED_BY(mutex_);
  std::map<void*, SimulatedEvent*> pages_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> counters_of_cpu0_ ABSL_GUARDED_BY(mutex_);
  int next_descriptor_ ABSL_GUARDED_BY(mutex_) = 1000;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  int torn_reads_left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_SYSTEM_H_
