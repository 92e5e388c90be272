// The words with which people ask for counters, and the counters' own names.

#ifndef FLEETPERF_BASE_TEXT_EVERYDAY_WORDS_H_
#define FLEETPERF_BASE_TEXT_EVERYDAY_WORDS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf {

// Some words may be replaced by another one that names have.
struct EverydayWord {
  absl::string_view words;    // in lower case: "cpu"
  absl::string_view instead;  // "processor"; empty: may be left out
};
absl::Span<const EverydayWord> EverydayWords();

// Some words mean a counter. Words are those that EverydayWords has `instead`.
// Of counters with the same words, the best known comes first.
struct EverydayCounter {
  absl::string_view words;  // in lower case, in any order: "memory usage"
  absl::string_view counterset;
  absl::string_view counter;
};
absl::Span<const EverydayCounter> EverydayCounters();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_EVERYDAY_WORDS_H_
