#include "tests/aggregator/query/random_machine.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "perflib/registration.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::testing {
namespace {

constexpr int64_t kSecond = 10'000'000;  // in 100 ns

enum class Behaviour : uint8_t { kGauge, kGrows, kStart, kTime, kFrequency };

// A counter of the counterset "Load", with its reference.
struct LoadCounter {
  const char* name;  // nullptr: only serves others
  uint32_t type;
  Arithmetic arithmetic;
  Behaviour behaviour;
  uint32_t size = 8;
  bool wraps = false;
  uint32_t denominator = 0;  // the position of its base or time
};

constexpr uint32_t kAverageBase = 15, kSampleBase = 16, kFractionBase = 17,
                   kObjectTime = 18, kObjectFreq = 19;

// A counter's id is its position plus 1.
const std::vector<LoadCounter>& LoadCounters() {
  using enum Arithmetic;
  using enum Behaviour;
  static const auto& counters = *new std::vector<LoadCounter>{
      {"Gauge", perflib::kPerfCounterLargeRawcount, kValue, kGauge},
      {"Small Gauge", perflib::kPerfCounterRawcount, kValue, kGauge, 4},
      {"Fraction", perflib::kPerfRawFraction, kFraction, kGauge, 4, false,
       kFractionBase},
      {"Up Time", perflib::kPerfElapsedTime, kElapsed, kStart, 8, false,
       kObjectTime},
      {"Growth", perflib::kPerfCounterLargeDelta, kGrowth, kGrows},
      {"Rate", perflib::kPerfCounterBulkCount, kPerSecond, kGrows},
      {"Small Rate", perflib::kPerfCounterCounter, kPerSecond, kGrows, 4},
      {"Wrapping Rate", perflib::kPerfCounterCounter, kPerSecond, kGrows, 4,
       true},
      {"Timer", perflib::kPerfCounterTimer, kPercentOfStamp, kGrows},
      {"Inverse", perflib::kPerf100NsecTimerInv, kIdlePercentOf100Ns, kGrows},
      {"Sample", perflib::kPerfSampleFraction, kPercentOfBase, kGrows, 4, true,
       kSampleBase},
      {"Bulk", perflib::kPerfAverageBulk, kPerBase, kGrows, 8, false,
       kAverageBase},
      {"Average Timer", perflib::kPerfAverageTimer, kSecondsPerBase, kGrows, 4,
       true, kAverageBase},
      {"Small Bulk", perflib::kPerfAverageBulk, kPerBase, kGrows, 4, false,
       kSampleBase},
      {"Wide Base", perflib::kPerfPrecisionSystemTimer, kPercentOfBase, kGrows,
       8, false, kAverageBase},
      {nullptr, perflib::kPerfAverageBase, kValue, kGrows},
      {nullptr, perflib::kPerfSampleBase, kValue, kGrows, 4},
      {nullptr, perflib::kPerfRawBase, kValue, kGauge, 4},
      {nullptr, perflib::kPerfCounterLargeRawcount, kValue, kTime},
      {nullptr, perflib::kPerfCounterLargeRawcount, kValue, kFrequency},
  };
  return counters;
}

perflib::CountersetRegistration LoadRegistration() {
  perflib::CountersetRegistration registration{
      .guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000010ad}"),
      .name = "Load",
      .instance_type = perflib::kCountersetMultipleInstances};
  for (const LoadCounter& counter : LoadCounters()) {
    perflib::CounterRegistration& to = registration.counters.emplace_back();
    to.counter_id = static_cast<uint32_t>(registration.counters.size());
    to.type = counter.type;
    if (counter.name != nullptr) to.name = counter.name;
    if (counter.denominator == 0) continue;
    if (counter.arithmetic == Arithmetic::kElapsed) {
      to.perf_time_id = kObjectTime + 1;
      to.perf_freq_id = kObjectFreq + 1;
    } else {
      to.base_counter_id = counter.denominator + 1;
    }
  }
  return registration;
}

