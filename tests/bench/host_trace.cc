#include "tests/bench/host_trace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"

namespace fleetperf::bench {
namespace {

static_assert(std::endian::native == std::endian::little);

// Reads numbers and text from the front of a file's bytes.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  // Returns 0 if too few bytes remain.
  template <typename T>
  T Number() {
    T number = 0;
    const absl::string_view bytes = Bytes(sizeof number);
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  // Returns no bytes if fewer than `size` remain.
  absl::string_view Bytes(size_t size) {
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  bool failed() const { return failed_; }

 private:
  absl::string_view rest_;
  bool failed_ = false;
};

size_t PlaceIn(const std::string& name, std::vector<std::string>* names) {
  const auto found = std::find(names->begin(), names->end(), name);
  if (found == names->end()) {
    names->push_back(name);
    return names->size() - 1;
  }
  return static_cast<size_t>(found - names->begin());
}

}  // namespace

absl::StatusOr<HostTrace> HostTrace::Read(const std::string& path) {
  const absl::StatusOr<std::string> file = ReadFile(path);
  RETURN_IF_ERROR(file.status());
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a host trace: ", what));
  };
  Reader reader(*file);
  if (reader.Bytes(4) != "RTR1") {
    return error("the file does not begin with RTR1");
  }
  HostTrace trace;
  const auto ticks = reader.Number<uint32_t>();
  const auto series = reader.Number<uint32_t>();
  int64_t first = 0;
  for (uint32_t i = 0; i < ticks && !reader.failed(); ++i) {
    const auto time = reader.Number<int64_t>();
    if (i == 0) first = time;
    trace.ticks_.push_back(absl::Milliseconds(time - first));
  }
  std::vector<std::string> names;
  for (uint32_t i = 0; i < series && !reader.failed(); ++i) {
    names.emplace_back(reader.Bytes(reader.Number<uint16_t>()));
    if (std::count(names.back().begin(), names.back().end(), '|') != 2) {
      return error(absl::StrCat("\"", names.back(),
                                "\" is not counterset|instance|counter"));
    }
    Series& one = trace.series_.emplace_back();
    one.first_tick = reader.Number<uint32_t>();
    const auto values = reader.Number<uint32_t>();
    for (uint32_t k = 0; k < values && !reader.failed(); ++k) {
      one.values.push_back(static_cast<uint64_t>(reader.Number<int64_t>()));
    }
  }
  if (reader.failed()) return error("the file is truncated");
  trace.Arrange(names);
  return trace;
}

void HostTrace::Arrange(const std::vector<std::string>& names) {
  struct Position {
    size_t counterset, instance, counter;
  };
  std::vector<Position> positions;
  std::vector<std::string> counterset_names;
  for (const std::string& name : names) {
    const std::vector<std::string> parts = absl::StrSplit(name, '|');
    const size_t counterset = PlaceIn(parts[0], &counterset_names);
    if (counterset == countersets_.size()) {
      countersets_.push_back(
          {.name = parts[0], .type = perflib::kPerfCounterLargeRawcount});
    }
    WorkloadCounterset& its = countersets_[counterset];
    positions.push_back({counterset, PlaceIn(parts[1], &its.instances),
                         PlaceIn(parts[2], &its.counters)});
  }
  std::vector<size_t> firsts;  // place of each counterset's first series
  for (const WorkloadCounterset& counterset : countersets_) {
    firsts.push_back(places_);
    places_ += counterset.instances.size() * counterset.counters.size();
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Position& at = positions[i];
    series_[i].place =
        firsts[at.counterset] +
        at.instance * countersets_[at.counterset].counters.size() + at.counter;
  }
}

class TraceMachine : public MachineWorkload {
 public:
  TraceMachine(const HostTrace& trace, absl::Time start)
      : trace_(trace), start_(start) {
    tick_.values.resize(trace.places_);
  }

  const std::string& name() const override { return name_; }
  const std::vector<WorkloadCounterset>& countersets() const override {
    return trace_.countersets_;
  }
  absl::Duration interval() const override { return absl::Seconds(1); }

  const WorkloadTick& Tick() override {
    const size_t tick = next_++;
    for (const HostTrace::Series& series : trace_.series_) {
      const size_t k = tick - series.first_tick;
      tick_.values[series.place] =
          tick >= series.first_tick && k < series.values.size()
              ? std::optional(series.values[k])
              : std::nullopt;
    }
    tick_.time = start_ + absl::Milliseconds(1) + trace_.ticks_[tick];
    return tick_;
  }

 private:
  const HostTrace& trace_;
  const std::string name_ = "host";
  const absl::Time start_;
  size_t next_ = 0;
  WorkloadTick tick_;
};

Workload HostTrace::MakeWorkload(absl::Time start) const {
  return {.name = absl::StrCat("the host trace: ", series_.size(), " series"),
          .machines = 1,
          .ticks = ticks_.size(),
          .start = start,
          .make_machine = [this, start](size_t) {
            return std::make_unique<TraceMachine>(*this, start);
          }};
}

}  // namespace fleetperf::bench
