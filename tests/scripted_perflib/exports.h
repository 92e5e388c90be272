// The nine functions as a DLL exports them, over ScriptedPerfLib::Instance().

#ifndef FLEETPERF_TESTS_SCRIPTED_PERFLIB_EXPORTS_H_
#define FLEETPERF_TESTS_SCRIPTED_PERFLIB_EXPORTS_H_

#include <cstdint>

#include "agent/source/windows/perflib_functions.h"
#include "perflib/guid.h"

extern "C" uint32_t PerfEnumerateCounterSet(const char16_t* machine,
                                            fleetperf::perflib::Guid* guids,
                                            uint32_t count, uint32_t* actual);
extern "C" uint32_t PerfEnumerateCounterSetInstances(
    const char16_t* machine, const fleetperf::perflib::Guid* counterset,
    void* instances, uint32_t size, uint32_t* actual);
extern "C" uint32_t PerfQueryCounterSetRegistrationInfo(
    const char16_t* machine, const fleetperf::perflib::Guid* counterset,
    uint32_t request, uint32_t argument, void* info, uint32_t size,
    uint32_t* actual);
extern "C" uint32_t PerfOpenQueryHandle(const char16_t* machine, void** handle);
extern "C" uint32_t PerfCloseQueryHandle(void* handle);
extern "C" uint32_t PerfAddCounters(void* handle, void* identifiers,
                                    uint32_t size);
extern "C" uint32_t PerfDeleteCounters(void* handle, void* identifiers,
                                       uint32_t size);
extern "C" uint32_t PerfQueryCounterInfo(void* handle, void* identifiers,
                                         uint32_t size, uint32_t* actual);
extern "C" uint32_t PerfQueryCounterData(void* handle, void* block,
                                         uint32_t size, uint32_t* actual);

namespace fleetperf::testing {

// Returns the nine functions above.
agent::PerfLibFunctions ScriptedPerfLibFunctions();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SCRIPTED_PERFLIB_EXPORTS_H_
