#include "cli/live_ranking.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/sample_count.h"
#include "cli/values.h"

namespace fleetperf::cli {

void LiveRanking::AddPoints(const v1::Points& points) {
  Entry& entry = entries_[points.series()];
  ForEachValue(points, [&](const Value& value) {
    const double rank = RankOf(entry.series, value);
    entry.rank = top_ > 0 ? -rank : rank;
    entry.is_ok = value.ok();
  });
  v1::SubscribeResponse message;
  *message.add_points() = points;
  const auto parts = SplitBySample(message);
  entry.newest = parts.back().points(0);
}

std::set<uint32_t> LiveRanking::FirstOfEachCounter() const {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::vector<std::pair<double, uint32_t>>> by_counter;
  for (const auto& [id, entry] : entries_) {
    if (!entry.is_ok) continue;
    const v1::Series& series = entry.series;
    by_counter[{series.counterset(), series.counter(), series.unit()}]
        .emplace_back(entry.rank, id);
  }
  std::set<uint32_t> first;
  for (auto& [counter, ranked] : by_counter) {
    std::sort(ranked.begin(), ranked.end());
    const size_t count =
        std::min<size_t>(ranked.size(), std::max(top_, bottom_));
    for (size_t i = 0; i < count; ++i) first.insert(ranked[i].second);
  }
  return first;
}

void LiveRanking::Apply(v1::SubscribeResponse* response) {
  for (const v1::Series& series : response->series()) {
    entries_[series.id()].series = series;
  }
  std::map<uint32_t, std::vector<v1::Points>> added;
  for (const v1::Points& points : response->points()) {
    if (points.values().empty()) continue;
    AddPoints(points);
    added[points.series()].push_back(points);
  }
  std::vector<uint32_t> ended;
  for (const uint32_t id : response->ended()) {
    entries_.erase(id);
    if (shown_.erase(id) > 0) ended.push_back(id);
  }
  const std::set<uint32_t> first = FirstOfEachCounter();
  for (const uint32_t id : shown_) {
    if (!first.contains(id)) ended.push_back(id);
  }
  response->clear_series();
  response->clear_points();
  for (const uint32_t id : first) {
    const Entry& entry = entries_[id];
    const bool is_new = !shown_.contains(id);
    if (is_new) *response->add_series() = entry.series;
    for (const v1::Points& points : added[id]) *response->add_points() = points;
    if (is_new && added[id].empty()) *response->add_points() = entry.newest;
  }
  response->mutable_ended()->Assign(ended.begin(), ended.end());
  shown_ = first;
}

}  // namespace fleetperf::cli
