#include "aggregator/subscribe/live_chooser.h"

#include <algorithm>

#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

bool IsOk(const v1::Points& points, int place) {
  return points.statuses().empty() ||
         points.statuses(place) == v1::VALUE_STATUS_OK;
}

template <typename Column>
void Copy(const Column& from, int place, Column* to) {
  if (!from.empty()) to->Add(from.Get(place));
}

// Returns a value as it is compared and ranked.
double RankOf(const SeriesValues& values, int place) {
  const v1::Points& points = values.points;
  const bool is_weighted = values.is_weighted && !points.presence().empty();
  return points.values(place) * (is_weighted ? points.presence(place) : 1);
}

int LastOf(const SeriesValues& values) {
  return values.points.values_size() - 1;
}

// The age of a sample that may be due to clocks that differ, and to batches
// under way.
constexpr absl::Duration kFresh = absl::Seconds(30);
constexpr absl::Duration kLateCheck = absl::Seconds(1);

// Returns the time from which on a series with these values is late.
absl::Time LateTimeOf(const SeriesValues& values) {
  int64_t newest = 0;
  for (const int64_t nanos : values.points.time_unix_nanos()) newest += nanos;
  return absl::FromUnixNanos(newest) +
         std::max(kFresh, values.interval * kMaxIntervalsApart);
}

}  // namespace

v1::Points PickPoints(const v1::Points& points,
                      absl::FunctionRef<bool(int)> wants) {
  v1::Points picked;
  picked.set_series(points.series());
  int64_t since_picked = 0;
  for (int i = 0; i < points.values_size(); ++i) {
    since_picked += points.time_unix_nanos(i);
    if (!wants(i)) continue;
    picked.add_time_unix_nanos(std::exchange(since_picked, 0));
    picked.add_values(points.values(i));
    Copy(points.statuses(), i, picked.mutable_statuses());
    Copy(points.causes(), i, picked.mutable_causes());
    Copy(points.breaks(), i, picked.mutable_breaks());
    Copy(points.coverage(), i, picked.mutable_coverage());
    Copy(points.presence(), i, picked.mutable_presence());
  }
  return picked;
}

std::shared_ptr<const FeedUpdate> LiveChooser::Choose(
    std::shared_ptr<const FeedUpdate> update, bool is_history) {
  if (choice_.where.has_value()) {
    update = std::make_shared<const FeedUpdate>(LeaveOut(*update));
  }
  if (choice_.top > 0 || choice_.bottom > 0) {
    update = std::make_shared<const FeedUpdate>(KeepFirst(*update, is_history));
  }
  return update;
}

FeedUpdate LiveChooser::LeaveOut(const FeedUpdate& update) {
  FeedUpdate chosen{.position = update.position, .lagged = update.lagged};
  for (const SeriesValues& values : update.values) {
    if (values.is_unnamed_aggregate) continue;
    const auto where =
        choice_.where->In(values.series->unit(), values.series->path());
    const auto holds = [&](int place) {
      return where.ok() && IsOk(values.points, place) &&
             where->HoldsFor(RankOf(values, place));
    };
    const uint32_t id = values.series->id();
    v1::Points picked = PickPoints(values.points, holds);
    if (picked.values_size() > 0) {
      holding_.insert(id);
      chosen.values.push_back({.series = values.series,
                               .points = std::move(picked),
                               .is_weighted = values.is_weighted,
                               .interval = values.interval});
    }
    if (!holds(LastOf(values)) && holding_.erase(id) > 0) {
      chosen.ended.push_back(id);
    }
  }
  for (const uint32_t id : update.ended) {
    if (holding_.erase(id) > 0) chosen.ended.push_back(id);
  }
  return chosen;
}

LiveChooser::Order& LiveChooser::OrderOf(const SeriesValues& values) {
  const auto counter = CounterOf(*values.series);
  const auto known = orders_.find(counter);
  return known != orders_.end()
             ? known->second
             : orders_.emplace(counter, Order()).first->second;
}

void LiveChooser::RankSeries(const SeriesValues& values, absl::Time now) {
  const uint32_t id = values.series->id();
  Unrank(id);
  const int last = LastOf(values);
  if (!IsOk(values.points, last)) return;
  const double value = RankOf(values, last);
  const absl::Time late = LateTimeOf(values);
  const bool is_late = late < now;
  const Rank rank = {is_late, choice_.top > 0 ? -value : value};
  OrderOf(values).emplace(rank, id);
  ranked_[id] = {
      .newest = {.series = values.series,
                 .points = PickPoints(values.points,
                                      [&](int i) { return i == last; }),
                 .is_weighted = values.is_weighted,
                 .interval = values.interval},
      .rank = rank,
      .late = late};
}

void LiveChooser::RankLate(absl::Time now) {
  if (absl::AbsDuration(now - checked_) < kLateCheck) return;
  checked_ = now;
  for (auto& [id, ranked] : ranked_) {
    if (ranked.late >= now || ranked.rank.first) continue;
    Order& order = OrderOf(ranked.newest);
    order.erase({ranked.rank, id});
    ranked.rank.first = true;
    order.emplace(ranked.rank, id);
  }
}

void LiveChooser::Unrank(uint32_t id) {
  const auto known = ranked_.find(id);
  if (known == ranked_.end()) return;
  OrderOf(known->second.newest).erase({known->second.rank, id});
  ranked_.erase(known);
}

FeedUpdate LiveChooser::KeepFirst(const FeedUpdate& update, bool is_history) {
  const absl::Time now = is_history ? absl::InfinitePast() : clock_.Now();
  for (const SeriesValues& values : update.values) {
    if (!values.is_unnamed_aggregate) RankSeries(values, now);
  }
  for (const uint32_t id : update.ended) Unrank(id);
  if (!is_history) RankLate(now);
  absl::flat_hash_set<uint32_t> first;
  const size_t wanted = std::max(choice_.top, choice_.bottom);
  for (const auto& [counter, order] : orders_) {
    size_t of_counter = 0;
    for (const auto& [rank, id] : order) {
      if (of_counter++ == wanted) break;
      first.insert(id);
    }
  }

  FeedUpdate chosen{.position = update.position, .lagged = update.lagged};
  absl::flat_hash_set<uint32_t> announced;
  for (const SeriesValues& values : update.values) {
    if (!first.contains(values.series->id())) continue;
    announced.insert(values.series->id());
    chosen.values.push_back(values);
  }
  for (const uint32_t id : first) {
    if (first_.contains(id) || announced.contains(id)) continue;
    chosen.values.push_back(ranked_.at(id).newest);
  }
  for (const uint32_t id : first_) {
    if (!first.contains(id)) chosen.ended.push_back(id);
  }
  first_ = std::move(first);
  return chosen;
}

}  // namespace fleetperf::aggregator
