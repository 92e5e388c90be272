#include "aggregator/samples/tick_link.h"

#include <algorithm>
#include <utility>

#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// The limit of remembered queries, whose dictionaries may have ended.
constexpr size_t kMaxQueries = 1000;

absl::Duration CollectionInterval(const CollectedQuery& query) {
  return query.is_thinned() ? query.thinned_from : query.interval;
}

bool IsRaw(const CollectedQuery::Column& column) {
  return column.role == ColumnRole::kRaw;
}

// The size of values may change with the first one that a counter has.
bool HaveOneCounter(const CollectedQuery::Column& a,
                    const CollectedQuery::Column& b) {
  return a.counter_id == b.counter_id && a.only_linked == b.only_linked &&
         a.wraps == b.wraps;
}

// Whether both have the same counters and interval, thinned or not. The raw
// columns of thinned data come first.
bool AreOne(const CollectedQuery& a, const CollectedQuery& b) {
  const auto end = [](const CollectedQuery& query) {
    return std::find_if_not(query.columns.begin(), query.columns.end(), IsRaw);
  };
  return a.schema == b.schema &&
         CollectionInterval(a) == CollectionInterval(b) &&
         std::equal(a.columns.begin(), end(a), b.columns.begin(), end(b),
                    HaveOneCounter);
}

int64_t LengthBetween(const ClockCheck& check, const SoundTick& older,
                      const perflib::Clocks& newer) {
  if (older.number == 0) return 0;
  return check.SoundLength(older.clocks, newer).value_or(0);
}

}  // namespace

TickLinks::TickLinks(absl::Time end)
    : end_(perflib::PerfTime100NSecFromTime(end)) {}

const FrameTicks& TickLinks::Add(const Frame& frame,
                                 const std::vector<int64_t>* lengths) {
  ticks_.query_ = QueryOf(frame.query);
  Query& query = queries_[ticks_.query_];
  for (const size_t rival : query.rivals) {
    if (HasSeriesOf(queries_[rival], frame)) queries_[rival].last = {};
  }
  if (query.epoch_number != frame.epoch_number) {
    query.epoch_number = frame.epoch_number;
    query.last = {};
  }
  ticks_.clocks_ = frame.clocks;
  ticks_.before_ = query.last;
  ticks_.first_number_ = next_number_;
  ticks_.numbers_.clear();
  ticks_.positions_before_.clear();
  next_number_ += static_cast<int64_t>(frame.clocks->size());
  if (frame.query->is_thinned()) {
    AddThinned(frame, &query);
  } else if (frame.failures.empty() && !HasTickAfterEnd(frame)) {
    AddSound(frame, lengths, &query);
  } else {
    AddEach(frame, &query);
  }
  FindConcurrent(frame, ticks_.query_);
  SetFrame(frame, ticks_.first_number_, &query);
  return ticks_;
}

bool TickLinks::Collects(size_t query, const Schema& schema,
                         uint32_t counter_id) const {
  const CollectedQuery& of = *queries_[query].query;
  return of.schema.get() == &schema &&
         std::any_of(of.columns.begin(), of.columns.end(),
                     [&](const CollectedQuery::Column& column) {
                       return IsRaw(column) && !column.only_linked &&
                              column.counter_id == counter_id;
                     });
}

size_t TickLinks::QueryOf(const std::shared_ptr<const CollectedQuery>& query) {
  if (numbers_.size() > kMaxQueries) numbers_.clear();
  const auto [entry, is_new] = numbers_.try_emplace(query);
  if (!is_new) return entry->second;
  const auto known = std::find_if(
      queries_.begin(), queries_.end(),
      [&](const Query& other) { return AreOne(*other.query, *query); });
  entry->second = static_cast<size_t>(known - queries_.begin());
  if (known == queries_.end()) AddQuery(query);
  return entry->second;
}

void TickLinks::AddQuery(const std::shared_ptr<const CollectedQuery>& query) {
  const size_t number = queries_.size();
  queries_.emplace_back().query = query;
  for (size_t other = 0; other < number; ++other) {
    if (!ShareSeries(*queries_[other].query, *query)) continue;
    queries_[number].rivals.push_back(other);
    queries_[other].rivals.push_back(number);
  }
}

