#include "aggregator/query/series.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "perflib/aggregates.h"
#include "perflib/path.h"
#include "proto/series_key.h"
#include "values/unit.h"

namespace fleetperf::aggregator {

bool IsUnnamedAggregate(const SelectedCounterset& selected, uint32_t counter_id,
                        const std::string& instance, uint32_t index) {
  return perflib::IsAggregate(selected.schema->registration, instance) &&
         !selected.NamesAggregate(counter_id, instance, index);
}

v1::Series DescribeSeries(const std::string& machine, const Schema& schema,
                          const perflib::CounterRegistration& counter,
                          const Instance& instance, uint32_t index) {
  const perflib::CountersetRegistration& registration = schema.registration;
  std::optional<absl::string_view> instance_name;
  if (registration.HasInstances()) instance_name = instance.name;
  // The id stands in for a missing name.
  const std::string counter_name = counter.name.empty()
                                       ? absl::StrCat("id:", counter.counter_id)
                                       : counter.name;
  v1::Series series;
  series.set_machine(machine);
  series.set_path(perflib::FormatPath("", registration.name, instance_name,
                                      index, counter_name));
  series.set_is_aggregate(instance_name.has_value() &&
                          perflib::IsAggregate(registration, instance.name));
  series.set_counterset(registration.name);
  if (instance_name.has_value()) series.set_instance(instance.name);
  series.set_instance_id(instance.instance_id);
  series.set_instance_index(index);
  series.set_counter(counter_name);
  series.set_unit(UnitOf(counter));
  series.set_type(counter.type);
  series.set_attrib(counter.attrib);
  // Counters displayed as real numbers have the scale in their values.
  if ((counter.attrib & perflib::kAttribDisplayAsReal) == 0) {
    series.set_default_scale(perflib::ScaleOr0(counter.default_scale));
  }
  return series;
}

std::string OrderKey(const v1::Series& series) {
  return absl::StrCat(SeriesKey(series), absl::string_view("\0", 1),
                      absl::Hex(series.instance_index(), absl::kZeroPad8));
}

}  // namespace fleetperf::aggregator
