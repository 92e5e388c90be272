// Range queries over random histories match a naive evaluation of the same
// samples.

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "aggregator/query/range_query.h"
#include "tests/aggregator/query/random_machine.h"
#include "tests/aggregator/query/reference_evaluator.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::Compaction;
using testing::kStart;
using testing::Random;
using testing::ReferenceAnswer;
using testing::ReferenceMachine;
using testing::ReferencePoint;
using testing::ReferenceRange;
using testing::ReferenceSeries;
using testing::TestStore;
using testing::WriteRandomMachine;

constexpr int kMachines = 12;  // in each store
constexpr int kQueries = 120;  // of each machine
// Of each machine and resolution. The reference takes long for long ranges.
constexpr int kLongQueries = 40;
constexpr int64_t kSecond = 10'000'000;

absl::Time ToTime(int64_t time) {
  return kStart + absl::Nanoseconds(100) * time;
}

struct RandomQuery {
  std::string counter;
  std::string instance;
  ReferenceRange range;
};

RandomQuery MakeQuery(const ReferenceMachine& machine, Random* random) {
  RandomQuery query{.counter = "*", .instance = "*"};
  const ReferenceSeries& series = random->OneOf(machine.series);
  const size_t close = series.path.find(")\\");
  if (!random->OneIn(10)) query.counter = series.path.substr(close + 2);
  if (random->OneIn(2)) {
    query.instance = series.path.substr(6, close - 6);
  }
  std::vector<int64_t> times;
  for (const auto& tick : machine.ticks) times.push_back(tick.time);
  const int64_t first = *std::min_element(times.begin(), times.end());
  const int64_t last = *std::max_element(times.begin(), times.end());
  // Half of the ranges start at samples.
  const auto any_time = [&] {
    return random->OneIn(2)
               ? random->OneOf(times)
               : random->Between(first - 20 * kSecond, last + 20 * kSecond);
  };
  ReferenceRange& range = query.range;
  range.start = random->OneIn(3) ? first - 5 * kSecond : any_time();
  range.end = random->OneIn(3) ? last : any_time();
  if (range.end < range.start) std::swap(range.start, range.end);
  range.end = std::max(range.end, range.start + kSecond / 10);
  const std::vector<int64_t> steps = {0,
                                      kSecond / 2,
                                      kSecond,
                                      2 * kSecond,
                                      5 * kSecond / 2,
                                      5 * kSecond,
                                      10 * kSecond,
                                      60 * kSecond,
                                      range.end - range.start};
  range.step = std::min(random->OneOf(steps), range.end - range.start);
  range.over = random->OneOf<Over>({Over::kFormula, Over::kFormula,
                                    Over::kAverage, Over::kMinimum,
                                    Over::kMaximum, Over::kLast, Over::kSum});
  return query;
}

bool Selects(const RandomQuery& query, const ReferenceSeries& series) {
  return (query.instance == "*" ||
          series.path.find("(" + query.instance + ")") != std::string::npos) &&
         (query.counter == "*" || series.path.ends_with("\\" + query.counter));
}

struct Expected {
  std::vector<std::string> paths;
  std::vector<ReferenceAnswer> answers;

  bool operator==(const Expected&) const = default;
};

Expected Expect(const ReferenceMachine& machine, const RandomQuery& query,
                int64_t known_from, bool forgets = true) {
  Expected expected;
  ReferenceRange range = query.range;
  range.known_from = known_from;
  range.forgets = forgets;
  for (const ReferenceSeries& series : machine.series) {
    if (!Selects(query, series)) continue;
    ReferenceAnswer answer = EvaluateReference(machine, series, range);
    if (answer.points.empty()) continue;
    expected.paths.push_back(series.path);
    expected.answers.push_back(std::move(answer));
  }
  return expected;
}

// Describes a value for comparison, without its number.
std::string ToText(int64_t time, const WindowValue& value) {
  return absl::StrFormat("%d %s %s breaks=%d coverage=%.6f presence=%.9f %g",
                         time, StatusName(value.result.status),
                         NameOf(value.result.cause), value.breaks,
                         value.coverage, value.presence, value.result.value);
}

std::string ToText(const ReferencePoint& point) {
  WindowValue value{.breaks = point.breaks,
                    .coverage = point.coverage,
                    .presence = point.presence};
  value.result = {point.value, point.status, point.cause};
  return ToText(point.time, value);
}