// Queries of a plan may have the same counters of different instances.
bool TickLinks::HasSeriesOf(const Query& rival, const Frame& frame) {
  return !rival.lives.has_value() ||
         std::any_of(frame.runs.begin(), frame.runs.end(),
                     [&](const Frame::Run& run) {
                       return rival.lives->contains(run.instance->life);
                     });
}

// Frames have one tick each, or many.
void TickLinks::FindConcurrent(const Frame& frame, size_t number) {
  Query& query = queries_[number];
  for (const size_t rival : query.rivals) {
    Query& other = queries_[rival];
    if (other.first_number == 0 || HasSeriesOf(other, frame)) continue;
    const bool are_in_turn =
        ticks_.link_ > 0 && other.first_number > query.first_number;
    const bool overlap =
        other.epoch_number == query.epoch_number &&
        other.start <= frame.clocks->back().perf_time_100nsec &&
        other.end >= frame.clocks->front().perf_time_100nsec;
    if (!are_in_turn && !overlap) continue;
    query.concurrent.insert(rival);
    other.concurrent.insert(number);
  }
}

void TickLinks::SetFrame(const Frame& frame, int64_t first_number,
                         Query* query) {
  query->first_number = first_number;
  query->start = frame.clocks->front().perf_time_100nsec;
  query->end = frame.clocks->back().perf_time_100nsec;
  if (query->rivals.empty()) return;
  query->lives.emplace();
  for (const Frame::Run& run : frame.runs) {
    query->lives->insert(run.instance->life);
  }
}

bool TickLinks::HasTickAfterEnd(const Frame& frame) const {
  return std::any_of(frame.clocks->begin(), frame.clocks->end(),
                     [&](const perflib::Clocks& tick) {
                       return tick.perf_time_100nsec > end_;
                     });
}

void TickLinks::AddSound(const Frame& frame,
                         const std::vector<int64_t>* lengths, Query* query) {
  const std::vector<perflib::Clocks>& clocks = *frame.clocks;
  const ClockCheck check(frame.query->interval);
  ticks_.link_ = LengthBetween(check, query->last, clocks[0]);
  if (lengths == nullptr) {
    lengths_.resize(clocks.size());
    for (size_t tick = 1; tick < clocks.size(); ++tick) {
      lengths_[tick] =
          check.SoundLength(clocks[tick - 1], clocks[tick]).value_or(0);
    }
    lengths = &lengths_;
  }
  ticks_.lengths_ = lengths;
  query->last = {next_number_ - 1, clocks.back()};
}

// Thinned data has the times of its intervals. Only its last tick has a
// neighbour: the first tick of the data that is not thinned.
void TickLinks::AddThinned(const Frame& frame, Query* query) {
  const std::vector<perflib::Clocks>& clocks = *frame.clocks;
  lengths_ = frame.interval_times;
  lengths_.resize(clocks.size());
  ticks_.lengths_ = &lengths_;
  ticks_.link_ = lengths_[0];
  const auto last = static_cast<uint32_t>(clocks.size() - 1);
  if (frame.HasFailed(last) || clocks[last].perf_time_100nsec > end_) {
    query->last = {};
  } else {
    query->last = {next_number_ - 1, clocks[last]};
  }
}

void TickLinks::AddEach(const Frame& frame, Query* query) {
  const std::vector<perflib::Clocks>& clocks = *frame.clocks;
  const ClockCheck check(frame.query->interval);
  lengths_.assign(clocks.size(), 0);
  int64_t position = -1;  // of the last sound tick in the frame
  for (uint32_t tick = 0; tick < clocks.size(); ++tick) {
    ticks_.positions_before_.push_back(position);
    if (clocks[tick].perf_time_100nsec <= end_ && !frame.HasFailed(tick)) {
      lengths_[tick] = LengthBetween(check, query->last, clocks[tick]);
      query->last = {ticks_.first_number_ + tick, clocks[tick]};
      position = tick;
    }
    ticks_.numbers_.push_back(query->last.number);
  }
  ticks_.lengths_ = &lengths_;
  ticks_.link_ = lengths_[0];
}

}  // namespace fleetperf::aggregator
