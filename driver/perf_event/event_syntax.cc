#include "driver/perf_event/event_syntax.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {
namespace {

constexpr uint64_t kHardwareCount = 10;
constexpr uint64_t kSoftwareCount = 12;
constexpr uint64_t kCacheCount = 7;
constexpr uint64_t kOperationCount = 3;
constexpr int kMaxPreciseLetters = 3;

// Other names, as perf takes them.
constexpr std::pair<absl::string_view, absl::string_view> kAliases[] = {
    {"cycles", "cpu-cycles"},
    {"branches", "branch-instructions"},
    {"idle-cycles-frontend", "stalled-cycles-frontend"},
    {"idle-cycles-backend", "stalled-cycles-backend"},
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
};

// The parts of a cache event's name, which ignore case.
using Part = std::pair<absl::string_view, uint64_t>;
constexpr Part kCaches[] = {
    {"L1-dcache", 0}, {"l1-d", 0},     {"l1d", 0},   {"L1-data", 0},
    {"L1-icache", 1}, {"l1-i", 1},     {"l1i", 1},   {"L1-instruction", 1},
    {"LLC", 2},       {"L2", 2},       {"dTLB", 3},  {"d-tlb", 3},
    {"Data-TLB", 3},  {"iTLB", 4},     {"i-tlb", 4}, {"Instruction-TLB", 4},
    {"branch", 5},    {"branches", 5}, {"bpu", 5},   {"btb", 5},
    {"bpc", 5},       {"node", 6}};
constexpr Part kOperations[] = {{"load", 0},
                                {"loads", 0},
                                {"read", 0},
                                {"store", 1},
                                {"stores", 1},
                                {"write", 1},
                                {"prefetch", 2},
                                {"prefetches", 2},
                                {"speculative-read", 2},
                                {"speculative-load", 2}};
constexpr Part kResults[] = {{"refs", 0},   {"Reference", 0}, {"ops", 0},
                             {"access", 0}, {"misses", 1},    {"miss", 1}};

// The operations of each cache that the kernel counts: bits of CacheOperation.
constexpr int kValidOperations[] = {7, 5, 7, 7, 1, 1, 7};

constexpr absl::string_view kModifiers = "ukhIGHpPDe";
// Modifiers of perf that concern its groups and samples.
constexpr absl::string_view kToolModifiers = "SWbRX";

bool IsModifier(char c) {
  return absl::StrContains(kModifiers, c) ||
         absl::StrContains(kToolModifiers, c);
}

absl::StatusOr<Modifiers> ParseModifiers(absl::string_view text) {
  Modifiers result;
  bool* const switches[] = {&result.user,
                            &result.kernel,
                            &result.hypervisor,
                            &result.exclude_idle,
                            &result.guest,
                            &result.host,
                            nullptr,
                            &result.max_precise,
                            &result.pinned,
                            &result.exclusive};
  for (const char c : text) {
    const absl::string_view letter(&c, 1);
    if (absl::StrContains(kToolModifiers, c)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the modifier ", Quoted(letter),
          " is one of perf's groups and samples; Builder sets these"));
    }
    const size_t index = kModifiers.find(c);
    if (index == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown modifier ", Quoted(letter),
                       "; the modifiers are ", kModifiers));
    }
    if (c == 'p') {
      if (++result.precise <= kMaxPreciseLetters) continue;
    } else if (!std::exchange(*switches[index], true)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the modifier ", Quoted(letter), " is given too often"));
  }
  return result;
}

// Parses the rest of an event, ":" and modifiers.
absl::StatusOr<Modifiers> ParseModifierSuffix(absl::string_view text) {
  if (text == ":") {
    return absl::InvalidArgumentError(
        "no modifier after the colon; remove the colon");
  }
  absl::ConsumePrefix(&text, ":");
  return ParseModifiers(text);
}

// Removes one of `parts` from the front of `text`, and the '-' before a next
// part.
template <size_t n>
std::optional<uint64_t> ConsumePart(const Part (&parts)[n],
                                    absl::string_view* text) {
  for (const auto& [name, number] : parts) {
    absl::string_view rest = *text;
    if (!absl::StartsWithIgnoreCase(rest, name)) continue;
    rest.remove_prefix(name.size());
    if (rest == "-") continue;
    if (!rest.empty() && !absl::ConsumePrefix(&rest, "-")) continue;
    *text = rest;
    return number;
  }
  return std::nullopt;
}

bool IsValidCache(uint64_t cache, uint64_t operation) {
  return (kValidOperations[cache] >> operation & 1) != 0;
}

std::optional<Event> CacheByName(absl::string_view name) {
  const std::optional<uint64_t> cache = ConsumePart(kCaches, &name);
  if (!cache) return std::nullopt;
  std::optional<uint64_t> operation, result;
  while (!name.empty()) {
    if (!operation && (operation = ConsumePart(kOperations, &name))) continue;
    if (!result && (result = ConsumePart(kResults, &name))) continue;
    return std::nullopt;
  }
  if (!IsValidCache(*cache, operation.value_or(0))) return std::nullopt;
  return Cache(static_cast<CacheId>(*cache),
               static_cast<CacheOperation>(operation.value_or(0)),
               static_cast<CacheResult>(result.value_or(0)));
}

