#include "tests/bench/workload_agent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::bench {
namespace {

constexpr uint32_t kMachineId = 1;
constexpr int64_t kSecond = 10'000'000;  // in 100 ns

// Ids of a counterset, its query and its instances, by their numbers from 0.
uint32_t CountersetId(size_t counterset) {
  return static_cast<uint32_t>(counterset + 1);
}
uint32_t InstanceId(size_t counterset, size_t instance) {
  return static_cast<uint32_t>(counterset * 100'000 + instance + 1);
}

uint32_t TypeOf(const std::string& counterset) {
  if (counterset == "Processor Information") return perflib::kPerf100NsecTimer;
  if (counterset == "Transfers" || counterset == "Faults") {
    return perflib::kPerfCounterBulkCount;
  }
  return perflib::kPerfCounterLargeRawcount;
}

perflib::CountersetRegistration RegistrationOf(
    const WorkloadCounterset& counterset, size_t number) {
  perflib::CountersetRegistration registration{
      .guid = *perflib::ParseGuid(
          absl::StrFormat("{00000000-0000-4000-8000-0000000%05x}", number + 1)),
      .name = counterset.name,
      .instance_type = perflib::kCountersetMultipleInstances};
  for (const std::string& counter : counterset.counters) {
    registration.counters.push_back(
        {.counter_id = static_cast<uint32_t>(registration.counters.size() + 1),
         .type = TypeOf(counterset.name),
         .name = counter});
  }
  return registration;
}

}  // namespace

WorkloadAgent::WorkloadAgent(const FleetWorkload& workload, std::string machine,
                             uint64_t seed, absl::Time start)
    : workload_(workload),
      machine_(std::move(machine)),
      values_(workload, seed),
      random_(seed),
      time_(start) {}

v1::BatchContent WorkloadAgent::NextBatch(int ticks) {
  v1::BatchContent content;
  if (!is_defined_) Define(content.mutable_definitions());
  is_defined_ = true;
  v1::BlockColumns* blocks = content.add_blocks();
  AddClocks(ticks, blocks);
  std::vector<std::vector<uint64_t>> values;  // by tick
  for (int tick = 0; tick < ticks; ++tick) {
    values_.Tick();
    values.push_back(values_.values());
  }
  size_t series = 0;  // the counterset's first
  for (size_t i = 0; i < workload_.countersets().size(); ++i) {
    const WorkloadCounterset& counterset = workload_.countersets()[i];
    const size_t counters = counterset.counters.size();
    v1::QueryColumns* query = blocks->add_queries();
    query->set_query(CountersetId(i));
    for (size_t j = 0; j < counterset.instances.size(); ++j) {
      query->add_instances(j == 0 ? static_cast<int32_t>(InstanceId(i, 0)) : 1);
    }
    for (size_t counter = 0; counter < counters; ++counter) {
      v1::Column* column = query->add_columns();
      bool has_changed = false;
      for (size_t j = 0; j < counterset.instances.size(); ++j) {
        const size_t place = series + j * counters + counter;
        column->add_first(values[0][place]);
        for (size_t tick = 1; tick < values.size(); ++tick) {
          const uint64_t difference =
              values[tick][place] - values[tick - 1][place];
          has_changed = has_changed || difference != 0;
          column->add_differences(static_cast<int64_t>(difference));
        }
      }
      if (!has_changed) column->clear_differences();
    }
    series += counters * counterset.instances.size();
  }
  return content;
}

void WorkloadAgent::Define(v1::Definitions* definitions) const {
  v1::MachineDefinition* machine = definitions->add_machines();
  machine->set_id(kMachineId);
  machine->set_name(machine_);
  for (size_t i = 0; i < workload_.countersets().size(); ++i) {
    const WorkloadCounterset& counterset = workload_.countersets()[i];
    v1::CountersetDefinition* registered = definitions->add_countersets();
    registered->set_id(CountersetId(i));
    *registered->mutable_registration() =
        ToProto(RegistrationOf(counterset, i));
    v1::QueryDefinition* query = definitions->add_queries();
    query->set_id(CountersetId(i));
    query->set_machine(kMachineId);
    query->set_counterset(CountersetId(i));
    *query->mutable_interval() = ToProto(absl::Seconds(1));
    for (size_t counter = 0; counter < counterset.counters.size(); ++counter) {
      v1::ColumnDefinition* column = query->add_columns();
      column->set_counter_id(static_cast<uint32_t>(counter + 1));
      column->set_value_size(8);
    }
    for (size_t j = 0; j < counterset.instances.size(); ++j) {
      v1::InstanceDefinition* instance = definitions->add_instances();
      instance->set_id(InstanceId(i, j));
      instance->set_machine(kMachineId);
      instance->set_counterset(CountersetId(i));
      instance->set_name(counterset.instances[j]);
    }
  }
}

// A second apart, but for up to a millisecond.
void WorkloadAgent::AddClocks(int ticks, v1::BlockColumns* blocks) {
  int64_t last = 0;
  for (int tick = 0; tick < ticks; ++tick) {
    time_ += absl::Seconds(1);
    const int64_t time = perflib::PerfTime100NSecFromTime(time_) +
                         static_cast<int64_t>(random_() % (kSecond / 1000));
    blocks->add_perf_time_100nsec(time - last);
    blocks->add_perf_time_stamp(time - last);
    blocks->add_perf_freq(tick == 0 ? perflib::kLinuxPerfFreq : 0);
    last = time;
  }
}

}  // namespace fleetperf::bench
