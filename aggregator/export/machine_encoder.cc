#include "aggregator/export/machine_encoder.h"

#include <cstddef>

#include "base/status_macros.h"

namespace fleetperf::aggregator {

MachineEncoder::MachineEncoder(const std::string& machine, const Labels& labels,
                               const PathSet* paths, ExportedSchemas* schemas,
                               RawEpochs* raw)
    : values_(machine, labels, paths, schemas) {
  if (raw != nullptr) raw_.emplace(machine, paths, schemas, raw);
}

std::vector<bool> MachineEncoder::WantedColumns(const CollectedQuery& query) {
  std::vector<bool> wanted = values_.WantedColumns(query);
  if (!raw_.has_value()) return wanted;
  const std::vector<bool> raw = raw_->WantedColumns(query);
  for (size_t i = 0; i < raw.size(); ++i) wanted[i] = wanted[i] || raw[i];
  return wanted;
}

void MachineEncoder::BeginFrame(const Frame& frame, uint32_t first_new) {
  values_.BeginFrame(frame, first_new);
  if (raw_.has_value()) raw_->BeginFrame(frame, first_new);
}

absl::Status MachineEncoder::AddTicks(uint32_t begin, uint32_t end,
                                      SeriesEncoder::Add add) {
  RETURN_IF_ERROR(values_.AddTicks(begin, end, add));
  return raw_.has_value() ? raw_->AddTicks(begin, end, add) : absl::OkStatus();
}

absl::Status MachineEncoder::End(SeriesEncoder::Add add) {
  RETURN_IF_ERROR(values_.End(add));
  return raw_.has_value() ? raw_->End(add) : absl::OkStatus();
}

}  // namespace fleetperf::aggregator
