// The scenario of the scripted PerfLib: machines with countersets, and their
// faults.
//
// A scenario is JSON:
//
//   {"machines": {"": {                     // the name; "" is this machine
//      "errors": {"PerfOpenQueryHandle": 5},// functions that fail
//      "hangs": ["PerfQueryCounterData"],   // functions that never return
//      "grows": true,       // a block exceeds the announced size
//      "corrupt": [{"tick": 3, "offset": 52, "value": 7}],  // a u32 of a block
//      "countersets": [{
//         "guid": "{...}", "name": "...", "localized_name": "...",
//         "help": "...", "provider": "...", "instance_type": 2,
//         "appears_at": 2,                  // PerfEnumerateCounterSet calls
//         "stale_from": 5, "stale_until": 8,// ticks of a handle with errors
//         "refused": {"26": 4202},          // counters, with their Status
//         "counters": [{"id": 0, "type": "PERF_100NSEC_TIMER", "size": 8,
//                       "name": "...", "localized_name": "...", "base": 27,
//                       "perf_time": 4, "perf_freq": 5, "multi": 6,
//                       "value": 100, "per_second": 2500000}],
//         "instances": [{"name": "0,0", "id": 0, "from": 0, "until": 9,
//                        "values": {"0": {"value": 1, "per_second": 2}}}]
//      }],
//      "v1": [{                            // objects of PerfLib V1
//         "index": 234, "name": "PhysicalDisk",
//         "localized_name": "Physikalischer Datenträger",  // "Counter 007"
//         "stopped": true,                 // is named, but not there
//         "hangs_from": 5,                 // reads that never return
//         "crashes_from": 5,               // reads that end the process
//         "corrupt": [{"offset": 4, "value": 7}],  // a u32 of the object
//         "corrupt_after": 1790000000,     // seconds since 1970, for all
//                                          // processes
//         "counters": [{"index": 200, "name": "% Disk Time",
//                       "type": "PERF_100NSEC_TIMER", "size": 8,
//                       "value": 100, "per_second": 2500000}],
//         "instances": [{"name": "0 C:", "from": 0, "until": 9,
//                        "values": {"0": {"value": 1}}}]}]  // by position
//      }}}
//
// An object without "instances" has one block. The ticks of V1 are the reads of
// the object in its process. The errors of V1 are those of RegQueryValueEx and
// RegConnectRegistry.
//
// A raw value is `value` and `per_second` for each second since 2020 by the
// block's PerfTime100NSec, so that a timer's percentage is exact whenever it is
// sampled. An instance's own values take precedence over its counterset's. All
// keys except names and ids are optional. Ticks count from 0 in each handle.

#ifndef FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCENARIO_H_
#define FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCENARIO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "perflib/registration.h"

namespace fleetperf::testing {

struct ScriptedValue {
  uint64_t value = 0;
  uint64_t per_second = 0;
};

struct ScriptedInstance {
  std::string name;
  uint32_t id = 0;
  uint64_t from = 0;  // ticks
  uint64_t until = UINT64_MAX;
  std::map<uint32_t, ScriptedValue> values;  // by counter id
};

struct ScriptedCounter {
  perflib::CounterRegistration registration;
  std::string localized_name;
  uint32_t size = 8;  // bytes
  ScriptedValue value;
};

struct ScriptedCounterset {
  perflib::CountersetRegistration registration;
  std::string localized_name;
  perflib::Guid provider;
  uint64_t appears_at = 0;
  uint64_t stale_from = UINT64_MAX;
  uint64_t stale_until = UINT64_MAX;
  std::map<uint32_t, uint32_t> refused;
  std::vector<ScriptedCounter> counters;
  std::vector<ScriptedInstance> instances;
};

struct ScriptedV1Counter {
  uint32_t index = 0;
  std::string name;
  uint32_t type = 0;
  uint32_t size = 8;  // bytes
  ScriptedValue value;
};

struct ScriptedV1Object {
  uint32_t index = 0;
  std::string name;  // empty: has none
  std::string localized_name;
  bool is_stopped = false;
  uint64_t hangs_from = UINT64_MAX;
  uint64_t crashes_from = UINT64_MAX;
  int64_t corrupt_after = 0;               // seconds since 1970
  std::map<size_t, uint32_t> corruptions;  // by offset
  std::vector<ScriptedV1Counter> counters;
  bool has_instances = false;
  std::vector<ScriptedInstance> instances;
};

struct ScriptedCorruption {
  uint64_t tick = 0;
  size_t offset = 0;
  uint32_t value = 0;
};

struct ScriptedMachine {
  std::map<std::string, uint32_t> errors;  // by function
  std::set<std::string> hangs;
  bool grows = false;
  std::vector<ScriptedCorruption> corruptions;
  std::vector<ScriptedCounterset> countersets;
  std::vector<ScriptedV1Object> v1;
};

struct Scenario {
  std::map<std::string, ScriptedMachine> machines;
};

// Throws an exception of nlohmann::json if the text is not a scenario.
Scenario ParseScenario(const std::string& json);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SCRIPTED_PERFLIB_SCENARIO_H_
