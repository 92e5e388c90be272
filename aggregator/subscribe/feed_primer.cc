#include "aggregator/subscribe/feed_primer.h"

#include <algorithm>

#include "aggregator/query/series_reader.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {

bool FeedPrimer::Work() {
  const SeenBatches batches = Read();
  for (const auto& feed : feeds_) feed->FinishPriming(batches);
  on_primed_(std::move(feeds_));
  return false;
}

SeenBatches FeedPrimer::Read() {
  const Directory& directory = context_.store->directory();
  const auto newest = directory.NewestSample(machine_);
  if (!newest.has_value()) return {};
  absl::Duration longest;
  for (const auto& feed : feeds_) {
    longest =
        std::max({longest, feed->form().interval,
                  LongestInterval(directory, machine_, {feed->selected()})});
  }
  SeenBatches batches;
  const absl::Status status = context_.store->Read(
      {.machine = machine_,
       .from = *newest - longest * kMaxIntervalsRead,
       .to = absl::InfiniteFuture(),
       .filter =
           [&](const CollectedQuery& query) {
             return std::any_of(
                 feeds_.begin(), feeds_.end(), [&](const auto& feed) {
                   return feed->selected().schema == query.schema;
                 });
           },
       .on_epoch =
           [&](uint32_t epoch_number, uint64_t sequence) {
             batches.Add({epoch_number, sequence});
           }},
      [&](const Frame& frame) {
        if (context_.is_stopping) return absl::CancelledError("stopping");
        for (const auto& feed : feeds_) feed->Prime(frame);
        return absl::OkStatus();
      },
      [](const Loss&) {});
  // Live values follow even after an error.
  return status.ok() ? batches : SeenBatches();
}

}  // namespace fleetperf::aggregator
