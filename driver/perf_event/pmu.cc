#include "driver/perf_event/pmu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"

namespace fleetperf::perf_event {
namespace {

constexpr absl::string_view kPmuDirectory = "/sys/bus/event_source/devices";
constexpr int kMaxCpu = 65535;
constexpr size_t kMaxUnit = 64;
constexpr absl::string_view kWords[] = {"config", "config1", "config2",
                                        "config3"};
constexpr int kWordCount = 4;
// Files beside an event's, named after it.
constexpr absl::string_view kCompanions[] = {".scale", ".unit", ".snapshot",
                                             ".per-pkg"};

absl::Status Malformed(absl::string_view path, absl::string_view text,
                       absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " contains ", Quoted(text), "; expected ", expected));
}

// Returns a file's text without spaces at its ends.
absl::StatusOr<std::string> ReadText(System& system, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, system.ReadFile(path));
  if (text.size() > kMaxEventText) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", text.size(), " bytes"));
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

// The same, or nothing if there is no such file.
absl::StatusOr<std::optional<std::string>> ReadTextIfPresent(
    System& system, const std::string& path) {
  absl::StatusOr<std::string> text = ReadText(system, path);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return text.status();
  return *std::move(text);
}

// Returns the names in a directory, or none if there is no such directory.
absl::StatusOr<std::vector<std::string>> ListIfPresent(
    System& system, const std::string& path) {
  absl::StatusOr<std::vector<std::string>> names = system.ListDirectory(path);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

// Parses "7" or "0-7". Both ends are at most `max`.
std::optional<std::pair<int, int>> ParseRange(absl::string_view text, int max) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<uint64_t> first = ParseNumber(ends.first);
  const std::optional<uint64_t> last =
      absl::StrContains(text, '-') ? ParseNumber(ends.second) : first;
  if (!first || !last || *first > *last || *last > static_cast<uint64_t>(max)) {
    return std::nullopt;
  }
  return std::pair(static_cast<int>(*first), static_cast<int>(*last));
}

std::optional<int> WordOf(absl::string_view name) {
  const auto word = std::find(std::begin(kWords), std::end(kWords), name);
  if (word == std::end(kWords)) return std::nullopt;
  return static_cast<int>(word - std::begin(kWords));
}

uint64_t& Word(Event& event, int word) {
  uint64_t* const words[kWordCount] = {&event.config, &event.config1,
                                       &event.config2, &event.config3};
  return *words[word];
}

bool IsCompanion(absl::string_view file) {
  return std::any_of(
      std::begin(kCompanions), std::end(kCompanions),
      [&](absl::string_view suffix) { return absl::EndsWith(file, suffix); });
}

std::string HasOnly(const std::vector<std::string>& names) {
  constexpr size_t kMaxListed = 16;
  if (names.empty()) return "; it has none";
  if (names.size() > kMaxListed) return "";
  return absl::StrCat("; it has ", absl::StrJoin(names, ", "));
}

// Returns whether `pmu` is `name`, "_" and a number. Two hexadecimal digits can
// be a word: cpum_cf.
bool IsNumbered(absl::string_view pmu, absl::string_view name) {
  if (!absl::ConsumePrefix(&pmu, name) || !absl::ConsumePrefix(&pmu, "_")) {
    return false;
  }
  return ParseNumber(pmu).has_value() ||
         (pmu.size() > 2 && ParseNumber(absl::StrCat("0x", pmu)).has_value());
}

// Returns the names near to a wrong one, or all of a few names.
std::string Suggestion(absl::string_view wrong,
                       const std::vector<std::string>& names) {
  const std::string near = DidYouMean(wrong, names);
  return near.empty() ? HasOnly(names) : near;
}

// Returns the terms of an event, each replaced by the field of the same name,
// and then the other fields.
std::vector<Term> Overridden(const std::vector<Term>& event,
                             const std::vector<Term>& fields) {
  std::vector<Term> result = event;
  for (Term& term : result) {
    if (!term.value && !term.is_parameter) term.value = 1;
  }
  for (const Term& field : fields) {
    const auto same =
        std::find_if(result.begin(), result.end(),
                     [&](const Term& term) { return term.name == field.name; });
    if (same == result.end()) {
      result.push_back(field);
    } else {
      *same = field;
    }
  }
  return result;
}

absl::Status NoPmu(System& system, absl::string_view name) {
  absl::StatusOr<std::vector<std::string>> pmus = ListPmus(system);
  return absl::NotFoundError(
      absl::StrCat("this machine has no PMU ", Quoted(name),
                   pmus.ok() ? Suggestion(name, *pmus) : "", " (names are in ",
                   kPmuDirectory, "; a kernel module can add one)"));
}

absl::Status ReadCpus(System& system, const std::string& path, bool* exists,
                      std::vector<int>* cpus) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadTextIfPresent(system, path));
  *exists = text.has_value();
  if (!text) return absl::OkStatus();
  absl::StatusOr<std::vector<int>> list = ParseCpuList(*text);
  if (!list.ok()) return Malformed(path, *text, "a list of CPUs");
  *cpus = *std::move(list);
  return absl::OkStatus();
}

