#include "tests/scripted_perflib/answers.h"

#include <algorithm>
#include <cstring>

#include "absl/numeric/int128.h"
#include "agent/source/registration_info.h"
#include "perflib/block_writer.h"
#include "perflib/clocks.h"
#include "perflib/utf16.h"

namespace fleetperf::testing {
namespace {

using perflib::BlockWriter;
using perflib::CounterIdentifier;
using perflib::HeaderType;
using perflib::RegistrationRequest;

constexpr int64_t kFrequency = 10'000'000;

// The 100 ns units since 2020, the time base of values.
uint64_t TicksSince2020(absl::Time now) {
  const absl::Time since =
      absl::FromCivil(absl::CivilYear(2020), absl::UTCTimeZone());
  return static_cast<uint64_t>((now - since) / absl::Nanoseconds(100));
}

const ScriptedCounter* FindCounter(const ScriptedCounterset& counterset,
                                   uint32_t id) {
  for (const ScriptedCounter& counter : counterset.counters) {
    if (counter.registration.counter_id == id) return &counter;
  }
  return nullptr;
}

// Adds the results of identifiers to a block.
class ResultWriter {
 public:
  ResultWriter(uint64_t tick, absl::Time now, BlockWriter* writer)
      : tick_(tick), time_(TicksSince2020(now)), writer_(*writer) {}

  void Add(const ScriptedMachine& machine,
           const CounterIdentifier& identifier) {
    const ScriptedCounterset* counterset =
        FindCounterset(machine, identifier.counterset);
    if (tick_ >= counterset->stale_from && tick_ < counterset->stale_until) {
      writer_.AddErrorReturn(perflib::kErrorNoData);
      return;
    }
    const std::vector<uint32_t> ids = CounterIds(*counterset, identifier);
    const bool all_counters =
        identifier.counter_id == perflib::kWildcardCounter;
    if (identifier.instance == perflib::kWildcardInstance) {
      writer_.BeginResult(all_counters ? HeaderType::kCounterset
                                       : HeaderType::kMultipleInstances,
                          ids);
      for (const ScriptedInstance& instance : counterset->instances) {
        if (!IsPresent(instance)) continue;
        writer_.BeginInstance(perflib::Utf16FromUtf8(instance.name),
                              instance.id);
        AddValues(*counterset, &instance, ids);
      }
      writer_.EndResult();
      return;
    }
    const ScriptedInstance* instance = nullptr;
    if (counterset->registration.HasInstances()) {
      instance = FindInstance(*counterset, identifier);
      if (instance == nullptr) {
        writer_.AddErrorReturn(perflib::kErrorNoData);
        return;
      }
    }
    writer_.BeginResult(all_counters ? HeaderType::kMultipleCounters
                                     : HeaderType::kSingleCounter,
                        ids);
    AddValues(*counterset, instance, ids);
    writer_.EndResult();
  }

 private:
  static std::vector<uint32_t> CounterIds(const ScriptedCounterset& counterset,
                                          const CounterIdentifier& identifier) {
    if (identifier.counter_id != perflib::kWildcardCounter) {
      return {identifier.counter_id};
    }
    std::vector<uint32_t> ids;
    for (const ScriptedCounter& counter : counterset.counters) {
      ids.push_back(counter.registration.counter_id);
    }
    return ids;
  }

  bool IsPresent(const ScriptedInstance& instance) const {
    return tick_ >= instance.from && tick_ < instance.until;
  }

  const ScriptedInstance* FindInstance(
      const ScriptedCounterset& counterset,
      const CounterIdentifier& identifier) const {
    for (const ScriptedInstance& instance : counterset.instances) {
      if (IsPresent(instance) && instance.name == identifier.instance &&
          (identifier.instance_id == perflib::kWildcardInstanceId ||
           identifier.instance_id == instance.id)) {
        return &instance;
      }
    }
    return nullptr;
  }

