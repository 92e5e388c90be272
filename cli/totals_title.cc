#include "cli/totals_title.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/times.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// Returns the time in whole seconds, because a title is for people.
std::string SecondText(const google::protobuf::Timestamp& time) {
  return TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(FromProto(time))));
}

}  // namespace

std::string RangeText(const v1::QueryRangeRequest& request) {
  const std::string end =
      request.has_end_time()
          ? absl::StrCat(" to ", SecondText(request.end_time()))
          : "";
  if (!request.has_since()) {
    return absl::StrCat("the time from ", SecondText(request.start_time()),
                        end.empty() ? " to now" : end);
  }
  const std::string length = DurationText(FromProto(request.since()));
  if (end.empty()) return absl::StrCat("the last ", length);
  return absl::StrCat("the ", length, " up", end);
}

namespace {

// Returns "the sum over all series of the"; empty without --agg.
std::string AggregateText(const std::string& agg) {
  if (agg.empty()) return "";
  if (agg == "avg") return "average over series of the ";
  if (agg == "min") return "smallest over series of the ";
  if (agg == "max") return "largest over series of the ";
  if (agg == "count") return "number of series with a ";
  if (agg == "auto") return "combination of series of the ";
  return absl::StrCat(agg, " over series of the ");
}

}  // namespace

TotalsTitle::TotalsTitle(const v1::QueryRangeRequest& request, std::string agg)
    : over_(request.over()), agg_(std::move(agg)), range_(RangeText(request)) {}

void TotalsTitle::Add(const v1::Series& series) {
  const auto* type = perflib::FindCounterType(series.type());
  if (type != nullptr && type->formula == perflib::Formula::kDelta) {
    has_growth_ = true;
  } else if (type != nullptr &&
             type->formula == perflib::Formula::kElapsedTime) {
    has_newest_ = true;
  } else {
    has_means_ = true;
  }
}

// Without --over, by the types of the counters.
std::string TotalsTitle::ValueText() const {
  switch (over_) {
    case v1::OVER_AVERAGE:
      return "average of all samples";
    case v1::OVER_MINIMUM:
      return "smallest sample";
    case v1::OVER_MAXIMUM:
      return "largest sample";
    case v1::OVER_LAST:
      return "newest sample";
    case v1::OVER_SUM:
      return "sum of all samples";
    default:
      break;
  }
  std::vector<std::string> texts;
  if (has_means_) texts.push_back("mean");
  if (has_growth_)
    texts.push_back(has_means_ ? "growth (of deltas)" : "growth");
  if (has_newest_) {
    texts.push_back(texts.empty() ? "newest value"
                                  : "newest value (of uptimes)");
  }
  return absl::StrJoin(texts, ", ");
}

std::string TotalsTitle::Text() const {
  return absl::StrCat(AggregateText(agg_), ValueText(),
                      over_ == v1::OVER_UNSPECIFIED ? " of " : " in ", range_);
}

}  // namespace fleetperf::cli
