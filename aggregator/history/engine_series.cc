#include "aggregator/history/engine_series.h"

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "aggregator/export/raw_names.h"

namespace fleetperf::aggregator {
namespace {

// Reads a label that is missing if its number is 0.
bool ReadLabel(const EngineLabels& labels, absl::string_view name,
               uint32_t* number) {
  const absl::string_view text = labels.Find(name);
  *number = 0;
  return text.empty() || absl::SimpleAtoi(text, number);
}

EngineSamples* HalfOf(const SeriesRole& role, EngineNumbers* numbers) {
  return role.is_high ? &numbers->high : &numbers->low;
}

}  // namespace

std::vector<EngineSample>* EngineSeries::Begin(const EngineLabels& labels) {
  const SeriesRole* const role =
      question_.Find(labels.Find(kSchemaLabel), labels.Find("__name__"));
  if (role == nullptr) return nullptr;
  EngineQuery& query =
      queries_[{role->counterset, std::string(labels.Find(kIntervalLabel)),
                std::string(labels.Find(kQueryLabel))}];
  using Kind = SeriesRole::Kind;
  switch (role->kind) {
    case Kind::kPerfTime:
      return HalfOf(*role, &query.perf_time);
    case Kind::kPerfFreq:
      return HalfOf(*role, &query.perf_freq);
    case Kind::kPerfTime100NSec:
      return &query.perf_time_100ns;
    case Kind::kStatus:
      return &query.status;
    case Kind::kEpoch: {
      const absl::string_view columns = labels.Find(kColumnsLabel);
      if (!query.columns.empty() && query.columns != columns) return nullptr;
      query.columns = std::string(columns);
      return &query.epoch;
    }
    case Kind::kPresence:
    case Kind::kColumn:
      break;
  }
  uint32_t instance_id = 0, occurrence = 0;
  if (!ReadLabel(labels, kInstanceIdLabel, &instance_id) ||
      !ReadLabel(labels, kOccurrenceLabel, &occurrence)) {
    return nullptr;
  }
  EngineInstance& instance = query.instances[{
      std::string(labels.Find("instance")), instance_id, occurrence}];
  return role->kind == Kind::kPresence
             ? &instance.presence
             : HalfOf(*role, &instance.columns[role->counter_id]);
}

}  // namespace fleetperf::aggregator
