// What a range query asks for: the series of paths, or an expression of two.

#ifndef FLEETPERF_AGGREGATOR_QUERY_QUESTION_H_
#define FLEETPERF_AGGREGATOR_QUERY_QUESTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "aggregator/samples/directory.h"

namespace fleetperf::aggregator {

// The series of a path, or of several, combined if that is asked for.
// Thread-compatible.
class Side {
 public:
  // Nothing: takes what comes.
  Side(std::optional<PathSet> paths,
       const std::optional<Aggregation>& aggregation, bool has_windows);

  // Whether it selects a series; `result` is what that comes to.
  bool Selects(const FoundSeries& found, const SeriesResult& result);
  void Add(const FoundSeries& found, const Labels& labels, SeriesResult result);

  // All since the last call.
  std::vector<SeriesResult> Take();

  // How many values it holds.
  size_t held() const;

 private:
  const std::optional<PathSet> paths_;
  const bool has_windows_;
  std::optional<GroupedSeries> groups_;
  std::vector<SeriesResult> results_;
  size_t points_ = 0;
  // Of the counterset that the last series was of.
  std::string machine_;
  std::shared_ptr<const Schema> schema_;
  std::optional<SelectedCounterset> selected_;
};

// Takes the series of all machines and gives what was asked for.
// Thread-compatible.
class Question {
 public:
  explicit Question(Side side);
  Question(Expression expression, Side left, Side right);

  bool has_operator() const { return expression_.has_value(); }

  // If it asks for the series.
  void Add(const FoundSeries& found, const Labels& labels, SeriesResult result);

  // What came of the series since the last call, in no particular order. Errors
  // as Combine.
  absl::StatusOr<std::vector<SeriesResult>> Take();

  size_t held() const;

  // When all is taken: NotFound if both sides of an operator had series, and
  // none of one side belonged to one of the other.
  absl::Status CheckPairs() const;

 private:
  std::optional<Expression> expression_;
  std::vector<Side> sides_;  // two of an expression, else one
  bool left_seen_ = false;
  bool right_seen_ = false;
  bool pair_seen_ = false;
};

struct Questions {
  PathSet paths;  // all of them
  std::vector<Question> questions;
};

// What the paths and expressions of a request ask for. Errors as PathSet::Parse
// and ParseExpression.
absl::StatusOr<Questions> ParseQuestions(
    const std::vector<std::string>& texts,
    const std::optional<Aggregation>& aggregation, bool has_windows,
    const Directory& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_QUESTION_H_
