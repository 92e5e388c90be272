// Reports the missing parts of an answer: on standard error and in JSON.

#ifndef FLEETPERF_CLI_MISSING_H_
#define FLEETPERF_CLI_MISSING_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Prints text, which may be from outside, to standard error, after standard
// output.
void PrintNote(absl::string_view text);

// Returns "a, b and 3 more": the first names, at most `limit` of `count`.
template <typename Names>
std::string SomeOf(const Names& names, size_t count, size_t limit,
                   absl::string_view separator = ", ") {
  const size_t named = std::min(limit, static_cast<size_t>(names.size()));
  const auto end = std::next(names.begin(), static_cast<std::ptrdiff_t>(named));
  std::string text = absl::StrJoin(names.begin(), end, separator);
  if (count > named) absl::StrAppend(&text, " and ", count - named, " more");
  return text;
}

// Returns the paths that all answers report, given those of each.
std::vector<v1::Missing> MissingInAll(
    const std::vector<std::vector<v1::Missing>>& of_each);

// Prints a path without samples.
void PrintMissing(const v1::Missing& missing, Format format);

// Prints machines without samples in the range of a query, on standard error
// only the first few. `machines` are by name.
void PrintSilent(const std::map<std::string, v1::SilentMachine>& machines,
                 Format format);

// Returns "no samples of web-1 in this time: its newest is of 21:45:12Z, 5m2s
// old". If its clock is the reason: "...: its newest is of
// 2026-11-20T22:45:12Z, since its clock is 59m58s ahead of the other machines'
// clocks; set it".
std::string SilenceText(const v1::SilentMachine& machine, absl::Time now);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MISSING_H_
