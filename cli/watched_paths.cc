#include "cli/watched_paths.h"

#include <algorithm>

#include "perflib/path.h"

namespace fleetperf::cli {
namespace {

// A path with a GUID or a counter's id matches every counterset or counter,
// because a series has names only.
bool Matches(const std::string& text, const v1::Series& series) {
  const std::vector<std::string> known = {series.counterset()};
  const auto path = perflib::ParsePath(text, known);
  if (!path.ok()) return false;
  return path->machine.Matches(series.machine()) &&
         (path->counterset_guid.has_value() ||
          path->counterset.Matches(series.counterset())) &&
         path->SelectsInstance(series.instance(), series.instance_index()) &&
         (path->counter_id.has_value() ||
          path->counter.Matches(series.counter()));
}

}  // namespace

size_t PlaceOf(const v1::Series& series, absl::Span<const std::string> paths) {
  const auto found = std::find_if(
      paths.begin(), paths.end(),
      [&](const std::string& path) { return Matches(path, series); });
  return static_cast<size_t>(found - paths.begin());
}

void WatchedPaths::Add(const v1::Series& series) {
  std::erase_if(unmatched_,
                [&](const std::string& path) { return Matches(path, series); });
}

void WatchedPaths::Remove(const std::string& path) {
  std::erase(unmatched_, path);
}

}  // namespace fleetperf::cli
