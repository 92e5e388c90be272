// How much memory a piece of code allocates. Linking allocation_meter.cc
// replaces the program's operator new.

#ifndef FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_
#define FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_

#include <cstddef>

namespace fleetperf::testing {

// Bytes that this thread has got from operator new so far, given back or not.
size_t AllocatedBytes();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_ALLOCATION_METER_H_
