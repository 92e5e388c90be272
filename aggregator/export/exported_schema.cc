#include "aggregator/export/exported_schema.h"

#include <cstddef>
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

void ExportedSchemas::Trim() {
  if (schemas_.size() > kMaxSchemas) schemas_.clear();
  if (raw_schemas_.size() > kMaxSchemas) raw_schemas_.clear();
}

}  // namespace fleetperf::aggregator
