#include "aggregator/cli/raw_samples.h"

#include "absl/strings/str_cat.h"
#include "aggregator/cli/times.h"
#include "aggregator/cli/values.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {

absl::Time TimeOf(const v1::RawSample& sample) {
  return perflib::TimeFromPerfTime100NSec(sample.perf_time_100nsec());
}

Record RawFields(const v1::RawSample& sample) {
  Record record;
  const auto add = [&](const char* name, bool has, uint64_t number,
                       bool detail) {
    Field field{.name = name, .detail = detail};
    if (has) field.value = absl::StrCat(number);
    record.push_back(std::move(field));
  };
  record.push_back({.name = "time", .value = TimeText(TimeOf(sample))});
  add("value", sample.has_value(), sample.value(), false);
  record.push_back({.name = "size", .value = uint32_t{sample.value_size()}});
  add("base", sample.has_denominator(), sample.denominator(), true);
  add("frequency", sample.has_frequency(), sample.frequency(), true);
  add("multi", sample.has_multi(), sample.multi(), true);
  record.push_back({.name = "perf_time",
                    .value = int64_t{sample.perf_time_stamp()},
                    .role = ColumnRole::kExtra});
  record.push_back({.name = "perf_time_100ns",
                    .value = int64_t{sample.perf_time_100nsec()},
                    .role = ColumnRole::kExtra});
  record.push_back({.name = "perf_freq",
                    .value = int64_t{sample.perf_freq()},
                    .role = ColumnRole::kExtra});
  add("life", true, sample.life(), true);
  return record;
}

Record RawRecord(const v1::Series& series, const v1::RawSample& sample) {
  Record record = SeriesFields(series);
  record.push_back({.name = "type",
                    .value = perflib::CounterTypeName(series.type()),
                    .role = ColumnRole::kText});
  for (Field& field : RawFields(sample)) record.push_back(std::move(field));
  return record;
}

}  // namespace fleetperf::cli