absl::Status ReadScale(System& system, const std::string& path, double* scale) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadTextIfPresent(system, path));
  if (!text) return absl::OkStatus();
  if (!absl::SimpleAtod(*text, scale) || !std::isfinite(*scale) ||
      *scale <= 0) {
    return Malformed(path, *text, "a positive number");
  }
  return absl::OkStatus();
}

absl::Status ReadUnit(System& system, const std::string& path,
                      std::string* unit) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadTextIfPresent(system, path));
  if (!text) return absl::OkStatus();
  const bool printable =
      std::all_of(text->begin(), text->end(),
                  [](unsigned char c) { return absl::ascii_isprint(c); });
  if (!printable || text->size() > kMaxUnit) {
    return Malformed(path, *text, "the name of a unit");
  }
  *unit = *text;
  return absl::OkStatus();
}

absl::Status ReadFlag(System& system, const std::string& path, bool* flag) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadTextIfPresent(system, path));
  *flag = text.has_value() && *text != "0";
  return absl::OkStatus();
}

}  // namespace

uint64_t Field::max() const {
  const int width = std::popcount(mask);
  return width == 64 ? std::numeric_limits<uint64_t>::max()
                     : (uint64_t{1} << width) - 1;
}

uint64_t Field::Spread(uint64_t value) const {
  uint64_t spread = 0;
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1, value >>= 1) {
    if ((value & 1) != 0) spread |= rest & -rest;
  }
  return spread;
}

absl::StatusOr<Field> ParseField(absl::string_view text) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is no format of a field, such as config:0-7,32-35"));
  };
  if (text.size() > kMaxEventText) return malformed();
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const std::optional<int> word = WordOf(parts.first);
  if (!word) return malformed();
  Field field{.word = *word};
  for (const absl::string_view part : absl::StrSplit(parts.second, ',')) {
    const auto range = ParseRange(part, 63);
    if (!range) return malformed();
    const auto [first, last] = *range;
    field.mask |= (~uint64_t{0} >> (63 - (last - first))) << first;
  }
  if (field.mask == 0) return malformed();  // StrSplit finds no part in ""
  return field;
}

absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text) {
  std::vector<int> cpus;
  if (absl::StripAsciiWhitespace(text).empty()) return cpus;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(absl::StripAsciiWhitespace(part), kMaxCpu);
    // Lists that do not ascend could name the same CPUs again and again.
    if (!range || (!cpus.empty() && range->first <= cpus.back())) {
      return absl::InvalidArgumentError(absl::StrCat(
          Quoted(text), " is no ascending list of CPUs, such as 0-3,8"));
    }
    for (int cpu = range->first; cpu <= range->second; ++cpu) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

absl::StatusOr<std::vector<std::string>> ListPmus(System& system) {
  return ListIfPresent(system, std::string(kPmuDirectory));
}

absl::StatusOr<Pmu> Pmu::Open(absl::string_view name, System& system) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(name), " cannot be the name of a PMU"));
  }
  Pmu pmu(name, system);
  const std::string path = pmu.Path("type");
  const absl::StatusOr<std::string> text = ReadText(system, path);
  if (absl::IsNotFound(text.status())) return NoPmu(system, name);
  if (!text.ok()) return text.status();
  const std::optional<uint64_t> type = ParseNumber(*text);
  if (!type || *type > std::numeric_limits<uint32_t>::max()) {
    return Malformed(path, *text, "a type of 32 bits");
  }
  pmu.type_ = static_cast<uint32_t>(*type);
  // A file `cpus` distinguishes the core PMUs of hybrid machines and of ARM.
  bool has_cpus = false;
  RETURN_IF_ERROR(ReadCpus(system, pmu.Path("cpus"), &has_cpus, &pmu.cpus_));
  pmu.is_core_ = has_cpus || name == "cpu";
  if (!has_cpus) {
    RETURN_IF_ERROR(
        ReadCpus(system, pmu.Path("cpumask"), &has_cpus, &pmu.cpus_));
  }
  return pmu;
}

absl::StatusOr<std::vector<Pmu>> Pmu::OpenAll(absl::string_view name,
                                              System& system) {
  const absl::StatusOr<Pmu> exact = Open(name, system);
  if (exact.ok()) return std::vector<Pmu>{*exact};
  if (!absl::IsNotFound(exact.status())) return exact.status();
  std::vector<Pmu> pmus;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListPmus(system));
  for (const std::string& numbered : names) {
    if (!IsNumbered(numbered, name)) continue;
    ASSIGN_OR_RETURN(Pmu pmu, Open(numbered, system));
    pmus.push_back(std::move(pmu));
  }
  if (pmus.empty()) return exact.status();
  return pmus;
}

std::string Pmu::Path(absl::string_view file) const {
  return absl::StrCat(kPmuDirectory, "/", name_, "/", file);
}

absl::StatusOr<std::vector<std::string>> Pmu::Events() const {
  ASSIGN_OR_RETURN(std::vector<std::string> files,
                   ListIfPresent(*system_, Path("events")));
  std::erase_if(files, [](const std::string& file) {
    return IsCompanion(file) || !IsName(file);
  });
  return files;
}

