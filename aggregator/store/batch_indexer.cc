#include "aggregator/store/batch_indexer.h"

#include <algorithm>
#include <map>

#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/store/tables/database.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMinQueriesToPrune = 1000;

}  // namespace

void BatchIndexer::Add(const BatchToCommit& batch, const BatchTimes& times) {
  PruneQueries();
  const absl::Duration arrival = parts_.clock->Monotonic();
  // Keyed by machine. Its queries may have different intervals.
  std::map<std::string, absl::Time> newest;
  for (const Frame& frame : batch.decoded->frames) {
    auto& ticks = known_queries_[frame.query];
    if (ticks == nullptr) {
      ticks = parts_.directory->AddQuery(*frame.query);
      parts_.log->AddMachine(frame.query->machine, batch.epoch_number);
    }
    if (!frame.clocks->empty()) {
      const absl::Time time = perflib::TimeOf(frame.clocks->back());
      ticks->Note(time, arrival);
      const auto [entry, is_new] =
          newest.try_emplace(frame.query->machine, time);
      if (!is_new) entry->second = std::max(entry->second, time);
    }
  }
  for (const auto& [machine, time] : newest) {
    parts_.directory->SetNewestSample(machine, time);
  }
  bool is_of_agent = false;
  for (const Loss& loss : batch.decoded->losses) {
    if (loss.machine.empty()) {
      is_of_agent = true;  // counts for all known machines
    } else {
      parts_.log->AddMachine(loss.machine, batch.epoch_number);
    }
  }
  parts_.log->Add(batch.epoch_number, batch.sequence, times);
  parts_.recent->Add(batch, times);
  if (is_of_agent) {
    AddMachinesOf(std::string(batch.agent), batch.epoch_number);
  }
}

void BatchIndexer::PruneQueries() {
  if (known_queries_.size() < 2 * queries_in_use_ + kMinQueriesToPrune) return;
  absl::erase_if(known_queries_, [](const auto& known) {
    return known.first.use_count() == 1;
  });
  queries_in_use_ = known_queries_.size();
}

void BatchIndexer::AddMachinesOf(const std::string& agent,
                                 uint32_t epoch_number) {
  parts_.machines->ForEachOf(agent, [&](const std::string& machine) {
    parts_.log->AddMachine(machine, epoch_number);
    parts_.recent->AddMachine(machine, epoch_number);
  });
}

absl::Status BatchIndexer::AddQueries(uint32_t epoch_number) {
  return parts_.definitions->ForEachQuery(
      epoch_number,
      [&](const CollectedQuery& query) {
        parts_.directory->AddQuery(query);
        parts_.log->AddMachine(query.machine, epoch_number);
      },
      LogDamage);
}

}  // namespace fleetperf::aggregator
