#include "tests/bench/workload_agent.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "perflib/clocks.h"
#include "perflib/guid.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::bench {
namespace {

constexpr uint32_t kMachineId = 1;

// Return the id of a counterset, which is also its query's, and of an instance.
// The arguments are indexes from 0.
uint32_t CountersetId(size_t counterset) {
  return static_cast<uint32_t>(counterset + 1);
}
uint32_t InstanceId(size_t counterset, size_t instance) {
  return static_cast<uint32_t>(counterset * 100'000 + instance + 1);
}

perflib::CountersetRegistration RegistrationOf(
    const WorkloadCounterset& counterset, size_t number) {
  const bool has_instances = !counterset.instances.front().empty();
  perflib::CountersetRegistration registration{
      .guid = *perflib::ParseGuid(
          absl::StrFormat("{00000000-0000-4000-8000-0000000%05x}", number + 1)),
      .name = counterset.name,
      .instance_type = has_instances ? perflib::kCountersetMultipleInstances
                                     : perflib::kCountersetSingleInstance};
  for (const std::string& counter : counterset.counters) {
    registration.counters.push_back(
        {.counter_id = static_cast<uint32_t>(registration.counters.size() + 1),
         .type = counterset.type,
         .name = counter});
  }
  return registration;
}

// The values of a counterset in a sequence of ticks.
class CountersetValues {
 public:
  using Value = std::optional<uint64_t>;

  // `first` is the index of the counterset's first value in a tick.
  CountersetValues(const WorkloadCounterset& counterset, size_t first,
                   const std::vector<WorkloadTick>& ticks)
      : counterset_(counterset), first_(first), ticks_(ticks) {
    FindRuns();
  }

  // Returns false if the counterset has no instance in any of the ticks.
  bool Write(size_t number, v1::QueryColumns* query) const {
    if (runs_.empty()) return false;
    query->set_query(CountersetId(number));
    WriteRuns(number, query);
    for (size_t i = 0; i < counterset_.counters.size(); ++i) {
      WriteColumn(i, query->add_columns());
    }
    return true;
  }

 private:
  // An instance and the consecutive ticks in which it exists.
  struct Run {
    size_t instance;
    size_t first_tick;
    size_t ticks;
  };

  const Value& ValueAt(size_t tick, size_t instance, size_t counter) const {
    return ticks_[tick]
        .values[first_ + instance * counterset_.counters.size() + counter];
  }

  bool IsThere(size_t tick, size_t instance) const {
    const Value* values = &ValueAt(tick, instance, 0);
    return std::any_of(values, values + counterset_.counters.size(),
                       [](const Value& value) { return value.has_value(); });
  }

  // Sets `runs_`, ordered by first tick.
  void FindRuns() {
    std::vector<std::optional<size_t>> open(counterset_.instances.size());
    for (size_t tick = 0; tick < ticks_.size(); ++tick) {
      for (size_t instance = 0; instance < open.size(); ++instance) {
        if (!IsThere(tick, instance)) {
          open[instance].reset();
        } else if (open[instance].has_value()) {
          ++runs_[*open[instance]].ticks;
        } else {
          open[instance] = runs_.size();
          runs_.push_back({instance, tick, 1});
        }
      }
    }
  }

  void WriteRuns(size_t number, v1::QueryColumns* query) const {
    const bool all_whole =
        std::all_of(runs_.begin(), runs_.end(),
                    [&](const Run& run) { return run.ticks == ticks_.size(); });
    uint32_t last = 0;
    for (const Run& run : runs_) {
      const uint32_t id = InstanceId(number, run.instance);
      query->add_instances(static_cast<int32_t>(id - last));
      last = id;
      if (all_whole) continue;
      query->add_first_block(static_cast<uint32_t>(run.first_tick));
      query->add_block_count(static_cast<uint32_t>(run.ticks));
    }
  }

  void WriteColumn(size_t counter, v1::Column* column) const {
    bool has_changed = false;
    uint32_t position = 0;
    for (const Run& run : runs_) {
      uint64_t last = 0;
      for (size_t i = 0; i < run.ticks; ++i, ++position) {
        const Value& value = ValueAt(run.first_tick + i, run.instance, counter);
        if (!value.has_value()) column->add_missing(position);
        const uint64_t now = value.value_or(last);
        if (i == 0) {
          column->add_first(now);
        } else {
          column->add_differences(static_cast<int64_t>(now - last));
          has_changed = has_changed || now != last;
        }
        last = now;
      }
    }
    if (!has_changed) column->clear_differences();
  }

  const WorkloadCounterset& counterset_;
  const size_t first_;
  const std::vector<WorkloadTick>& ticks_;
  std::vector<Run> runs_;
};

}  // namespace

WorkloadAgent::WorkloadAgent(std::unique_ptr<MachineWorkload> machine)
    : machine_(std::move(machine)) {}

v1::BatchContent WorkloadAgent::NextBatch(int ticks) {
  std::vector<WorkloadTick> taken;
  for (int i = 0; i < ticks; ++i) {
    const WorkloadTick& tick = taken.emplace_back(machine_->Tick());
    samples_ += static_cast<uint64_t>(
        std::count_if(tick.values.begin(), tick.values.end(),
                      [](const auto& value) { return value.has_value(); }));
  }
  v1::BatchContent content;
  if (!is_defined_) Define(content.mutable_definitions());
  is_defined_ = true;
  v1::BlockColumns* blocks = content.add_blocks();
  AddClocks(taken, blocks);
  size_t first = 0;
  for (size_t i = 0; i < machine_->countersets().size(); ++i) {
    const WorkloadCounterset& counterset = machine_->countersets()[i];
    const CountersetValues values(counterset, first, taken);
    if (!values.Write(i, blocks->add_queries())) {
      blocks->mutable_queries()->RemoveLast();
    }
    first += counterset.counters.size() * counterset.instances.size();
  }
  return content;
}

v1::BatchContent WorkloadAgent::NextHour() {
  v1::BatchContent content;
  v1::BlockColumns* blocks = content.add_blocks();
  AddClocks({{.time = last_ + absl::Hours(1)}}, blocks);
  v1::QueryColumns* query = blocks->add_queries();
  query->set_query(CountersetId(0));
  query->add_instances(static_cast<int32_t>(InstanceId(0, 0)));
  for (size_t i = 0; i < machine_->countersets()[0].counters.size(); ++i) {
    query->add_columns()->add_first(0);
  }
  return content;
}

void WorkloadAgent::Define(v1::Definitions* definitions) const {
  v1::MachineDefinition* machine = definitions->add_machines();
  machine->set_id(kMachineId);
  machine->set_name(machine_->name());
  for (size_t i = 0; i < machine_->countersets().size(); ++i) {
    const WorkloadCounterset& counterset = machine_->countersets()[i];
    v1::CountersetDefinition* registered = definitions->add_countersets();
    registered->set_id(CountersetId(i));
    *registered->mutable_registration() =
        ToProto(RegistrationOf(counterset, i));
    v1::QueryDefinition* query = definitions->add_queries();
    query->set_id(CountersetId(i));
    query->set_machine(kMachineId);
    query->set_counterset(CountersetId(i));
    *query->mutable_interval() = ToProto(machine_->interval());
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

void WorkloadAgent::AddClocks(const std::vector<WorkloadTick>& ticks,
                              v1::BlockColumns* blocks) {
  int64_t last = 0;
  for (const WorkloadTick& tick : ticks) {
    const int64_t time = perflib::PerfTime100NSecFromTime(tick.time);
    blocks->add_perf_time_100nsec(time - last);
    blocks->add_perf_time_stamp(time - last);
    blocks->add_perf_freq(last == 0 ? perflib::kLinuxPerfFreq : 0);
    last = time;
  }
  last_ = ticks.back().time;
}

v1::Batch PackBatch(const v1::BatchContent& content, uint64_t epoch,
                    uint64_t sequence) {
  const std::string bytes = content.SerializeAsString();
  v1::Batch batch;
  batch.set_epoch(epoch);
  batch.set_sequence(sequence);
  batch.set_content_size(static_cast<uint32_t>(bytes.size()));
  batch.set_compression(v1::COMPRESSION_ZSTD);
  ZstdCompress(bytes, batch.mutable_payload());
  batch.set_fingerprint(Fingerprint(batch.payload()));
  return batch;
}

}  // namespace fleetperf::bench
