// The events that fleetperf counts on cores, by model of CPU, as data.
//
// Names and codes are the vendors', as the lists of Linux have them
// (tools/perf/pmu-events). A test holds the tables against those lists: see
// docs/driver.md. The tables have the events that fleetperf uses, not the
// lists.

#ifndef FLEETPERF_DRIVER_EVENTS_EVENTS_H_
#define FLEETPERF_DRIVER_EVENTS_EVENTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::events {

// What an event counts. The same word may have slightly different meanings on
// different models; the event's name says which.
enum class Counted {
  kCycles,           // while the core is not halted
  kInstructions,     // retired
  kReferenceCycles,  // while not halted, of a clock that depends on the model
  // By a core and its prefetchers. On AMD: by all cores that share the cache.
  kL3References,
  kL3Misses,      // likewise
  kBranches,      // retired
  kBranchMisses,  // retired
  kSlots,         // of the pipeline
  // Retired loads. On AMD: dispatched loads, and for caches all data requests.
  kLoads,
  kL1Hits,
  kL1Misses,
  kFillBufferHits,  // missed the first level, but the line was on its way
  kL2Hits,
  kL2Misses,
  kL3LoadHits,
  kL3LoadMisses,
  // Demand reads of data at the second level, also speculative ones.
  kL2ReadHits,
  kL2ReadMisses,
};

// The number by which a model of CPU knows an event.
struct EventCode {
  uint16_t event;  // up to 8 bits on Intel, 12 bits on AMD
  uint8_t unit_mask;
};

struct Event {
  Counted counted;
  const char* name;
  EventCode code;
};

// An event of Intel's architecture, on all its CPUs that do not report it as
// absent. Source: Intel's manual, volume 3, "Pre-defined Architectural
// Performance Events".
struct ArchitecturalEvent {
  Event event;
  // Bit of CPUID.0AH:EBX and of CpuDescription::absent_events.
  uint32_t absent_bit;
};
std::span<const ArchitecturalEvent> ArchitecturalEvents();

// A type of core.
struct Core {
  pmu::Vendor vendor = pmu::Vendor::kOther;
  uint32_t family = 0;  // with the extended family added; likewise the model
  uint32_t model = 0;
  uint32_t stepping = 0;
  uint32_t core_type = 0;  // as in CpuDescription
};
inline constexpr uint32_t kAtomCore = 0x20;
inline constexpr uint32_t kBigCore = 0x40;

// The events of cores of a range of models.
struct ModelEvents {
  pmu::Vendor vendor;
  uint32_t family;
  uint32_t first_model;
  uint32_t last_model;
  uint32_t first_stepping;
  uint32_t last_stepping;
  // 0: all types of cores. kBigCore: also cores whose type is unknown, as of a
  // CPU whose small cores are disabled.
  uint32_t core_type;
  const char* list;  // Linux' name of the list
  std::span<const Event> events;
  // Events of the PMU that each third-level cache has, on AMD; cores do not
  // count them.
  std::span<const Event> l3_events = {};
};
std::span<const ModelEvents> AllModelEvents();

// The model-specific events of a core; empty if the model is unknown.
std::span<const Event> EventsOfModel(const Core& core);

// ModelEvents::list of a core; "" if the model is unknown.
const char* ListOfModel(const Core& core);

// The events of the model's PMU of the third-level cache; empty if the model is
// unknown, or if its cores count the cache's events.
std::span<const Event> L3EventsOfModel(const Core& core);

// The events of a core: those of its model, and on Intel the architectural ones
// that are not absent. `absent_events` is as in CpuDescription. The first event
// that counts something is the best one.
std::vector<Event> EventsOf(const Core& core, uint32_t absent_events);

// The selection of an event for pmu::CoreProgram, which counts in user mode and
// in the kernel.
uint64_t Selection(EventCode code);

// The event as perf names it: "PMU/event=0xd1,umask=0x02/".
std::string PerfName(EventCode code, const char* pmu);
// The event of every core PMU, as perf names it: "r2d1". The bits are those of
// the format of "cpu" in Linux, on Intel and AMD.
std::string RawName(EventCode code);

// "D1/08": the event and the unit mask, in hexadecimal.
std::string CodeText(EventCode code);
// Parses it, with two or three and two digits of any case. Nothing for other
// texts.
std::optional<EventCode> ParseCode(absl::string_view text);

}  // namespace fleetperf::events

#endif  // FLEETPERF_DRIVER_EVENTS_EVENTS_H_
