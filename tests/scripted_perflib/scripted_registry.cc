#include "tests/scripted_perflib/scripted_registry.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "perflib/clocks.h"
#include "tests/support/byte_builder.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::testing {
namespace {

constexpr uint32_t kErrorFileNotFound = 2;
constexpr uint32_t kErrorBadKey = 6;
constexpr uint32_t kErrorBadNetPath = 53;
constexpr uint32_t kErrorMoreData = 234;
constexpr int64_t kClockFrequency = 10'000'000;

std::string Ascii(const char16_t* text) {
  std::string ascii;
  for (; *text != u'\0'; ++text) {
    ascii += absl::ascii_tolower(static_cast<unsigned char>(*text));
  }
  return ascii;
}

// Keys of remote machines, by name.
std::map<void*, std::string>& Keys() {
  static auto* const keys = new std::map<void*, std::string>;
  return *keys;
}

uint64_t ValueAt(const ScriptedValue& script, absl::Time now) {
  const absl::Time since =
      absl::FromCivil(absl::CivilYear(2020), absl::UTCTimeZone());
  const auto ticks =
      static_cast<uint64_t>((now - since) / absl::Nanoseconds(100));
  return script.value +
         static_cast<uint64_t>(absl::uint128(script.per_second) * ticks /
                               uint64_t{kClockFrequency});
}

V1InstanceBytes InstanceBytes(const ScriptedV1Object& object,
                              const ScriptedInstance& instance,
                              absl::Time now) {
  V1InstanceBytes bytes = {.name = instance.name};
  for (uint32_t i = 0; i < object.counters.size(); ++i) {
    const auto own = instance.values.find(i);
    bytes.values.push_back(ValueAt(
        own != instance.values.end() ? own->second : object.counters[i].value,
        now));
  }
  return bytes;
}

std::string ObjectBytes(const ScriptedV1Object& object, uint64_t tick,
                        absl::Time now) {
  V1ObjectBytes bytes = {.name_index = object.index,
                         .has_instances = object.has_instances,
                         .perf_time = perflib::PerfTime100NSecFromTime(now),
                         .perf_freq = kClockFrequency};
  for (const ScriptedV1Counter& counter : object.counters) {
    bytes.counters.push_back({.name_index = counter.index,
                              .type = counter.type,
                              .size = counter.size});
  }
  for (const ScriptedInstance& instance : object.instances) {
    if (tick >= instance.from && tick < instance.until) {
      bytes.instances.push_back(InstanceBytes(object, instance, now));
    }
  }
  if (!object.has_instances) {
    bytes.instances.push_back(InstanceBytes(object, {}, now));
  }
  std::string all = MakeV1Object(bytes);
  for (const auto& [offset, value] : object.corruptions) {
    if (now < absl::FromUnixSeconds(object.corrupt_after)) break;
    if (offset + sizeof value <= all.size()) all = WithU32(all, offset, value);
  }
  return all;
}

std::string NamesOf(const ScriptedMachine& machine) {
  std::map<uint32_t, std::string> names;
  for (const ScriptedV1Object& object : machine.v1) {
    if (!object.name.empty()) names[object.index] = object.name;
    for (const ScriptedV1Counter& counter : object.counters) {
      if (!counter.name.empty()) names[counter.index] = counter.name;
    }
  }
  return names.empty() ? "" : V1NameTable(names);
}

std::string LocalizedNamesOf(const ScriptedMachine& machine) {
  std::map<uint32_t, std::string> names;
  for (const ScriptedV1Object& object : machine.v1) {
    if (!object.localized_name.empty()) {
      names[object.index] = object.localized_name;
    }
  }
  return names.empty() ? "" : V1NameTable(names);
}

// Returns the objects that a value names.
std::vector<const ScriptedV1Object*> Named(const ScriptedMachine& machine,
                                           const std::string& value) {
  std::set<uint32_t> indexes;
  for (const absl::string_view text : absl::StrSplit(value, ' ')) {
    uint32_t index;
    if (absl::SimpleAtoi(text, &index)) indexes.insert(index);
  }
  const bool all = value == "global" || value == "old_global";
  std::vector<const ScriptedV1Object*> objects;
  for (const ScriptedV1Object& object : machine.v1) {
    if (object.is_stopped) continue;
    if (all || indexes.contains(object.index)) objects.push_back(&object);
  }
  return objects;
}

}  // namespace

