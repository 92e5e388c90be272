// The guest's memory before it runs: image, page tables, segments.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_GUEST_MEMORY_H_
#define FLEETPERF_TESTS_DRIVER_RING0_GUEST_MEMORY_H_

#include <linux/kvm.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::ring0 {

struct Unmap {
  void operator()(uint8_t* memory) const;
};
// kMemorySize bytes.
using GuestMemory = std::unique_ptr<uint8_t, Unmap>;

absl::StatusOr<GuestMemory> MapGuestMemory();

// Loads an executable of the ELF format to its addresses. Returns its entry
// point.
absl::StatusOr<uint64_t> LoadImage(const std::string& path, uint8_t* memory);

// Page tables that map all memory to itself, for kernel and user; segments of
// kernel and user; a task for each CPU. Architecture: Intel's manual, volume 3,
// chapters 3 to 5 and 8.
void WriteTables(uint8_t* memory);

// CPU `cpu` in 64-bit mode at CPL 0, with these tables.
void SetTables(uint32_t cpu, kvm_sregs* registers);

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_GUEST_MEMORY_H_
