#include "agent/source/linux/keyed_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kMaxColumns = 64;  // of a ColumnSet

}  // namespace

KeyedText::KeyedText(absl::Span<const KeyedTerm> terms, size_t words_before)
    : terms_(terms), words_before_(words_before), columns_(ColumnsOf(terms)) {}

void KeyedText::SetColumns(absl::string_view text, CountersetSample* sample) {
  std::array<uint64_t, kMaxColumns> sums = {};
  ColumnSet present = 0;
  ColumnSet incomplete = 0;
  seen_.assign(terms_.size(), 0);
  absl::string_view rest;
  for (size_t number = 0; NextLine(&text, &rest); ++number) {
    for (size_t i = 0; i < words_before_; ++i) NextWord(&rest);
    const Line& line = GetLine(number, absl::StripSuffix(NextWord(&rest), ":"));
    if (line.first_term == terms_.size()) continue;
    const std::optional<uint64_t> value = NextNumber(&rest);
    for (size_t i = line.first_term;
         i < terms_.size() && terms_[i].key == line.key; ++i) {
      const ColumnSet column = Bit(terms_[i].column);
      seen_[i] = 1;
      present |= column;
      if (!value.has_value()) incomplete |= column;
      sums[terms_[i].column] += value.value_or(0) * terms_[i].factor;
    }
  }
  for (size_t i = 0; i < terms_.size(); ++i) {
    const bool is_needed = !terms_[i].is_optional;
    if (is_needed && seen_[i] == 0) incomplete |= Bit(terms_[i].column);
  }
  present &= ~incomplete;
  for (size_t column = 0; column < kMaxColumns; ++column) {
    if (Has(present, column)) sample->Set(column, sums[column]);
  }
}

const KeyedText::Line& KeyedText::GetLine(size_t number,
                                          absl::string_view key) {
  if (number == lines_.size()) lines_.push_back({.first_term = terms_.size()});
  Line& line = lines_[number];
  if (line.key == key) return line;
  line.key.assign(key.data(), key.size());
  line.first_term = static_cast<size_t>(
      std::find_if(terms_.begin(), terms_.end(),
                   [&](const KeyedTerm& term) { return term.key == key; }) -
      terms_.begin());
  return line;
}

}  // namespace fleetperf::agent
