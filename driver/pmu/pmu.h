// Programs the performance monitoring units of all CPUs for one client at a
// time, and puts every register back.

#ifndef FLEETPERF_DRIVER_PMU_PMU_H_
#define FLEETPERF_DRIVER_PMU_PMU_H_

#include <cstddef>
#include <cstdint>

#include "driver/pmu/machine.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {

// Identifies a client, e.g. the address of its open file. 0 is no client.
using ClientId = uintptr_t;

// What the core keeps of one CPU.
struct CpuState;

// Thread-compatible: the caller runs one function at a time. All functions may
// wait for other CPUs.
class Pmu {
 public:
  // The bytes that a Pmu for `num_cpus` CPUs needs for its `memory`.
  static size_t MemorySize(uint32_t num_cpus);

  // `memory` has MemorySize(machine.CpuLimit()) bytes, aligned to 16, which
  // outlive the Pmu. Changes nothing on the machine.
  Pmu(Machine& machine, void* memory);

  // Stop() must have been called.
  ~Pmu() = default;

  // Carries out a request. `request` and `reply` may not overlap. Writes the
  // reply's size in bytes to `reply_size`: 0 unless the result is kOk.
  Result Handle(ClientId client, Command command, const void* request,
                size_t request_size, void* reply, size_t reply_capacity,
                size_t* reply_size);

  // The client is gone: releases what it held.
  void Close(ClientId client);

  // The driver is unloaded: as if all clients were gone.
  void Stop();

  // A CPU came online, or all CPUs lost their state in a sleep of the machine.
  // Programs it, or them, again for the owner.
  void CpuOnline(uint32_t cpu);
  void Resume();

  // A CPU goes offline, or the machine goes to sleep: the last chance to read
  // counts and to restore registers.
  void CpuOffline(uint32_t cpu);
  void Suspend();

 private:
  Machine& machine_;
  CpuState* cpus_;
  ClientId owner_ = 0;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_PMU_H_
