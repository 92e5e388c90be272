#include "agent/source/hardware_counters.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/cpu_instances.h"
#include "base/status_macros.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds;
  const size_t columns = HardwareRegistration().counters.size();
  for (size_t column = 0; column < columns; ++column) {
    kinds.push_back(HardwareTotalKind(column));
  }
  return kinds;
}

bool Names(const std::string& planned,
           const perflib::CounterRegistration& counter) {
  return perflib::Pattern(planned).Matches(counter.name) ||
         planned == absl::StrCat("id:", counter.counter_id);
}

}  // namespace

HardwareCounters::HardwareCounters(
    std::unique_ptr<hardware::HardwareReader> reader)
    : Provider(HardwareRegistration()),
      reader_(std::move(reader)),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(perflib::Utf16FromUtf8(perflib::kAggregateInstance)) {}

DefinedCounters HardwareCounters::DefineCounters(
    std::vector<PlannedQuery>* queries) {
  std::set<hardware::HardwareCount> planned;
  const auto& counters = registration().counters;
  for (const PlannedQuery& query : *queries) {
    if (!IsNamedBy(query)) continue;
    for (const std::string& name : query.counters) {
      for (size_t column = 0; column < counters.size(); ++column) {
        const auto count = HardwareCountOf(column);
        if (count && Names(name, counters[column])) planned.insert(*count);
      }
    }
  }
  reader_->Prefer(planned);
  return {};
}

absl::Status HardwareCounters::Sample(ColumnSet, const perflib::Clocks& clocks,
                                      CountersetSample* sample) {
  RETURN_IF_ERROR(reader_->Update());
  totals_.Begin();
  for (const int cpu : reader_->cpus()) {
    sample->AddInstance(perflib::Utf16FromUtf8(absl::StrCat(cpu)),
                        static_cast<uint32_t>(cpu));
    columns_[cpu].Set(reader_->ReadingOf(cpu),
                      static_cast<uint64_t>(clocks.perf_time_stamp), sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(cpu, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
