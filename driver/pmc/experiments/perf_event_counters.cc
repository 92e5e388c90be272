#include "driver/pmc/experiments/perf_event_counters.h"

#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "driver/hardware/linux/event_names.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/user_reader.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using perf_event::Builder;
using perf_event::Counter;
using perf_event::Event;
using perf_event::HardwareEvent;
using perf_event::UserReader;

// An event of this thread, read by the shortest way.
class ThreadEvent {
 public:
  static absl::StatusOr<ThreadEvent> Open(Event event,
                                          perf_event::System& system) {
    ASSIGN_OR_RETURN(Counter counter,
                     Builder(std::move(event), system).Enabled().Build());
    return ThreadEvent(std::make_unique<Counter>(std::move(counter)));
  }

  absl::StatusOr<uint64_t> Read() const {
    if (reader_) {
      ASSIGN_OR_RETURN(const perf_event::UserValue value, reader_->Read());
      if (value.count) return *value.count;
    }
    return counter_->Read();
  }

  bool can_read_count() const { return reader_ && reader_->can_read_count(); }

  std::optional<UserCounter> user_counter() const {
    if (!reader_ || !reader_->hardware_counter()) return std::nullopt;
    return UserCounter{.index = *reader_->hardware_counter(),
                       .width = reader_->counter_width()};
  }

 private:
  explicit ThreadEvent(std::unique_ptr<Counter> counter)
      : counter_(std::move(counter)) {
    auto reader = UserReader::Create(*counter_);
    if (reader.ok()) reader_.emplace(*std::move(reader));
  }

  std::unique_ptr<Counter> counter_;  // the reader's, which must not move
  std::optional<UserReader> reader_;
};

class PerfEventCounters : public ThreadCounters {
 public:
  explicit PerfEventCounters(perf_event::System& system) : system_(system) {}

  absl::Status Open() {
    ASSIGN_OR_RETURN(
        instructions_,
        ThreadEvent::Open(perf_event::Hardware(HardwareEvent::kInstructions),
                          system_));
    ASSIGN_OR_RETURN(
        cycles_, ThreadEvent::Open(
                     perf_event::Hardware(HardwareEvent::kCpuCycles), system_));
    OpenOptional(perf_event::Hardware(HardwareEvent::kReferenceCpuCycles),
                 &reference_cycles_);
    OpenL1();
    return absl::OkStatus();
  }

  absl::StatusOr<ThreadCounts> Read() override {
    ThreadCounts counts;
    ASSIGN_OR_RETURN(counts.instructions, instructions_->Read());
    ASSIGN_OR_RETURN(counts.cycles, cycles_->Read());
    if (reference_cycles_) {
      ASSIGN_OR_RETURN(counts.reference_cycles, reference_cycles_->Read());
    }
    if (l1_loads_ && l1_misses_) {
      ASSIGN_OR_RETURN(counts.l1_loads, l1_loads_->Read());
      ASSIGN_OR_RETURN(counts.l1_misses, l1_misses_->Read());
    }
    return counts;
  }

  absl::StatusOr<UserCounter> InstructionCounter() override {
    if (const auto counter = instructions_->user_counter()) return *counter;
    return absl::UnavailableError(
        "the kernel permits no RDPMC in user mode: set "
        "/sys/bus/event_source/devices/cpu/rdpmc to 1");
  }

  std::string origin() const override {
    return instructions_->can_read_count()
               ? "perf_event, this thread in user mode, read by RDPMC"
               : "perf_event, this thread in user mode, read by the kernel";
  }

 private:
  // The events of the first core PMU that has both.
  void OpenL1() {
    for (const auto& group : hardware::NamedGroups(system_)) {
      for (const hardware::NamedCount& named : group) {
        if (named.count == HardwareCount::kL1Loads) {
          OpenNamed(named.event, &l1_loads_);
        } else if (named.count == HardwareCount::kL1Misses) {
          OpenNamed(named.event, &l1_misses_);
        }
      }
      if (l1_loads_ && l1_misses_) return;
    }
  }

  void OpenNamed(const std::string& name, std::optional<ThreadEvent>* opened) {
    auto event = perf_event::ParseEvent(name + "u", system_);
    if (event.ok()) OpenOptional(*std::move(event), opened);
  }

  void OpenOptional(Event event, std::optional<ThreadEvent>* opened) {
    auto result = ThreadEvent::Open(std::move(event), system_);
    if (result.ok()) opened->emplace(*std::move(result));
  }

  perf_event::System& system_;
  std::optional<ThreadEvent> instructions_;
  std::optional<ThreadEvent> cycles_;
  std::optional<ThreadEvent> reference_cycles_;
  std::optional<ThreadEvent> l1_loads_;
  std::optional<ThreadEvent> l1_misses_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadCounters>> CountThread(
    perf_event::System& system) {
  auto counters = std::make_unique<PerfEventCounters>(system);
  RETURN_IF_ERROR(counters->Open());
  return counters;
}

}  // namespace fleetperf::pmc
