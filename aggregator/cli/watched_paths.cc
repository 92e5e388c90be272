#include "aggregator/cli/watched_paths.h"

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
         (!path->instance.has_value() ||
          path->instance->Matches(series.instance())) &&
         path->instance_index.value_or(series.instance_index()) ==
             series.instance_index() &&
         (path->counter_id.has_value() ||
          path->counter.Matches(series.counter()));
}

}  // namespace

void WatchedPaths::Add(const v1::Series& series) {
  std::erase_if(unmatched_,
                [&](const std::string& path) { return Matches(path, series); });
}

void WatchedPaths::Remove(const std::string& path) {
  std::erase(unmatched_, path);
}

}  // namespace fleetperf::cli
