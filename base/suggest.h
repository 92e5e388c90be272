// Suggests the valid names that are nearest to a wrong one.

#ifndef FLEETPERF_BASE_SUGGEST_H_
#define FLEETPERF_BASE_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf {

// Returns at most three of `names`, nearest first, ignoring case. Empty if none
// is near. The work is bounded: of very many names, only the first ones are
// compared letter by letter, and a later one is near if it contains `wrong`.
std::vector<std::string> NearestNames(absl::string_view wrong,
                                      absl::Span<const std::string> names);

// Returns "; did you mean \"a\" or \"b\"?", or "" if no name is near.
std::string DidYouMean(absl::string_view wrong,
                       absl::Span<const std::string> names);

// Same, followed by the command that lists the names.
std::string DidYouMeanOrSee(absl::string_view wrong,
                            absl::Span<const std::string> names,
                            absl::string_view command);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SUGGEST_H_
