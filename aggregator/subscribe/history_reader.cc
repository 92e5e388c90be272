#include "aggregator/subscribe/history_reader.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/series_reader.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

v1::RawSamples PickAfter(const v1::RawSamples& samples, int64_t time) {
  v1::RawSamples picked;
  picked.set_series(samples.series());
  for (const v1::RawSample& sample : samples.samples()) {
    if (sample.perf_time_100nsec() > time) *picked.add_samples() = sample;
  }
  return picked;
}

v1::Points PickAfter(const v1::Points& points, absl::Time time) {
  const int64_t nanos = absl::ToUnixNanos(time);
  int64_t at = 0;
  return PickPoints(points, [&](int i) {
    at += points.time_unix_nanos(i);
    return at > nanos;
  });
}

}  // namespace

void HistoryReader::Add(Part part) {
  {
    absl::MutexLock lock(&mutex_);
    parts_.push_back(std::move(part));
  }
  Schedule();
}

void HistoryReader::Continue() { Schedule(); }

void HistoryReader::Schedule() {
  {
    absl::MutexLock lock(&mutex_);
    if (is_scheduled_ || parts_.empty()) return;
    is_scheduled_ = true;
  }
  context_.history.Schedule(shared_from_this());
}

bool HistoryReader::Work() {
  Part part;
  {
    absl::MutexLock lock(&mutex_);
    if (parts_.empty() || outbox_->IsFullOfHistory())
      return is_scheduled_ = false;
    part = std::move(parts_.front());
    parts_.pop_front();
  }
  if (part.claim->has_ended()) return true;
  const auto batches = Read(part);
  if (absl::IsCancelled(batches.status())) return true;
  if (absl::IsResourceExhausted(batches.status())) {
    outbox_->End(batches.status());
  } else if (!batches.ok()) {
    LogWarningOf(part.machine,
                 absl::StrCat("cannot send a subscriber the history of ",
                              part.machine, ": ", batches.status().message()));
  }
  // Live values follow even after an error.
  if (part.claim->Begin()) {
    part.listener->Release(batches.value_or(SeenBatches()));
  }
  return true;
}

absl::StatusOr<SeenBatches> HistoryReader::Read(const Part& part) {
  const absl::Duration longest = std::max(
      part.form.interval, LongestInterval(context_.store->directory(),
                                          part.machine, {part.selected}));
  Feed feed(part.selected, part.form, part.names.get());
  SeenBatches batches;
  size_t sent = 0;
  const std::vector<SelectedCounterset> selected = {part.selected};
  const auto check_wanted = [&] {
    return context_.is_stopping || outbox_->has_end() || part.claim->has_ended()
               ? absl::CancelledError("the subscription has ended")
               : absl::OkStatus();
  };
  RETURN_IF_ERROR(context_.history_samples->Read(
      {.machine = part.machine,
       .from = start_ - longest * kMaxIntervalsRead,
       .to = absl::InfiniteFuture(),
       .filter =
           [&](const CollectedQuery& query) {
             return query.schema == part.selected.schema && !query.is_thinned();
           },
       .selected = &selected,
       .on_epoch =
           [&](uint32_t epoch_number, uint64_t sequence) {
             batches.Add({epoch_number, sequence});
           },
       .on_chunk = check_wanted},
      [&](const Frame& frame) {
        absl::Status wanted = check_wanted();
        if (!wanted.ok()) return wanted;
        feed.Add(frame);
        sent += Send(part, feed.TakeUpdate());
        if (sent <= context_.max_history_values) return absl::OkStatus();
        return absl::ResourceExhaustedError(absl::StrCat(
            part.selected.schema->registration.name, " of ", part.machine,
            " has more than ", context_.max_history_values,
            " values since the start; choose a later start, or fewer series"));
      },
      [](const Loss&) {}));
  return batches;
}

size_t HistoryReader::Send(const Part& part, FeedUpdate update) {
  std::vector<SeriesValues> wanted;
  size_t count = 0;
  for (SeriesValues& values : update.values) {
    values.points = PickAfter(values.points, start_);
    values.raw =
        PickAfter(values.raw, perflib::PerfTime100NSecFromTime(start_));
    if (values.count() == 0) continue;
    count += values.count();
    wanted.push_back(std::move(values));
  }
  update.values = std::move(wanted);
  if (update.empty() || !part.claim->Begin()) return 0;
  part.listener->AddHistory(
      std::make_shared<const FeedUpdate>(std::move(update)));
  return count;
}

}  // namespace fleetperf::aggregator
