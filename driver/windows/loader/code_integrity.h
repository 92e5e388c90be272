// What this Windows demands of a driver's signature.

#ifndef FLEETPERF_DRIVER_WINDOWS_LOADER_CODE_INTEGRITY_H_
#define FLEETPERF_DRIVER_WINDOWS_LOADER_CODE_INTEGRITY_H_

#include <string>

namespace fleetperf {

struct CodeIntegrity {
  bool test_signing = false;      // bcdedit /set testsigning on
  bool memory_integrity = false;  // hypervisor-protected code integrity (HVCI)
  bool secure_boot = false;
};

// All false if Windows does not say.
CodeIntegrity QueryCodeIntegrity();

// Returns "test signing off, Secure Boot on, memory integrity (HVCI) off".
std::string Describe(const CodeIntegrity& integrity);

}  // namespace fleetperf

#endif  // FLEETPERF_DRIVER_WINDOWS_LOADER_CODE_INTEGRITY_H_