ScriptedRegistry& ScriptedRegistry::Instance() {
  static auto* const instance = new ScriptedRegistry;
  return *instance;
}

void ScriptedRegistry::Play(Scenario scenario) {
  absl::MutexLock lock(&mutex_);
  scenario_ = std::move(scenario);
  reads_.clear();
  ticks_.clear();
}

std::vector<std::string> ScriptedRegistry::reads() const {
  absl::MutexLock lock(&mutex_);
  return reads_;
}

uint32_t ScriptedRegistry::ConnectRegistry(const char16_t* machine, void* key,
                                           void** connected) {
  const std::string name = Ascii(machine);
  absl::MutexLock lock(&mutex_);
  if (key != agent::PerformanceDataKey() || name.substr(0, 2) != "\\\\") {
    return kErrorBadKey;
  }
  const auto found = scenario_.machines.find(name.substr(2));
  if (found == scenario_.machines.end()) return kErrorBadNetPath;
  const auto error = found->second.errors.find("RegConnectRegistry");
  if (error != found->second.errors.end()) return error->second;
  *connected = new char;  // a unique key, which is never reused
  Keys()[*connected] = found->first;
  return 0;
}

uint32_t ScriptedRegistry::QueryValue(void* key, const char16_t* name,
                                      void* data, uint32_t* size) {
  const std::string value = Ascii(name);
  std::string bytes;
  {
    absl::MutexLock lock(&mutex_);
    std::string machine_name;
    if (key != agent::PerformanceDataKey()) {
      const auto found = Keys().find(key);
      if (found == Keys().end()) return kErrorBadKey;
      machine_name = found->second;
    }
    reads_.push_back(value);
    const auto machine = scenario_.machines.find(machine_name);
    if (machine == scenario_.machines.end()) return kErrorFileNotFound;
    const auto error = machine->second.errors.find("RegQueryValueEx");
    if (error != machine->second.errors.end()) return error->second;
    bytes = Value(machine->second, value);
  }
  if (bytes.empty()) return kErrorFileNotFound;
  if (bytes.size() > *size) {
    *size = 0;  // as on Windows, the size has no meaning
    return kErrorMoreData;
  }
  std::memcpy(data, bytes.data(), bytes.size());
  *size = static_cast<uint32_t>(bytes.size());
  return 0;
}

std::string ScriptedRegistry::Value(const ScriptedMachine& machine,
                                    const std::string& name) {
  if (name == "counter 009") return NamesOf(machine);
  if (name == "counter 007") return LocalizedNamesOf(machine);
  if (name == "help 009") return "";
  const absl::Time now = absl::Now();
  std::vector<std::string> objects;
  for (const ScriptedV1Object* object : Named(machine, name)) {
    const uint64_t tick = ticks_[object->index]++;
    if (tick >= object->crashes_from) std::_Exit(3);
    if (tick >= object->hangs_from) {
      absl::Mutex never;
      absl::MutexLock lock(&never);
      absl::CondVar().Wait(&never);
    }
    objects.push_back(ObjectBytes(*object, tick, now));
  }
  const int64_t time = perflib::PerfTime100NSecFromTime(now);
  return V1Data({.perf_time = time,
                 .perf_freq = kClockFrequency,
                 .perf_time_100nsec = time},
                objects);
}

agent::RegistryFunctions ScriptedRegistryFunctions() {
  return {.connect_registry = ScriptedRegConnectRegistry,
          .query_value = ScriptedRegQueryValueEx,
          .close_key = ScriptedRegCloseKey};
}

}  // namespace fleetperf::testing

using fleetperf::testing::ScriptedRegistry;

uint32_t ScriptedRegConnectRegistry(const char16_t* machine, void* key,
                                    void** connected) {
  return ScriptedRegistry::Instance().ConnectRegistry(machine, key, connected);
}

uint32_t ScriptedRegQueryValueEx(void* key, const char16_t* name, uint32_t*,
                                 uint32_t*, void* data, uint32_t* size) {
  return ScriptedRegistry::Instance().QueryValue(key, name, data, size);
}

uint32_t ScriptedRegCloseKey(void*) { return 0; }
