// Reads the records of one event, or of several that share a ring.
//
//   ASSIGN_OR_RETURN(Counter cycles,
//                    Builder(Hardware(HardwareEvent::kCpuCycles))
//                        .SampleFrequency(1000)
//                        .Sample(sample::kIp | sample::kTid)
//                        .Build());
//   ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(std::move(cycles), 16));
//   RETURN_IF_ERROR(sampler.counter().Enable());
//   Work();
//   Record record;
//   while (const auto raw = sampler.Next()) {
//     RETURN_IF_ERROR(sampler.Parse(*raw, &record));
//     if (const auto* sample = std::get_if<Sample>(&record.data)) {
//       Use(sample->ip(), sample->thread());
//     }
//   }
//   RETURN_IF_ERROR(sampler.status());

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SAMPLER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SAMPLER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/mapped_ring.h"
#include "driver/perf_event/raw_record.h"
#include "driver/perf_event/record.h"
#include "driver/perf_event/record_parser.h"
#include "driver/perf_event/ring.h"

namespace fleetperf::perf_event {

// Owns its counters and the ring. Movable; one thread at a time.
class Sampler {
 public:
  // Maps a ring of `pages` pages; see MapRing for their number and for errors.
  static absl::StatusOr<Sampler> Create(Counter counter, size_t pages);

  // Lets `counter` write to the same ring, and keeps it. It must have the
  // target and the clock of the first one. Parsed records become invalid.
  //
  // Records of events with different attributes are told apart by
  // sample::kIdentifier, which all of them need, and by flag::kSampleIdAll,
  // which all or none of them need. FailedPrecondition otherwise. Events with
  // the same layout need only sample::kId, or nothing if it does not matter
  // which of them wrote a record.
  absl::Status Add(Counter counter);

  // Releases the record that the previous call returned, and returns the oldest
  // one that is left, or nothing; see Ring. The record is valid until the next
  // call.
  std::optional<RawRecord> Next() { return ring_.Next(); }

  // The same, but waits until there is a record, `timeout` (rounded up to ms)
  // has passed, or all observed threads have ended. Returns nothing after the
  // timeout, and after the last record of threads that have ended: see ended().
  // Signals do not end the wait. `timeout` can be absl::InfiniteDuration().
  //
  // The kernel ends the wait after as many records or bytes as
  // Builder::WakeupEvents or WakeupWatermark say. By default, that is half of
  // the ring.
  //
  // Errors: those of status(), and those of poll(2). FailedPrecondition: a
  // pinned event has lost its place on the PMU.
  absl::StatusOr<std::optional<RawRecord>> NextBlocking(absl::Duration timeout);

  // Whether NextBlocking has seen all observed threads end.
  bool ended() const { return waiting_for_ == members_.size(); }

  // Parses a record of Next by the attributes of the event that wrote it. See
  // RecordParser::Parse.
  absl::Status Parse(const RawRecord& raw, Record* record) const {
    return members_[IndexOf(raw)].parser.Parse(raw, record);
  }
  // The event that wrote a record. nullptr: there are several, and the record
  // does not tell, or names none of them.
  const Counter* CounterOf(const RawRecord& raw) const;

  // See Ring::status.
  const absl::Status& status() const { return ring_.status(); }

  // Release and Rewind, and the ring's size.
  Ring& ring() { return ring_; }

  // Counters are numbered from 0, which is that of Create, in the order of Add.
  size_t size() const { return members_.size(); }
  Counter& counter(size_t index = 0) { return members_[index].counter; }
  const Counter& counter(size_t index = 0) const {
    return members_[index].counter;
  }
  // The parser of that counter's records.
  const RecordParser& parser(size_t index = 0) const {
    return members_[index].parser;
  }

  // Maps an AUX area for the first counter; see perf_event::MapAux. Call it at
  // most once.
  absl::Status MapAux(size_t pages);
  // nullptr without MapAux.
  AuxRing* aux() { return aux_ ? &*aux_ : nullptr; }

 private:
  struct Member {
    Counter counter;
    RecordParser parser;
  };

  Sampler(Counter counter, MappedRing mapped);

  // The member that wrote a record; 0 if it is unknown.
  size_t IndexOf(const RawRecord& raw) const {
    return members_.size() == 1 ? 0 : FindMember(raw).value_or(0);
  }
  std::optional<size_t> FindMember(const RawRecord& raw) const;
  // Waits once. Returns whether the time is up.
  absl::StatusOr<bool> Wait(absl::Duration timeout);

  std::vector<Member> members_;
  MappedRing mapped_;
  Ring ring_;
  size_t waiting_for_ = 0;  // the first member whose thread has not ended
  std::optional<MappedMemory> aux_mapping_;
  std::optional<AuxRing> aux_;
};

// Keeps the newest records of an event with Builder::WriteBackward, and
// overwrites the oldest ones, for a look at what happened before something.
// Needs Linux 4.7. Movable; one thread at a time.
class FlightRecorder {
 public:
  // FailedPrecondition: the event does not write backward. Other errors as
  // MapRing.
  static absl::StatusOr<FlightRecorder> Create(Counter counter, size_t pages);

  // Calls `visit` for the records since the last snapshot that are left, from
  // the newest to the oldest one. The event writes no records meanwhile: it
  // drops them. DataLoss: the ring is damaged, and older records are missing.
  absl::Status Snapshot(absl::FunctionRef<void(const RawRecord&)> visit);

  Counter& counter() { return counter_; }
  const RecordParser& parser() const { return parser_; }

 private:
  FlightRecorder(Counter counter, MappedRing mapped);

  Counter counter_;
  RecordParser parser_;
  MappedRing mapped_;
  BackwardRing ring_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SAMPLER_H_
