#include "proto/series_key.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "fleetperf/v1/values.pb.h"
#include "perflib/path.h"

namespace fleetperf {
namespace {

// Precedes every character of a name.
constexpr absl::string_view kEnd("\0", 1);

std::string PathWithoutIndex(const v1::Series& series) {
  if (series.instance_index() == 0) return series.path();
  const std::string name = perflib::EscapeInstanceName(series.instance());
  return absl::StrReplaceAll(
      series.path(),
      {{absl::StrCat("(", name, "#", series.instance_index(), ")"),
        absl::StrCat("(", name, ")")}});
}

}  // namespace

std::string SeriesKey(const v1::Series& series) {
  return absl::StrCat(series.machine(), kEnd, PathWithoutIndex(series), kEnd,
                      series.instance(), kEnd,
                      absl::Hex(series.instance_id(), absl::kZeroPad8), kEnd,
                      series.unit());
}

std::string DistinctSeriesKeys::KeyOf(const v1::Series& series) {
  std::string key = SeriesKey(series);
  if (is_sorted_ && !counts_.contains(key)) counts_.clear();
  const uint32_t count = counts_[key]++;
  absl::StrAppend(&key, kEnd, absl::Hex(count, absl::kZeroPad8));
  return key;
}

}  // namespace fleetperf
