// "Did you mean ...": the nearest of the names that would have been right.

#ifndef FLEETPERF_BASE_SUGGEST_H_
#define FLEETPERF_BASE_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf {

// At most three of `names`, nearest first, without regard to case; none if
// none is near.
std::vector<std::string> NearestNames(absl::string_view wrong,
                                      absl::Span<const std::string> names);

// "; did you mean \"a\" or \"b\"?", or "" if nothing is near.
std::string DidYouMean(absl::string_view wrong,
                       absl::Span<const std::string> names);

// The same, and the command that lists the names.
std::string DidYouMeanOrSee(absl::string_view wrong,
                            absl::Span<const std::string> names,
                            absl::string_view command);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SUGGEST_H_
