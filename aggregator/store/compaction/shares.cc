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

UseByHolder FindUse(const Database& database, const KeyNumbers& numbers,
                    const Directory& directory, const EpochTable& epochs) {
  UseByHolder uses;
  const auto use_of = [&](const std::string& machine) -> Use& {
    Use& use = uses[directory.HolderOf(machine)];
    if (use.example.empty()) use.example = machine;
    return use;
  };
  for (const auto& [number, machine] : numbers.Machines()) {
    Use& use = use_of(machine);
    use.chunks += SizeOfChunks(database, number);
    use.machines.push_back(number);
  }
  for (const auto& [agent, bytes] : epochs.SizesOfDefinitions()) {
    use_of(agent).definitions += bytes;
  }
  return uses;
}

uint64_t FairShare(const UseByHolder& uses, uint64_t max_size) {
  std::vector<uint64_t> sizes;
  for (const auto& [holder, use] : uses) {
    // Machines that are gone leave their names.
    if (use.chunks + use.definitions == 0) continue;
    sizes.push_back(use.chunks + use.definitions);
  }
  if (sizes.empty()) return max_size;
  const auto median =
      sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), median, sizes.end());
  return std::min(max_size / kPart, kTimesMedian * *median);
}

absl::StatusOr<Removal> DropExcess(const UseByHolder& uses, uint64_t share,
                                   uint64_t to_free, Database* database) {
  std::map<std::string, uint64_t> excess_of_holder;
  std::map<uint32_t, uint64_t*> excess;
  for (const auto& [holder, use] : uses) {
    const uint64_t size = use.chunks + use.definitions;
    if (size <= share) continue;
    uint64_t& of_holder = excess_of_holder[holder];
    of_holder = size - share;
    for (const uint32_t machine : use.machines) excess[machine] = &of_holder;
    LogWarningOf(use.example,
                 absl::StrCat("the store is full, and ", use.machines.size(),
                              " machines of one certificate, such as ",
                              use.example, ", use ", size >> 20,
                              " MiB, more than their share of ", share >> 20,
                              " MiB; their oldest samples are removed first"));
  }
  return DeleteExcess(database, excess, to_free);
}

uint64_t ExcessOfDefinitions(const UseByHolder& uses, uint64_t share) {
  uint64_t excess = 0;
  for (const auto& [holder, use] : uses) {
    if (use.definitions > share) excess += use.definitions - share;
  }
  return excess;
}

}  // namespace fleetperf::aggregator
