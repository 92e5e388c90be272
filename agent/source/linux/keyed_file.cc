#include "agent/source/linux/keyed_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kMaxColumns = 64;  // of a ColumnSet

}  // namespace

KeyedFile::KeyedFile(std::string path, absl::Span<const KeyedTerm> terms)
    : file_(std::move(path)), terms_(terms) {
  for (const KeyedTerm& term : terms) columns_ |= Bit(term.column);
}

absl::Status KeyedFile::Read(ColumnSet needed, std::string* buffer,
                             CountersetSample* sample) {
  if ((needed & columns_) == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(absl::string_view text, file_.Read(buffer));
  std::array<uint64_t, kMaxColumns> sums = {};
  ColumnSet present = 0;
  absl::string_view rest;
  for (size_t number = 0; NextLine(&text, &rest); ++number) {
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
  return absl::OkStatus();
}

const KeyedFile::Line& KeyedFile::GetLine(size_t number,
                                          absl::string_view key) {
  if (number == lines_.size()) lines_.push_back({.first_term = terms_.size()});
  Line& line = lines_[number];
  if (line.key == key) return line;
  line.key = std::string(key);
  line.first_term = static_cast<size_t>(
      std::find_if(terms_.begin(), terms_.end(),
                   [&](const KeyedTerm& term) { return term.key == key; }) -
      terms_.begin());
  return line;
}

}  // namespace fleetperf::agent
