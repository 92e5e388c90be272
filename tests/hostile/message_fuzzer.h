// An agent that sends recorded messages with random changes.

#ifndef FLEETPERF_TESTS_HOSTILE_MESSAGE_FUZZER_H_
#define FLEETPERF_TESTS_HOSTILE_MESSAGE_FUZZER_H_

#include <cstdint>

#include "tests/hostile/attacks.h"

namespace fleetperf::testing {

// Sends the streams of tests/fixtures until `stop` returns true, with changes
// that `target.seed` determines: of the contents of batches, of messages, of
// their order, and of HTTP/2 frames. Returns the number of streams sent.
uint64_t FuzzMessages(const Target& target, const Stop& stop);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_MESSAGE_FUZZER_H_
