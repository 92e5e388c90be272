// Reads the hardware counters of all CPUs: through perf_event on Linux, through
// fleetperf's driver on Windows.

#ifndef FLEETPERF_DRIVER_HARDWARE_READER_H_
#define FLEETPERF_DRIVER_HARDWARE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/events/events.h"
#include "driver/hardware/hardware_counts.h"

namespace fleetperf::hardware {

// How a reader counts something.
struct CountedEvent {
  HardwareCount count;
  std::string event;    // as the system or the CPU's vendor names it
  absl::Status status;  // why the event is left out; OK before the first Update
};

// A counter that user mode may read.
struct UserCounter {
  uint32_t index;  // as RDPMC takes it
  unsigned width;  // bits
};

// Thread-compatible.
class HardwareReader {
 public:
  virtual ~HardwareReader() = default;

  // Reads the counts of all CPUs. The first call starts counting. After an
  // error, the next call tries again. CPUs may come and go.
  virtual absl::Status Update() = 0;

  // Gives these counts counters before others, from the next Update on. Counts
  // that have no counter any more are absent; others continue. Only readers
  // with too few counters for all counts need it.
  virtual void Prefer(const std::set<HardwareCount>& /*counts*/) {}

  // The CPUs that were online in the last Update, in ascending order.
  virtual const std::vector<int>& cpus() const = 0;
  // The same, and CPUs that were online before.
  virtual std::vector<int> known_cpus() const = 0;

  // The counts of a known CPU in the last Update. A CPU that comes back
  // continues from its last counts. Counts of a package (energy, memory) are
  // those of the first of its CPUs.
  virtual HardwareReading ReadingOf(int cpu) const = 0;

  virtual std::vector<CountedEvent> events() const = 0;

  // Whether ReaderOptions::allow_user_reads was asked for and has an effect.
  virtual bool opens_user_reads() const { return false; }

  // The counter of something on a CPU, if ReaderOptions asked for it. Valid
  // until the reader is destroyed.
  virtual std::optional<UserCounter> user_counter(HardwareCount /*count*/,
                                                  int /*cpu*/) const {
    return std::nullopt;
  }

  // The frequency of the timestamp counter in Hz; 0: unknown.
  virtual uint64_t timestamp_hertz() const = 0;

  // Where counts come from: "perf_event", "fleetperf_pmu".
  virtual std::string origin() const = 0;
};

struct ReaderOptions {
  // Of open events, on Linux. Less important events are left out beyond.
  size_t max_descriptors = 1 << 16;
  // Lets user mode of all processes read counters while the reader exists, on
  // Windows; Linux has its own setting.
  bool allow_user_reads = false;
  // Events to count before all others but instructions and cycles, on Windows;
  // on Linux, perf_event counts any event.
  std::vector<events::EventCode> events;
};

// Opens this machine's reader, which changes nothing before its first Update.
//   Unavailable, NotFound   no PMU, or no driver; the message has the cause
//                           and the next step
//   PermissionDenied        likewise
absl::StatusOr<std::unique_ptr<HardwareReader>> OpenHardwareReader(
    const ReaderOptions& options = {});

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_READER_H_
