#include "agent/source/linux/processor/processor.h"

#include "absl/strings/str_cat.h"
#include "agent/source/cpu_instances.h"
#include "agent/source/linux/processor/processor_counters.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::Utf16FromUtf8;

}  // namespace

constinit const LinuxCounterset Processor::kCounterset = {
    .guid = "{b532e3d8-41ad-5727-859e-2cafb2f10ba9}",
    .name = "Processor",
    .help =
        "How the processors spend their time, by the names of older "
        "versions of Windows.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances = "the CPUs' numbers, `_Total`",
    .counters = absl::MakeConstSpan(kProcessorCounters, kNumProcessorColumns),
    .absent = "DPC Rate",
};

Processor::Processor(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      reader_(root),
      totals_(ProcessorTotalKinds(kNumProcessorColumns),
              NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(perflib::kAggregateInstance)) {}

absl::Status Processor::Sample(ColumnSet needed, const perflib::Clocks& clocks,
                               CountersetSample* sample) {
  reader_.Read(needed, clocks, sample);
  totals_.Begin();
  for (auto& [number, cpu] : reader_.cpus()) {
    if (!reader_.IsOnline(cpu)) continue;
    std::string& name = utf16_names_[number];
    if (name.empty()) name = Utf16FromUtf8(absl::StrCat(number));
    sample->AddInstance(name, number);
    reader_.SetValues(cpu, needed, sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(cpu.TotalsKey(), sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
