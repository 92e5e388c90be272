#include "aggregator/store/compaction/shares.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/chunk_table.h"
#include "base/logging.h"

namespace fleetperf::aggregator {
namespace {

// The part of the store's size, and the multiple of the median.
constexpr uint64_t kPart = 4;
constexpr uint64_t kTimesMedian = 16;

}  // namespace

UseByAgent FindUse(const Database& database, const KeyNumbers& numbers,
                   const Directory& directory, const EpochTable& epochs) {
  UseByAgent uses;
  for (const auto& [number, machine] : numbers.Machines()) {
    const std::string agent = directory.AgentOf(machine);
    AgentUse& use = uses[agent.empty() ? machine : agent];
    use.chunks += SizeOfChunks(database, number);
    use.machines.push_back(number);
  }
  for (const auto& [agent, bytes] : epochs.SizesOfDefinitions()) {
    uses[agent].definitions += bytes;
  }
  return uses;
}

uint64_t FairShare(const UseByAgent& uses, uint64_t max_size) {
  std::vector<uint64_t> sizes;
  for (const auto& [agent, use] : uses) {
    sizes.push_back(use.chunks + use.definitions);
  }
  if (sizes.empty()) return max_size;
  const auto median =
      sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), median, sizes.end());
  return std::min(max_size / kPart, kTimesMedian * *median);
}

absl::StatusOr<uint64_t> DropExcess(const UseByAgent& uses, uint64_t share,
                                    uint64_t to_free, Database* database) {
  std::map<std::string, uint64_t> excess_of_agent;
  std::map<uint32_t, uint64_t*> excess;
  for (const auto& [agent, use] : uses) {
    const uint64_t size = use.chunks + use.definitions;
    if (size <= share) continue;
    uint64_t& of_agent = excess_of_agent[agent];
    of_agent = size - share;
    for (const uint32_t machine : use.machines) excess[machine] = &of_agent;
    LogWarningOf(agent,
                 absl::StrCat("the store is full, and the machines of agent ",
                              agent, " use ", size >> 20,
                              " MiB, more than their share of ", share >> 20,
                              " MiB; their oldest samples are removed first"));
  }
  return DeleteExcess(database, excess, to_free);
}

uint64_t ExcessOfDefinitions(const UseByAgent& uses, uint64_t share) {
  uint64_t excess = 0;
  for (const auto& [agent, use] : uses) {
    if (use.definitions > share) excess += use.definitions - share;
  }
  return excess;
}

}  // namespace fleetperf::aggregator
