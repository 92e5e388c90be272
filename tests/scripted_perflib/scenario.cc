#include "tests/scripted_perflib/scenario.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "perflib/counter_type.h"

namespace fleetperf::testing {
namespace {

using nlohmann::json;

perflib::Guid GuidOf(const std::string& text) {
  const auto guid = perflib::ParseGuid(text);
  if (!guid.has_value()) throw std::invalid_argument("no GUID: " + text);
  return *guid;
}

uint32_t TypeOf(const std::string& name) {
  const auto* type = perflib::FindCounterTypeByName(name);
  if (type == nullptr) throw std::invalid_argument("no counter type: " + name);
  return type->type;
}

ScriptedValue ValueOf(const json& from) {
  return {.value = from.value("value", uint64_t{0}),
          .per_second = from.value("per_second", uint64_t{0})};
}

ScriptedCounter CounterOf(const json& from) {
  ScriptedCounter counter;
  counter.registration.counter_id = from.at("id");
  counter.registration.type = TypeOf(from.at("type"));
  counter.registration.name = from.value("name", "");
  counter.registration.help = from.value("help", "");
  counter.registration.base_counter_id =
      from.value("base", perflib::kNoCounter);
  counter.registration.perf_time_id =
      from.value("perf_time", perflib::kNoCounter);
  counter.registration.perf_freq_id =
      from.value("perf_freq", perflib::kNoCounter);
  counter.registration.multi_id = from.value("multi", perflib::kNoCounter);
  counter.localized_name =
      from.value("localized_name", counter.registration.name);
  counter.size = from.value("size", 8u);
  counter.value = ValueOf(from);
  return counter;
}

ScriptedInstance InstanceOf(const json& from) {
  ScriptedInstance instance;
  instance.name = from.at("name");
  instance.id = from.value("id", 0u);
  instance.from = from.value("from", uint64_t{0});
  instance.until = from.value("until", UINT64_MAX);
  const json values = from.value("values", json::object());
  for (const auto& [id, value] : values.items()) {
    instance.values[static_cast<uint32_t>(std::stoul(id))] = ValueOf(value);
  }
  return instance;
}

ScriptedCounterset CountersetOf(const json& from) {
  ScriptedCounterset counterset;
  counterset.registration.guid = GuidOf(from.at("guid"));
  counterset.registration.name = from.at("name");
  counterset.registration.help = from.value("help", "");
  counterset.registration.provider_name = from.value("provider", "");
  counterset.registration.instance_type = from.value("instance_type", 0u);
  counterset.localized_name =
      from.value("localized_name", counterset.registration.name);
  counterset.appears_at = from.value("appears_at", uint64_t{0});
  counterset.stale_from = from.value("stale_from", UINT64_MAX);
  counterset.stale_until = from.value("stale_until", UINT64_MAX);
  const json refused = from.value("refused", json::object());
  for (const auto& [id, status] : refused.items()) {
    counterset.refused[static_cast<uint32_t>(std::stoul(id))] = status;
  }
  for (const json& counter : from.at("counters")) {
    counterset.counters.push_back(CounterOf(counter));
    counterset.registration.counters.push_back(
        counterset.counters.back().registration);
  }
  for (const json& instance : from.value("instances", json::array())) {
    counterset.instances.push_back(InstanceOf(instance));
  }
  return counterset;
}

ScriptedV1Object V1ObjectOf(const json& from) {
  ScriptedV1Object object;
  object.index = from.at("index");
  object.name = from.value("name", "");
  object.localized_name = from.value("localized_name", "");
  object.is_stopped = from.value("stopped", false);
  object.hangs_from = from.value("hangs_from", UINT64_MAX);
  object.crashes_from = from.value("crashes_from", UINT64_MAX);
  object.corrupt_after = from.value("corrupt_after", int64_t{0});
  for (const json& corruption : from.value("corrupt", json::array())) {
    object.corruptions[corruption.at("offset")] = corruption.at("value");
  }
  for (const json& counter : from.at("counters")) {
    object.counters.push_back({.index = counter.at("index"),
                               .name = counter.value("name", ""),
                               .type = TypeOf(counter.at("type")),
                               .size = counter.value("size", 8u),
                               .value = ValueOf(counter)});
  }
  object.has_instances = from.contains("instances");
  for (const json& instance : from.value("instances", json::array())) {
    object.instances.push_back(InstanceOf(instance));
  }
  return object;
}

ScriptedMachine MachineOf(const json& from) {
  ScriptedMachine machine;
  machine.errors = from.value("errors", machine.errors);
  machine.hangs = from.value("hangs", machine.hangs);
  machine.grows = from.value("grows", false);
  for (const json& corruption : from.value("corrupt", json::array())) {
    machine.corruptions.push_back({.tick = corruption.at("tick"),
                                   .offset = corruption.at("offset"),
                                   .value = corruption.at("value")});
  }
  for (const json& counterset : from.value("countersets", json::array())) {
    machine.countersets.push_back(CountersetOf(counterset));
  }
  for (const json& object : from.value("v1", json::array())) {
    machine.v1.push_back(V1ObjectOf(object));
  }
  return machine;
}

}  // namespace

Scenario ParseScenario(const std::string& text) {
  Scenario scenario;
  const json parsed = json::parse(text);
  for (const auto& [name, machine] : parsed.at("machines").items()) {
    scenario.machines[name] = MachineOf(machine);
  }
  return scenario;
}

}  // namespace fleetperf::testing
