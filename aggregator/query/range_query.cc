#include "aggregator/query/range_query.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/machine_answer.h"
#include "aggregator/query/ordered_work.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/question.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series.h"
#include "aggregator/query/silent_machines.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The work on the place of a result in the answer; see QueryMeter::Work.
constexpr size_t kStepsOfResult = 100;

absl::Status StepTooLong(absl::Duration step, absl::Duration range) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the step of ", absl::FormatDuration(step),
      " is longer than the range of ", absl::FormatDuration(range)));
}

absl::Status CheckRequest(const RangeRequest& request) {
  if (request.since.has_value() == request.start.has_value()) {
    return absl::InvalidArgumentError(
        "exactly one of since and start is required");
  }
  if (request.since.has_value() && *request.since <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("since must be more than 0");
  }
  if (request.step < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("step must not be negative");
  }
  if (request.step % absl::Nanoseconds(100) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "step must be a multiple of 100 ns, the resolution of samples' times");
  }
  if (request.since.has_value() && *request.since < request.step) {
    return StepTooLong(request.step, *request.since);
  }
  if (request.choice.top > 0 && request.choice.bottom > 0) {
    return absl::InvalidArgumentError(
        "top and bottom exclude each other; use two queries");
  }
  return absl::OkStatus();
}

// Rounds the start of a relative range down to a multiple of the step, so that
// repeated queries have the same windows.
absl::Time AlignDown(absl::Time time, absl::Duration step) {
  if (step == absl::ZeroDuration()) return time;
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), step);
}

class RangeQuery {
 public:
  RangeQuery(const RangeRequest& request, const QueryContext& context,
             ResultSink sink)
      : request_(request),
        context_(context),
        meter_(context),
        chooser_(request.choice, sink) {}

  absl::Status Run() {
    const Directory& directory = context_.store.directory();
    ASSIGN_OR_RETURN(
        Questions parsed,
        ParseQuestions(request_.paths,
                       {.aggregation = request_.aggregation,
                        .has_windows = request_.step > absl::ZeroDuration(),
                        .unnamed_aggregates = ShowsUnnamedAggregates()},
                       directory));
    questions_ = std::move(parsed.questions);
    parsed.paths.LimitTo(request_.machines);
    std::vector<absl::Status> missed;
    ASSIGN_OR_RETURN(
        const Selected selected,
        parsed.paths.Select(directory, &missed, context_.is_cancelled));
    if (!context_.report_missing) {
      RETURN_IF_ERROR(ReportMissing(context_, missed));
    }
    if (is_aggregating()) {
      // Only values of the same windows can be combined.
      common_now_ = CommonNow(selected, context_.now_of);
    }
    PathCheck path_check(parsed.paths, missed);
    RETURN_IF_ERROR(ReadMachines(selected, &path_check));
    if (is_over_machines()) RETURN_IF_ERROR(HandOn());
    for (const Question& question : questions_) {
      RETURN_IF_ERROR(question.CheckHasResult());
    }
    RETURN_IF_ERROR(chooser_.Finish());
    RETURN_IF_ERROR(ReportMissing(context_, missed));
    RETURN_IF_ERROR(ReportMissing(
        context_, path_check.Missing(directory, context_.is_cancelled,
                                     [&](const std::string& machine,
                                         const SelectedCounterset& counterset)
                                         -> std::optional<absl::Time> {
                                       const auto grid = GridOf(machine);
                                       if (!grid.ok()) return std::nullopt;
                                       return TickAfter(context_, machine,
                                                        counterset, grid->end);
                                     })));
    if (!has_samples_) return absl::OkStatus();
    return ReportSilent(
        context_, parsed.paths, selected, with_ticks_,
        [&](const std::string& machine) { return GridOf(machine); });
  }

 private:
  bool is_aggregating() const { return request_.aggregation.has_value(); }

  bool is_over_machines() const {
    return is_aggregating() && !request_.aggregation->by_machine;
  }

