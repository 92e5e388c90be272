// Measures the memory that a piece of code allocates. Linking
// allocation_meter.cc replaces the program's operator new.

#ifndef FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_
#define FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_

#include <cstddef>

namespace fleetperf::testing {

// Returns the bytes that the calling thread has allocated with operator new so
// far. Freed memory is not subtracted.
size_t AllocatedBytes();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_
