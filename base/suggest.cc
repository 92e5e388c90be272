#include "base/suggest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fleetperf {
namespace {

constexpr size_t kMaxSuggestions = 3;
constexpr size_t kMaxLength = 256;  // longer names are compared by their prefix
// The limit of pairs of letters that are compared, some 30 ms of work. It is
// enough for 25,000 names of 20 letters.
constexpr size_t kMaxSteps = 10'000'000;

// Returns the number of insertions, deletions, replacements and swaps of
// neighbors.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(absl::string_view wrong,
                                      absl::Span<const std::string> names) {
  const std::string lower = absl::AsciiStrToLower(wrong.substr(0, kMaxLength));
  // A third of the letters may be wrong. A substring of a name is near, too.
  const size_t tolerance = 1 + lower.size() / 3;
  std::vector<std::pair<size_t, std::string>> near;
  size_t steps = 0;
  for (const std::string& name : names) {
    const std::string candidate =
        absl::AsciiStrToLower(absl::string_view(name).substr(0, kMaxLength));
    const size_t longer = std::max(lower.size(), candidate.size()) -
                          std::min(lower.size(), candidate.size());
    // The difference in length is a lower bound of the distance.
    size_t distance = longer;
    if (longer <= tolerance) {
      steps += lower.size() * candidate.size();
      distance =
          steps <= kMaxSteps ? EditDistance(lower, candidate) : tolerance + 1;
    }
    if (distance <= tolerance) {
      near.emplace_back(distance, name);
    } else if (lower.size() >= 3 && absl::StrContains(candidate, lower)) {
      near.emplace_back(tolerance + candidate.size() - lower.size(), name);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(near.size(), kMaxSuggestions); ++i) {
    nearest.push_back(std::move(near[i].second));
  }
  return nearest;
}

std::string DidYouMean(absl::string_view wrong,
                       absl::Span<const std::string> names) {
  const std::vector<std::string> nearest = NearestNames(wrong, names);
  if (nearest.empty()) return "";
  return absl::StrCat("; did you mean \"", absl::StrJoin(nearest, "\" or \""),
                      "\"?");
}

std::string DidYouMeanOrSee(absl::string_view wrong,
                            absl::Span<const std::string> names,
                            absl::string_view command) {
  const std::string nearest = DidYouMean(wrong, names);
  return absl::StrCat(nearest, nearest.empty() ? "; see: " : " See: ", command);
}

}  // namespace fleetperf