bool IsClose(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

bool Agree(const Point& point, const ReferencePoint& expected) {
  return point.time == ToTime(expected.time) &&
         point.value.result.status == expected.status &&
         point.value.result.cause == expected.cause &&
         point.value.breaks == expected.breaks &&
         IsClose(point.value.coverage, expected.coverage) &&
         IsClose(point.value.presence, expected.presence) &&
         IsClose(point.value.result.value, expected.value);
}

// Sound pieces have no value if their denominator did not grow. Thinned samples
// have the number of such pieces, but not their order, so the last of several
// reasons is unknown.
void ForgetWithoutValue(SeriesResult* result, ReferenceAnswer* expected) {
  const auto forget = [](double* coverage, CalculatedValue* value) {
    *coverage = 1;
    value->cause = GapCause::kNone;
    if (!value->ok()) value->status = ValueStatus::kGap;
  };
  const auto forget_expected = [](ReferencePoint* point) {
    point->coverage = 1;
    point->cause = GapCause::kNone;
    if (point->status != ValueStatus::kOk) point->status = ValueStatus::kGap;
  };
  for (Point& point : result->points) {
    forget(&point.value.coverage, &point.value.result);
  }
  forget(&result->total.coverage, &result->total.result);
  for (ReferencePoint& point : expected->points) forget_expected(&point);
  forget_expected(&expected->total);
}

void Compare(const SeriesResult& result, const ReferenceAnswer& expected) {
  ReferencePoint total = expected.total;
  EXPECT_TRUE(Agree({ToTime(total.time), result.total}, total))
      << "total: " << ToText(total.time, result.total)
      << "\nexpected: " << ToText(total);
  ASSERT_EQ(result.points.size(), expected.points.size());
  for (size_t i = 0; i < result.points.size(); ++i) {
    const Point& point = result.points[i];
    const int64_t time = (point.time - kStart) / absl::Nanoseconds(100);
    ASSERT_TRUE(Agree(point, expected.points[i]))
        << "got: " << ToText(time, point.value)
        << "\nexpected: " << ToText(expected.points[i]);
  }
}

// How the samples are stored.
struct StoreForm {
  Compaction compaction;
  uint64_t max_recent_bytes = 0;  // see OpenRocksDbStore

  friend void PrintTo(const StoreForm& form, std::ostream* out) {
    *out << "compaction " << static_cast<int>(form.compaction) << ", "
         << form.max_recent_bytes << " bytes in memory";
  }
};

// Counts the folded frames that queries read.
class FoldCounter : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    return StoreWrapper::Read(
        request,
        [&](const Frame& frame) {
          if (frame.fold.has_value() && !frame.runs.empty()) ++folds;
          return on_frame(frame);
        },
        on_loss);
  }

  int folds = 0;
};

class RangeQueryProperty : public ::testing::TestWithParam<StoreForm> {
 protected:
  // Returns whether an answer was compared. Samples long before the range may
  // or may not be read, depending on the layout; answers that depend on them
  // cannot be compared.
  bool Check(const ReferenceMachine& machine, const RandomQuery& query) {
    Expected expected = Expect(machine, query, INT64_MIN);
    for (const int64_t interval : {1, 2, 5}) {
      const int64_t known_from = query.range.start - 6 * interval * kSecond;
      if (Expect(machine, query, known_from) != expected) return false;
    }
    if (is_thinned_ &&
        Expect(machine, query, INT64_MIN, /*forgets=*/false) != expected) {
      return false;
    }
    auto results = testing::CollectRangeQuery(
        {.paths = {absl::StrCat("\\\\", machine.name, "\\Load(", query.instance,
                                ")\\", query.counter)},
         .start = ToTime(query.range.start),
         .end = ToTime(query.range.end),
         .step = absl::Nanoseconds(100) * query.range.step,
         .over = query.range.over},
        {.store = counter_,
         .now_of = [](const std::string&) { return kStart; }});
    if (absl::IsNotFound(results.status())) {
      EXPECT_TRUE(expected.paths.empty()) << results.status();
      return true;
    }
    EXPECT_OK(results);
    if (!results.ok()) return true;
    std::vector<std::string> paths;
    for (const SeriesResult& result : *results) {
      paths.push_back(result.series.path());
    }
    EXPECT_EQ(paths, expected.paths);
    if (paths != expected.paths) return true;
    for (size_t i = 0; i < paths.size(); ++i) {
      SCOPED_TRACE(paths[i]);
      // Their frequency is sometimes 0; a thinned minute keeps that of its last
      // sample.
      if (is_thinned_ && paths[i].ends_with("\\Up Time")) continue;
      if (is_thinned_ && query.range.over != Over::kFormula) {
        ForgetWithoutValue(&(*results)[i], &expected.answers[i]);
      }
      Compare((*results)[i], expected.answers[i]);
    }
    return true;
  }

