// Which series of an answer are wanted, by their values over the whole range.

#ifndef FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_
#define FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/query/series_result.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

enum class Comparison : uint8_t {
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kEqual,
  kNotEqual,
};

struct Condition {
  Comparison comparison = Comparison::kGreater;
  double number = 0;

  bool HoldsFor(double value) const;
};

// InvalidArgument if it says not how to compare, or with no number.
absl::StatusOr<Condition> ConditionFromProto(const v1::Condition& proto);

// Of the series for which `where` holds, the first few by value. A series
// without a value is none of them.
struct Choice {
  std::optional<Condition> where;
  // At most one of these; 0: all, in the order in which they come.
  uint32_t top = 0;     // those with the largest values, largest first
  uint32_t bottom = 0;  // those with the smallest, smallest first

  bool is_of_all() const {
    return !where.has_value() && top == 0 && bottom == 0;
  }
};

// Hands on what is chosen: at once, or from Finish if all must be known before.
// Thread-compatible.
class Chooser {
 public:
  Chooser(const Choice& choice, ResultSink sink)
      : choice_(choice), sink_(sink) {}

  absl::Status Add(SeriesResult result);
  absl::Status Finish();

  // How many values it holds.
  size_t held() const { return held_; }

 private:
  bool is_ranking() const { return choice_.top > 0 || choice_.bottom > 0; }
  void KeepFirst();

  const Choice choice_;
  const ResultSink sink_;
  // At most twice as many as are wanted.
  std::vector<SeriesResult> ranked_;
  size_t held_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_CHOICE_H_