  absl::Status ReadMachines(const Selected& selected, PathCheck* path_check) {
    for (const auto& machine : selected) machines_.push_back(&machine);
    const size_t group = GroupSize();
    const auto read = [&](size_t number, bool in_turn) {
      return in_turn ? Group() : ReadAhead(number * group, group);
    };
    const auto use = [&](size_t number, Group answers) -> absl::Status {
      const size_t first = number * group;
      const size_t end = std::min(first + group, machines_.size());
      for (size_t i = first; i < end; ++i) {
        auto answer =
            answers.empty() ? ReadInTurn(i) : std::move(answers[i - first]);
        if (!answer.ok()) return answer.status();
        RETURN_IF_ERROR(Use(machines_[i]->first, &*answer, path_check));
        RETURN_IF_ERROR(ReportProgress(context_, i + 1, machines_.size()));
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(ReportProgress(context_, 0, machines_.size()));
    return OrderedWork<Group>(GroupCount(), ThreadsFor(machines_.size()), read)
        .Run(use);
  }

  // Passes on the answer of one machine.
  absl::Status Use(const std::string& machine, MachineAnswer* answer,
                   PathCheck* path_check) {
    path_check->AddInstances(machine, answer->instance_names);
    has_samples_ = has_samples_ || !answer->series.empty();
    if (answer->has_ticks) with_ticks_.insert(with_ticks_.end(), machine);
    for (const SeriesAnswer& series : answer->series) {
      const FoundSeries& found = series.found;
      path_check->AddSeries(machine, *found.schema, found.formula.counter_id,
                            found.instance.name,
                            series.result.series.instance_index());
    }
    if (path_check->found_all()) needs_instance_names_ = false;
    RETURN_IF_ERROR(Add(machine, answer));
    return is_over_machines() ? absl::OkStatus() : HandOn();
  }

  // Choices and combinations omit aggregate instances that no path names.
  bool ShowsUnnamedAggregates() const {
    return request_.unnamed_aggregates && !is_aggregating() &&
           request_.choice.is_of_all();
  }

  Evaluation HowToEvaluate() const {
    // Samples of different series have different times.
    const bool combines =
        is_aggregating() || std::any_of(questions_.begin(), questions_.end(),
                                        [](const Question& question) {
                                          return question.has_operator();
                                        });
    return {.over = request_.over,
            .only_windows = combines,
            .unnamed_aggregates = ShowsUnnamedAggregates(),
            .keeps_intervals = combines && !is_aggregating(),
            .needs_instance_names = needs_instance_names_};
  }

  // A thread is worth its cost only with several machines to read.
  size_t ThreadsFor(size_t machines) const {
    constexpr size_t kMachinesOfAThread = 8;
    return std::clamp<size_t>(machines / kMachinesOfAThread, 1,
                              context_.threads);
  }

  // Returns the number of machines that a thread reads at a time: passing each
  // of them from one thread to another would cost a lock.
  size_t GroupSize() const {
    constexpr size_t kMaxGroup = 4;
    constexpr size_t kGroupsOfAThread = 32;
    return std::clamp<size_t>(
        machines_.size() / context_.threads / kGroupsOfAThread, 1, kMaxGroup);
  }

  size_t GroupCount() const {
    return (machines_.size() + GroupSize() - 1) / GroupSize();
  }

  // Machines read ahead of their turn may together hold half of the query's
  // limit of values in memory.
  size_t MaxHeldAhead() const {
    const size_t groups =
        std::min(GroupCount(),
                 OrderedWork<Group>::MaxAhead(ThreadsFor(machines_.size())));
    return context_.limits.held / 2 / (groups * GroupSize());
  }

  // Answers of machines in order. Empty if they must be read in their turn.
  using Group = std::vector<absl::StatusOr<MachineAnswer>>;

  // Reads machines from number `first` on. Returns std::nullopt if they must
  // wait for their turn. Runs on several threads at a time.
  std::optional<Group> ReadAhead(size_t first, size_t count) {
    const size_t max_held = MaxHeldAhead();
    const size_t end = std::min(first + count, machines_.size());
    Group answers;
    answers.reserve(end - first);
    for (size_t i = first; i < end; ++i) {
      auto answer = ReadAtMost(max_held, *machines_[i]);
      if (!answer.ok()) {
        answers.push_back(answer.status());
      } else if (answer->has_value()) {
        answers.push_back(**std::move(answer));
      } else {
        return std::nullopt;
      }
    }
    return answers;
  }

  absl::StatusOr<MachineAnswer> ReadInTurn(size_t number) {
    const size_t limit = context_.limits.held;
    ASSIGN_OR_RETURN(
        auto answer,
        ReadAtMost(limit - std::min(limit, HeldSoFar()), *machines_[number]));
    if (!answer.has_value()) return meter_.TooMuchHeld();
    return *std::move(answer);
  }

  absl::Time NowOf(const std::string& machine) const {
    return common_now_.has_value() ? *common_now_ : context_.now_of(machine);
  }

  absl::StatusOr<WindowGrid> GridOf(const std::string& machine) const {
    return aggregator::GridOf(request_, context_.limits, NowOf(machine));
  }

  // Returns std::nullopt if the machine exceeds the limit.
  absl::StatusOr<std::optional<MachineAnswer>> ReadAtMost(
      size_t max_held, const Selected::value_type& selected) {
    RETURN_IF_ERROR(meter_.CheckCancelled());
    const auto& [machine, countersets] = selected;
    ASSIGN_OR_RETURN(const WindowGrid grid, GridOf(machine));
    return EvaluateMachine(context_.store, machine, countersets, grid,
                           HowToEvaluate(), max_held, &meter_);
  }

  // Passes the series of one machine to the questions.
  absl::Status Add(const std::string& machine, MachineAnswer* answer) {
    RETURN_IF_ERROR(meter_.CheckHeld(HeldSoFar() + answer->max_held));
    const bool needs_labels =
        is_aggregating() && !request_.aggregation->labels.empty();
    const Labels labels =
        needs_labels ? context_.store.directory().LabelsOf(machine) : Labels();
    for (SeriesAnswer& series : answer->series) {
      RETURN_IF_ERROR(
          meter_.Work(questions_.size() * (1 + series.result.points.size())));
      for (Question& question : questions_) {
        const bool is_last = &question == &questions_.back();
        question.Add(
            series.found, labels,
            is_last ? std::move(series.result) : SeriesResult(series.result));
      }
      RETURN_IF_ERROR(meter_.CheckHeld(HeldSoFar()));
    }
    return absl::OkStatus();
  }

  // Passes on the answer so far.
  absl::Status HandOn() {
    // By key, then in their order. Sorting millions could not be cancelled.
    std::multimap<std::string, SeriesResult> results;
    for (Question& question : questions_) {
      ASSIGN_OR_RETURN(auto taken, question.Take(&meter_));
      for (SeriesResult& result : taken) {
        RETURN_IF_ERROR(meter_.Work(kStepsOfResult));
        if (!request_.end.has_value()) {
          result.range_end = NowOf(result.series.machine());
        }
        std::string key = OrderKey(result.series);
        // Results are usually in order.
        results.emplace_hint(results.end(), std::move(key), std::move(result));
      }
    }
    for (auto& [key, result] : results) {
      RETURN_IF_ERROR(meter_.Work(kStepsOfResult));
      RETURN_IF_ERROR(chooser_.Add(std::move(result)));
    }
    return meter_.CheckHeld(HeldSoFar());
  }

  // The number of values in memory, except those of the machine being read.
  size_t HeldSoFar() const {
    size_t kept = chooser_.held();
    for (const Question& question : questions_) kept += question.held();
    return kept;
  }

  const RangeRequest& request_;
  const QueryContext& context_;
  QueryMeter meter_;
  Chooser chooser_;
  std::vector<Question> questions_;
  std::vector<const Selected::value_type*> machines_;
  std::optional<absl::Time> common_now_;
  bool has_samples_ = false;
  std::set<std::string> with_ticks_;  // machines with a tick in the range
  // Names are for paths without samples. Most paths have one on the first
  // machine.
  std::atomic<bool> needs_instance_names_ = true;
};

}  // namespace

absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request,
                                  const QueryLimits& limits, absl::Time now) {
  RETURN_IF_ERROR(CheckRequest(request));
  WindowGrid grid{.end = request.end.value_or(now), .step = request.step};
  grid.start = request.start.has_value()
                   ? *request.start
                   : AlignDown(grid.end - *request.since, request.step);
  if (grid.start >= grid.end) {
    return absl::InvalidArgumentError("the range ends before it starts");
  }
  if (grid.count() == 0) {
    return StepTooLong(request.step, grid.end - grid.start);
  }
  if (grid.count() > limits.windows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the range has ", grid.count(), " windows, more than ",
                     limits.windows, "; choose a longer step"));
  }
  return grid;
}

absl::Status RunRangeQuery(const RangeRequest& request,
                           const QueryContext& context, ResultSink sink) {
  return RangeQuery(request, context, sink).Run();
}

}  // namespace fleetperf::aggregator
