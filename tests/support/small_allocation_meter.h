// Measures the memory that a program's objects occupy. Linking
// small_allocation_meter.cc replaces operator new; it also implements
// allocation_meter.h. Not available on Windows.

#ifndef FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_
#define FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_

#include <cstddef>

namespace fleetperf::testing {

// Returns the bytes that all threads hold in allocations of at most 1 KiB. The
// limit includes objects, but neither buffers nor caches.
size_t SmallBytesInUse();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_
