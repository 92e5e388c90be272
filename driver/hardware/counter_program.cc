#include "driver/hardware/counter_program.h"

#include <algorithm>
#include <utility>

#include "driver/events/events.h"
#include "driver/hardware/count_facts.h"

namespace fleetperf::hardware {
namespace {

using events::Event;
using Place = CountSource::Place;

constexpr uint64_t kSystemAndUser = 0x3;

class Chooser {
 public:
  Chooser(const pmu::Description& machine, const pmu::CpuDescription& cpu)
      : cpu_(cpu),
        platform_(machine.vendor == pmu::Vendor::kAmd
                      ? Platform::kAmdWindows
                      : Platform::kIntelWindows),
        events_(events::EventsOf({.vendor = machine.vendor,
                                  .family = machine.family,
                                  .model = machine.model,
                                  .stepping = machine.stepping,
                                  .core_type = cpu.core_type},
                                 cpu.absent_events)) {
    program_.core.core_type = cpu.core_type;
  }

  // The first group counts instructions and cycles.
  CounterProgram Choose(const Wishes& wishes) && {
    const std::span<const CountGroup> groups = CountGroups();
    TakeGroup(groups.front());
    for (const events::EventCode& event : wishes.events) {
      if (next_ >= cpu_.num_general) break;
      program_.chosen.push_back(next_);
      program_.core.general[next_++] = events::Selection(event);
    }
    for (const bool is_wished : {true, false}) {
      for (const CountGroup& group : groups.subspan(1)) {
        if (IsWished(group, wishes) == is_wished) TakeGroup(group);
      }
    }
    return std::move(program_);
  }

 private:
  static bool IsWished(const CountGroup& group, const Wishes& wishes) {
    return std::any_of(group.facts.begin(), group.facts.end(),
                       [&](const CountFact& fact) {
                         return wishes.counts.contains(fact.count);
                       });
  }

  void TakeGroup(const CountGroup& group) {
    if (group.is_all_or_none && !HasAll(group)) return;
    for (const CountFact& fact : group.facts) {
      if (!IsTaken(fact.count)) Take(fact);
    }
  }

  bool HasAll(const CountGroup& group) const {
    return next_ + group.facts.size() <= cpu_.num_general &&
           std::all_of(group.facts.begin(), group.facts.end(),
                       [&](const CountFact& fact) {
                         return fact.On(platform_).kind ==
                                    Origin::Kind::kCoreEvent &&
                                Find(fact) != nullptr;
                       });
  }

  bool IsTaken(HardwareCount count) const {
    return std::any_of(
        program_.sources.begin(), program_.sources.end(),
        [&](const CountSource& source) { return source.count == count; });
  }

  void Take(const CountFact& fact) {
    const Origin& origin = fact.On(platform_);
    switch (origin.kind) {
      case Origin::Kind::kFixed:
        return TakeFixed(fact.count, origin);
      case Origin::Kind::kCoreEvent:
        return TakeGeneral(fact);
      case Origin::Kind::kMperf:
        return TakeMaximumPerformance(fact.count, origin);
      case Origin::Kind::kNone:
      case Origin::Kind::kPerf:
      case Origin::Kind::kL3Event:
      case Origin::Kind::kRegister:
        return;
    }
  }

  const Event* Find(const CountFact& fact) const {
    const auto found =
        std::find_if(events_.begin(), events_.end(),
                     [&](const Event& e) { return e.counted == fact.counted; });
    return found == events_.end() ? nullptr : &*found;
  }

  void TakeFixed(HardwareCount count, const Origin& origin) {
    if ((cpu_.fixed_counters >> origin.counter & 1) == 0) return;
    program_.core.fixed_control |= kSystemAndUser << (4 * origin.counter);
    program_.sources.push_back({.count = count,
                                .place = Place::kFixed,
                                .counter = origin.counter,
                                .event = origin.name});
  }

  void TakeGeneral(const CountFact& fact) {
    const Event* const event = Find(fact);
    if (event == nullptr || next_ >= cpu_.num_general) return;
    program_.core.general[next_] = events::Selection(event->code);
    program_.sources.push_back({.count = fact.count,
                                .place = Place::kGeneral,
                                .counter = next_,
                                .event = event->name});
    ++next_;
  }

  void TakeMaximumPerformance(HardwareCount count, const Origin& origin) {
    if ((cpu_.capabilities & pmu::kHasActualPerformance) == 0) return;
    program_.sources.push_back({.count = count,
                                .place = Place::kMaximumPerformance,
                                .event = origin.name});
  }

  const pmu::CpuDescription& cpu_;
  const Platform platform_;
  const std::vector<Event> events_;
  CounterProgram program_;
  uint32_t next_ = 0;  // the next free general counter
};

}  // namespace

uint64_t CountSource::ValueIn(const pmu::CpuCounts& counts) const {
  switch (place) {
    case Place::kGeneral:
      return counts.general[counter];
    case Place::kFixed:
      return counts.fixed[counter];
    case Place::kMaximumPerformance:
      return counts.maximum_performance;
  }
  return 0;
}

CounterProgram ChooseProgram(const pmu::Description& machine,
                             const pmu::CpuDescription& cpu,
                             const Wishes& wishes) {
  return Chooser(machine, cpu).Choose(wishes);
}

}  // namespace fleetperf::hardware
