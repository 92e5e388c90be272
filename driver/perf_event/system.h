// Everything that the library asks of the machine: system calls, instructions
// and files. Simulations implement the same interface.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SYSTEM_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {

// Calls return a negated errno value on failure, as the kernel does, and are
// restarted after EINTR, except Poll. Implementations are thread-safe and
// outlive all objects that use them.
class System {
 public:
  virtual ~System() = default;

  // perf_event_open(2). Returns a descriptor. With -E2BIG, attributes->size is
  // the size that this kernel knows.
  virtual int Open(Attributes* attributes, int pid, int cpu, int group,
                   unsigned long flags) = 0;
  virtual int Close(int descriptor) = 0;
  // The argument has the kernel's type: an int of -1 would be another number.
  virtual int Ioctl(int descriptor, unsigned long request,
                    unsigned long argument) = 0;
  // Returns the number of bytes read.
  virtual int64_t Read(int descriptor, void* buffer, size_t size) = 0;

  // mmap(2), shared. On success, stores the address and returns 0.
  virtual int Map(int descriptor, size_t size, uint64_t offset, bool writable,
                  void** address) = 0;
  virtual void Unmap(void* address, size_t size) = 0;
  // poll(2) of one descriptor. A negative timeout is infinite. Stores the
  // events that occurred, and returns 0 after the timeout.
  virtual int Poll(int descriptor, short events, int timeout_milliseconds,
                   short* occurred) = 0;

  // Whether ReadPmc is implemented for this processor architecture.
  virtual bool has_rdpmc() const = 0;
  // RDPMC. Faults if the mapped page of an event does not permit the
  // instruction.
  virtual uint64_t ReadPmc(uint32_t index) = 0;
  // RDTSC, or the counter that takes its place.
  virtual uint64_t ReadTimestampCounter() = 0;

  // The contents of a small file of /proc or /sys.
  virtual absl::StatusOr<std::string> ReadFile(const std::string& path) = 0;
  // The names in a directory, sorted.
  virtual absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) = 0;

  virtual size_t page_size() const = 0;
};

// The machine that the program runs on.
System& LinuxSystem();

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SYSTEM_H_
