#include "tests/bench/store_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/store.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

using aggregator::Frame;
using aggregator::Store;

// A digest of one series, for comparison.
struct Digest {
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t sum = 0;  // of each value times its position, counted from 1

  void Add(uint64_t value) {
    if (++count == 1) first = value;
    last = value;
    sum += count * value;
  }

  bool operator==(const Digest&) const = default;
};

std::string ToString(const Digest& digest) {
  return absl::StrCat(digest.count, " values from ", digest.first, " to ",
                      digest.last, " with sum ", digest.sum);
}

// The digests of a machine.
struct Digests {
  std::vector<Digest> times;   // by counterset
  std::vector<Digest> values;  // in the order of WorkloadTick
};

Digests MakeDigests(const MachineWorkload& machine) {
  Digests digests;
  digests.times.resize(machine.countersets().size());
  size_t series = 0;
  for (const WorkloadCounterset& counterset : machine.countersets()) {
    series += counterset.counters.size() * counterset.instances.size();
  }
  digests.values.resize(series);
  return digests;
}

Digests DigestsOf(MachineWorkload* machine, size_t ticks) {
  Digests digests = MakeDigests(*machine);
  for (size_t i = 0; i < ticks; ++i) {
    const WorkloadTick& tick = machine->Tick();
    const auto time = perflib::PerfTime100NSecFromTime(tick.time);
    for (Digest& times : digests.times) times.Add(static_cast<uint64_t>(time));
    for (size_t j = 0; j < tick.values.size(); ++j) {
      if (tick.values[j].has_value()) digests.values[j].Add(*tick.values[j]);
    }
  }
  return digests;
}

// Computes the digests of a machine's frames. Ignores ticks after `end`.
class FrameDigester {
 public:
  FrameDigester(const MachineWorkload& machine, absl::Time end)
      : end_(perflib::PerfTime100NSecFromTime(end)),
        digests_(MakeDigests(machine)) {
    size_t first = 0;
    for (const WorkloadCounterset& counterset : machine.countersets()) {
      Place& place = places_[counterset.name];
      place.counterset = places_.size() - 1;
      place.counters = counterset.counters.size();
      for (const std::string& instance : counterset.instances) {
        place.first[instance] = first;
        first += place.counters;
      }
    }
  }

  absl::Status Add(const Frame& frame) {
    const std::string& name = frame.query->schema->registration.name;
    const auto place = places_.find(name);
    if (place == places_.end() ||
        frame.columns.size() != place->second.counters) {
      return absl::DataLossError(absl::StrCat("unexpected counterset \"", name,
                                              "\" with ", frame.columns.size(),
                                              " counters"));
    }
    for (const perflib::Clocks& clocks : *frame.clocks) {
      if (clocks.perf_time_100nsec > end_) continue;
      digests_.times[place->second.counterset].Add(
          static_cast<uint64_t>(clocks.perf_time_100nsec));
    }
    for (size_t run = 0; run < frame.runs.size(); ++run) {
      RETURN_IF_ERROR(AddRun(frame, run, place->second));
    }
    return absl::OkStatus();
  }

  const Digests& digests() const { return digests_; }

 private:
  // The position of a counterset's values.
  struct Place {
    size_t counterset = 0;
    size_t counters = 0;
    std::map<std::string, size_t> first;  // by instance
  };

  absl::Status AddRun(const Frame& frame, size_t number, const Place& place) {
    const Frame::Run& run = frame.runs[number];
    const auto first = place.first.find(run.instance->name);
    if (first == place.first.end()) {
      return absl::DataLossError(
          absl::StrCat("unexpected instance \"", run.instance->name, "\""));
    }
    for (size_t i = 0; i < frame.columns.size(); ++i) {
      const aggregator::FrameColumn& column = frame.columns[i];
      Digest& digest = digests_.values[first->second + i];
      for (uint32_t tick = 0; tick < run.tick_count; ++tick) {
        if ((*frame.clocks)[run.first_tick + tick].perf_time_100nsec > end_ ||
            column.IsMissing(run.begin + tick)) {
          continue;
        }
        digest.Add(frame.Value(column, number, tick));
      }
    }
    return absl::OkStatus();
  }

  const int64_t end_;
  std::map<std::string, Place> places_;
  Digests digests_;
};

absl::Status Compare(const std::string& what,
                     const std::vector<Digest>& expected,
                     const std::vector<Digest>& found) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) continue;
    return absl::DataLossError(absl::StrCat(what, " ", i, ": the store has ",
                                            ToString(found[i]), " instead of ",
                                            ToString(expected[i])));
  }
  return absl::OkStatus();
}

// Returns the number of samples of a machine.
absl::StatusOr<uint64_t> CheckMachine(MachineWorkload* machine, size_t ticks,
                                      absl::Time end, Store* store) {
  const Digests expected = DigestsOf(machine, ticks);
  FrameDigester digester(*machine, end);
  RETURN_IF_ERROR(store->Read(
      {.machine = machine->name(),
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture()},
      [&](const Frame& frame) { return digester.Add(frame); },
      [](const aggregator::Loss&) {}));
  const Digests& found = digester.digests();
  RETURN_IF_ERROR(
      Compare("the times of counterset", expected.times, found.times));
  RETURN_IF_ERROR(Compare("series", expected.values, found.values));
  uint64_t samples = 0;
  for (const Digest& digest : found.values) samples += digest.count;
  return samples;
}

}  // namespace

absl::StatusOr<uint64_t> CheckStore(
    const Workload& workload, const std::function<size_t(size_t)>& ticks_of,
    const std::string& directory) {
  Progress("comparing the store with the acknowledged samples");
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                   aggregator::OpenRocksDbStore(directory));
  // The aggregator's own counters belong to one more machine.
  const size_t stored = store->directory().Machines().size();
  if (stored != workload.machines + 1) {
    return absl::DataLossError(
        absl::StrCat("the store has ", stored, " machines instead of ",
                     workload.machines, " and the aggregator's own"));
  }
  uint64_t samples = 0;
  for (size_t i = 0; i < workload.machines; ++i) {
    const auto machine = workload.make_machine(i);
    const auto found =
        CheckMachine(machine.get(), ticks_of(i), workload.end(), store.get());
    if (!found.ok()) {
      return absl::Status(
          found.status().code(),
          absl::StrCat(machine->name(), ": ", found.status().message()));
    }
    samples += *found;
  }
  return samples;
}

}  // namespace fleetperf::bench
