#include "driver/perf_event/event_parser.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"
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

absl::StatusOr<std::vector<Pmu>> OpenCorePmus(System& system) {
  ASSIGN_OR_RETURN(std::vector<Pmu> pmus, OpenPmus(system));
  std::erase_if(pmus, [](const Pmu& pmu) { return !pmu.is_core(); });
  return pmus;
}

bool IsCoreType(uint32_t event_type) {
  return event_type == type::kHardware || event_type == type::kCache ||
         event_type == type::kRaw;
}

// Returns the event of each core PMU if there are several.
absl::StatusOr<std::vector<Event>> MakeFixedEvents(const Event& fixed,
                                                   System& system) {
  if (!IsCoreType(fixed.type)) return std::vector<Event>{fixed};
  ASSIGN_OR_RETURN(const std::vector<Pmu> pmus, OpenCorePmus(system));
  if (pmus.size() < 2) return std::vector<Event>{fixed};
  std::vector<Event> events;
  for (const Pmu& pmu : pmus) {
    Event event = fixed;
    event.cpus = pmu.cpus();
    if (fixed.type == type::kRaw) {
      event.type = pmu.type();
    } else {
      constexpr int kTypeShift = 32;  // PERF_PMU_TYPE_SHIFT
      event.config |= uint64_t{pmu.type()} << kTypeShift;
    }
    events.push_back(std::move(event));
  }
  return events;
}

absl::Status NoSuchEvent(absl::string_view name, const std::vector<Pmu>& pmus) {
  std::vector<std::string> names = FixedNames();
  for (const Pmu& pmu : pmus) {
    const absl::StatusOr<std::vector<std::string>> events = pmu.Events();
    if (events.ok()) names.insert(names.end(), events->begin(), events->end());
  }
  return absl::NotFoundError(
      absl::StrCat("this machine has no such event",
                   DidYouMeanOrSee(name, names, "perf list")));
}

// Returns the PMUs that name an event; at least one.
absl::StatusOr<std::vector<Pmu>> FindNamedEvent(absl::string_view name,
                                                System& system) {
  ASSIGN_OR_RETURN(const std::vector<Pmu> pmus, OpenPmus(system));
  std::vector<Pmu> found;
  for (const Pmu& pmu : pmus) {
    const absl::Status status = pmu.ReadEvent(name).status();
    if (absl::IsNotFound(status)) continue;
    RETURN_IF_ERROR(status);
    found.push_back(pmu);
  }
  if (found.empty()) return NoSuchEvent(name, pmus);
  return found;
}

absl::StatusOr<std::vector<Event>> MakeEvents(const std::vector<Pmu>& pmus,
                                              absl::Span<const Term> terms) {
  std::vector<Event> events;
  for (const Pmu& pmu : pmus) {
    ASSIGN_OR_RETURN(Event event, pmu.MakeEvent(terms));
    events.push_back(std::move(event));
  }
  return events;
}

absl::StatusOr<std::vector<Event>> MakePmuEvents(const EventSyntax& syntax,
                                                 System& system) {
  // Their text is a pointer, which a name cannot contain.
  if (syntax.name == "kprobe" || syntax.name == "uprobe") {
    return absl::UnimplementedError(
        "a probe has no name; make it with the functions of probe.h");
  }
  ASSIGN_OR_RETURN(const std::vector<Pmu> pmus,
                   Pmu::OpenAll(syntax.name, system));
  return MakeEvents(pmus, syntax.terms);
}

absl::StatusOr<std::vector<Event>> Make(const EventSyntax& syntax,
                                        System& system) {
  switch (syntax.kind) {
    case Kind::kFixed:
      return MakeFixedEvents(syntax.fixed, system);
    case Kind::kPmu:
      return MakePmuEvents(syntax, system);
    case Kind::kNamed: {
      ASSIGN_OR_RETURN(const std::vector<Pmu> pmus,
                       FindNamedEvent(syntax.name, system));
      return MakeEvents(pmus, {{.name = syntax.name}});
    }
    case Kind::kTracepoint: {
      ASSIGN_OR_RETURN(Event event, Tracepoint(syntax.name, system));
      return std::vector<Event>{std::move(event)};
    }
  }
  return absl::InternalError("unknown kind of event");
}

// What the modifier P stands for: the maximum of the event's PMU, or of the
// first core PMU.
int MaxPrecise(const EventSyntax& syntax, System& system) {
  if (!syntax.modifiers.max_precise) return 0;
  const absl::StatusOr<std::vector<Pmu>> pmus =
      syntax.kind == Kind::kPmu ? Pmu::OpenAll(syntax.name, system)
                                : OpenCorePmus(system);
  return pmus.ok() && !pmus->empty() ? pmus->front().MaxPrecise() : 0;
}

// Applies what concerns all events of a text.
void Finish(const EventSyntax& syntax, System& system, Event* event) {
  event->name = CanonicalText(syntax);
  event->flags =
      ModifiedFlags(event->flags, syntax.modifiers, MaxPrecise(syntax, system));
}

// Returns an event's name with its parameters, if it can be read.
std::string NameWithParameters(const Pmu& pmu, const std::string& event) {
  std::vector<Term> terms = {{.name = event}};
  const absl::StatusOr<NamedEvent> named = pmu.ReadEvent(event);
  if (named.ok()) {
    for (const Term& term : named->terms) {
      if (term.is_parameter) terms.push_back(term);
    }
  }
  return absl::StrCat(pmu.name(), "/", TermsText(terms), "/");
}

}  // namespace

absl::StatusOr<Event> ParseEvent(absl::string_view text, System& system) {
  absl::StatusOr<EventSyntax> syntax = ParseEventSyntax(text);
  if (!syntax.ok()) return NameEvent(syntax.status(), text);
  if (syntax->kind == Kind::kFixed) {
    Finish(*syntax, system, &syntax->fixed);
    return std::move(syntax->fixed);
  }
  absl::StatusOr<std::vector<Event>> events = Make(*syntax, system);
  if (!events.ok()) return NameEvent(events.status(), text);
  if (events->size() > 1) {
    const auto name = [](std::string* out, const Event& event) {
      out->append(event.name);
    };
    return NameEvent(absl::InvalidArgumentError(
                         absl::StrCat("several PMUs have it; write ",
                                      absl::StrJoin(*events, " or ", name))),
                     text);
  }
  Finish(*syntax, system, &events->front());
  return std::move(events->front());
}

absl::StatusOr<std::vector<Event>> ParseEvents(absl::string_view text,
                                               System& system) {
  const absl::StatusOr<EventSyntax> syntax = ParseEventSyntax(text);
  if (!syntax.ok()) return NameEvent(syntax.status(), text);
  absl::StatusOr<std::vector<Event>> events = Make(*syntax, system);
  if (!events.ok()) return NameEvent(events.status(), text);
  for (Event& event : *events) Finish(*syntax, system, &event);
  return events;
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
      named.push_back(NameWithParameters(pmu, event));
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
