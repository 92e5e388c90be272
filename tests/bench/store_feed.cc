#include "tests/bench/store_feed.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator/store/store.h"
#include "base/status_macros.h"
#include "tests/bench/report.h"
#include "tests/bench/workload_agent.h"

namespace fleetperf::bench {
namespace {

using aggregator::BatchToCommit;
using aggregator::DecodedBatch;
using aggregator::Store;
using aggregator::StoredEpoch;

// The same time as the aggregator waits for more samples of an agent.
constexpr absl::Duration kIdle = absl::Minutes(10);

// An agent and its last batch.
struct Agent {
  WorkloadAgent workload;
  StoredEpoch epoch;
  v1::BatchContent content;
  v1::Batch batch;
  DecodedBatch decoded;

  absl::Status Send(int ticks, uint64_t sequence) {
    content = workload.NextBatch(ticks);
    batch = PackBatch(content, /*epoch=*/1, sequence);
    RETURN_IF_ERROR(epoch.dictionary->Apply(content.definitions()));
    ASSIGN_OR_RETURN(const auto contents, aggregator::ParseBatch(batch, {}));
    ASSIGN_OR_RETURN(decoded,
                     aggregator::DecodeBatch(contents, {}, /*filter=*/nullptr,
                                             epoch.dictionary.get()));
    return absl::OkStatus();
  }

  BatchToCommit Received(absl::Time time) const {
    return {.epoch_number = epoch.number,
            .sequence = batch.sequence(),
            .agent = workload.machine(),
            .received = time,
            .batch = &batch,
            .definitions =
                content.has_definitions() ? &content.definitions() : nullptr,
            .decoded = &decoded};
  }
};

absl::StatusOr<std::vector<Agent>> MakeAgents(const Workload& workload,
                                              Store* store) {
  std::vector<Agent> agents;
  for (size_t i = 0; i < workload.machines; ++i) {
    Agent agent = {.workload = WorkloadAgent(workload.make_machine(i))};
    ASSIGN_OR_RETURN(agent.epoch, store->OpenEpoch(agent.workload.machine(),
                                                   /*epoch=*/1, {}));
    agents.push_back(std::move(agent));
  }
  return agents;
}

absl::Status Compact(absl::Time idle_since, Store* store) {
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, store->Compact(idle_since));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> FeedStore(const Workload& workload,
                                   int ticks_per_message,
                                   const std::string& directory) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                   aggregator::OpenRocksDbStore(directory));
  ASSIGN_OR_RETURN(std::vector<Agent> agents,
                   MakeAgents(workload, store.get()));
  const auto max_ticks = static_cast<size_t>(ticks_per_message);
  absl::Time next_day = workload.start;
  uint64_t sequence = 0;
  for (size_t done = 0; done < workload.ticks; done += max_ticks) {
    const size_t ticks = std::min(max_ticks, workload.ticks - done);
    const absl::Time received =
        workload.start + static_cast<int64_t>(done + ticks) * workload.interval;
    std::vector<BatchToCommit> batches;
    ++sequence;
    for (Agent& agent : agents) {
      RETURN_IF_ERROR(agent.Send(static_cast<int>(ticks), sequence));
      batches.push_back(agent.Received(received));
    }
    RETURN_IF_ERROR(store->Commit(batches));
    RETURN_IF_ERROR(Compact(received - kIdle, store.get()));
    if (received < next_day) continue;
    next_day += absl::Hours(24);
    Progress(absl::StrCat("feeding the day of ",
                          absl::FormatTime(received, absl::UTCTimeZone())));
  }
  // Without this, the age of the last samples would look like a clock jump.
  RETURN_IF_ERROR(store->PutKnownTime(absl::Now()));
  uint64_t samples = 0;
  for (const Agent& agent : agents) samples += agent.workload.samples();
  return samples;
}

}  // namespace fleetperf::bench