// Parses "r1a8".
std::optional<Event> RawByName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "r")) return std::nullopt;
  const std::optional<uint64_t> config = ParseNumber(absl::StrCat("0x", name));
  if (!config) return std::nullopt;
  return Raw(*config);
}

std::optional<Event> FixedByName(absl::string_view name) {
  for (const auto& [alias, other] : kAliases) {
    if (name == alias) name = other;
  }
  for (uint64_t i = 0; i < kHardwareCount; ++i) {
    Event event = Hardware(static_cast<HardwareEvent>(i));
    if (event.name == name) return event;
  }
  for (uint64_t i = 0; i < kSoftwareCount; ++i) {
    Event event = Software(static_cast<SoftwareEvent>(i));
    if (event.name == name) return event;
  }
  std::optional<Event> cache = CacheByName(name);
  return cache ? cache : RawByName(name);
}

std::optional<BreakpointAccess> ParseAccess(absl::string_view text) {
  if (text == "r") return BreakpointAccess::kRead;
  if (text == "w") return BreakpointAccess::kWrite;
  if (text == "rw" || text == "wr") return BreakpointAccess::kReadWrite;
  if (text == "x") return BreakpointAccess::kExecute;
  return std::nullopt;
}

// Parses what follows "mem:".
absl::StatusOr<EventSyntax> ParseBreakpoint(absl::string_view text) {
  const absl::InlinedVector<absl::string_view, 3> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 2));
  const std::pair<absl::string_view, absl::string_view> place =
      absl::StrSplit(parts[0], absl::MaxSplits('/', 1));
  const std::optional<uint64_t> address = ParseNumber(place.first);
  if (!address) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(place.first),
                     " is no address; write mem:ADDRESS/LENGTH:ACCESS"));
  }
  const bool has_access =
      parts.size() > 1 &&
      parts[1].find_first_not_of("rwx") == absl::string_view::npos;
  const std::optional<BreakpointAccess> access =
      has_access ? ParseAccess(parts[1]) : BreakpointAccess::kReadWrite;
  if (!access) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(parts[1]), " is no access; write r, w, rw or x"));
  }
  const bool is_execute = *access == BreakpointAccess::kExecute;
  uint64_t length = is_execute ? sizeof(void*) : 4;
  if (absl::StrContains(parts[0], '/')) {
    const std::optional<uint64_t> given = ParseNumber(place.second);
    if (given != 1 && given != 2 && given != 4 && given != 8) {
      return absl::InvalidArgumentError(absl::StrCat(
          Quoted(place.second), " is no length; write 1, 2, 4 or 8"));
    }
    length = *given;
  }
  EventSyntax result = {.fixed = Breakpoint(*access, *address, length)};
  const size_t next = has_access ? 2 : 1;
  if (parts.size() > next) {
    const absl::string_view rest =
        text.substr(static_cast<size_t>(parts[next].data() - text.data()) - 1);
    ASSIGN_OR_RETURN(result.modifiers, ParseModifierSuffix(rest));
  }
  return result;
}

// Parses PMU/TERMS/MODIFIERS.
absl::StatusOr<EventSyntax> ParsePmuEvent(absl::string_view text) {
  const size_t first = text.find('/');
  const size_t last = text.rfind('/');
  if (first == last) {
    return absl::InvalidArgumentError(
        "the terms have no end; write PMU/TERMS/MODIFIERS");
  }
  EventSyntax result = {.kind = EventSyntax::Kind::kPmu,
                        .name = std::string(text.substr(0, first))};
  if (!IsName(result.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(result.name), " cannot be the name of a PMU"));
  }
  ASSIGN_OR_RETURN(result.terms,
                   ParseTerms(text.substr(first + 1, last - first - 1)));
  for (const Term& term : result.terms) {
    if (!term.is_parameter) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the parameter \"", term.name, "\" needs a number in place of \"?\""));
  }
  std::sort(result.terms.begin(), result.terms.end(),
            [](const Term& a, const Term& b) { return a.name < b.name; });
  ASSIGN_OR_RETURN(result.modifiers,
                   ParseModifierSuffix(text.substr(last + 1)));
  return result;
}

bool HasOnlyModifiers(absl::string_view suffix) {
  return suffix.size() > 1 &&
         std::all_of(suffix.begin() + 1, suffix.end(), IsModifier);
}

// Parses NAME, NAME:MODIFIERS and SYSTEM:EVENT:MODIFIERS. As in perf, a
// tracepoint's name cannot consist of modifiers.
absl::StatusOr<EventSyntax> ParseNamedEvent(absl::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const absl::string_view name = text.substr(0, colon);
  absl::string_view rest = text.substr(colon);
  if (!IsName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(name),
                     " is no event; write NAME, PMU/TERMS/, SYSTEM:TRACEPOINT, "
                     "rHEX or mem:ADDRESS"));
  }
  EventSyntax result = {.kind = EventSyntax::Kind::kNamed,
                        .name = std::string(name)};
  std::optional<Event> fixed = FixedByName(name);
  if (fixed) {
    result.kind = EventSyntax::Kind::kFixed;
    result.fixed = *std::move(fixed);
  } else if (!rest.empty() && !HasOnlyModifiers(rest)) {
    const size_t end = std::min(rest.find(':', 1), rest.size());
    const absl::string_view event = rest.substr(1, end - 1);
    if (!IsName(event)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(event), " is no name of a tracepoint"));
    }
    result.kind = EventSyntax::Kind::kTracepoint;
    absl::StrAppend(&result.name, ":", event);
    rest.remove_prefix(end);
  }
  ASSIGN_OR_RETURN(result.modifiers, ParseModifierSuffix(rest));
  return result;
}

