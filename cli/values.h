// The values and raw samples of series from queries and subscriptions.

#ifndef FLEETPERF_CLI_VALUES_H_
#define FLEETPERF_CLI_VALUES_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

struct Value {
  absl::Time time;
  double value = 0;
  v1::ValueStatus status = v1::VALUE_STATUS_OK;
  v1::GapCause cause = v1::GAP_CAUSE_UNSPECIFIED;
  uint32_t breaks = 0;
  double coverage = 1;
  // The newest sample's time, if the range goes on for more than 2.5 of the
  // series' intervals after it.
  std::optional<absl::Time> newest_sample = std::nullopt;
  double presence = 1;
  bool is_partial = false;  // the window is shorter than the step
  // Of the series, in range queries: the value that --top and --bottom rank by,
  // and the time of the last sample if the instance has ended.
  std::optional<double> share = std::nullopt;
  std::optional<absl::Time> ended = std::nullopt;
  // Of the series: the end of the range, unless the request has one.
  std::optional<absl::Time> range_end = std::nullopt;
  // Of the series: the aggregators that have values of it, if several have.
  std::vector<std::string> aggregators = {};

  bool ok() const { return status == v1::VALUE_STATUS_OK; }
};

// Removes the elements of a repeated field for which `is_unwanted`.
template <typename Field, typename Predicate>
void EraseIf(Field* field, Predicate is_unwanted) {
  field->erase(std::remove_if(field->begin(), field->end(), is_unwanted),
               field->end());
}

// Calls `use` for each point.
void ForEachValue(const v1::Points& points,
                  const std::function<void(const Value&)>& use);

// Return "gap", "negative_value" and similar names.
std::string StatusText(v1::ValueStatus status);
std::string CauseText(v1::GapCause cause);

// Formats a value for users: as FormatNumber, but in hexadecimal or without
// separators if the registration demands it.
NumberText NumberOf(const v1::Series& series, double value);

// Same for several values of one series: their scale, given the `largest`
// absolute value, and each value in that scale.
Scale ScaleOf(const v1::Series& series, double largest);
std::string ScaledNumberOf(const v1::Series& series, double value,
                           const Scale& scale);

// Returns "\\web-1\System\Processes", from the text that stands for the
// machine. An expression may begin with a number: "\\web-1 100 - \A\B".
std::string PathOnMachine(absl::string_view machine, absl::string_view path);

// Whether the series is a group with an instance, which its path does not have.
bool IsGroupOfInstance(const v1::Series& series);

// Returns the path with "*" instead of the instance: still a path.
std::string CounterPath(const v1::Series& series);

// Returns a key that series have in common whose bars are drawn to one scale:
// those of one counter and unit.
std::string ScaleKeyOf(const v1::Series& series);

// Returns the instance's name with its index, as in a path, or what it stands
// for: "(ended processes)".
std::string InstanceText(const v1::Series& series);

// Returns the fields that identify a series. For programs: machine and path.
// For users: machine, counter (CounterPath) and instance.
Record SeriesFields(const v1::Series& series);

// Returns "21:45:12Z, 5m2s old" in UserZone(), or "21:45:12Z, 5m2s ahead" of a
// time after `now`; with the date if that is more than a day away.
std::string AgeText(absl::Time time, absl::Time now);
// Returns the age alone: "5m2s old", for narrow tables.
Field::Brief BriefAge(absl::Time time, absl::Time now);

// Returns the record of a value. For programs: machine, path, time, value,
// status, unit and details. For users: `with_time` adds a time column.
Record ValueRecord(const v1::Series& series, const Value& value,
                   bool with_time);

// Returns the value by which series are ranked: value * presence, as rankings
// of the aggregator ("Presence" in docs/reference/query-rules.md).
double RankOf(const v1::Series& series, const Value& value);

// Returns the presence of the instance, empty if it was always there.
Field PresenceField(const Value& value);

// Returns the part of the time that the value covers, for tables; empty if it
// is the whole time, or if only the absence of the instance is missing, which
// PresenceField shows.
Field CoveredField(const Value& value);
// Returns the value by which a series ranks, in the unit of `value`.
Field ShareField(const v1::Series& series, const Value& value, double share);

// Returns the reason why a value is missing: the cause if known, else the
// status.
std::string ReasonText(const Value& value);

// Returns the text of a value for users: the number, or the reason why it is
// missing.
std::string ValueText(const v1::Series& series, const Value& value);

// Returns the time of the sample's block.
absl::Time TimeOf(const v1::RawSample& sample);

// Returns the fields of a raw sample, as query --raw and explain print them.
// 64-bit numbers that may be large are strings, because JSON parsers round
// them.
Record RawFields(const v1::RawSample& sample);

// Same, preceded by the fields of the series.
Record RawRecord(const v1::Series& series, const v1::RawSample& sample);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_VALUES_H_
