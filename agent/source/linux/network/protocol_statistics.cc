#include "agent/source/linux/network/protocol_statistics.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

// Removes `word` from the front of `text`. Returns false if another one is
// there.
bool ConsumeWord(absl::string_view word, absl::string_view* text) {
  return absl::ConsumePrefix(text, word) &&
         (text->empty() || text->front() == ' ' || text->front() == '\t');
}

}  // namespace

std::vector<StatisticsField> FieldsOf(absl::Span<const LinuxCounter> counters) {
  std::vector<StatisticsField> fields;
  for (size_t column = 0; column < counters.size(); ++column) {
    absl::string_view terms = counters[column].source;
    NextWord(&terms);  // the file
    for (absl::string_view term : absl::StrSplit(terms, " + ")) {
      const absl::string_view first = NextWord(&term);
      const absl::string_view second = NextWord(&term);
      fields.push_back(second.empty() ? StatisticsField{"", first, column}
                                      : StatisticsField{first, second, column});
    }
  }
  return fields;
}

LinePairs::LinePairs(absl::Span<const StatisticsField> fields) {
  for (const StatisticsField& field : fields) {
    const std::string prefix = absl::StrCat(field.section, ":");
    Section* section = FindSection(prefix);
    if (section == nullptr) {
      section = &sections_.emplace_back();
      section->prefix = prefix;
    }
    section->fields.push_back(field);
  }
}

void LinePairs::Read(absl::string_view text, CountersetSample* sample) {
  absl::string_view names;
  absl::string_view numbers;
  while (NextLine(&text, &names)) {
    Section* section = FindSection(names);
    if (section == nullptr) continue;
    if (!NextLine(&text, &numbers) || FindSection(numbers) != section) return;
    if (names != section->names) Locate(names, *section);
    ReadNumbers(numbers, *section, sample);
  }
}

LinePairs::Section* LinePairs::FindSection(absl::string_view line) {
  for (Section& section : sections_) {
    if (absl::StartsWith(line, section.prefix)) return &section;
  }
  return nullptr;
}

void LinePairs::Locate(absl::string_view names, Section& section) {
  section.names = std::string(names);
  section.positions.clear();
  section.incomplete.clear();
  names.remove_prefix(section.prefix.size());
  size_t word = 0;
  for (absl::string_view name = NextWord(&names); !name.empty();
       name = NextWord(&names), ++word) {
    for (const StatisticsField& field : section.fields) {
      if (field.name == name) section.positions.push_back({word, field.column});
    }
  }
  if (section.positions.size() == section.fields.size()) return;
  // The kernel lacks a field.
  for (const StatisticsField& field : section.fields) {
    const auto columns_of = [&](const auto& list) {
      return std::count_if(list.begin(), list.end(), [&](const auto& entry) {
        return entry.column == field.column;
      });
    };
    if (columns_of(section.positions) != columns_of(section.fields)) {
      section.incomplete.push_back(field.column);
    }
  }
}

void LinePairs::ReadNumbers(absl::string_view numbers, const Section& section,
                            CountersetSample* sample) {
  numbers.remove_prefix(section.prefix.size());
  size_t next = 0;
  std::optional<uint64_t> number;
  for (const Position& position : section.positions) {
    for (; next < position.word; ++next) NextWord(&numbers);
    if (next == position.word) {
      absl::string_view word = NextWord(&numbers);
      number = NextNumber(&word);
      ++next;
    }
    sample->Add(position.column, number);
  }
  for (const size_t column : section.incomplete) {
    sample->Add(column, std::nullopt);
  }
}

NamedLines::NamedLines(absl::Span<const StatisticsField> fields)
    : fields_(fields.begin(), fields.end()) {}

void NamedLines::Read(absl::string_view text, CountersetSample* sample) {
  if (positions_.empty() || !ReadNumbers(text)) {
    Locate(text);
    ReadNumbers(text);
  }
  for (size_t i = 0; i < positions_.size(); ++i) {
    sample->Add(fields_[positions_[i].field].column, numbers_[i]);
  }
  for (const size_t column : incomplete_) sample->Add(column, std::nullopt);
}

void NamedLines::Locate(absl::string_view text) {
  positions_.clear();
  absl::string_view line;
  for (size_t i = 0; NextLine(&text, &line); ++i) {
    const absl::string_view name = NextWord(&line);
    for (size_t field = 0; field < fields_.size(); ++field) {
      if (fields_[field].name == name) positions_.push_back({i, field});
    }
  }
  numbers_.resize(positions_.size());
  incomplete_.clear();
  for (size_t field = 0; field < fields_.size(); ++field) {
    const bool is_known = std::any_of(
        positions_.begin(), positions_.end(),
        [&](const Position& position) { return position.field == field; });
    if (!is_known) incomplete_.push_back(fields_[field].column);
  }
}

bool NamedLines::ReadNumbers(absl::string_view text) {
  absl::string_view line;
  size_t next = 0;
  for (size_t i = 0; i < positions_.size(); ++i) {
    for (; next <= positions_[i].line; ++next) {
      if (!NextLine(&text, &line)) return false;
    }
    absl::string_view rest = line;  // a line can have several columns
    if (!ConsumeWord(fields_[positions_[i].field].name, &rest)) return false;
    numbers_[i] = NextNumber(&rest);
  }
  return true;
}

}  // namespace fleetperf::agent
