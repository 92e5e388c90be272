#include "aggregator/query/explain.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator/query/expression.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/samples/walker.h"
#include "base/status_macros.h"
#include "proto/conversions.h"
#include "values/clock_check.h"
#include "values/formula_text.h"
#include "values/window.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxExplanations = 100;

struct NewestSample {
  CounterFormula formula;
  WalkedSeries series;
  std::optional<RawSample> older;
  std::optional<RawSample> newer;
  std::optional<Piece> piece;  // between them
  absl::Duration interval;
};

// Keeps the newest sample of each series at or before a time, with what lies
// before it, and the newest failures.
class NewestSink : public SeriesSink {
 public:
  NewestSink(absl::Time time, QueryMeter* meter)
      : time_(time),
        meter_(*meter),
        walker_(/*start=*/absl::InfinitePast(), /*end=*/time) {}

  absl::Status Work(size_t steps) override { return meter_.Work(steps); }

  void BeginFrame(const Frame& frame) override {
    walker_.BeginFrame(frame);
    for (size_t tick = frame.clocks->size(); tick-- > 0;) {
      const absl::Time time = perflib::TimeOf((*frame.clocks)[tick]);
      if (time > time_) continue;
      Tick& newest = ticks_[frame.query->schema->registration.name];
      const std::optional<uint32_t> failure =
          frame.FailureIn(static_cast<uint32_t>(tick));
      // One of several queries at that time may have failed.
      if (time > newest.time || (time == newest.time && failure.has_value())) {
        newest = {time, failure};
      }
      return;
    }
  }

  void Begin(const CounterFormula& formula) override {
    newest_.push_back({.formula = formula});
  }

  absl::Status Add(size_t series, const SeriesRun& run) override {
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    NewestSample& newest = newest_[series];
    newest.interval = run.interval();
    walker_.ForEachSample(newest.formula, run, 0, run.ticks(), &newest.series,
                          [&](const WalkedSample& walked) {
                            newest.older.reset();
                            if (walked.older != nullptr)
                              newest.older = *walked.older;
                            newest.newer = walked.sample;
                            newest.piece = walked.piece;
                          });
    return absl::OkStatus();
  }

  const NewestSample& Of(size_t series) const { return newest_[series]; }

  // Adds the countersets whose newest query failed.
  void AddFailures(const std::string& machine,
                   v1::ExplainValueResponse* response) const {
    for (const auto& [counterset, tick] : ticks_) {
      if (!tick.failure.has_value()) continue;
      v1::FailedQuery& failed = *response->add_failures();
      failed.set_machine(machine);
      failed.set_counterset(counterset);
      *failed.mutable_time() = fleetperf::ToProto(tick.time);
      failed.set_status(*tick.failure);
    }
  }

 private:
  struct Tick {
    absl::Time time = absl::InfinitePast();
    std::optional<uint32_t> failure;  // see Frame::Failure::status
  };

  const absl::Time time_;
  QueryMeter& meter_;
  Walker walker_;
  std::map<std::string, Tick> ticks_;  // the newest, by counterset
  std::vector<NewestSample> newest_;   // by series number
};

v1::Explanation Explain(const FoundSeries& found, const NewestSample& samples) {
  const CounterFormula& formula = found.formula;
  const RawSample& newer = *samples.newer;
  const CalculatedValue value = ValueOfSample(formula, newer, samples.piece);
  v1::Explanation explanation;
  *explanation.mutable_series() = found.series;
  explanation.set_counterset_guid(found.schema->registration.guid.ToString());
  explanation.set_counter_id(formula.counter_id);
  if (formula.uses_two_samples() && samples.older.has_value()) {
    *explanation.mutable_older() = ToProto(*samples.older);
  }
  *explanation.mutable_newer() = ToProto(newer);
  explanation.set_denominator(DenominatorText(formula));
  explanation.set_formula(FormulaText(formula));
  if (value.ok()) {
    explanation.set_arithmetic(ArithmeticText(formula, samples.older, newer));
    explanation.set_value(value.value);
  }
  explanation.set_status(ToProto(value.status));
  explanation.set_cause(ToProto(value.cause));
  return explanation;
}

}  // namespace

absl::StatusOr<v1::ExplainValueResponse> RunExplain(
    const std::string& path, std::optional<absl::Time> time,
    ReadableStore& store, const MachineNow& now_of,
    const MachineFilter& machines, const IsCancelled& is_cancelled) {
  const QueryContext context{
      .store = store, .now_of = now_of, .is_cancelled = is_cancelled};
  QueryMeter meter(context);
  const std::vector<std::string> known = store.directory().CountersetNames();
  ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      ParsePlainPaths({path}, known, CountersOf(store.directory())));
  ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, known));
  paths.LimitTo(machines);
  ASSIGN_OR_RETURN(const Selected selected,
                   paths.Select(store.directory(), is_cancelled));
  v1::ExplainValueResponse response;
  std::vector<v1::Explanation> explanations;
  PathCheck path_check(paths, {});
  for (const auto& [machine, countersets] : selected) {
    RETURN_IF_ERROR(meter.CheckCancelled());
    const absl::Time at = time.value_or(now_of(machine));
    const absl::Duration longest =
        LongestInterval(store.directory(), machine, countersets);
    NewestSink sink(at, &meter);
    ASSIGN_OR_RETURN(MachineSeries machine_series,
                     ReadSeries(store, machine, countersets,
                                at - longest * kMaxIntervalsBefore, at, &sink));
    path_check.AddInstances(machine, machine_series.instance_names);
    sink.AddFailures(machine, &response);
    for (const FoundSeries& found : machine_series.series) {
      const NewestSample& samples = sink.Of(found.number);
      if (!samples.newer.has_value() ||
          at - TimeOf(*samples.newer) > samples.interval * kMaxIntervalsApart) {
        continue;
      }
      path_check.AddSeries(machine, *found.schema, found.formula.counter_id,
                           found.instance.name, found.series.instance_index());
      explanations.push_back(Explain(found, samples));
    }
  }
  for (const absl::Status& missing :
       path_check.Missing(store.directory(), is_cancelled)) {
    if (absl::IsNotFound(missing)) return missing;
  }
  std::sort(
      explanations.begin(), explanations.end(),
      [](const auto& a, const auto& b) {
        return std::forward_as_tuple(a.series().machine(), a.series().path()) <
               std::forward_as_tuple(b.series().machine(), b.series().path());
      });
  for (v1::Explanation& explanation : explanations) {
    if (response.explanations_size() == kMaxExplanations) break;
    *response.add_explanations() = std::move(explanation);
  }
  response.set_left_out(explanations.size() -
                        static_cast<size_t>(response.explanations_size()));
  return response;
}

}  // namespace fleetperf::aggregator
