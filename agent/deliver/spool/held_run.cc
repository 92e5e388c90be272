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
    if (batch.is_dropped()) continue;
    const bool continues = !runs.empty() &&
                           runs.back().first.epoch == place.epoch &&
                           (runs.back().last_sequence + 1 == place.sequence ||
                            runs.size() >= kMaxRuns);
    if (!continues) runs.push_back({.first = place});
    runs.back().last_sequence = place.sequence;
    runs.back().ticks.Extend(TicksOf(batch.spooled));
  }
  return runs;
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
