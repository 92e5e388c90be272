// Exceptions in the guest, and functions that survive them.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_GUEST_TRAPS_H_
#define FLEETPERF_TESTS_DRIVER_RING0_GUEST_TRAPS_H_

#include <cstdint>

#include "tests/driver/ring0/guest/mailbox.h"

// Ends an asm statement whose instruction 1 may fault. After a fault, execution
// continues at label 2 without the effects of the instructions between.
#define FLEETPERF_RING0_FIXUP     \
  ".pushsection fixups,\"a\"\n\t" \
  ".quad 1b, 2b\n\t"              \
  ".popsection\n\t"

namespace fleetperf::ring0 {

Mailbox& TheMailbox();
void Call(MonitorCall call);

// Makes this CPU's exceptions arrive in this file.
void LoadTraps();

// Runs `function`, which must end with LeaveUser(), in user mode (CPL 3).
void EnterUser(void (*function)());
[[noreturn]] void LeaveUser();

// False if the instruction faults. `counter` is its ECX.
bool ReadPmc(uint32_t counter, uint64_t* value);

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_GUEST_TRAPS_H_
