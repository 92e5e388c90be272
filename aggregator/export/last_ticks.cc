#include "aggregator/export/last_ticks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// The ticks of a counterset that the process has seen.
struct Seen {
  absl::Time oldest = absl::InfiniteFuture();
  // The arrival and the time of the tick that arrived last.
  std::optional<std::pair<absl::Duration, absl::Time>> newest;
};

bool IsInForce(const QueryTicks& query, const Seen& seen) {
  if (!seen.newest.has_value()) return true;
  const auto [arrival, time] = *seen.newest;
  const absl::Duration most = query.interval() * kMaxIntervalsApart;
  const std::optional<absl::Time> newest = query.newest();
  if (!newest.has_value()) return time - seen.oldest <= most;
  // The times of ticks from before a clock was set back may be in the future.
  return time - *newest <= most && arrival - query.arrival() <= most;
}

}  // namespace

std::vector<LastTick> FindLastTicks(const Directory& directory,
                                    const std::string& machine) {
  std::vector<LastTick> found;
  const auto of_machine = directory.NewestSample(machine);
  if (!of_machine.has_value()) return found;
  const auto queries = directory.QueriesOf(machine);
  absl::flat_hash_map<absl::string_view, Seen> countersets;  // by hash
  for (const auto& query : queries) {
    Seen& seen = countersets[query->schema()->hash];
    const std::optional<absl::Time> newest = query->newest();
    if (!newest.has_value()) continue;
    seen.oldest = std::min(seen.oldest, query->oldest().value_or(*newest));
    seen.newest = std::max(
        seen.newest, std::optional(std::make_pair(query->arrival(), *newest)));
  }
  for (const auto& query : queries) {
    if (IsInForce(*query, countersets[query->schema()->hash])) {
      found.push_back({query, query->newest().value_or(*of_machine)});
    }
  }
  return found;
}

}  // namespace fleetperf::aggregator
