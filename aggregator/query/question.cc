#include "aggregator/query/question.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/query/series.h"
#include "base/status_macros.h"

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

std::vector<SeriesResult> Side::Take() {
  if (groups_.has_value()) return groups_->Take();
  points_ = 0;
  return std::exchange(results_, {});
}

size_t Side::held() const {
  return groups_.has_value() ? groups_->held() : points_;
}

Question::Question(Side side) { sides_.push_back(std::move(side)); }

Question::Question(Expression expression, Side left, Side right)
    : expression_(std::move(expression)) {
  sides_.push_back(std::move(left));
  sides_.push_back(std::move(right));
}

void Question::Add(const FoundSeries& found, const Labels& labels,
                   SeriesResult result) {
  for (Side& side : sides_) {
    if (!side.Selects(found, result)) continue;
    const bool is_last = &side == &sides_.back();
    side.Add(found, labels, is_last ? std::move(result) : SeriesResult(result));
  }
}

absl::StatusOr<std::vector<SeriesResult>> Question::Take() {
  std::vector<SeriesResult> left = sides_.front().Take();
  if (!expression_.has_value()) return left;
  const std::vector<SeriesResult> right = sides_.back().Take();
  ASSIGN_OR_RETURN(std::vector<SeriesResult> results,
                   Combine(*expression_, left, right));
  left_seen_ = left_seen_ || !left.empty();
  right_seen_ = right_seen_ || !right.empty();
  pair_seen_ = pair_seen_ || !results.empty();
  return results;
}

size_t Question::held() const {
  size_t held = 0;
  for (const Side& side : sides_) held += side.held();
  return held;
}

absl::Status Question::CheckPairs() const {
  if (pair_seen_ || !left_seen_ || !right_seen_) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("no series of ", expression_->left, " belongs to one of ",
                   expression_->right,
                   ": both must be of one machine and of instances of "
                   "one name, or one of them must name its instance"));
}

absl::StatusOr<Questions> ParseQuestions(const std::vector<std::string>& texts,
                                         const Side::Options& options,
                                         const Directory& directory) {
  const std::vector<std::string> known = directory.CountersetNames();
  std::vector<std::string> paths;
  std::vector<Expression> expressions;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(auto expression, ParseExpression(text, known));
    if (expression.has_value()) {
      expressions.push_back(*std::move(expression));
    } else {
      paths.push_back(text);
    }
  }
  Questions parsed;
  if (!paths.empty()) {
    std::optional<PathSet> selects;
    if (!expressions.empty()) {
      ASSIGN_OR_RETURN(selects, PathSet::Parse(paths, directory));
    }
    parsed.questions.emplace_back(Side(std::move(selects), options));
  }
  for (Expression& expression : expressions) {
    ASSIGN_OR_RETURN(PathSet left,
                     PathSet::Parse({expression.left}, directory));
    ASSIGN_OR_RETURN(PathSet right,
                     PathSet::Parse({expression.right}, directory));
    paths.push_back(expression.left);
    paths.push_back(expression.right);
    parsed.questions.emplace_back(std::move(expression),
                                  Side(std::move(left), options),
                                  Side(std::move(right), options));
  }
  ASSIGN_OR_RETURN(parsed.paths, PathSet::Parse(paths, directory));
  return parsed;
}

}  // namespace fleetperf::aggregator