// The readings of the machine's clocks.
struct Clock {
  int64_t time;  // 100 ns since the start of all tests
  int64_t stamp = 777'000'000'000;
  int64_t freq = kSecond;

  void Advance(int64_t ticks) {
    time += ticks;
    stamp += ticks * (freq / kSecond);
  }
  perflib::Clocks Read() const {
    return {
        .perf_time_stamp = stamp,
        .perf_time_100nsec = perflib::PerfTime100NSecFromTime(kStart) + time,
        .perf_freq = freq};
  }
};

// An instance and its counters, which continue or restart with each life.
struct LoadInstance {
  std::string name;
  uint32_t definition = 0;  // 0: absent
  bool is_born = false;
  bool is_first = false;  // at the current tick
  std::vector<uint64_t> values;
  // The ticks for which counters are read as less than they are, and how much
  // of them is read.
  std::vector<uint64_t> dips;
  uint64_t divisor = 0;  // 0: nothing
};

class History {
 public:
  History(const std::string& name, Compaction compaction, Random* random,
          TestStore* store)
      : compaction_(compaction), random_(*random), store_(*store) {
    machine_.name = name;
    machine_.loss_cause = random_.OneOf<GapCause>(
        {GapCause::kSpoolFull, GapCause::kOverrun, GapCause::kPowerCut});
    for (const std::string instance : {"C:", "D:", "_Total"}) {
      instances_.push_back({.name = instance});
      instances_.back().values.resize(LoadCounters().size());
      instances_.back().dips.resize(LoadCounters().size());
    }
    // Near a full hour, where chunks end.
    clock_.time = random_.Between(-120, 0) * kSecond;
  }

  absl::StatusOr<ReferenceMachine> Write() {
    for (epoch_ = 1; epoch_ <= 1 + random_.Below(3); ++epoch_) {
      RETURN_IF_ERROR(WriteEpoch());
    }
    RETURN_IF_ERROR(agent_->Send());
    if (compaction_ != Compaction::kNever) RETURN_IF_ERROR(store_.Compact());
    for (auto& [path, series] : series_) {
      machine_.series.push_back(std::move(series));
    }
    return std::move(machine_);
  }

 private:
  // Simulates a process of the agent from start to end.
  absl::Status WriteEpoch() {
    std::unique_ptr<TestAgent> before = std::move(agent_);
    agent_ = std::make_unique<TestAgent>(&store_, machine_.name, epoch_);
    Restart();
    const uint64_t ticks = 10 + random_.Below(80);
    for (uint64_t i = 0; i < ticks; ++i) {
      PassTime();
      TakeTick();
      if (i > 0 && !random_.OneIn(8)) continue;
      RETURN_IF_ERROR(agent_->Send());
      if (compaction_ == Compaction::kInBetween && random_.OneIn(3)) {
        RETURN_IF_ERROR(store_.Compact());
      }
      // The rest of the spool arrives after the next process has started.
      if (before != nullptr) {
        RETURN_IF_ERROR(before->Send());
        before = nullptr;
      }
    }
    return absl::OkStatus();
  }

  void Restart() {
    is_calm_ = random_.OneIn(3);
    if (epoch_ == 1 || random_.OneIn(3)) {
      interval_ =
          random_.OneOf<int64_t>({kSecond, kSecond, 2 * kSecond, 5 * kSecond});
    }
    if (epoch_ > 1) clock_.Advance(random_.Between(0, 20) * kSecond);
    if (random_.OneIn(4)) {  // of the whole machine
      clock_.stamp = 1000;
      clock_.freq *= 3;
    }
    const uint32_t machine = agent_->Machine(machine_.name);
    counterset_ = agent_->Counterset(LoadRegistration());
    std::vector<BatchWriter::Column> columns;
    for (const LoadCounter& counter : LoadCounters()) {
      columns.push_back(
          {.counter_id = static_cast<uint32_t>(columns.size() + 1),
           .value_size = counter.size,
           .only_linked = counter.name == nullptr,
           .wraps = counter.wraps});
    }
    query_ = agent_->Query(machine, counterset_,
                           absl::Nanoseconds(100) * interval_, columns);
    machine_id_ = machine;
    for (LoadInstance& instance : instances_) instance.definition = 0;
  }

