#include "aggregator/query/choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

double RankOf(const SeriesResult& result) {
  return result.total.result.value * WeightOf(result, result.total);
}

}  // namespace

absl::Status Chooser::Add(SeriesResult result) {
  if (result.total.result.ok()) result.share = RankOf(result);
  if (choice_.is_of_all()) return sink_(std::move(result));
  if (!result.share.has_value()) return absl::OkStatus();
  if (choice_.where.has_value()) {
    const v1::Series& series = result.series;
    ASSIGN_OR_RETURN(const Condition where,
                     choice_.where->In(series.unit(), series.path()));
    if (!where.HoldsFor(*result.share)) return absl::OkStatus();
  }
  if (!is_ranking()) return sink_(std::move(result));
  Rank(std::move(result));
  return absl::OkStatus();
}

void Chooser::Rank(SeriesResult result) {
  const auto counter = CounterOf(result.series);
  auto known = rankings_.find(counter);
  if (known == rankings_.end()) {
    known = rankings_.emplace(counter, Ranking()).first;
  }
  Ranking& ranking = known->second;
  const double order = choice_.top > 0 ? -*result.share : *result.share;
  if (ranking.size() == std::max(choice_.top, choice_.bottom)) {
    const auto last = std::prev(ranking.end());
    // Among equal values, the series that arrived first stay.
    if (order >= last->first) return;
    held_ -= last->second.points.size();
    ranking.erase(last);
  }
  held_ += result.points.size();
  ranking.emplace(order, std::move(result));
}

absl::Status Chooser::Finish() {
  for (auto& [counter, ranking] : rankings_) {
    for (auto& [order, result] : ranking) {
      RETURN_IF_ERROR(sink_(std::move(result)));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
