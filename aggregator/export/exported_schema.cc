#include "aggregator/export/exported_schema.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "aggregator/export/metric_names.h"
#include "aggregator/export/raw_names.h"
#include "aggregator/export/write_request.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxSchemas = 1000;

std::string NameLabel(absl::string_view metric) {
  return EncodeLabels({{"__name__", std::string(metric)}});
}

ExportedRawName LowName(absl::string_view metric) {
  return {.low = NameLabel(metric)};
}

ExportedRawName LowAndHighName(absl::string_view metric) {
  return {.low = NameLabel(metric), .high = NameLabel(HighMetric(metric))};
}

bool SelectsCounter(const SelectedCounterset& selected, uint32_t counter_id) {
  return std::any_of(selected.selections.begin(), selected.selections.end(),
                     [&](const Selection& selection) {
                       return std::count(selection.counter_ids.begin(),
                                         selection.counter_ids.end(),
                                         counter_id) > 0;
                     });
}

}  // namespace

const ExportedSchema& ExportedSchemas::Get(
    const std::shared_ptr<const Schema>& schema) {
  const auto [known, is_new] = schemas_.try_emplace(schema);
  if (!is_new) return *known->second;
  auto exported = std::make_unique<ExportedSchema>();
  exported->schema = schema;
  const perflib::CountersetRegistration& registration = schema->registration;
  const std::vector<Metric> metrics = MetricsOf(registration);
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].name.empty()) continue;
    exported->counters.push_back(
        {.formula = FormulaOf(registration, registration.counters[i]),
         .name_label = NameLabel(metrics[i].name),
         .factor = metrics[i].factor});
  }
  return *(known->second = std::move(exported));
}

const ExportedRawSchema& ExportedSchemas::GetRaw(
    const std::shared_ptr<const Schema>& schema) {
  const auto [known, is_new] = raw_schemas_.try_emplace(schema);
  if (!is_new) return *known->second;
  const RawMetrics metrics = RawMetricsOf(schema->registration);
  auto exported = std::make_unique<ExportedRawSchema>(
      ExportedRawSchema{.schema = schema,
                        .presence = LowName(metrics.presence),
                        .perf_time = LowAndHighName(metrics.perf_time),
                        .perf_freq = LowAndHighName(metrics.perf_freq),
                        .perf_time_100ns = LowName(metrics.perf_time_100ns),
                        .status = LowName(metrics.status),
                        .epoch = LowName(metrics.epoch)});
  for (const std::string& metric : metrics.counters) {
    exported->counters.push_back(LowAndHighName(metric));
  }
  return *(known->second = std::move(exported));
}

const ExportedSelection& ExportedSchemas::Select(
    const PathSet* paths, const std::vector<size_t>& numbers,
    const std::shared_ptr<const Schema>& schema) {
  const auto [known, is_new] = selections_.try_emplace({schema, numbers});
  if (!is_new) return *known->second;
  auto selection = std::make_unique<ExportedSelection>();
  selection->schema = &Get(schema);
  if (paths != nullptr)
    selection->selected = paths->SelectFrom(numbers, schema);
  const std::vector<ExportedCounter>& counters = selection->schema->counters;
  for (size_t i = 0; i < counters.size(); ++i) {
    if (paths == nullptr || (selection->selected.has_value() &&
                             SelectsCounter(*selection->selected,
                                            counters[i].formula.counter_id))) {
      selection->counters.push_back(i);
    }
  }
  return *(known->second = std::move(selection));
}

void ExportedSchemas::Trim() {
  selections_.clear();
  if (schemas_.size() > kMaxSchemas) schemas_.clear();
  if (raw_schemas_.size() > kMaxSchemas) raw_schemas_.clear();
}

}  // namespace fleetperf::aggregator
