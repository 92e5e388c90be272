// Parsers for the text of /proc. Each function removes the text it returns from
// the front of its argument. None allocates.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_

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

// Returns the number whose decimal digits come next, after spaces. std::nullopt
// if no digit follows.
inline std::optional<uint64_t> NextNumber(absl::string_view* text) {
  SkipSpaces(text);
  uint64_t number = 0;
  size_t i = 0;
  for (; i < text->size() && (*text)[i] >= '0' && (*text)[i] <= '9'; ++i) {
    number = number * 10 + static_cast<uint64_t>((*text)[i] - '0');
  }
  if (i == 0) return std::nullopt;
  text->remove_prefix(i);
  return number;
}

// Same, for hexadecimal digits in lower case.
inline std::optional<uint64_t> NextHexNumber(absl::string_view* text) {
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
  if (i == 0) return std::nullopt;
  text->remove_prefix(i);
  return number;
}

// As NextNumber, for a number that must exist: 0 if it is missing.
inline uint64_t NumberOrZero(absl::string_view* text) {
  return NextNumber(text).value_or(0);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_TEXT_H_
