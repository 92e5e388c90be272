#include "aggregator/web/points_json.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/web/json.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

void AppendMillis(int64_t unix_nanos, std::string* out) {
  if (unix_nanos < 0) out->push_back('-');
  const uint64_t nanos = unix_nanos < 0 ? ~static_cast<uint64_t>(unix_nanos) + 1
                                        : static_cast<uint64_t>(unix_nanos);
  AppendNumber(nanos / kNanosPerMilli, out);
  const uint64_t rest = nanos % kNanosPerMilli;
  if (rest == 0) return;
  absl::StrAppend(out, ".", absl::Dec(rest, absl::kZeroPad6));
  while (out->back() == '0') out->pop_back();
}

// Appends a map from the positions of a column's values that are not `usual`.
template <typename Column, typename Value, typename Append>
void AppendMap(absl::string_view name, const Column& column, Value usual,
               Append append, std::string* out) {
  bool is_open = false;
  for (int i = 0; i < column.size(); ++i) {
    if (column[i] == usual) continue;
    absl::StrAppend(out, is_open ? "," : absl::StrCat(",\"", name, "\":{"),
                    "\"", i, "\":");
    append(column[i]);
    is_open = true;
  }
  if (is_open) out->push_back('}');
}

}  // namespace

void AppendPoints(const v1::Points& points, std::string* out) {
  absl::StrAppend(out, "{\"series\":", points.series(), ",\"t\":[");
  int64_t time = 0;
  for (int i = 0; i < points.time_unix_nanos_size(); ++i) {
    if (i > 0) out->push_back(',');
    time += points.time_unix_nanos(i);
    AppendMillis(time, out);
  }
  out->append("],\"v\":[");
  for (int i = 0; i < points.values_size(); ++i) {
    if (i > 0) out->push_back(',');
    const bool is_ok =
        points.statuses().empty() || points.statuses(i) == v1::VALUE_STATUS_OK;
    if (is_ok && std::isfinite(points.values(i))) {
      AppendNumber(points.values(i), out);
    } else {
      out->append("null");
    }
  }
  out->push_back(']');
  const auto append_number = [&](auto number) { AppendNumber(number, out); };
  AppendMap(
      "statuses", points.statuses(), int{v1::VALUE_STATUS_OK},
      [&](int status) {
        absl::StrAppend(
            out, "\"",
            v1::ValueStatus_Name(static_cast<v1::ValueStatus>(status)), "\"");
      },
      out);
  AppendMap(
      "causes", points.causes(), int{v1::GAP_CAUSE_UNSPECIFIED},
      [&](int cause) {
        absl::StrAppend(out, "\"",
                        v1::GapCause_Name(static_cast<v1::GapCause>(cause)),
                        "\"");
      },
      out);
  AppendMap("breaks", points.breaks(), 0u, append_number, out);
  AppendMap("coverage", points.coverage(), 1.0f, append_number, out);
  AppendMap("presence", points.presence(), 1.0f, append_number, out);
  if (points.last_is_partial()) out->append(",\"partial\":true");
  if (points.has_newest_sample_unix_nanos()) {
    out->append(",\"newest_sample\":");
    AppendMillis(points.newest_sample_unix_nanos(), out);
  }
  out->push_back('}');
}

}  // namespace fleetperf::aggregator::web
