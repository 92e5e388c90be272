#include "aggregator/export/metric_names.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/text/utf8.h"
#include "perflib/counter_type.h"
#include "values/unit.h"

namespace fleetperf::aggregator {
namespace {

using Words = std::vector<std::string>;

bool IsLetterOrDigit(uint32_t character) {
  return character < 0x80 &&
         absl::ascii_isalnum(static_cast<unsigned char>(character));
}

// Removes the first character of `text`, and returns it if it is ASCII. Of
// others, appends the number to `word`: u00f6 for a character, xf6 for a byte
// that is not UTF-8.
char TakeCharacter(absl::string_view* text, std::string* word) {
  uint32_t character = 0;
  const size_t size = DecodeCharacter(*text, &character);
  const auto byte = static_cast<unsigned char>(text->front());
  text->remove_prefix(std::max<size_t>(size, 1));
  if (size == 1) return static_cast<char>(character);
  absl::StrAppend(word, size == 0 ? absl::StrFormat("x%02x", byte)
                                  : absl::StrFormat("u%04x", character));
  return '\0';
}

// Splits a text into words of a to z and 0 to 9. "PhysicalDisk" is two words.
class WordSplitter {
 public:
  explicit WordSplitter(absl::string_view text) {
    while (!text.empty()) {
      const size_t before = word_.size();
      const char character = TakeCharacter(&text, &word_);
      if (word_.size() > before) {
        was_lower_ = false;  // no new word begins behind it
      } else {
        Add(character);
      }
    }
    EndWord();
  }

  Words Take() { return std::move(words_); }

 private:
  void Add(char character) {
    const auto byte = static_cast<unsigned char>(character);
    if (absl::ascii_isalnum(byte)) {
      if (was_lower_ && absl::ascii_isupper(byte)) EndWord();
      word_ += absl::ascii_tolower(byte);
      was_lower_ = absl::ascii_islower(byte);
    } else if (character == '/') {
      AddSlash();
    } else {
      EndWord();
      if (character == '%') words_.emplace_back("percent");
      if (character == '&') words_.emplace_back("and");
      if (character == '#') words_.emplace_back("number");
    }
  }

  // "Reads/sec" is reads per second; "I/O" is one word.
  void AddSlash() {
    if (word_.size() == 1) return;
    EndWord();
    if (!words_.empty()) words_.emplace_back("per");
  }