  void AddValues(const ScriptedCounterset& counterset,
                 const ScriptedInstance* instance,
                 const std::vector<uint32_t>& ids) {
    for (const uint32_t id : ids) {
      const ScriptedCounter& counter = *FindCounter(counterset, id);
      ScriptedValue script = counter.value;
      if (instance != nullptr && instance->values.contains(id)) {
        script = instance->values.at(id);
      }
      const uint64_t grown = static_cast<uint64_t>(
          absl::uint128(script.per_second) * time_ / kFrequency);
      const uint64_t value = script.value + grown;
      if (counter.size == sizeof(uint32_t)) {
        writer_.AddValue32(static_cast<uint32_t>(value));
      } else {
        writer_.AddValue64(value);
      }
    }
  }

  const uint64_t tick_;
  const uint64_t time_;
  BlockWriter& writer_;
};

}  // namespace

const ScriptedCounterset* FindCounterset(const ScriptedMachine& machine,
                                         const perflib::Guid& guid) {
  for (const ScriptedCounterset& counterset : machine.countersets) {
    if (counterset.registration.guid == guid) return &counterset;
  }
  return nullptr;
}

uint32_t CheckIdentifier(const ScriptedMachine& machine,
                         const CounterIdentifier& identifier) {
  const ScriptedCounterset* counterset =
      FindCounterset(machine, identifier.counterset);
  if (counterset == nullptr) return perflib::kErrorGuidNotFound;
  if (counterset->registration.HasInstances() == identifier.instance.empty()) {
    return perflib::kErrorInvalidParameter;
  }
  if (identifier.counter_id != perflib::kWildcardCounter &&
      FindCounter(*counterset, identifier.counter_id) == nullptr) {
    return perflib::kErrorItemIdNotFound;
  }
  const auto refused = counterset->refused.find(identifier.counter_id);
  return refused != counterset->refused.end() ? refused->second
                                              : perflib::kErrorSuccess;
}

bool IsSameQuery(const CounterIdentifier& a, const CounterIdentifier& b) {
  return a.counterset == b.counterset && a.counter_id == b.counter_id &&
         a.instance == b.instance && a.instance_id == b.instance_id;
}

uint32_t RegistrationAnswer(const ScriptedCounterset& counterset,
                            uint32_t request, uint32_t argument,
                            std::string* bytes) {
  switch (static_cast<RegistrationRequest>(request)) {
    case RegistrationRequest::kCountersetName:
      *bytes = perflib::WriteString(counterset.localized_name);
      return perflib::kErrorSuccess;
    case RegistrationRequest::kCounterNames: {
      std::vector<perflib::CounterString> names;
      for (const ScriptedCounter& counter : counterset.counters) {
        names.push_back(
            {counter.registration.counter_id, counter.localized_name});
      }
      *bytes = perflib::WriteStringBuffer(names);
      return perflib::kErrorSuccess;
    }
    case RegistrationRequest::kCounterHelp:
      return perflib::kErrorNotFound;  // like PerfLib without instances
    default:
      break;
  }
  auto answer = agent::RegistrationInfo(
      counterset.registration, counterset.provider,
      static_cast<RegistrationRequest>(request), argument);
  if (absl::IsNotFound(answer.status())) return perflib::kErrorItemIdNotFound;
  if (!answer.ok()) return perflib::kErrorInvalidParameter;
  *bytes = *std::move(answer);
  return perflib::kErrorSuccess;
}

std::string MakeBlock(const ScriptedMachine& machine,
                      const std::vector<CounterIdentifier>& identifiers,
                      uint64_t tick, absl::Time now) {
  std::string block;
  const int64_t time = perflib::PerfTime100NSecFromTime(now);
  BlockWriter writer({.perf_time_stamp = time,
                      .perf_time_100nsec = time,
                      .perf_freq = kFrequency},
                     &block);
  ResultWriter results(tick, now, &writer);
  for (const CounterIdentifier& identifier : identifiers) {
    results.Add(machine, identifier);
  }
  writer.Finish();
  for (const ScriptedCorruption& corruption : machine.corruptions) {
    if (corruption.tick == tick &&
        corruption.offset + sizeof corruption.value <= block.size()) {
      std::memcpy(block.data() + corruption.offset, &corruption.value,
                  sizeof corruption.value);
    }
  }
  return block;
}

}  // namespace fleetperf::testing
