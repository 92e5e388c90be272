#include "agent/source/linux/keyed_text.h"

#include <algorithm>
#include <array>

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
  absl::string_view rest;
  for (size_t number = 0; NextLine(&text, &rest); ++number) {
    for (size_t i = 0; i < words_before_; ++i) NextWord(&rest);
    const Line& line = GetLine(number, absl::StripSuffix(NextWord(&rest), ":"));
    if (line.first_term == terms_.size()) continue;
    const uint64_t value = NumberOrZero(&rest);
    for (size_t i = line.first_term;
         i < terms_.size() && terms_[i].key == line.key; ++i) {
      sums[terms_[i].column] += value * terms_[i].factor;
      present |= Bit(terms_[i].column);
    }
  }
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