  uint64_t Seed() const {
    return static_cast<uint64_t>(GetParam().compaction) +
           GetParam().max_recent_bytes;
  }

  TestStore store_{GetParam().max_recent_bytes};
  FoldCounter counter_{&*store_};
  bool is_thinned_ = false;
};

// Returns windows of whole multiples of `unit`.
RandomQuery MakeLongQuery(const ReferenceMachine& machine, int64_t unit,
                          Random* random) {
  RandomQuery query = MakeQuery(machine, random);
  const auto down = [&](int64_t time) {
    return (time + 1000 * unit) / unit * unit - 1000 * unit;
  };
  ReferenceRange& range = query.range;
  range.start = down(range.start);
  range.end = std::max(down(range.end), range.start + 2 * unit);
  range.step =
      random->OneOf<int64_t>({0, 2 * unit, 3 * unit, range.end - range.start});
  range.step = std::min(range.step, range.end - range.start);
  // The coverage of a single thinned minute is approximate, so there is no rest
  // of one.
  if (range.step > 0) range.end -= (range.end - range.start) % range.step;
  range.over = random->OneOf<Over>(
      {Over::kFormula, Over::kFormula, Over::kMinimum, Over::kMaximum});
  return query;
}

// Whether a clock is set back from after the range into it. The piece in
// between is omitted with the sample after the range, unless that sample is
// thinned.
bool ComesBack(const ReferenceMachine& machine, const ReferenceRange& range) {
  bool was_behind = false;
  for (const auto& tick : machine.ticks) {
    if (was_behind && tick.time <= range.end) return true;
    was_behind |= tick.time > range.end;
  }
  return false;
}

TEST_P(RangeQueryProperty, ThinnedSamplesYieldTheSame) {
  constexpr int64_t kMinute = 60 * kSecond;
  Random random(Seed() + 100);
  is_thinned_ = true;
  int compared = 0;
  for (int i = 0; i < kMachines; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const ReferenceMachine machine,
        WriteRandomMachine(absl::StrCat("web-", i), GetParam().compaction,
                           &random, &store_));
    for (int k = 0; k < 2 * kLongQueries; ++k) {
      if (k % kLongQueries == 0) {
        ASSERT_OK(
            store_.Thin(k == 0 ? Resolution::kMinute : Resolution::kHour));
      }
      const RandomQuery query = MakeLongQuery(
          machine, k < kLongQueries ? kMinute : 60 * kMinute, &random);
      if (ComesBack(machine, query.range)) continue;
      SCOPED_TRACE(absl::StrFormat(
          "%d, %s: %s of %s from %d to %d, step %d, over %d", k, machine.name,
          query.counter, query.instance, query.range.start, query.range.end,
          query.range.step, static_cast<int>(query.range.over)));
      if (Check(machine, query)) ++compared;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(compared, 2 * kMachines * kLongQueries * 8 / 10);
}

TEST_P(RangeQueryProperty, MatchesTheReference) {
  Random random(Seed() + 1);
  int compared = 0;
  for (int i = 0; i < kMachines; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const ReferenceMachine machine,
        WriteRandomMachine(absl::StrCat("web-", i), GetParam().compaction,
                           &random, &store_));
    for (int k = 0; k < kQueries; ++k) {
      const RandomQuery query = MakeQuery(machine, &random);
      SCOPED_TRACE(absl::StrFormat(
          "%s: %s of %s from %d to %d, step %d, over %d", machine.name,
          query.counter, query.instance, query.range.start, query.range.end,
          query.range.step, static_cast<int>(query.range.over)));
      if (Check(machine, query)) ++compared;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(compared, kMachines * kQueries * 8 / 10);
  if (GetParam().compaction != Compaction::kNever &&
      GetParam().max_recent_bytes == 0) {
    EXPECT_GT(counter_.folds, 20);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, RangeQueryProperty,
    ::testing::Values(StoreForm{Compaction::kNever},
                      StoreForm{Compaction::kInBetween},
                      StoreForm{Compaction::kAtTheEnd},
                      // All samples in memory, and some of them.
                      StoreForm{Compaction::kInBetween, 64 << 20},
                      StoreForm{Compaction::kInBetween, 16 << 10}));

}  // namespace
}  // namespace fleetperf::aggregator
