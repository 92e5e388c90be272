#include "cli/chosen_series.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "perflib/path.h"
#include "proto/condition.h"

namespace fleetperf::cli {
namespace {

using RangeReader = AnswerReader<RangeSeries>;

// Whether the series has a value over the range, which satisfies the condition.
absl::StatusOr<bool> IsChosen(const v1::QueryRangeRequest& request,
                              const v1::QueryRangeResponse& series) {
  if (!series.has_share() || !request.has_where()) return series.has_share();
  ASSIGN_OR_RETURN(const Condition where, ConditionFromProto(request.where()));
  ASSIGN_OR_RETURN(const Condition in_unit,
                   where.In(series.series().unit(), series.series().path()));
  return in_unit.HoldsFor(series.share());
}

v1::QueryRangeRequest WithoutChoice(v1::QueryRangeRequest request) {
  request.clear_where();
  request.clear_top();
  request.clear_bottom();
  request.set_without_aggregates(true);  // as with a choice
  return request;
}

// Returns the series that each aggregator ranks first: twice as many as wanted,
// because another one may have more of some of these, and another value.
absl::StatusOr<std::vector<RangeSeries>> ReadFirstOfEach(
    const Aggregators& aggregators, v1::QueryRangeRequest request,
    RangeReader reader) {
  request.set_top(2 * request.top());
  request.set_bottom(2 * request.bottom());
  request.clear_step();
  std::vector<RangeSeries> first;
  reader.use = [&](RangeSeries series) {
    first.push_back({.head = std::move(series.head)});
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ReadAnswers(aggregators, request, reader));
  return first;
}

// Returns the machines of the first series of `claims` and `ranked`.
std::set<std::string> FirstMachines(const v1::QueryRangeRequest& request,
                                    std::vector<RangeSeries> claims,
                                    const std::vector<RangeSeries>& ranked) {
  for (const RangeSeries& series : ranked) {
    claims.push_back({.head = series.head});
  }
  KeepRanked(request, &claims);
  std::set<std::string> machines;
  for (const RangeSeries& series : claims) {
    machines.insert(series.series().machine());
  }
  return machines;
}

// Adds the chosen series of the machines whose series are, or could be, among
// the first. Calls `read_machine` until these have been read.
//
// For example, the first two are wanted. Aggregator A claims 90 for web-1 and
// 50 for web-2, and B claims 70 for web-2 and 60 for web-3. web-1 and web-2 are
// read. The part of web-2 at A covers more, so it has 50. web-3 could be second
// and is read, too.
absl::Status ReadFirstMachines(
    const v1::QueryRangeRequest& request, std::vector<RangeSeries> claims,
    const std::function<absl::Status(const std::string&)>& read_machine,
    std::vector<RangeSeries>* ranked) {
  std::set<std::string> read;
  for (;;) {
    const size_t known = read.size();
    for (const std::string& machine : FirstMachines(request, claims, *ranked)) {
      if (!read.insert(machine).second) continue;
      RETURN_IF_ERROR(read_machine(machine));
    }
    if (read.size() == known) return absl::OkStatus();
    KeepRanked(request, ranked);
    std::erase_if(claims, [&](const RangeSeries& claim) {
      return read.contains(claim.series().machine());
    });
  }
}

}  // namespace

bool IsRanked(const v1::QueryRangeRequest& request) {
  return request.top() > 0 || request.bottom() > 0;
}

absl::Status ReadChosen(const Aggregators& aggregators,
                        const v1::QueryRangeRequest& request,
                        const RangeReader& reader) {
  v1::QueryRangeRequest all = WithoutChoice(request);
  std::vector<RangeSeries> ranked;
  RangeReader of_all = reader;
  of_all.use = [&](RangeSeries series) -> absl::Status {
    ASSIGN_OR_RETURN(const bool is_chosen, IsChosen(request, series.head));
    if (!is_chosen) return absl::OkStatus();
    if (!IsRanked(request)) return reader.use(std::move(series));
    ranked.push_back(std::move(series));
    return absl::OkStatus();
  };
  if (!IsRanked(request) || reader.spans_machines) {
    RETURN_IF_ERROR(ReadAnswers(aggregators, all, of_all));
  } else {
    of_all.is_part = true;
    ASSIGN_OR_RETURN(std::vector<RangeSeries> claims,
                     ReadFirstOfEach(aggregators, request, reader));
    const auto read_machine = [&](const std::string& machine) {
      all.set_machine(perflib::EscapeName(machine));
      return ReadAnswers(aggregators, all, of_all);
    };
    RETURN_IF_ERROR(
        ReadFirstMachines(request, std::move(claims), read_machine, &ranked));
  }
  KeepRanked(request, &ranked);
  for (RangeSeries& series : ranked) {
    RETURN_IF_ERROR(reader.use(std::move(series)));
  }
  return absl::OkStatus();
}

void KeepRanked(const v1::QueryRangeRequest& request,
                std::vector<RangeSeries>* series) {
  const auto counter = [](const RangeSeries& of) {
    return std::tie(of.series().counterset(), of.series().counter(),
                    of.series().unit());
  };
  const auto rank = [&](const RangeSeries& of) {
    const double share = of.head.share();
    return std::make_tuple(counter(of), request.top() > 0 ? -share : share,
                           std::tie(of.series().machine(), of.series().path()));
  };
  std::sort(series->begin(), series->end(),
            [&](const RangeSeries& a, const RangeSeries& b) {
              return rank(a) < rank(b);
            });
  const size_t limit = std::max(request.top(), request.bottom());
  std::vector<RangeSeries> kept;
  size_t of_counter = 0;
  for (RangeSeries& one : *series) {
    const bool is_first = kept.empty() || counter(kept.back()) != counter(one);
    of_counter = is_first ? 1 : of_counter + 1;
    if (of_counter <= limit) kept.push_back(std::move(one));
  }
  *series = std::move(kept);
}

}  // namespace fleetperf::cli