  // Whether something unusual happens, once in some times.
  bool Happens(uint64_t times) { return !is_calm_ && random_.OneIn(times); }

  void PassTime() {
    const int64_t jitter =
        random_.OneIn(2) ? random_.Between(-kSecond / 20, kSecond / 20) : 0;
    clock_.Advance(interval_ + jitter);
    if (Happens(40)) Miss();
    if (Happens(60)) {  // the wall clock is set
      clock_.time += random_.Between(-40, 40) * kSecond / 2 + 1234;
    } else if (Happens(40)) {  // near the threshold of a step
      const int64_t step = kSecond / 20 + interval_ / 100 +
                           random_.Between(-kSecond / 500, kSecond / 500);
      clock_.time += random_.OneIn(2) ? step : -step;
    }
    if (Happens(200)) {  // the monotonic clock steps
      clock_.stamp += random_.Between(-3, 3) * clock_.freq;
      clock_.stamp += 12 * (clock_.freq / kSecond);
    }
  }

  void Miss() {
    const int64_t ticks = random_.Between(1, 12);
    const int64_t start = clock_.time;
    clock_.Advance(ticks * interval_);
    if (random_.OneIn(2)) return;
    const int64_t end = clock_.time - interval_;
    machine_.losses.push_back({start, end});
    agent_->Lose(
        machine_.name, kStart + absl::Nanoseconds(100) * start,
        kStart + absl::Nanoseconds(100) * end, static_cast<uint64_t>(ticks),
        machine_.loss_cause == GapCause::kSpoolFull ? v1::LOSS_CAUSE_SPOOL_FULL
        : machine_.loss_cause == GapCause::kOverrun ? v1::LOSS_CAUSE_OVERRUN
                                                    : v1::LOSS_CAUSE_POWER_CUT);
  }

  void TakeTick() {
    if (Happens(40)) {
      agent_->AddBlock(query_, clock_.Read(), {{query_, {}, 1460}});
      return;
    }
    machine_.ticks.push_back({.time = clock_.time,
                              .stamp = clock_.stamp,
                              .freq = clock_.freq,
                              .epoch = static_cast<uint32_t>(epoch_),
                              .interval = interval_});
    std::vector<BatchWriter::Row> rows;
    for (LoadInstance& instance : instances_) {
      ComeOrGo(&instance);
      Count(&instance);
      Dip(&instance);
      if (instance.definition != 0) rows.push_back(RowOf(instance));
    }
    agent_->AddTick(query_, clock_.Read(), rows);
  }

  void ComeOrGo(LoadInstance* instance) {
    const bool is_there = instance->definition != 0;
    const bool ends = is_there && Happens(60);
    if (ends) {
      agent_->Retire(instance->definition);
      instance->definition = 0;
    }
    instance->is_first = false;
    // An instance that returns at once has a new life.
    const bool begins = ends ? random_.OneIn(2)
                             : !is_there && (is_calm_ || random_.OneIn(4) ||
                                             instance->values[5] == 0);
    if (begins) {
      instance->is_first = true;
      instance->is_born = random_.OneIn(2);
      instance->definition = agent_->Instance(
          machine_id_, counterset_, instance->name,
          /*instance_id=*/0, /*occurrence=*/0, instance->is_born);
    }
  }

