// An open event: a descriptor of perf_event_open(2).

#ifndef FLEETPERF_DRIVER_PERF_EVENT_COUNTER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_COUNTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/system.h"
#include "driver/perf_event/values.h"

namespace fleetperf::perf_event {

class Builder;
class System;

// A file descriptor of a System that is closed with the object.
class Descriptor {
 public:
  Descriptor(System& system, int descriptor)
      : system_(&system), descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept
      : system_(other.system_),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) system_->Close(descriptor_);
  }

  System& system() const { return *system_; }
  int get() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  System* system_;
  int descriptor_;
};

// Created by Builder, disabled unless Builder::Enabled was called. Movable;
// destruction closes the event. Calls on one event may run in several threads,
// except Release, moves and destruction.
//
// Errors of the kernel name the event. They
// need no capability once the event is open.
class Counter {
 public:
  // Starts, stops, and sets to 0. Reset leaves the times as they are.
  absl::Status Enable();
  absl::Status Disable();
  absl::Status Reset();
  // The same for the leader and all members of a group, at once. `*this` can be
  // any of them.
  absl::Status EnableGroup();
  absl::Status DisableGroup();
  absl::Status ResetGroup();

  // Returns the count, not scaled: see ReadScaled.
  absl::StatusOr<uint64_t> Read() const;
  // Returns all that the read format asks for.
  absl::StatusOr<CounterValue> ReadFull() const;
  // Returns the count as if the event had never been multiplexed, rounded down,
  // or nothing if it never ran. FailedPrecondition: the read format lacks one
  // of the times.
  absl::StatusOr<std::optional<uint64_t>> ReadScaled() const;
  // Reads the whole group at one moment, into memory that `values` reuses from
  // call to call. FailedPrecondition: the read format lacks kGroup.
  absl::Status ReadGroup(GroupValues* values) const;

  // Sets the period, or the frequency with flag::kFrequency, of an event that
  // samples.
  absl::Status SetPeriod(uint64_t period);
  // Enables the event for `overflows` more overflows; then it disables itself
  // and polling its descriptor reports POLLHUP.
  absl::Status Refresh(int overflows);
  // Lets the event write its records to the ring of `other`, which is of the
  // same CPU or thread; nullptr undoes this.
  absl::Status SetOutput(const Counter* other);
  // Stops (or resumes) writing to the ring.
  absl::Status PauseOutput(bool pause);
  // Lets only some occurrences of a tracepoint count: "prev_pid == 1". Also
  // takes address filters of a trace ("filter 0x10/0x100@/bin/true").
  absl::Status SetFilter(const std::string& filter);
  // Attaches an eBPF program (CAP_BPF) to a tracepoint or probe.
  absl::Status SetBpf(int program);
  // Returns the ids of the attached eBPF programs.
  absl::StatusOr<std::vector<uint32_t>> QueryBpf() const;
  // Replaces the attributes of an open breakpoint by the builder's (Linux
  // 4.17). The type stays.
  absl::Status ModifyAttributes(const Builder& builder);

  // The number by which groups and records name the event.
  uint64_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const Attributes& attributes() const { return attributes_; }
  System& system() const { return descriptor_.system(); }

  // The descriptor, which stays owned by the counter.
  int descriptor() const { return descriptor_.get(); }
  // Gives the descriptor to the caller. Only destruction may follow.
  int Release() { return descriptor_.Release(); }

 private:
  friend class Builder;
  Counter(Descriptor descriptor, std::string name, const Attributes& attributes,
          uint64_t id)
      : descriptor_(std::move(descriptor)),
        name_(std::move(name)),
        attributes_(attributes),
        id_(id) {}

  absl::Status Ioctl(unsigned long request, unsigned long argument,
                     absl::string_view what) const;
  // Reads into `words`, and returns how many words the kernel wrote.
  absl::StatusOr<size_t> ReadWords(uint64_t* words, size_t size) const;
  absl::Status ReadGroupWords(std::vector<uint64_t>* words) const;

  Descriptor descriptor_;
  std::string name_;
  Attributes attributes_;
  uint64_t id_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_COUNTER_H_