absl::StatusOr<EventSyntax> ParseKind(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "mem:")) return ParseBreakpoint(text);
  if (absl::StrContains(text, '/')) return ParsePmuEvent(text);
  return ParseNamedEvent(text);
}

}  // namespace

std::string ModifiersText(const Modifiers& m) {
  const auto letter = [](bool on, absl::string_view text) {
    return on ? text : "";
  };
  return absl::StrCat(letter(m.user, "u"), letter(m.kernel, "k"),
                      letter(m.hypervisor, "h"), letter(m.exclude_idle, "I"),
                      letter(m.guest, "G"), letter(m.host, "H"),
                      std::string(static_cast<size_t>(m.precise), 'p'),
                      letter(m.max_precise, "P"), letter(m.pinned, "D"),
                      letter(m.exclusive, "e"));
}

uint64_t ModifiedFlags(uint64_t flags, const Modifiers& modifiers,
                       int max_precise) {
  const auto set = [&](uint64_t bit, bool on) {
    flags = on ? flags | bit : flags & ~bit;
  };
  const bool has_mode =
      modifiers.user || modifiers.kernel || modifiers.hypervisor;
  set(flag::kExcludeUser, has_mode && !modifiers.user);
  set(flag::kExcludeKernel, has_mode && !modifiers.kernel);
  set(flag::kExcludeHypervisor, has_mode && !modifiers.hypervisor);
  const int precise = modifiers.max_precise ? max_precise : modifiers.precise;
  if (modifiers.guest || modifiers.host) {
    set(flag::kExcludeGuest, !modifiers.guest);
    set(flag::kExcludeHost, !modifiers.host);
  } else if (precise > 0) {
    set(flag::kExcludeGuest, true);  // as perf does: PEBS cannot count guests
  }
  if (modifiers.exclude_idle) set(flag::kExcludeIdle, true);
  if (modifiers.pinned) set(flag::kPinned, true);
  if (modifiers.exclusive) set(flag::kExclusive, true);
  return flags | static_cast<uint64_t>(precise) << flag::kPreciseIpShift;
}

std::string CanonicalText(const EventSyntax& syntax) {
  const std::string modifiers = ModifiersText(syntax.modifiers);
  if (syntax.kind == EventSyntax::Kind::kPmu) {
    return absl::StrCat(syntax.name, "/", TermsText(syntax.terms), "/",
                        modifiers);
  }
  const bool is_fixed = syntax.kind == EventSyntax::Kind::kFixed;
  return absl::StrCat(is_fixed ? syntax.fixed.name : syntax.name,
                      modifiers.empty() ? "" : ":", modifiers);
}

absl::StatusOr<EventSyntax> ParseEventSyntax(absl::string_view text) {
  const auto too_long = [](size_t size) {
    return absl::InvalidArgumentError(
        absl::StrCat("its text has ", size, " bytes; at most ", kMaxEventText));
  };
  if (text.size() > kMaxEventText) return too_long(text.size());
  ASSIGN_OR_RETURN(EventSyntax syntax,
                   ParseKind(absl::StripAsciiWhitespace(text)));
  // Hexadecimal numbers can be longer than decimal ones.
  const size_t canonical = CanonicalText(syntax).size();
  if (canonical > kMaxEventText) return too_long(canonical);
  return syntax;
}

std::vector<std::string> HardwareNames() {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < kHardwareCount; ++i) {
    names.push_back(Hardware(static_cast<HardwareEvent>(i)).name);
  }
  return names;
}

std::vector<std::string> SoftwareNames() {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < kSoftwareCount; ++i) {
    names.push_back(Software(static_cast<SoftwareEvent>(i)).name);
  }
  return names;
}

std::vector<std::string> CacheNames() {
  std::vector<std::string> names;
  for (uint64_t cache = 0; cache < kCacheCount; ++cache) {
    for (uint64_t operation = 0; operation < kOperationCount; ++operation) {
      if (!IsValidCache(cache, operation)) continue;
      for (const auto result : {CacheResult::kAccess, CacheResult::kMiss}) {
        names.push_back(Cache(static_cast<CacheId>(cache),
                              static_cast<CacheOperation>(operation), result)
                            .name);
      }
    }
  }
  return names;
}

std::vector<std::string> FixedNames() {
  std::vector<std::string> names;
  for (const auto& [alias, name] : kAliases) names.emplace_back(alias);
  for (const auto& more : {HardwareNames(), SoftwareNames(), CacheNames()}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace fleetperf::perf_event
