#include "agent/deliver/spool/held_run.h"

#include <cstddef>

namespace fleetperf::agent {
namespace {

// Upper bound on the size of a list. Beyond it, the last run covers all
// further batches, with the gaps between them.
constexpr size_t kMaxRuns = 1000;

TickRange TicksOf(const SpooledBatch& batch) {
  TickRange ticks = batch.ticks;
  ticks.Extend(batch.losses.All());
  return ticks;
}

}  // namespace

std::vector<HeldRun> RunsOf(const std::map<BatchPlace, HeldBatch>& batches) {
  std::vector<HeldRun> runs;
  for (const auto& [place, batch] : batches) {
    if (!batch.is_dropped()) AppendToRuns(batch, &runs);
  }
  return runs;
}

void AppendToRuns(const HeldBatch& batch, std::vector<HeldRun>* runs) {
  const BatchPlace place = batch.spooled.place;
  const bool continues = !runs->empty() &&
                         runs->back().first.epoch == place.epoch &&
                         (runs->back().last_sequence + 1 == place.sequence ||
                          runs->size() >= kMaxRuns);
  if (!continues) runs->push_back({.first = place});
  runs->back().last_sequence = place.sequence;
  runs->back().ticks.Extend(TicksOf(batch.spooled));
}

bool RemoveFirstFromRuns(const HeldBatch& batch, const HeldBatch* next,
                         std::vector<HeldRun>* runs) {
  const BatchPlace place = batch.spooled.place;
  if (runs->empty() || runs->front().first != place) return false;
  HeldRun& run = runs->front();
  if (run.last() == place) {
    runs->erase(runs->begin());
    return true;
  }
  if (next == nullptr || next->is_dropped()) return false;
  run.first = next->spooled.place;
  run.ticks.ticks -= TicksOf(batch.spooled).ticks;
  run.ticks.start = TicksOf(next->spooled).start;  // later ones are newer
  return true;
}

TickRange KeepRuns(const std::vector<HeldRun>& runs,
                   std::map<BatchPlace, HeldBatch>* batches) {
  TickRange missing;
  missing.ticks = 0;
  auto run = runs.begin();
  TickRange found;
  const auto end_run = [&] {
    if (run->ticks.ticks > found.ticks) {
      missing.Extend({.ticks = run->ticks.ticks - found.ticks,
                      .start = run->ticks.start,
                      .end = run->ticks.end});
    }
    found = {};
    ++run;
  };
  for (auto batch = batches->begin(); batch != batches->end();) {
    const BatchPlace place = batch->first;
    if (batch->second.is_dropped()) {
      ++batch;
      continue;
    }
    while (run != runs.end() && run->last() < place) end_run();
    if (run == runs.end() || place < run->first) {
      batch = batches->erase(batch);
      continue;
    }
    found.Extend(TicksOf(batch->second.spooled));
    ++batch;
  }
  while (run != runs.end()) end_run();
  return missing;
}

}  // namespace fleetperf::agent
