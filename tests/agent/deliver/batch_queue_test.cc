#include "agent/deliver/spool/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

std::string RunsText(const std::vector<HeldRun>& runs) {
  std::string text;
  for (const HeldRun& run : runs) {
    absl::StrAppend(&text, run.first.epoch, ":", run.first.sequence, "-",
                    run.last_sequence, "=", run.ticks.ticks, "@",
                    absl::ToUnixSeconds(run.ticks.start), "-",
                    absl::ToUnixSeconds(run.ticks.end), " ");
  }
  return text;
}

HeldBatch BatchAt(BatchPlace place, uint64_t ticks) {
  HeldBatch batch;
  batch.spooled.place = place;
  const auto second = static_cast<int64_t>(1000 * place.epoch + place.sequence);
  batch.spooled.ticks = {.ticks = ticks,
                         .start = absl::FromUnixSeconds(second),
                         .end = absl::FromUnixSeconds(second + 1)};
  return batch;
}

// The queue updates its runs, and the places of held batches, with each change.
// The model finds them in all batches.
TEST(BatchQueueTest, RunsAndHeldBatchesFollowEachChange) {
  std::mt19937 random(1);
  const auto pick = [&](uint32_t count) { return random() % count; };
  BatchQueue queue;
  std::map<BatchPlace, HeldBatch> model;
  BatchPlace last = {.epoch = 1, .sequence = 0};
  for (int i = 0; i < 5000; ++i) {
    const auto some = [&] {
      return std::next(model.begin(), pick(model.size()));
    };
    const uint32_t change = model.empty() ? 0 : pick(12);
    if (change < 6) {
      if (pick(50) == 0) last = {.epoch = last.epoch + 1, .sequence = 0};
      last.sequence += pick(20) == 0 ? 2 : 1;
      const HeldBatch batch = BatchAt(last, 1 + pick(9));
      model[last] = batch;
      queue.Add(batch, /*is_saved=*/true);
    } else if (change < 8) {
      const BatchPlace first = model.begin()->first;
      model.erase(first);
      queue.Remove(first);
    } else if (change < 9) {
      const BatchPlace place =
          std::next(model.begin(), pick(3) % model.size())->first;
      queue.RemoveUpTo(place);
      std::erase_if(model, [&](const auto& placed) {
        return placed.first.epoch == place.epoch && placed.first <= place;
      });
    } else if (change < 11) {
      const auto dropped = pick(2) == 0 ? model.begin() : some();
      queue.Drop(dropped->first, LossCause::kSpoolFull);
      dropped->second.spooled.dropped = LossCause::kSpoolFull;
    } else {
      const BatchPlace place = some()->first;
      model.erase(place);
      queue.Remove(place);
    }
    ASSERT_EQ(RunsText(queue.Runs()), RunsText(RunsOf(model)))
        << "change " << i;
    const auto is_held = [](const auto& placed) {
      return !placed.second.is_dropped();
    };
    ASSERT_EQ(queue.held(), std::count_if(model.begin(), model.end(), is_held));
    const auto first = std::find_if(model.begin(), model.end(), is_held);
    const HeldBatch* const next = queue.Next({});
    ASSERT_EQ(next != nullptr, first != model.end());
    if (next != nullptr) {
      ASSERT_EQ(next->spooled.place, first->first);
    }
  }
}

}  // namespace
}  // namespace fleetperf::agent
