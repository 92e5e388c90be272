// Programs the performance monitoring units of all CPUs for one client at a
// time, and puts every register back.

#ifndef FLEETPERF_DRIVER_PMU_PMU_H_
#define FLEETPERF_DRIVER_PMU_PMU_H_

#include <stddef.h>
#include <stdint.h>

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

  // Carries out a request. `request` and `reply` may overlap, and have any
  // alignment. Writes the reply's size in bytes to `reply_size`: 0 unless the
  // result is kOk. A client other than 0 need not be announced.
  Result Handle(ClientId client, Command command, const void* request,
                size_t request_size, void* reply, size_t reply_capacity,
                size_t* reply_size);

  // The client is gone: releases what it held.
  void Close(ClientId client);

  // The driver is unloaded: as if all clients were gone.
  void Stop();

  // A CPU came online, or all CPUs lost their state in a sleep of the machine.
  // Programs it, or them, again for the owner. A CPU that refuses, or that
  // lacks counters of the program, is not counted. Without CpuOffline or
  // Suspend before, the counts since the last kRead are lost.
  void CpuOnline(uint32_t cpu);
  void Resume();

  // A CPU goes offline, or the machine goes to sleep: the last chance to read
  // counts and to restore registers.
  // Between Suspend and Resume no CPU is touched, and kReserve and kProgram are
  // refused with kSuspended.
  void CpuOffline(uint32_t cpu);
  void Suspend();

 private:
  template <typename Function>
  bool RunOn(uint32_t cpu, Function function);
  void DetectAll();
  bool HasPmu() const;
  Result CheckCoreTypes(const ProgramRequest& request) const;
  Result ClaimAll();
  Result StartAll();
  void RestoreAll();
  void RestoreAt(uint32_t cpu);
  bool Free();

  Result Describe(void* reply, size_t capacity, size_t* size);
  Result Reserve(ClientId client);
  Result Program(const void* request, size_t size);
  Result Read(void* reply, size_t capacity, size_t* size);

  Machine& machine_;
  const uint32_t num_cpus_;
  CpuState* const cpus_;
  ClientId owner_ = 0;
  bool is_programmed_ = false;
  bool is_suspended_ = false;
  ProgramRequest program_;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_PMU_H_