absl::StatusOr<std::vector<std::string>> Pmu::Fields() const {
  return ListIfPresent(*system_, Path("format"));
}

absl::Status Pmu::NoSuch(absl::string_view what, absl::string_view name) const {
  std::vector<std::string> names;
  for (const auto& more : {Events(), Fields()}) {
    if (more.ok()) names.insert(names.end(), more->begin(), more->end());
  }
  return absl::NotFoundError(absl::StrCat("the PMU ", name_, " has no ", what,
                                          " ", Quoted(name),
                                          Suggestion(name, names)));
}

absl::StatusOr<NamedEvent> Pmu::ReadEvent(absl::string_view event) const {
  if (!IsName(event) || IsCompanion(event)) return NoSuch("event", event);
  const std::string path = Path(absl::StrCat("events/", event));
  const absl::StatusOr<std::string> text = ReadText(*system_, path);
  if (absl::IsNotFound(text.status())) return NoSuch("event", event);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::vector<Term>> terms = ParseTerms(*text);
  if (!terms.ok()) return Malformed(path, *text, terms.status().message());
  NamedEvent result{.name = std::string(event), .terms = *std::move(terms)};
  RETURN_IF_ERROR(ReadScale(*system_, path + ".scale", &result.scale));
  RETURN_IF_ERROR(ReadUnit(*system_, path + ".unit", &result.unit));
  RETURN_IF_ERROR(ReadFlag(*system_, path + ".snapshot", &result.is_snapshot));
  RETURN_IF_ERROR(
      ReadFlag(*system_, path + ".per-pkg", &result.is_per_package));
  return result;
}

absl::StatusOr<Field> Pmu::ReadField(absl::string_view field) const {
  if (!IsName(field)) return NoSuch("field", field);
  const std::string path = Path(absl::StrCat("format/", field));
  const absl::StatusOr<std::string> text = ReadText(*system_, path);
  if (absl::IsNotFound(text.status())) {
    const std::optional<int> word = WordOf(field);
    if (word) return Field{.word = *word, .mask = ~uint64_t{0}};
    return NoSuch("event or field", field);
  }
  if (!text.ok()) return text.status();
  absl::StatusOr<Field> result = ParseField(*text);
  if (!result.ok()) return Malformed(path, *text, "config:0-7 or similar");
  return result;
}

int Pmu::MaxPrecise() const {
  const absl::StatusOr<std::string> text =
      ReadText(*system_, Path("caps/max_precise"));
  if (!text.ok()) return 0;
  constexpr uint64_t kLargest = 3;  // of two bits
  return static_cast<int>(std::min(ParseNumber(*text).value_or(0), kLargest));
}

absl::StatusOr<Event> Pmu::MakeEvent(absl::string_view terms) const {
  ASSIGN_OR_RETURN(const std::vector<Term> parsed, ParseTerms(terms));
  return MakeEvent(parsed);
}

absl::StatusOr<Event> Pmu::MakeEvent(absl::Span<const Term> terms) const {
  std::optional<NamedEvent> named;
  std::vector<Term> fields;
  for (const Term& term : terms) {
    if (term.value || term.is_parameter) {
      fields.push_back(term);
      continue;
    }
    absl::StatusOr<NamedEvent> event = ReadEvent(term.name);
    if (absl::IsNotFound(event.status())) {
      fields.push_back({.name = term.name, .value = 1});
      continue;
    }
    if (!event.ok()) return event.status();
    if (named) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", named->name, "\" and \"", term.name,
                       "\" are both events of the PMU ", name_,
                       "; one event can have only one of them"));
    }
    named = *std::move(event);
  }
  Event result = {.name = absl::StrCat(name_, "/", TermsText(terms), "/"),
                  .type = type_,
                  .cpus = cpus_};
  if (!is_core_) result.flags = 0;
  if (named) {
    result.scale = named->scale;
    result.unit = named->unit;
    fields = Overridden(named->terms, fields);
  }
  // A whole word comes before the fields that replace some of its bits.
  std::stable_partition(fields.begin(), fields.end(), [](const Term& term) {
    return WordOf(term.name).has_value();
  });
  for (const Term& term : fields) RETURN_IF_ERROR(SetField(term, &result));
  return result;
}

absl::Status Pmu::SetField(const Term& term, Event* event) const {
  if (term.is_parameter) {
    return absl::InvalidArgumentError(
        absl::StrCat("the event ", event->name, " needs the parameter \"",
                     term.name, "\"; add ", term.name, "=NUMBER to its terms"));
  }
  ASSIGN_OR_RETURN(const Field field, ReadField(term.name));
  if (*term.value > field.max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the event ", event->name, " sets \"", term.name,
                     "\" to 0x", absl::Hex(*term.value),
                     "; the field holds at most 0x", absl::Hex(field.max())));
  }
  uint64_t& word = Word(*event, field.word);
  word = (word & ~field.mask) | field.Spread(*term.value);
  return absl::OkStatus();
}

}  // namespace fleetperf::perf_event
