// HKEY_PERFORMANCE_DATA that follows a scenario: PerfLib V1 of its machines.

#ifndef FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_REGISTRY_H_
#define FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_REGISTRY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/windows/v1/registry_functions.h"
#include "tests/scripted_perflib/scenario.h"

namespace fleetperf::testing {

// The functions are documented in winreg.h. Thread-safe.
class ScriptedRegistry {
 public:
  // Returns the instance that the functions below call.
  static ScriptedRegistry& Instance();

  // Replaces the scenario. Keys of earlier ones stay valid.
  void Play(Scenario scenario);
  // Returns the values that were read, in order.
  std::vector<std::string> reads() const;

  uint32_t ConnectRegistry(const char16_t* machine, void* key,
                           void** connected);
  uint32_t QueryValue(void* key, const char16_t* name, void* data,
                      uint32_t* size);

 private:
  // Returns the bytes of a value. Hangs or ends the process if an object does.
  std::string Value(const ScriptedMachine& machine, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Scenario scenario_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> reads_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, uint64_t> ticks_ ABSL_GUARDED_BY(mutex_);  // by object
};

// Returns the functions over ScriptedRegistry::Instance().
agent::RegistryFunctions ScriptedRegistryFunctions();

}  // namespace fleetperf::testing

// The same functions, for the exports of a DLL.
extern "C" uint32_t ScriptedRegConnectRegistry(const char16_t* machine,
                                               void* key, void** connected);
extern "C" uint32_t ScriptedRegQueryValueEx(void* key, const char16_t* name,
                                            uint32_t* reserved, uint32_t* type,
                                            void* data, uint32_t* size);
extern "C" uint32_t ScriptedRegCloseKey(void* key);

#endif  // FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_REGISTRY_H_
