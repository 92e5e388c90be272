// How much memory a program's objects take. Linking small_allocation_meter.cc
// replaces its operator new; it does what allocation_meter.cc does, too. Not on
// Windows.

#ifndef FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_
#define FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_

#include <cstddef>

namespace fleetperf::testing {

// Bytes in pieces of at most 1 KiB that all threads have got and not given
// back: objects, and neither buffers nor caches.
size_t SmallBytesInUse();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SMALL_ALLOCATION_METER_H_