  void Count(LoadInstance* instance) {
    const auto& counters = LoadCounters();
    for (size_t i = 0; i < counters.size(); ++i) {
      uint64_t& value = instance->values[i];
      switch (counters[i].behaviour) {
        case Behaviour::kGauge:
          value = random_.Below(random_.OneIn(5) ? 2 : 100'000);
          break;
        case Behaviour::kGrows:
          if (Happens(50)) value = random_.Below(1000);
          if (random_.OneIn(3)) break;
          value += random_.Below(random_.OneIn(4) ? 3'000'000'000 : 5'000'000);
          if (counters[i].size == 4) value &= 0xFFFF'FFFF;
          break;
        case Behaviour::kStart:
          if (value == 0 || Happens(50)) {
            value = ObjectTime() + random_.Below(3) * kSecond;
          }
          break;
        case Behaviour::kTime:
          value = ObjectTime();
          break;
        case Behaviour::kFrequency:
          value = Happens(50) ? 0 : kSecond;
          break;
      }
    }
  }

  // Counters that grow fall for some ticks, and return.
  void Dip(LoadInstance* instance) {
    const bool all = Happens(100);
    if (all) instance->divisor = random_.OneIn(2) ? 0 : 1 + random_.Below(3);
    for (size_t i = 0; i < LoadCounters().size(); ++i) {
      uint64_t& dip = instance->dips[i];
      if (dip > 0) --dip;
      if (LoadCounters()[i].behaviour == Behaviour::kGrows &&
          (all || Happens(60))) {
        dip = 1 + (random_.OneIn(2) ? 0 : random_.Below(6));
      }
    }
  }

  uint64_t ObjectTime() const {
    return static_cast<uint64_t>(clock_.time + 10'000 * kSecond);
  }

  BatchWriter::Row RowOf(const LoadInstance& instance) {
    BatchWriter::Row row{instance.definition, {}};
    for (size_t i = 0; i < instance.values.size(); ++i) {
      uint64_t value = instance.values[i];
      if (instance.dips[i] > 0) {
        value = instance.divisor > 0 ? value / instance.divisor : 0;
      }
      row.values.push_back(Happens(60) ? std::optional<uint64_t>() : value);
    }
    const auto& counters = LoadCounters();
    for (size_t i = 0; i < counters.size(); ++i) {
      const LoadCounter& counter = counters[i];
      if (counter.name == nullptr) continue;
      const std::string path =
          absl::StrCat("\\Load(", instance.name, ")\\", counter.name);
      ReferenceSeries& series = series_[path];
      series.path = path;
      series.arithmetic = counter.arithmetic;
      series.value_wraps = counter.wraps;
      series.denominator_wraps =
          counter.denominator > 0 && counters[counter.denominator].size == 4;
      series.samples.push_back(
          {.time = clock_.time,
           .stamp = clock_.stamp,
           .freq = clock_.freq,
           .interval = interval_,
           .epoch = static_cast<uint32_t>(epoch_),
           .life = instance.definition,
           .is_born = instance.is_first && instance.is_born,
           .tick = machine_.ticks.size() - 1,
           .value = row.values[i]});
      if (counter.denominator == 0) continue;
      series.samples.back().denominator = row.values[counter.denominator];
      series.samples.back().frequency = row.values[kObjectFreq];
    }
    return row;
  }

  const Compaction compaction_;
  Random& random_;
  TestStore& store_;
  ReferenceMachine machine_;
  std::map<std::string, ReferenceSeries> series_;  // by path
  std::vector<LoadInstance> instances_;
  Clock clock_;
  int64_t interval_ = kSecond;
  bool is_calm_ = false;  // this epoch
  uint64_t epoch_ = 0;
  std::unique_ptr<TestAgent> agent_;
  uint32_t machine_id_ = 0;
  uint32_t counterset_ = 0;
  uint32_t query_ = 0;
};

}  // namespace

absl::StatusOr<ReferenceMachine> WriteRandomMachine(const std::string& name,
                                                    Compaction compaction,
                                                    Random* random,
                                                    TestStore* store) {
  return History(name, compaction, random, store).Write();
}

}  // namespace fleetperf::testing
