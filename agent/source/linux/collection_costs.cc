#include "agent/source/linux/collection_costs.h"

#include <iterator>
#include <utility>

#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kTime,
  kCollections,
  kTimePerCollection,
  kValues,
  kTimePerValue,
  kErrors,
  kCollectionsBase,
  kValuesBase,
  kLeftOut,
  kNumColumns
};

constexpr uint32_t kCollectionsBaseId = 6;
constexpr uint32_t kValuesBaseId = 7;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerf100NsecTimer, "% Time",
      "Time that the agent spent on collecting the counterset."},
     "%",
     "CLOCK_MONOTONIC",
     "Of one processor. Contains waits, also for a processor."},
    {{1, kPerfCounterBulkCount, "Collections/sec",
      "How often the counterset was collected."},
     "collections/s",
     "the agent"},
    {{2, kPerfAverageTimer, "Avg. sec/Collection",
      "How long a collection took.", kCollectionsBaseId},
     "s",
     "CLOCK_MONOTONIC"},
    {{3, kPerfCounterBulkCount, "Values/sec", "Values that were collected."},
     "values/s",
     "the agent",
     "Those that the query asked for, before its choice of instances."},
    {{4, kPerfAverageTimer, "Avg. sec/Value",
      "The time of a collection for each of its values.", kValuesBaseId},
     "s",
     "CLOCK_MONOTONIC"},
    {{5, kPerfCounterLargeDelta, "Errors", "Collections that failed."},
     "collections",
     "the agent"},
    {{kCollectionsBaseId, kPerfAverageBase, "", ""}, "", "the agent"},
    {{kValuesBaseId, kPerfAverageBase, "", ""}, "", "the agent"},
    {{8, kPerfCounterLargeRawcount, "Instances Left Out",
      "Instances beyond a limit of the agent, in the last collection."},
     "instances",
     "the agent",
     "At least: cgroups below one that is left out do not count. A warning in "
     "the log and `fleetperf-agent check` name the limit."},
};
static_assert(std::size(kCounters) == kNumColumns);

}  // namespace

constinit const LinuxCounterset CollectionCosts::kCounterset = {
    .guid = "{ffb638fb-09bf-5b1d-ac0b-764ec8b754f2}",
    .name = "fleetperf Collection",
    .help = "What the agent's collection of each counterset costs.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "countersets that were collected since the agent started",
    .counters = kCounters};

CollectionCosts::CollectionCosts(std::shared_ptr<const ProviderCosts> costs)
    : Provider(MakeRegistration(kCounterset)), costs_(std::move(costs)) {}

absl::Status CollectionCosts::Sample(ColumnSet, const Clocks&,
                                     CountersetSample* sample) {
  for (const auto& [name, cost] : *costs_) {
    const auto time =
        static_cast<uint64_t>(absl::ToInt64Nanoseconds(cost.time)) /
        kNSecPer100NSec;
    sample->AddInstance(Utf16FromUtf8(name), /*instance_id=*/0);
    sample->Set(kTime, time);
    sample->Set(kCollections, cost.collections);
    sample->Set(kTimePerCollection, time);
    sample->Set(kValues, cost.values);
    sample->Set(kTimePerValue, time);
    sample->Set(kErrors, cost.errors);
    sample->Set(kCollectionsBase, cost.collections);
    sample->Set(kValuesBase, cost.values);
    sample->Set(kLeftOut, cost.left_out);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
