#include "aggregator/query/silent_machines.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "aggregator/query/series_reader.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// Looks for the first tick in a range. Ends the reading when it has found one.
class TickFinder : public SeriesSink {
 public:
  TickFinder(const WindowGrid& range, QueryMeter* meter)
      : range_(range), meter_(*meter) {}

  absl::Status Work(size_t steps) override {
    return found() ? absl::CancelledError("found") : meter_.Work(steps);
  }
  bool NeedsExtremes(const CounterFormula&) override { return false; }
  bool NeedsInstanceNames() override { return false; }
  void BeginFrame(const Frame& frame) override {
    if (!found()) first_ = FirstTickIn(frame, range_);
  }
  void Begin(const CounterFormula&) override {}
  absl::Status Add(size_t, const SeriesRun& run) override {
    return found() ? absl::CancelledError("found") : meter_.Read(run.ticks());
  }

  bool found() const { return first_.has_value(); }
  std::optional<absl::Time> first() const { return first_; }

 private:
  const WindowGrid range_;
  QueryMeter& meter_;
  std::optional<absl::Time> first_;
};

// Returns the time of the machine's first tick in the range, if any.
absl::StatusOr<std::optional<absl::Time>> FindTick(
    const QueryContext& context, const Selected::value_type& selected,
    const WindowGrid& range) {
  QueryMeter meter(context);
  TickFinder finder(range, &meter);
  const absl::Status read =
      ReadSeries(context.store, selected.first, selected.second, range.start,
                 range.end, &finder)
          .status();
  if (!finder.found()) RETURN_IF_ERROR(read);
  return finder.first();
}

// Returns the time by which the machine's clock is ahead of `common_now`, if
// its ticks of the range are after it for this reason.
absl::StatusOr<std::optional<absl::Duration>> Ahead(
    const QueryContext& context, const Selected::value_type& selected,
    absl::Time newest, const WindowGrid& range, absl::Time common_now) {
  // The clock of a machine that is not connected is known by its samples only.
  const absl::Time now = std::max(newest, context.now_of(selected.first));
  const absl::Duration ahead = now - common_now;
  if (ahead <= kSkewToReport) return std::nullopt;
  WindowGrid shifted = range;
  shifted.start += ahead;
  shifted.end += ahead;
  ASSIGN_OR_RETURN(const auto tick, FindTick(context, selected, shifted));
  return tick.has_value() ? std::optional(ahead) : std::nullopt;
}

// Returns the machine's clock minus `common_now`, if the clock is behind.
std::optional<absl::Duration> Behind(absl::Time now, absl::Time newest,
                                     absl::Time common_now) {
  // Of a machine that is not connected, `now` says nothing about the clock.
  constexpr absl::Duration kMaxAge = absl::Minutes(1);
  if (common_now - now <= kSkewToReport || now - newest > kMaxAge) {
    return std::nullopt;
  }
  return now - common_now;
}

}  // namespace

std::optional<absl::Time> CommonNow(const Selected& selected,
                                    const MachineNow& now_of) {
  // Ticks may wait up to five minutes at an agent.
  constexpr absl::Duration kMaxBehind = absl::Minutes(6);
  std::vector<absl::Time> nows;
  for (const auto& [machine, countersets] : selected) {
    nows.push_back(now_of(machine));
  }
  if (nows.empty()) return std::nullopt;
  std::sort(nows.begin(), nows.end());
  const absl::Time median = nows[(nows.size() - 1) / 2];
  return *std::lower_bound(nows.begin(), nows.end(), median - kMaxBehind);
}

std::optional<absl::Time> FirstTickIn(const Frame& frame,
                                      const WindowGrid& range) {
  const int64_t start = perflib::PerfTime100NSecFromTime(range.start);
  const int64_t end = perflib::PerfTime100NSecFromTime(range.end);
  const auto first = std::find_if(frame.clocks->begin(), frame.clocks->end(),
                                  [&](const perflib::Clocks& tick) {
                                    return tick.perf_time_100nsec > start &&
                                           tick.perf_time_100nsec <= end;
                                  });
  if (first == frame.clocks->end()) return std::nullopt;
  return perflib::TimeOf(*first);
}

bool HasTickIn(const Frame& frame, const WindowGrid& range) {
  return FirstTickIn(frame, range).has_value();
}

std::optional<absl::Time> TickAfter(const QueryContext& context,
                                    const std::string& machine,
                                    const SelectedCounterset& selected,
                                    absl::Time time) {
  const std::optional<absl::Time> newest =
      context.store.directory().NewestSample(machine);
  if (!newest.has_value() || *newest <= time) return std::nullopt;
  return FindTick(context, {machine, {selected}},
                  {.start = time, .end = *newest})
      .value_or(std::nullopt);
}

absl::Status ReportSilent(
    const QueryContext& context, const PathSet& paths, const Selected& selected,
    const std::set<std::string>& with_ticks,
    absl::FunctionRef<absl::StatusOr<WindowGrid>(const std::string&)>
        range_of) {
  if (!context.report_silent) return absl::OkStatus();
  std::optional<absl::Time> common_now;
  for (const auto& one : selected) {
    const std::string& machine = one.first;
    const std::optional<absl::Time> newest =
        context.store.directory().NewestSample(machine);
    if (!newest.has_value() || paths.NamesMachine(machine)) continue;
    ASSIGN_OR_RETURN(const WindowGrid range, range_of(machine));
    SilentMachine silent{.machine = machine,
                         .newest_sample = *newest,
                         .has_samples = with_ticks.contains(machine)};
    const absl::Time now = context.now_of(machine);
    const bool may_be_ahead = *newest > range.end && !silent.has_samples;
    if (may_be_ahead || now < range.end) {
      if (!common_now.has_value()) {
        common_now = CommonNow(selected, context.now_of);
      }
      if (may_be_ahead) {
        ASSIGN_OR_RETURN(silent.clock_skew,
                         Ahead(context, one, *newest, range, *common_now));
      } else {
        silent.clock_skew = Behind(now, *newest, *common_now);
      }
    }
    const bool has_stopped = !silent.has_samples && *newest <= range.start &&
                             *newest >= range.start - kMissedFor;
    if (!has_stopped && !silent.clock_skew.has_value()) continue;
    RETURN_IF_ERROR(context.report_silent(silent));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
