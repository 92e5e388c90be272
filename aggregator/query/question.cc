#include "aggregator/query/question.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/query/arithmetic.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/query/series.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"

namespace fleetperf::aggregator {

Side::Side(std::optional<PathSet> paths, const Options& options)
    : paths_(std::move(paths)),
      has_windows_(options.has_windows),
      unnamed_aggregates_(options.unnamed_aggregates) {
  if (options.aggregation.has_value()) groups_.emplace(*options.aggregation);
}

bool Side::Selects(const FoundSeries& found, const SeriesResult& result) {
  if (!paths_.has_value()) return true;
  const v1::Series& series = result.series;
  if (series.machine() != machine_ || found.schema != schema_) {
    machine_ = series.machine();
    schema_ = found.schema;
    selected_ = paths_->SelectFrom(machine_, schema_);
  }
  const uint32_t counter_id = found.formula.counter_id;
  const std::string& instance = found.instance.name;
  const uint32_t index = series.instance_index();
  return selected_.has_value() &&
         selected_->Selects(counter_id, instance, index) &&
         (unnamed_aggregates_ ||
          !IsUnnamedAggregate(*selected_, counter_id, instance, index));
}

void Side::Add(const FoundSeries& found, const Labels& labels,
               SeriesResult result) {
  if (groups_.has_value()) {
    groups_->Add(found, labels, result, has_windows_);
    return;
  }
  points_ += result.points.size();
  results_.push_back(std::move(result));
}

absl::StatusOr<std::vector<SeriesResult>> Side::Take(QueryMeter* meter) {
  if (groups_.has_value()) return groups_->Take(meter);
  points_ = 0;
  return std::exchange(results_, {});
}

size_t Side::held() const {
  return groups_.has_value() ? groups_->held() : points_;
}

Question::Question(Side side) { sides_.push_back(std::move(side)); }

Question::Question(Expression expression, std::vector<Side> sides)
    : expression_(std::move(expression)),
      sides_(std::move(sides)),
      seen_(sides_.size()) {}

void Question::Add(const FoundSeries& found, const Labels& labels,
                   SeriesResult result) {
  for (Side& side : sides_) {
    if (!side.Selects(found, result)) continue;
    const bool is_last = &side == &sides_.back();
    side.Add(found, labels, is_last ? std::move(result) : SeriesResult(result));
  }
}

absl::StatusOr<std::vector<SeriesResult>> Question::Take(QueryMeter* meter) {
  if (!expression_.has_value()) return sides_.front().Take(meter);
  std::vector<std::vector<SeriesResult>> series;
  for (size_t i = 0; i < sides_.size(); ++i) {
    ASSIGN_OR_RETURN(auto taken, sides_[i].Take(meter));
    series.push_back(std::move(taken));
    if (!series.back().empty()) seen_[i] = true;
  }
  ASSIGN_OR_RETURN(std::vector<SeriesResult> results,
                   Calculate(*expression_, std::move(series), meter));
  if (!results.empty()) has_result_ = true;
  return results;
}

size_t Question::held() const {
  size_t held = 0;
  for (const Side& side : sides_) held += side.held();
  return held;
}

absl::Status Question::CheckHasResult() const {
  if (!expression_.has_value() || has_result_ ||
      std::find(seen_.begin(), seen_.end(), false) != seen_.end()) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(Excerpt(expression_->text),
                   ": the series of these paths do not belong together: they "
                   "must be of one machine, have samples in the same windows, "
                   "and be of instances of one name, unless a path names its "
                   "instance"));
}

absl::StatusOr<Questions> ParseQuestions(const std::vector<std::string>& texts,
                                         const Side::Options& options,
                                         const Directory& directory) {
  const std::vector<std::string> known = directory.CountersetNames();
  std::vector<std::string> paths;
  std::vector<Expression> expressions;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(Expression expression,
                     ParseExpression(text, known, CountersOf(directory)));
    if (expression.is_path()) {
      paths.push_back(std::move(expression.paths.front()));
    } else {
      expressions.push_back(std::move(expression));
    }
  }
  size_t operands = paths.size();
  for (const Expression& expression : expressions) {
    operands += expression.paths.size();
  }
  RETURN_IF_ERROR(CheckPathCount(operands));
  Questions parsed;
  if (!paths.empty()) {
    std::optional<PathSet> selects;
    if (!expressions.empty()) {
      ASSIGN_OR_RETURN(selects, PathSet::Parse(paths, known));
    }
    parsed.questions.emplace_back(Side(std::move(selects), options));
  }
  for (Expression& expression : expressions) {
    std::vector<Side> sides;
    for (const std::string& path : expression.paths) {
      ASSIGN_OR_RETURN(PathSet selects, PathSet::Parse({path}, known));
      sides.emplace_back(std::move(selects), options);
      paths.push_back(path);
    }
    parsed.questions.emplace_back(std::move(expression), std::move(sides));
  }
  ASSIGN_OR_RETURN(parsed.paths, PathSet::Parse(paths, known));
  return parsed;
}

}  // namespace fleetperf::aggregator
