#include "tests/scripted_perflib/scripted_perflib.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "tests/scripted_perflib/answers.h"

namespace fleetperf::testing {
namespace {

using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::kErrorInvalidParameter;
using perflib::kErrorNotEnoughMemory;
using perflib::kErrorSuccess;

constexpr uint32_t kErrorInvalidHandle = 6;
constexpr uint32_t kErrorServerUnavailable = 1722;

// Machine names in scenarios are ASCII; comparisons ignore case.
std::string NameOf(const char16_t* machine) {
  std::string name;
  for (; machine != nullptr && *machine != u'\0'; ++machine) {
    name += absl::ascii_tolower(static_cast<unsigned char>(*machine));
  }
  return name;
}

uint32_t Answer(const std::string& bytes, void* buffer, uint32_t size,
                uint32_t* actual) {
  if (actual == nullptr || (buffer == nullptr && size > 0)) {
    return kErrorInvalidParameter;
  }
  *actual = static_cast<uint32_t>(bytes.size());
  if (size < bytes.size()) return kErrorNotEnoughMemory;
  std::memcpy(buffer, bytes.data(), bytes.size());
  return kErrorSuccess;
}

}  // namespace

ScriptedPerfLib& ScriptedPerfLib::Instance() {
  static ScriptedPerfLib* const instance = new ScriptedPerfLib;
  return *instance;
}

void ScriptedPerfLib::Play(Scenario scenario) {
  absl::MutexLock lock(&mutex_);
  handles_.clear();
  machines_.clear();
  for (auto& [name, script] : scenario.machines) {
    machines_[name].script = std::move(script);
  }
  ++generation_;
  replaced_.SignalAll();  // hanging calls return
}

size_t ScriptedPerfLib::open_handles() const {
  absl::MutexLock lock(&mutex_);
  return handles_.size();
}

uint32_t ScriptedPerfLib::Enter(const char16_t* machine, const char* function,
                                Machine** found) {
  const auto entry = machines_.find(NameOf(machine));
  if (entry == machines_.end()) return kErrorServerUnavailable;
  *found = &entry->second;
  return Enter(*found, function);
}

uint32_t ScriptedPerfLib::Enter(Machine* machine, const char* function) {
  if (machine->script.hangs.contains(function)) {
    const uint64_t generation = generation_;
    while (generation == generation_) replaced_.Wait(&mutex_);
    return kErrorServerUnavailable;
  }
  const auto error = machine->script.errors.find(function);
  return error != machine->script.errors.end() ? error->second : kErrorSuccess;
}

uint32_t ScriptedPerfLib::EnterHandle(void* handle, const char* function,
                                      Handle** found) {
  const auto entry = handles_.find(handle);
  if (entry == handles_.end()) return kErrorInvalidHandle;
  *found = entry->second.get();
  return Enter((*found)->machine, function);
}

uint32_t ScriptedPerfLib::EnumerateCounterSet(const char16_t* machine,
                                              Guid* guids, uint32_t count,
                                              uint32_t* actual) {
  absl::MutexLock lock(&mutex_);
  Machine* found;
  if (const uint32_t error = Enter(machine, "PerfEnumerateCounterSet", &found);
      error != kErrorSuccess) {
    return error;
  }
  std::vector<Guid> present;
  for (const ScriptedCounterset& counterset : found->script.countersets) {
    if (found->enumerations >= counterset.appears_at) {
      present.push_back(counterset.registration.guid);
    }
  }
  if (actual == nullptr) return kErrorInvalidParameter;
  *actual = static_cast<uint32_t>(present.size());
  if (count < present.size()) return kErrorNotEnoughMemory;
  std::copy(present.begin(), present.end(), guids);
  ++found->enumerations;
  return kErrorSuccess;
}

uint32_t ScriptedPerfLib::EnumerateCounterSetInstances(const char16_t* machine,
                                                       const Guid* counterset,
                                                       void* instances,
                                                       uint32_t size,
                                                       uint32_t* actual) {
  absl::MutexLock lock(&mutex_);
  Machine* found;
  if (const uint32_t error =
          Enter(machine, "PerfEnumerateCounterSetInstances", &found);
      error != kErrorSuccess) {
    return error;
  }
  const ScriptedCounterset* script = FindCounterset(found->script, *counterset);
  if (script == nullptr) return perflib::kErrorGuidNotFound;
  std::vector<perflib::InstanceName> names;
  for (const ScriptedInstance& instance : script->instances) {
    names.push_back({instance.name, instance.id});
  }
  return Answer(perflib::WriteInstanceList(names), instances, size, actual);
}

uint32_t ScriptedPerfLib::QueryCounterSetRegistrationInfo(
    const char16_t* machine, const Guid* counterset, uint32_t request,
    uint32_t argument, void* info, uint32_t size, uint32_t* actual) {
  absl::MutexLock lock(&mutex_);
  Machine* found;
  if (const uint32_t error =
          Enter(machine, "PerfQueryCounterSetRegistrationInfo", &found);
      error != kErrorSuccess) {
    return error;
  }
  const ScriptedCounterset* script = FindCounterset(found->script, *counterset);
  if (script == nullptr) return perflib::kErrorGuidNotFound;
  std::string bytes;
  if (const uint32_t error =
          RegistrationAnswer(*script, request, argument, &bytes);
      error != kErrorSuccess) {
    return error;
  }
  return Answer(bytes, info, size, actual);
}

uint32_t ScriptedPerfLib::OpenQueryHandle(const char16_t* machine,
                                          void** handle) {
  absl::MutexLock lock(&mutex_);
  if (handle == nullptr) return kErrorInvalidParameter;
  Machine* found;
  if (const uint32_t error = Enter(machine, "PerfOpenQueryHandle", &found);
      error != kErrorSuccess) {
    return error;
  }
  auto opened = std::make_unique<Handle>(Handle{.machine = found});
  *handle = opened.get();
  handles_[*handle] = std::move(opened);
  return kErrorSuccess;
}

uint32_t ScriptedPerfLib::CloseQueryHandle(void* handle) {
  absl::MutexLock lock(&mutex_);
  return handles_.erase(handle) == 1 ? kErrorSuccess : kErrorInvalidHandle;
}

uint32_t ScriptedPerfLib::ChangeIdentifiers(
    void* handle, const char* function, void* identifiers, uint32_t size,
    const std::function<uint32_t(Handle&, const CounterIdentifier&)>& change) {
  absl::MutexLock lock(&mutex_);
  Handle* found;
  if (const uint32_t error = EnterHandle(handle, function, &found);
      error != kErrorSuccess) {
    return error;
  }
  auto read = perflib::ReadCounterIdentifiers(
      absl::string_view(static_cast<const char*>(identifiers), size));
  if (!read.ok() || size % perflib::kBlockAlignment != 0) {
    return kErrorInvalidParameter;
  }
  for (CounterIdentifier& identifier : *read) {
    identifier.status = change(*found, identifier);
  }
  const std::string written = perflib::WriteCounterIdentifiers(*read);
  if (written.size() != size) return kErrorInvalidParameter;
  std::memcpy(identifiers, written.data(), size);
  found->block.clear();
  return kErrorSuccess;
}

uint32_t ScriptedPerfLib::AddCounters(void* handle, void* identifiers,
                                      uint32_t size) {
  return ChangeIdentifiers(
      handle, "PerfAddCounters", identifiers, size,
      [](Handle& found, const CounterIdentifier& identifier) {
        const uint32_t status =
            CheckIdentifier(found.machine->script, identifier);
        if (status != kErrorSuccess) return status;
        auto& added = found.identifiers;
        if (std::any_of(added.begin(), added.end(), [&](const auto& other) {
              return IsSameQuery(other, identifier);
            })) {
          return perflib::kErrorAlreadyExists;
        }
        // Newest first, because callers must not rely on the order of adding.
        added.insert(added.begin(), identifier);
        return kErrorSuccess;
      });
}

uint32_t ScriptedPerfLib::DeleteCounters(void* handle, void* identifiers,
                                         uint32_t size) {
  return ChangeIdentifiers(
      handle, "PerfDeleteCounters", identifiers, size,
      [](Handle& found, const CounterIdentifier& identifier) {
        const size_t erased = std::erase_if(
            found.identifiers,
            [&](const auto& other) { return IsSameQuery(other, identifier); });
        return erased > 0 ? kErrorSuccess : perflib::kErrorNotFound;
      });
}

uint32_t ScriptedPerfLib::QueryCounterInfo(void* handle, void* identifiers,
                                           uint32_t size, uint32_t* actual) {
  absl::MutexLock lock(&mutex_);
  Handle* found;
  if (const uint32_t error =
          EnterHandle(handle, "PerfQueryCounterInfo", &found);
      error != kErrorSuccess) {
    return error;
  }
  std::vector<CounterIdentifier> infos = found->identifiers;
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].index = static_cast<uint32_t>(i);
  }
  return Answer(perflib::WriteCounterIdentifiers(infos), identifiers, size,
                actual);
}

uint32_t ScriptedPerfLib::QueryCounterData(void* handle, void* block,
                                           uint32_t size, uint32_t* actual) {
  absl::MutexLock lock(&mutex_);
  Handle* found;
  if (const uint32_t error =
          EnterHandle(handle, "PerfQueryCounterData", &found);
      error != kErrorSuccess) {
    return error;
  }
  const ScriptedMachine& script = found->machine->script;
  std::string bytes =
      MakeBlock(script, found->identifiers, found->ticks, absl::Now());
  if (script.grows && !found->has_grown) {
    // Simulates instances that appear before the next call.
    if (actual == nullptr) return kErrorInvalidParameter;
    *actual = static_cast<uint32_t>(bytes.size()) - perflib::kBlockAlignment;
    found->has_grown = true;
    return kErrorNotEnoughMemory;
  }
  const uint32_t error = Answer(bytes, block, size, actual);
  if (error == kErrorSuccess) {
    ++found->ticks;
    found->has_grown = false;
  }
  return error;
}

}  // namespace fleetperf::testing
