#include "aggregator/query/common_now.h"

#include <algorithm>
#include <vector>

namespace fleetperf::aggregator {

std::optional<absl::Time> CommonNow(const Selected& selected,
                                    const MachineNow& now_of) {
  // Ticks may wait up to five minutes at an agent.
  constexpr absl::Duration kMaxBehind = absl::Minutes(6);
  std::vector<absl::Time> nows;
  for (const auto& [machine, countersets] : selected) {
    nows.push_back(now_of(machine));
  }
  if (nows.empty()) return std::nullopt;
  std::sort(nows.begin(), nows.end());
  const absl::Time median = nows[(nows.size() - 1) / 2];
  return *std::lower_bound(nows.begin(), nows.end(), median - kMaxBehind);
}

}  // namespace fleetperf::aggregator
