#include "agent/source/linux/processor/processor_information.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/source/cpu_instances.h"
#include "agent/source/linux/processor/processor_counters.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::Utf16FromUtf8;

constexpr ColumnSet kPerformanceColumns =
    Bit(kPerformance) | Bit(kPerformanceBase) | Bit(kUtility) |
    Bit(kPrivilegedUtility) | Bit(kUtilityBase);

// Whether the query needs the events of the processors.
bool NamesPerformance(const PlannedQuery& query) {
  const auto names = [](const std::string& text) {
    for (const size_t column : {kPerformance, kUtility, kPrivilegedUtility}) {
      const perflib::CounterSpec& counter = kProcessorCounters[column].spec;
      if (perflib::Pattern(text).Matches(counter.name) ||
          text == absl::StrCat("id:", counter.id)) {
        return true;
      }
    }
    return false;
  };
  return query.counters.empty() ||
         std::any_of(query.counters.begin(), query.counters.end(), names);
}

Totals MakeTotals() {
  return Totals(ProcessorTotalKinds(kNumProcessorInformationColumns),
                NewInstance::kWasCounting);
}

}  // namespace

constinit const LinuxCounterset ProcessorInformation::kCounterset = {
    .guid = "{b4fc721a-0378-476f-89ba-a5a79f810b36}",
    .name = "Processor Information",
    .help = "How the processors spend their time.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances =
        "`node,index` with the processor's index among the possible "
        "processors of its NUMA node, `node,_Total`, `_Total`; the id is the "
        "kernel's number",
    .counters = kProcessorCounters,
    .absent =
        "DPC Rate (7), % Priority Time (15: the kernel counts low priorities "
        "only in user mode), Processor State Flags (19) and Performance Limit "
        "Flags (31)",
};

ProcessorInformation::Node::Node(uint32_t number)
    : utf16_total_name(Utf16FromUtf8(absl::StrCat(number, ",_Total"))),
      totals(MakeTotals()) {}

ProcessorInformation::ProcessorInformation(const std::string& root,
                                           perf_event::System& events,
                                           size_t max_descriptors)
    : Provider(MakeRegistration(kCounterset)),
      reader_(root),
      performance_(events, max_descriptors),
      topology_(root),
      totals_(MakeTotals()),
      count_(root),
      utf16_total_name_(Utf16FromUtf8(perflib::kAggregateInstance)) {}

DefinedCounters ProcessorInformation::DefineCounters(
    std::vector<PlannedQuery>* queries) {
  DefinedCounters defined;
  for (size_t i = 0; i < queries->size(); ++i) {
    const PlannedQuery& query = (*queries)[i];
    if (!IsNamedBy(query) || !NamesPerformance(query)) continue;
    performance_.Update();
    const absl::Status missing = performance_.missing();
    if (!absl::IsResourceExhausted(missing)) continue;
    defined.problems.push_back(
        {.query = i,
         .message = absl::StrCat(
             "% Processor Performance, % Processor Utility and % Privileged "
             "Utility are absent: ",
             missing.message())});
  }
  return defined;
}

absl::Status ProcessorInformation::Sample(ColumnSet needed,
                                          const perflib::Clocks& clocks,
                                          CountersetSample* sample) {
  reader_.Read(needed, clocks, sample);
  if (Has(needed, kParkingStatus)) count_.Update(clocks);
  if ((needed & kPerformanceColumns) != 0) performance_.Update();
  if (named_cpus_ < reader_.cpus().size()) NameCpus();
  totals_.Begin();
  for (auto& [number, node] : nodes_) {
    node.totals.Begin();
    if (!AddCpus(node, needed, sample)) continue;
    sample->AddInstance(node.utf16_total_name, kNodeTotalInstanceId + number);
    node.totals.Finish(sample);
  }
  sample->AddInstance(utf16_total_name_, kTotalInstanceId);
  totals_.Finish(sample);
  if (Has(needed, kParkingStatus)) {
    // The sum of all, of which Linux has no instances of those offline.
    if (const auto offline = count_.offline()) {
      sample->Set(kParkingStatus, *offline);
    }
  }
  return absl::OkStatus();
}

void ProcessorInformation::NameCpus() {
  std::vector<uint32_t> cpus;
  for (const auto& [number, cpu] : reader_.cpus()) cpus.push_back(number);
  const std::vector<CpuTopology::Position> positions = topology_.Find(cpus);
  for (auto& [number, node] : nodes_) node.utf16_cpu_names.clear();
  for (size_t i = 0; i < cpus.size(); ++i) {
    const auto [number, index] = positions[i];
    Node& node = nodes_.try_emplace(number, number).first->second;
    node.utf16_cpu_names[cpus[i]] =
        Utf16FromUtf8(absl::StrCat(number, ",", index));
  }
  named_cpus_ = cpus.size();
}

bool ProcessorInformation::AddCpus(Node& node, ColumnSet needed,
                                   CountersetSample* sample) {
  bool has_cpu = false;
  for (const auto& [number, name] : node.utf16_cpu_names) {
    ProcessorReader::Cpu& cpu = reader_.cpus().at(number);
    if (!reader_.IsOnline(cpu)) continue;
    has_cpu = true;
    sample->AddInstance(name, number);
    reader_.SetValues(cpu, needed, sample);
    if ((needed & kPerformanceColumns) != 0) {
      performance_.SetValues(number, cpu.PrivilegedJiffies(), cpu.BusyJiffies(),
                             sample);
    }
    if (count_.online().has_value()) sample->Set(kParkingStatus, 0);
    const size_t row = sample->rows() - 1;
    node.totals.Add(cpu.TotalsKey(), sample->Row(row), sample->Present(row));
    totals_.Add(cpu.TotalsKey(), sample->Row(row), sample->Present(row));
  }
  return has_cpu;
}

}  // namespace fleetperf::agent
