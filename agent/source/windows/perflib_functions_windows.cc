#include "agent/source/windows/perflib_functions.h"
#include "agent/source/windows/windows_dll.h"
#include "base/status_macros.h"

namespace fleetperf::agent {

absl::StatusOr<PerfLibFunctions> LoadPerfLibFunctions(const std::string& path) {
  ASSIGN_OR_RETURN(const WindowsDll dll, WindowsDll::Load(path));
  PerfLibFunctions functions;
  dll.Resolve("PerfEnumerateCounterSet", &functions.enumerate_counter_set);
  dll.Resolve("PerfEnumerateCounterSetInstances",
              &functions.enumerate_counter_set_instances);
  dll.Resolve("PerfQueryCounterSetRegistrationInfo",
              &functions.query_counter_set_registration_info);
  dll.Resolve("PerfOpenQueryHandle", &functions.open_query_handle);
  dll.Resolve("PerfCloseQueryHandle", &functions.close_query_handle);
  dll.Resolve("PerfAddCounters", &functions.add_counters);
  dll.Resolve("PerfDeleteCounters", &functions.delete_counters);
  dll.Resolve("PerfQueryCounterInfo", &functions.query_counter_info);
  dll.Resolve("PerfQueryCounterData", &functions.query_counter_data);
  return functions;
}

}  // namespace fleetperf::agent
