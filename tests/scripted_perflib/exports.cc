#include "tests/scripted_perflib/exports.h"

#include "tests/scripted_perflib/scripted_perflib.h"

using fleetperf::perflib::Guid;
using fleetperf::testing::ScriptedPerfLib;

uint32_t PerfEnumerateCounterSet(const char16_t* machine, Guid* guids,
                                 uint32_t count, uint32_t* actual) {
  return ScriptedPerfLib::Instance().EnumerateCounterSet(machine, guids, count,
                                                         actual);
}

uint32_t PerfEnumerateCounterSetInstances(const char16_t* machine,
                                          const Guid* counterset,
                                          void* instances, uint32_t size,
                                          uint32_t* actual) {
  return ScriptedPerfLib::Instance().EnumerateCounterSetInstances(
      machine, counterset, instances, size, actual);
}

uint32_t PerfQueryCounterSetRegistrationInfo(const char16_t* machine,
                                             const Guid* counterset,
                                             uint32_t request,
                                             uint32_t argument, void* info,
                                             uint32_t size, uint32_t* actual) {
  return ScriptedPerfLib::Instance().QueryCounterSetRegistrationInfo(
      machine, counterset, request, argument, info, size, actual);
}

uint32_t PerfOpenQueryHandle(const char16_t* machine, void** handle) {
  return ScriptedPerfLib::Instance().OpenQueryHandle(machine, handle);
}

uint32_t PerfCloseQueryHandle(void* handle) {
  return ScriptedPerfLib::Instance().CloseQueryHandle(handle);
}

uint32_t PerfAddCounters(void* handle, void* identifiers, uint32_t size) {
  return ScriptedPerfLib::Instance().AddCounters(handle, identifiers, size);
}

uint32_t PerfDeleteCounters(void* handle, void* identifiers, uint32_t size) {
  return ScriptedPerfLib::Instance().DeleteCounters(handle, identifiers, size);
}

uint32_t PerfQueryCounterInfo(void* handle, void* identifiers, uint32_t size,
                              uint32_t* actual) {
  return ScriptedPerfLib::Instance().QueryCounterInfo(handle, identifiers, size,
                                                      actual);
}

uint32_t PerfQueryCounterData(void* handle, void* block, uint32_t size,
                              uint32_t* actual) {
  return ScriptedPerfLib::Instance().QueryCounterData(handle, block, size,
                                                      actual);
}

namespace fleetperf::testing {

agent::PerfLibFunctions ScriptedPerfLibFunctions() {
  return {.enumerate_counter_set = PerfEnumerateCounterSet,
          .enumerate_counter_set_instances = PerfEnumerateCounterSetInstances,
          .query_counter_set_registration_info =
              PerfQueryCounterSetRegistrationInfo,
          .open_query_handle = PerfOpenQueryHandle,
          .close_query_handle = PerfCloseQueryHandle,
          .add_counters = PerfAddCounters,
          .delete_counters = PerfDeleteCounters,
          .query_counter_info = PerfQueryCounterInfo,
          .query_counter_data = PerfQueryCounterData};
}

}  // namespace fleetperf::testing
