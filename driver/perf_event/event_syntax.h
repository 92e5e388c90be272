// The syntax of events' names, without what sysfs says of them. Internal to the
// library: event_parser.h is the interface.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_EVENT_SYNTAX_H_
#define FLEETPERF_DRIVER_PERF_EVENT_EVENT_SYNTAX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/terms.h"

namespace fleetperf::perf_event {

struct Modifiers {
  bool user = false;
  bool kernel = false;
  bool hypervisor = false;
  bool exclude_idle = false;  // I
  bool guest = false;
  bool host = false;
  int precise = 0;  // number of p
  bool max_precise = false;
  bool pinned = false;     // D
  bool exclusive = false;  // e
};

// Letters in a fixed order; empty without modifiers.
std::string ModifiersText(const Modifiers& modifiers);

// Returns `flags` of an event as the modifiers change them. `max_precise` is
// what P stands for.
uint64_t ModifiedFlags(uint64_t flags, const Modifiers& modifiers,
                       int max_precise);

struct EventSyntax {
  enum class Kind {
    kFixed,       // `fixed` without the modifiers
    kPmu,         // `name` is the PMU
    kNamed,       // `name` is an event of any PMU
    kTracepoint,  // `name` is SYSTEM:EVENT
  };
  Kind kind = Kind::kFixed;
  Event fixed;
  std::string name;
  std::vector<Term> terms;  // sorted
  Modifiers modifiers;
};

// InvalidArgument: the message names the part that is wrong.
absl::StatusOr<EventSyntax> ParseEventSyntax(absl::string_view text);

// The canonical text: ParseEventSyntax reads the same event from it.
std::string CanonicalText(const EventSyntax& syntax);

// Names of the hardware, software and cache events.
std::vector<std::string> HardwareNames();
std::vector<std::string> SoftwareNames();
std::vector<std::string> CacheNames();
// All of them and their aliases, to suggest for a wrong name.
std::vector<std::string> FixedNames();

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_EVENT_SYNTAX_H_