  void EndWord() {
    if (!word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
    was_lower_ = false;
  }

  Words words_;
  std::string word_;
  bool was_lower_ = false;
};

Words WordsOf(absl::string_view text) { return WordSplitter(text).Take(); }

struct Unit {
  absl::string_view name;  // in the plural; empty for a plain number
  double factor = 1;       // to the base unit
  bool is_rate = false;
};

// Translates a unit of UnitOf to a base unit of Prometheus.
Unit BaseUnit(absl::string_view unit) {
  constexpr struct {
    absl::string_view unit;
    absl::string_view base;
    absl::string_view name;
  } kUnits[] = {
      {"%", "%", "percent"},  {"s", "s", "seconds"}, {"B", "B", "bytes"},
      {"KiB", "B", "bytes"},  {"MiB", "B", "bytes"}, {"bit", "bit", "bits"},
      {"MHz", "Hz", "hertz"}, {"Hz", "Hz", "hertz"},
  };
  const bool is_rate = absl::ConsumeSuffix(&unit, "/s");
  for (const auto& known : kUnits) {
    if (known.unit == unit) {
      return {known.name, UnitFactor(known.unit, known.base).value_or(1),
              is_rate};
    }
  }
  return {.is_rate = is_rate};
}

// Replaces the words for units by those of Prometheus.
void UseBaseUnits(const Unit& unit, Words* words) {
  for (size_t i = 0; i < words->size(); ++i) {
    std::string& word = (*words)[i];
    const bool is_divisor = i > 0 && (*words)[i - 1] == "per";
    if (word == "sec" || word == "second" || word == "seconds") {
      word = is_divisor ? "second" : word == "sec" ? "seconds" : word;
    }
    if (word == "percentage") word = "percent";
    if (unit.name == "bytes" && unit.factor != 1 &&
        (word == "kbytes" || word == "mbytes" || word == "megabytes")) {
      word = "bytes";
    }
  }
}

bool Contains(const Words& words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool EndsPerSecond(const Words& words) {
  const size_t size = words.size();
  return size >= 2 && words[size - 2] == "per" && words[size - 1] == "second";
}

void RemovePercent(Words* words) {
  words->erase(std::remove(words->begin(), words->end(), "percent"),
               words->end());
}

Words NamelessWords(const perflib::CounterRegistration& counter) {
  return {"counter", absl::StrCat(counter.counter_id)};
}

// Returns the words of a counter's name, with its unit at the end or, as in
// "Avg. Disk sec/Read", where the name has it.
Words CounterWords(const perflib::CounterRegistration& counter,
                   const Unit& unit) {
  Words words = WordsOf(counter.name);
  UseBaseUnits(unit, &words);
  const bool ends_per_second = EndsPerSecond(words);
  if (ends_per_second) words.resize(words.size() - 2);
  // A percent sign is at the start of a name, or before a word.
  const bool is_percent = unit.name == "percent" || Contains(words, "percent");
  RemovePercent(&words);
  if (is_percent) {
    words.emplace_back("percent");
  } else if (!unit.name.empty() && !Contains(words, unit.name)) {
    words.emplace_back(unit.name);
  }
  const bool is_per_second =
      unit.is_rate &&
      !absl::StrContains(absl::StrJoin(words, " "), "per second");
  if (ends_per_second || is_per_second) {
    words.insert(words.end(), {"per", "second"});
  }
  if (words.empty()) words = NamelessWords(counter);
  return words;
}

// Returns whether a formula gives values of this counter.
bool HasValues(const perflib::CounterRegistration& counter) {
  const perflib::CounterTypeInfo* type = perflib::FindCounterType(counter.type);
  return type != nullptr && type->formula != perflib::Formula::kNotDisplayable;
}

// Makes names differ. Of counters with one name, that whose unit is the base
// unit keeps it, then that with the lowest id.
void MakeUnique(const std::vector<perflib::CounterRegistration>& counters,
                std::vector<Metric>* metrics) {
  using Order = std::tuple<std::string, bool, uint32_t, size_t>;
  std::vector<Order> order;
  for (size_t i = 0; i < metrics->size(); ++i) {
    const Metric& metric = (*metrics)[i];
    if (metric.name.empty()) continue;
    order.emplace_back(metric.name, metric.factor != 1, counters[i].counter_id,
                       i);
  }
  std::sort(order.begin(), order.end());
  std::set<std::string> used;
  for (const Order& entry : order) used.insert(std::get<std::string>(entry));
  for (size_t i = 1; i < order.size(); ++i) {
    const auto& [name, is_converted, id, place] = order[i];
    if (name != std::get<std::string>(order[i - 1])) continue;
    std::string& unique = (*metrics)[place].name;
    absl::StrAppend(&unique, "_id", id);
    while (used.contains(unique)) absl::StrAppend(&unique, "_", place);
    used.insert(unique);
  }
}

// Labels that the export, Prometheus and its rules set themselves.
bool IsReserved(absl::string_view name) {
  constexpr absl::string_view kReserved[] = {
      "aggregator", "alertname", "alertstate", "instance", "instance_index",
      "job",        "le",        "machine",    "quantile"};
  return absl::StartsWith(name, "__") ||
         std::find(std::begin(kReserved), std::end(kReserved), name) !=
             std::end(kReserved);
}

// Returns the name as a label's: "rack-row" is rack_row.
std::string LabelName(absl::string_view name) {
  std::string valid;
  while (!name.empty()) {
    const size_t before = valid.size();
    const char character = TakeCharacter(&name, &valid);
    if (valid.size() > before) continue;
    valid += IsLetterOrDigit(static_cast<unsigned char>(character)) ? character
                                                                    : '_';
  }
  const bool is_valid_start =
      !valid.empty() &&
      !absl::ascii_isdigit(static_cast<unsigned char>(valid[0]));
  return is_valid_start && !IsReserved(valid) ? valid
                                              : absl::StrCat("machine_", valid);
}

}  // namespace

std::string MetricPrefix(const perflib::CountersetRegistration& counterset) {
  Words prefix = WordsOf(counterset.name);
  if (prefix.empty()) prefix = {"counterset"};
  // "fleetperf Agent" has the prefix already.
  if (prefix.front() != "fleetperf") prefix.insert(prefix.begin(), "fleetperf");
  return absl::StrJoin(prefix, "_");
}

std::string WordsWithoutUnit(const perflib::CounterRegistration& counter) {
  Words words = WordsOf(counter.name);
  UseBaseUnits({}, &words);
  if (EndsPerSecond(words)) words.resize(words.size() - 2);
  RemovePercent(&words);
  if (words.empty()) words = NamelessWords(counter);
  return absl::StrJoin(words, "_");
}

std::string ValidUtf8(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = DecodeCharacter(text, &character);
    absl::StrAppend(&valid, size == 0 ? "\uFFFD" : text.substr(0, size));
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return valid;
}

std::vector<Metric> MetricsOf(
    const perflib::CountersetRegistration& counterset) {
  const std::string prefix = MetricPrefix(counterset);
  std::vector<Metric> metrics;
  metrics.reserve(counterset.counters.size());
  for (const perflib::CounterRegistration& counter : counterset.counters) {
    Metric& metric = metrics.emplace_back();
    if (!HasValues(counter)) continue;
    const Unit unit = BaseUnit(UnitOf(counter));
    metric.name = absl::StrCat(prefix, "_",
                               absl::StrJoin(CounterWords(counter, unit), "_"));
    metric.factor = unit.factor;
  }
  MakeUnique(counterset.counters, &metrics);
  return metrics;
}

Labels MachineLabels(absl::string_view machine, const Labels& own,
                     const std::vector<std::string>* copied) {
  Labels labels = {{"machine", ValidUtf8(machine)}};
  std::vector<std::string> unwanted;
  // Names that need no change come first, so that they keep their names.
  for (const bool is_changed : {false, true}) {
    for (const auto& [name, value] : own) {
      const std::string valid = LabelName(name);
      if (value.empty() || (valid != name) != is_changed) continue;
      std::string unique = valid;
      for (int i = 2; labels.contains(unique); ++i) {
        unique = absl::StrCat(valid, "_", i);
      }
      if (copied != nullptr && !Contains(*copied, name)) {
        unwanted.push_back(unique);
      }
      labels.emplace(std::move(unique), ValidUtf8(value));
    }
  }
  for (const std::string& name : unwanted) labels.erase(name);
  return labels;
}

Labels SeriesLabels(const Labels& machine_labels, const Metric& metric,
                    std::optional<absl::string_view> instance, uint32_t index) {
  Labels labels = machine_labels;
  labels.insert_or_assign("__name__", metric.name);
  if (instance.has_value()) labels.emplace("instance", ValidUtf8(*instance));
  if (index > 0) labels.emplace("instance_index", absl::StrCat(index));
  return labels;
}

}  // namespace fleetperf::aggregator
