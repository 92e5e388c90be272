// A question of a range query: the series of paths, or an expression.

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
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "aggregator/samples/directory.h"

namespace fleetperf::aggregator {

// Collects the series of one or several paths, and combines them if requested.
// Thread-compatible.
class Side {
 public:
  struct Options {
    std::optional<Aggregation> aggregation;  // std::nullopt: does not combine
    // Whether points are those of windows (GroupedSeries::Add).
    bool has_windows = false;
    // Whether aggregate instances are selected that no path of the side names.
    bool unnamed_aggregates = true;
  };

  // `paths`: std::nullopt selects all series.
  Side(std::optional<PathSet> paths, const Options& options);

  // Whether the side selects a series, whose values are `result`.
  bool Selects(const FoundSeries& found, const SeriesResult& result);
  void Add(const FoundSeries& found, const Labels& labels, SeriesResult result);

  // Returns the series since the last call. Returns an error if the query was
  // cancelled.
  absl::StatusOr<std::vector<SeriesResult>> Take(QueryMeter* meter);

  // The number of values in memory.
  size_t held() const;

 private:
  const std::optional<PathSet> paths_;
  const bool has_windows_;
  const bool unnamed_aggregates_;
  std::optional<GroupedSeries> groups_;
  std::vector<SeriesResult> results_;
  size_t points_ = 0;
  // The machine and counterset of the last series.
  std::string machine_;
  std::shared_ptr<const Schema> schema_;
  std::optional<SelectedCounterset> selected_;
};

// Collects the series of all machines and returns the answer.
// Thread-compatible.
class Question {
 public:
  explicit Question(Side side);
  // `sides` are those of the expression's paths.
  Question(Expression expression, std::vector<Side> sides);

  bool has_operator() const { return expression_.has_value(); }

  // Adds a series if the question asks for it.
  void Add(const FoundSeries& found, const Labels& labels, SeriesResult result);

  // Returns the answer to the series since the last call, in no particular
  // order. Returns the errors of Calculate.
  absl::StatusOr<std::vector<SeriesResult>> Take(QueryMeter* meter);

  size_t held() const;

  // Must be called after all series. Returns NotFound if all paths of an
  // expression had series, but there was no result.
  absl::Status CheckHasResult() const;

 private:
  std::optional<Expression> expression_;
  std::vector<Side> sides_;  // one for each path of an expression, else one
  std::vector<bool> seen_;   // by side: whether it had series
  bool has_result_ = false;
};

struct Questions {
  PathSet paths;  // the paths of all questions
  std::vector<Question> questions;
};

// Parses the paths and expressions of a request. Returns the errors of
// PathSet::Parse and ParseExpression.
absl::StatusOr<Questions> ParseQuestions(const std::vector<std::string>& texts,
                                         const Side::Options& options,
                                         const Directory& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_QUESTION_H_
