// Parsers for the text of /proc. Each function removes the text it returns from
// the front of its argument. None allocates.
//
// A number that is missing is std::nullopt, never 0: what the kernel does not
// tell has no value.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Reads the next line, without its line end. Returns false at the end.
inline bool NextLine(absl::string_view* text, absl::string_view* line) {
  if (text->empty()) return false;
  const size_t end = text->find('\n');
  *line = text->substr(0, end);
  text->remove_prefix(end == absl::string_view::npos ? text->size() : end + 1);
  return true;
}

inline void SkipSpaces(absl::string_view* text) {
  size_t i = 0;
  while (i < text->size() && ((*text)[i] == ' ' || (*text)[i] == '\t')) ++i;
  text->remove_prefix(i);
}

// Returns the next word; empty if none is left.
inline absl::string_view NextWord(absl::string_view* text) {
  SkipSpaces(text);
  size_t i = 0;
  while (i < text->size() && (*text)[i] != ' ' && (*text)[i] != '\t') ++i;
  const absl::string_view word = text->substr(0, i);
  text->remove_prefix(i);
  return word;
}

// Returns whether a number stands for no value, as the kernel, drivers and
// firmware print it: all ones in 32 or 64 bits, or another negative number that
// was printed without its sign. No count reaches 2^63.
constexpr bool IsNoValue(uint64_t number) {
  return number == 0xFFFF'FFFF || number >= uint64_t{1} << 63;
}

// Takes the decimal digits that come next, after spaces. Returns their number;
// std::nullopt if there is no digit, or if the number IsNoValue.
inline std::optional<uint64_t> NextNumber(absl::string_view* text) {
  constexpr size_t kMaxDigits = 19;  // more are at least 2^63
  SkipSpaces(text);
  uint64_t number = 0;
  size_t i = 0;
  for (; i < text->size() && (*text)[i] >= '0' && (*text)[i] <= '9'; ++i) {
    number = number * 10 + static_cast<uint64_t>((*text)[i] - '0');
  }
  text->remove_prefix(i);
  if (i == 0 || i > kMaxDigits || IsNoValue(number)) return std::nullopt;
  return number;
}

// Same, for hexadecimal digits in lower case.
inline std::optional<uint64_t> NextHexNumber(absl::string_view* text) {
  constexpr size_t kMaxDigits = 16;
  SkipSpaces(text);
  uint64_t number = 0;
  size_t i = 0;
  for (; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c >= '0' && c <= '9') {
      number = number << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      number = number << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      break;
    }
  }
  text->remove_prefix(i);
  if (i == 0 || i > kMaxDigits || IsNoValue(number)) return std::nullopt;
  return number;
}

// Returns the number times a factor, and the sum of two numbers; std::nullopt
// unless all are known.
inline std::optional<uint64_t> Times(std::optional<uint64_t> number,
                                     uint64_t factor) {
  return number.has_value() ? std::optional(*number * factor) : std::nullopt;
}
inline std::optional<uint64_t> Sum(std::optional<uint64_t> a,
                                   std::optional<uint64_t> b) {
  return a.has_value() && b.has_value() ? std::optional(*a + *b) : std::nullopt;
}

// Takes a number with two decimals or none, "0.29", and returns it in
// hundredths.
inline std::optional<uint64_t> NextHundredths(absl::string_view* text) {
  const std::optional<uint64_t> whole = Times(NextNumber(text), 100);
  if (text->empty() || text->front() != '.') return whole;
  text->remove_prefix(1);
  return Sum(whole, NextNumber(text));
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_
