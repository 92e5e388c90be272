// A PerfLib that follows a scenario. Refuses unknown handles, identifiers whose
// layout differs from the documentation, and buffers that are too small.

#ifndef FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_PERFLIB_H_
#define FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_PERFLIB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "perflib/query.h"
#include "tests/scripted_perflib/scenario.h"

namespace fleetperf::testing {

// The functions are documented in perflib.h. Thread-safe.
class ScriptedPerfLib {
 public:
  // Returns the instance that the exported functions call.
  static ScriptedPerfLib& Instance();

  // Replaces the scenario and closes all handles.
  void Play(Scenario scenario);
  size_t open_handles() const;

  uint32_t EnumerateCounterSet(const char16_t* machine, perflib::Guid* guids,
                               uint32_t count, uint32_t* actual);
  uint32_t EnumerateCounterSetInstances(const char16_t* machine,
                                        const perflib::Guid* counterset,
                                        void* instances, uint32_t size,
                                        uint32_t* actual);
  uint32_t QueryCounterSetRegistrationInfo(const char16_t* machine,
                                           const perflib::Guid* counterset,
                                           uint32_t request, uint32_t argument,
                                           void* info, uint32_t size,
                                           uint32_t* actual);
  uint32_t OpenQueryHandle(const char16_t* machine, void** handle);
  uint32_t CloseQueryHandle(void* handle);
  uint32_t AddCounters(void* handle, void* identifiers, uint32_t size);
  uint32_t DeleteCounters(void* handle, void* identifiers, uint32_t size);
  uint32_t QueryCounterInfo(void* handle, void* identifiers, uint32_t size,
                            uint32_t* actual);
  uint32_t QueryCounterData(void* handle, void* block, uint32_t size,
                            uint32_t* actual);

 private:
  struct Machine {
    ScriptedMachine script;
    uint64_t enumerations = 0;
  };
  struct Handle {
    Machine* machine;
    std::vector<perflib::CounterIdentifier> identifiers;
    uint64_t ticks = 0;
    std::string block;  // made, but the caller's buffer was too small
    bool has_grown = false;
  };

  // Finds the machine or handle, and applies the error or the hang that its
  // script has for `function`.
  uint32_t Enter(const char16_t* machine, const char* function, Machine** found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t Enter(Machine* machine, const char* function)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t EnterHandle(void* handle, const char* function, Handle** found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t ChangeIdentifiers(
      void* handle, const char* function, void* identifiers, uint32_t size,
      const std::function<uint32_t(Handle&, const perflib::CounterIdentifier&)>&
          change);

  mutable absl::Mutex mutex_;
  absl::CondVar replaced_;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  std::map<void*, std::unique_ptr<Handle>> handles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCRIPTED_PERFLIB_H_
