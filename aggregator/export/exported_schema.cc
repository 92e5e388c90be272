#include "aggregator/export/exported_schema.h"

#include <cstddef>
#include <utility>

#include "aggregator/export/metric_names.h"
#include "aggregator/export/write_request.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxSchemas = 1000;

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
         .name_label = EncodeLabels({{"__name__", metrics[i].name}}),
         .factor = metrics[i].factor});
  }
  return *(known->second = std::move(exported));
}

void ExportedSchemas::Trim() {
  if (schemas_.size() > kMaxSchemas) schemas_.clear();
}

}  // namespace fleetperf::aggregator
