#include "cli/query_request.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/times.h"
#include "proto/conversions.h"
#include "values/unit.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kDefaultSince = absl::Minutes(5);

absl::StatusOr<v1::Over> ParseOver(const std::string& text) {
  if (text.empty()) return v1::OVER_UNSPECIFIED;
  if (text == "avg") return v1::OVER_AVERAGE;
  if (text == "min") return v1::OVER_MINIMUM;
  if (text == "max") return v1::OVER_MAXIMUM;
  if (text == "last") return v1::OVER_LAST;
  if (text == "sum") return v1::OVER_SUM;
  return absl::InvalidArgumentError(
      absl::StrCat("--over: \"", text, "\" is not avg, min, max, last or sum"));
}

absl::StatusOr<v1::AggregateFunction> ParseAggregate(const std::string& text) {
  if (text.empty()) return v1::AGGREGATE_FUNCTION_UNSPECIFIED;
  if (text == "auto") return v1::AGGREGATE_FUNCTION_AUTO;
  if (text == "avg") return v1::AGGREGATE_FUNCTION_AVERAGE;
  if (text == "sum") return v1::AGGREGATE_FUNCTION_SUM;
  if (text == "min") return v1::AGGREGATE_FUNCTION_MINIMUM;
  if (text == "max") return v1::AGGREGATE_FUNCTION_MAXIMUM;
  if (text == "count") return v1::AGGREGATE_FUNCTION_COUNT;
  if (text == "p50") return v1::AGGREGATE_FUNCTION_P50;
  if (text == "p90") return v1::AGGREGATE_FUNCTION_P90;
  if (text == "p95") return v1::AGGREGATE_FUNCTION_P95;
  if (text == "p99") return v1::AGGREGATE_FUNCTION_P99;
  return absl::InvalidArgumentError(
      absl::StrCat("--agg: \"", text,
                   "\" is not auto, avg, sum, min, max, count, p50, p90, p95 "
                   "or p99"));
}

absl::Status AddGrouping(const std::string& text,
                         v1::QueryRangeRequest* request) {
  absl::string_view label = text;
  if (text == "machine") {
    request->add_by(v1::GROUPING_MACHINE);
  } else if (text == "instance") {
    request->add_by(v1::GROUPING_INSTANCE);
  } else if (text == "name") {
    request->add_by(v1::GROUPING_NAME);
  } else if (text == "counter") {
    request->add_by(v1::GROUPING_COUNTER);
  } else if (text == "counterset") {
    request->add_by(v1::GROUPING_COUNTERSET);
  } else if (absl::ConsumePrefix(&label, kLabelPrefix) && !label.empty()) {
    request->add_by_labels(std::string(label));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "--by: \"", text,
        "\" is not machine, instance, name, counter, counterset or "
        "label:NAME"));
  }
  return absl::OkStatus();
}

}  // namespace

template <typename Request>
absl::Status SetRange(const QueryFlags& flags, Request* request) {
  if (!flags.since.empty() && !flags.from.empty()) {
    return absl::InvalidArgumentError(
        "--since and --from exclude each other: both set the start");
  }
  if (!flags.from.empty()) {
    ASSIGN_OR_RETURN(const absl::Time from,
                     ParseTimeFlag("--from", flags.from));
    *request->mutable_start_time() = ToProto(from);
  } else {
    absl::Duration since = kDefaultSince;
    if (!flags.since.empty()) {
      ASSIGN_OR_RETURN(since, ParseDurationFlag("--since", flags.since));
    }
    *request->mutable_since() = ToProto(since);
  }
  if (!flags.to.empty()) {
    ASSIGN_OR_RETURN(const absl::Time to, ParseTimeFlag("--to", flags.to));
    *request->mutable_end_time() = ToProto(to);
  }
  return absl::OkStatus();
}

template absl::Status SetRange(const QueryFlags& flags,
                               v1::QueryRangeRequest* request);
template absl::Status SetRange(const QueryFlags& flags,
                               v1::QueryRawRequest* request);

absl::StatusOr<v1::Condition> ParseCondition(absl::string_view text) {
  // An operator must precede the operators that are its prefixes.
  constexpr std::pair<absl::string_view, v1::Comparison> kComparisons[] = {
      {">=", v1::COMPARISON_GREATER_OR_EQUAL},
      {"<=", v1::COMPARISON_LESS_OR_EQUAL},
      {"!=", v1::COMPARISON_NOT_EQUAL},
      {">", v1::COMPARISON_GREATER},
      {"<", v1::COMPARISON_LESS},
      {"=", v1::COMPARISON_EQUAL}};
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(text);
  for (const auto& [symbol, comparison] : kComparisons) {
    if (!absl::ConsumePrefix(&rest, symbol)) continue;
    // The unit starts after the last digit.
    const size_t digits = rest.find_last_of("0123456789.");
    double number;
    if (digits == absl::string_view::npos ||
        !absl::SimpleAtod(rest.substr(0, digits + 1), &number) ||
        !std::isfinite(number)) {
      break;
    }
    const absl::string_view unit =
        absl::StripAsciiWhitespace(rest.substr(digits + 1));
    const absl::Status known = CheckUnit(unit);
    if (!known.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--where: ", known.message()));
    }
    v1::Condition condition;
    condition.set_comparison(comparison);
    condition.set_number(number);
    condition.set_unit(std::string(unit));
    return condition;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--where: \"", text,
                   "\" is not >, >=, <, <=, = or != and a number, as in '> "
                   "90' or '>= 1.5 GiB'"));
}

absl::StatusOr<v1::QueryRangeRequest> MakeRequest(const QueryFlags& flags) {
  v1::QueryRangeRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetRange(flags, &request));
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  if (!flags.step.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration step,
                     ParseDurationFlag("--step", flags.step));
    *request.mutable_step() = ToProto(step);
  }
  ASSIGN_OR_RETURN(const v1::Over over, ParseOver(flags.over));
  request.set_over(over);
  if (flags.top > 0 && flags.bottom > 0) {
    return absl::InvalidArgumentError(
        "--top and --bottom exclude each other; run one query for each");
  }
  request.set_top(flags.top);
  request.set_bottom(flags.bottom);
  if (!flags.where.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_where(), ParseCondition(flags.where));
  }
  ASSIGN_OR_RETURN(const auto aggregate, ParseAggregate(flags.agg));
  request.set_aggregate(aggregate);
  if (flags.agg.empty() && !flags.by.empty()) {
    return absl::InvalidArgumentError("--by requires --agg; add --agg auto");
  }
  for (const std::string& text : flags.by) {
    RETURN_IF_ERROR(AddGrouping(text, &request));
  }
  return request;
}

}  // namespace fleetperf::cli
