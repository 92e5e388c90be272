// PMUs that the kernel describes below /sys/bus/event_source/devices.
//
//   ASSIGN_OR_RETURN(const Pmu msr, Pmu::Open("msr"));
//   ASSIGN_OR_RETURN(Event tsc, msr.MakeEvent("tsc"));
//
// Files: Documentation/ABI/testing/sysfs-bus-event_source-devices* of Linux.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_PMU_H_
#define FLEETPERF_DRIVER_PERF_EVENT_PMU_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"
#include "driver/perf_event/terms.h"

namespace fleetperf::perf_event {

// The place of a field's bits in an event.
struct Field {
  int word = 0;       // of config, config1, config2, config3
  uint64_t mask = 0;  // value's bit 0 goes to the lowest bit of the mask, etc.

  uint64_t max() const;
  // Returns the bits of `value`, which is at most max(), in their places.
  uint64_t Spread(uint64_t value) const;

  friend bool operator==(const Field&, const Field&) = default;
};

// Parses a file of `format`: "config:0-7", "config1:3", "config:0-7,32-35".
//   InvalidArgument   any other text
absl::StatusOr<Field> ParseField(absl::string_view text);

// Parses a list of CPUs as in `cpumask`: "0-3,8", ascending. An empty list is
// valid.
//   InvalidArgument   any other text, or a CPU above 65535
absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text);

// An event that the PMU names.
struct NamedEvent {
  std::string name;
  std::vector<Term> terms;  // some may be parameters
  // A count times `scale` is in `unit`. Defaults: 1, "".
  double scale = 1;
  std::string unit;
  // The value is a level at the time of reading (a temperature), not a count.
  bool is_snapshot = false;
  // One CPU counts for its whole package.
  bool is_per_package = false;
};

// A value; holds no descriptor. Reads files when it is asked, so that a Pmu of
// a machine that loads a module is not out of date. Thread-safe.
class Pmu {
 public:
  // Opens a PMU by the name of its directory. Needs no capability.
  //   InvalidArgument   `name` cannot be that of a PMU, or the kernel's file
  //                     is malformed
  //   NotFound          no such PMU; the message suggests others. The number of
  //                     an absent PMU is never guessed: another PMU can have it
  static absl::StatusOr<Pmu> Open(absl::string_view name,
                                  System& system = LinuxSystem());

  // Opens the PMU `name`, or else all PMUs whose name is `name`, "_" and a
  // number, as perf does: uncore_imc is uncore_imc_0, uncore_imc_1, etc.
  // Numbers are decimal, or hexadecimal of three digits or more. At least one;
  // errors are those of Open.
  static absl::StatusOr<std::vector<Pmu>> OpenAll(
      absl::string_view name, System& system = LinuxSystem());

  const std::string& name() const { return name_; }
  // perf_event_attr.type. Changes from boot to boot.
  uint32_t type() const { return type_; }
  // Counts what a CPU's instructions do, so that modes (user, kernel) can be
  // excluded. Most other PMUs refuse that.
  bool is_core() const { return is_core_; }
  // CPUs on which events are opened: those of a hybrid core PMU, or one for
  // each package or die. Empty: every CPU.
  const std::vector<int>& cpus() const { return cpus_; }

  // Names of the events and of the fields, sorted. Empty if there are none.
  absl::StatusOr<std::vector<std::string>> Events() const;
  absl::StatusOr<std::vector<std::string>> Fields() const;

  // Reads an event or a field. NotFound: the message suggests others.
  absl::StatusOr<NamedEvent> ReadEvent(absl::string_view event) const;
  absl::StatusOr<Field> ReadField(absl::string_view field) const;
  // The largest precise_ip of the PMU's events; 0 if the kernel names none.
  int MaxPrecise() const;

  // Makes an event from terms as `perf` takes them between slashes, in any
  // order:
  //   event=0x3c,umask=1   fields. A field that is not named is 0
  //   inv                  a field that is 1
  //   mem-loads            one of Events(): its terms, scale and unit. Fields
  //                        beside it override its fields
  //   config=5             a whole word, also config1 to config3
  //
  // The event's flags exclude the kernel and the hypervisor if is_core(). Other
  // PMUs refuse that, so that their events need CAP_PERFMON, or
  // perf_event_paranoid below 2 (below 1 for whole CPUs).
  //   InvalidArgument   a parameter of the named event without a value; a value
  //                     above the field's maximum
  //   NotFound          no such field or event
  absl::StatusOr<Event> MakeEvent(absl::string_view terms) const;
  absl::StatusOr<Event> MakeEvent(absl::Span<const Term> terms) const;

 private:
  Pmu(absl::string_view name, System& system) : name_(name), system_(&system) {}
  std::string Path(absl::string_view file) const;
  absl::Status NoSuch(absl::string_view what, absl::string_view name) const;
  absl::Status SetField(const Term& term, Event* event) const;

  std::string name_;
  System* system_;
  uint32_t type_ = 0;
  bool is_core_ = false;
  std::vector<int> cpus_;
};

// Returns the names of this machine's PMUs, sorted.
absl::StatusOr<std::vector<std::string>> ListPmus(
    System& system = LinuxSystem());

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_PMU_H_
