#include "driver/perf_event/event_parser.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "driver/perf_event/event_syntax.h"
#include "driver/perf_event/pmu.h"
#include "driver/perf_event/probe.h"
#include "driver/perf_event/terms.h"

namespace fleetperf::perf_event {
namespace {

using Kind = EventSyntax::Kind;

// Prefixes an error with the event.
absl::Status NameEvent(const absl::Status& status, absl::string_view text) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat("the event ", Quoted(text), ": ", status.message())};
}

absl::StatusOr<std::vector<Pmu>> OpenPmus(System& system) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListPmus(system));
  std::vector<Pmu> pmus;
  for (const std::string& name : names) {
    // A PMU can disappear with its module, and a name or a file can be one that
    // this library does not understand: other events stay usable.
    absl::StatusOr<Pmu> pmu = Pmu::Open(name, system);
    if (pmu.ok()) pmus.push_back(*std::move(pmu));
  }
  return pmus;
}

// What the modifier P stands for: the maximum of the first core PMU.
int MaxPreciseOfCore(System& system) {
  const absl::StatusOr<std::vector<Pmu>> pmus = OpenPmus(system);
  if (!pmus.ok()) return 0;
  for (const Pmu& pmu : *pmus) {
    if (pmu.is_core()) return pmu.MaxPrecise();
  }
  return 0;
}

// Finds an event of any PMU.
absl::StatusOr<Event> MakeNamedEvent(const EventSyntax& syntax,
                                     System& system) {
  ASSIGN_OR_RETURN(const std::vector<Pmu> pmus, OpenPmus(system));
  std::vector<std::string> found;
  absl::StatusOr<Event> event;
  for (const Pmu& pmu : pmus) {
    const absl::StatusOr<NamedEvent> named = pmu.ReadEvent(syntax.name);
    if (absl::IsNotFound(named.status())) continue;
    if (!named.ok()) return named.status();
    found.push_back(absl::StrCat(pmu.name(), "/", syntax.name, "/"));
    event = pmu.MakeEvent(syntax.name);
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "several PMUs have it; write ", absl::StrJoin(found, " or ")));
  }
  if (!found.empty()) return event;
  std::vector<std::string> names = FixedNames();
  for (const Pmu& pmu : pmus) {
    const absl::StatusOr<std::vector<std::string>> events = pmu.Events();
    if (events.ok()) names.insert(names.end(), events->begin(), events->end());
  }
  return absl::NotFoundError(
      absl::StrCat("this machine has no such event",
                   DidYouMeanOrSee(syntax.name, names, "perf list")));
}

absl::StatusOr<Event> MakePmuEvent(const EventSyntax& syntax, System& system) {
  // Their text is a pointer, which a name cannot contain.
  if (syntax.name == "kprobe" || syntax.name == "uprobe") {
    return absl::UnimplementedError(
        "a probe has no name; make it with the functions of probe.h");
  }
  ASSIGN_OR_RETURN(const Pmu pmu, Pmu::Open(syntax.name, system));
  return pmu.MakeEvent(syntax.terms);
}

absl::StatusOr<Event> Make(const EventSyntax& syntax, System& system) {
  switch (syntax.kind) {
    case Kind::kFixed:
      return syntax.fixed;
    case Kind::kPmu:
      return MakePmuEvent(syntax, system);
    case Kind::kNamed:
      return MakeNamedEvent(syntax, system);
    case Kind::kTracepoint:
      return Tracepoint(syntax.name, system);
  }
  return absl::InternalError("unknown kind of event");
}

int MaxPrecise(const EventSyntax& syntax, System& system) {
  if (!syntax.modifiers.max_precise) return 0;
  if (syntax.kind != Kind::kPmu) return MaxPreciseOfCore(system);
  const absl::StatusOr<Pmu> pmu = Pmu::Open(syntax.name, system);
  return pmu.ok() ? pmu->MaxPrecise() : 0;
}

}  // namespace

absl::StatusOr<Event> ParseEvent(absl::string_view text, System& system) {
  const absl::StatusOr<EventSyntax> syntax = ParseEventSyntax(text);
  if (!syntax.ok()) return NameEvent(syntax.status(), text);
  absl::StatusOr<Event> event = Make(*syntax, system);
  if (!event.ok()) return NameEvent(event.status(), text);
  event->name = CanonicalText(*syntax);
  event->flags = ModifiedFlags(event->flags, syntax->modifiers,
                               MaxPrecise(*syntax, system));
  return event;
}

absl::StatusOr<std::string> CanonicalEventText(absl::string_view text) {
  const absl::StatusOr<EventSyntax> syntax = ParseEventSyntax(text);
  if (!syntax.ok()) return NameEvent(syntax.status(), text);
  return CanonicalText(*syntax);
}

absl::StatusOr<std::vector<std::string>> ListEvents(System& system) {
  ASSIGN_OR_RETURN(const std::vector<Pmu> pmus, OpenPmus(system));
  bool has_core = false;
  std::vector<std::string> named;
  for (const Pmu& pmu : pmus) {
    has_core |= pmu.is_core();
    const absl::StatusOr<std::vector<std::string>> events = pmu.Events();
    if (!events.ok()) continue;
    for (const std::string& event : *events) {
      named.push_back(absl::StrCat(pmu.name(), "/", event, "/"));
    }
  }
  std::vector<std::string> names;
  const auto append = [&](const std::vector<std::string>& more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  if (has_core) append(HardwareNames());
  append(SoftwareNames());
  if (has_core) append(CacheNames());
  append(named);
  return names;
}

}  // namespace fleetperf::perf_event
