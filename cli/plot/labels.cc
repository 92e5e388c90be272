#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/plot/chart.h"
#include "cli/values.h"

namespace fleetperf::cli {
namespace {

using Parts = std::array<std::string, 4>;

Parts PartsOf(const v1::Series& series) {
  return {series.machine(), series.counterset(), InstanceText(series),
          series.counter()};
}

std::string FullLabel(const v1::Series& series) {
  return PathOnMachine(series.machine(), series.path());
}

// Returns labels of the parts in which the series differ.
std::vector<std::string> ShortLabels(absl::Span<const v1::Series> series) {
  std::vector<Parts> parts;
  for (const v1::Series& one : series) parts.push_back(PartsOf(one));
  std::vector<std::string> labels;
  for (const Parts& own : parts) {
    std::vector<std::string> differing;
    for (size_t i = 0; i < own.size(); ++i) {
      const bool differs =
          std::any_of(parts.begin(), parts.end(),
                      [&](const Parts& other) { return other[i] != own[i]; });
      if (differs && !own[i].empty()) differing.push_back(own[i]);
    }
    labels.push_back(absl::StrJoin(differing, " "));
  }
  return labels;
}

}  // namespace

std::vector<std::string> LabelsOf(absl::Span<const v1::Series> series) {
  std::vector<std::string> labels = ShortLabels(series);
  const std::set<std::string> different(labels.begin(), labels.end());
  if (different.size() == labels.size() && !different.contains("")) {
    return labels;
  }
  labels.clear();
  for (const v1::Series& one : series) labels.push_back(FullLabel(one));
  return labels;
}

}  // namespace fleetperf::cli
