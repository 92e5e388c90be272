#include "aggregator/store/codec/fold.h"

#include <algorithm>

#include "aggregator/store/codec/number_codec.h"
#include "base/coding.h"
#include "values/clock_check.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {
namespace {

// Longer chunks are damaged.
constexpr int64_t kMaxLength = ClockCheck::kMaxTicks;
// Of a chunk's clocks at any interval.
constexpr absl::Duration kAnyInterval = absl::Hours(24 * 365);

bool GetLength(absl::string_view* from, int64_t* length) {
  uint64_t number = 0;
  if (!GetVarint(from, &number) || number > uint64_t{kMaxLength}) return false;
  *length = static_cast<int64_t>(number);
  return true;
}

bool IsRising(absl::Span<const uint64_t> values) {
  bool falls = false;
  for (size_t i = 1; i < values.size(); ++i) {
    falls |= values[i] < values[i - 1];
  }
  return !falls;
}

}  // namespace

bool ClocksFold::IsSoundAt(absl::Duration interval) const {
  return ClockCheck(interval)
      .SoundLength({0, 0, perflib::kLinuxPerfFreq},
                   {longest, longest, perflib::kLinuxPerfFreq})
      .has_value();
}

std::optional<ClocksFold> FoldClocks(absl::Span<const perflib::Clocks> clocks) {
  if (clocks.size() < 2 || clocks[0].perf_freq != perflib::kLinuxPerfFreq) {
    return std::nullopt;
  }
  const ClockCheck check(kAnyInterval);
  ClocksFold fold;
  for (size_t i = 1; i < clocks.size(); ++i) {
    const auto length = check.SoundLength(clocks[i - 1], clocks[i]);
    if (!length.has_value()) return std::nullopt;
    fold.longest = std::max(fold.longest, *length / 100);
    fold.length += *length / 100;
    if (fold.length > kMaxLength) return std::nullopt;
  }
  const int64_t first = clocks[0].perf_time_100nsec;
  fold.second = clocks[1].perf_time_100nsec - first;
  if (__builtin_sub_overflow(clocks.back().perf_time_100nsec, first,
                             &fold.last) ||
      fold.last > kMaxLength) {
    return std::nullopt;
  }
  return fold;
}

void PutClocksFold(const std::optional<ClocksFold>& fold, std::string* to) {
  PutVarint(fold.has_value() ? 1 : 0, to);
  if (!fold.has_value()) return;
  for (const int64_t number :
       {fold->second, fold->last, fold->length, fold->longest}) {
    PutVarint(static_cast<uint64_t>(number), to);
  }
}

bool GetClocksFold(absl::string_view* from, std::optional<ClocksFold>* fold) {
  uint64_t has_fold = 0;
  if (!GetVarint(from, &has_fold) || has_fold > 1) return false;
  fold->reset();
  if (has_fold == 0) return true;
  ClocksFold& clocks = fold->emplace();
  return GetLength(from, &clocks.second) && GetLength(from, &clocks.last) &&
         GetLength(from, &clocks.length) && GetLength(from, &clocks.longest);
}

FoldKind FoldKindOf(const CollectedQuery& query, size_t column) {
  if (query.schema == nullptr || query.is_thinned()) return FoldKind::kNone;
  const perflib::CounterRegistration* const counter =
      query.schema->registration.FindCounter(query.columns[column].counter_id);
  if (counter == nullptr) return FoldKind::kNone;
  return FormulaOf(query.schema->registration, *counter).formula ==
                 perflib::Formula::kRaw
             ? FoldKind::kTotals
             : FoldKind::kGrowth;
}

std::optional<RunFold> FoldRun(FoldKind kind,
                               absl::Span<const uint64_t> values) {
  RunFold fold = {.last = values.back()};
  if (kind != FoldKind::kTotals) {
    if (!IsRising(values)) return std::nullopt;
    return fold;
  }
  const absl::Span<const uint64_t> rest = values.subspan(1);
  const auto [smallest, largest] =
      std::minmax_element(rest.begin(), rest.end());
  fold.total = {.smallest = *smallest, .largest = *largest};
  if (*largest > UINT64_MAX / rest.size()) return std::nullopt;
  for (const uint64_t value : rest) fold.total.sum += value;
  return fold;
}

std::optional<RunFold> FoldConstantRun(FoldKind kind, uint64_t value,
                                       uint64_t count) {
  if (kind == FoldKind::kTotals && value > UINT64_MAX / count) {
    return std::nullopt;
  }
  return RunFold{
      .last = value,
      .total = {.sum = value * count, .smallest = value, .largest = value}};
}

bool HasRunFold(FoldKind kind, uint64_t size) {
  // A growth takes about 3 bytes, and totals about 8.
  const uint64_t thirtieth = kind == FoldKind::kTotals ? 240 : 90;
  return kind != FoldKind::kNone && size >= thirtieth;
}

// Differences from the first value are small. All are modulo 2^64.
void PutRunFolds(FoldKind kind, absl::Span<const RunToFold> runs,
                 absl::Span<const std::optional<RunFold>> folds,
                 std::string* to) {
  std::vector<uint64_t> numbers;
  const auto put = [&](const auto& number_of) {
    numbers.clear();
    for (size_t i = 0; i < runs.size(); ++i) {
      numbers.push_back(folds[i].has_value() ? number_of(runs[i], *folds[i])
                                             : 0);
    }
    PutNumbers(numbers, to);
  };
  put([](const RunToFold&, const RunFold&) { return 1; });
  put([](const RunToFold& run, const RunFold& fold) {
    return ZigZag(fold.last - run.first);
  });
  if (kind != FoldKind::kTotals) return;
  put([](const RunToFold& run, const RunFold& fold) {
    return ZigZag(fold.total.sum - run.count * run.first);
  });
  put([](const RunToFold& run, const RunFold& fold) {
    return ZigZag(run.first - fold.total.smallest);
  });
  put([](const RunToFold& run, const RunFold& fold) {
    return ZigZag(fold.total.largest - run.first);
  });
}

bool GetRunFolds(FoldKind kind, absl::Span<const RunToFold> runs,
                 absl::string_view* from,
                 std::vector<std::optional<RunFold>>* folds) {
  std::vector<uint64_t> are_there;
  std::vector<uint64_t> lasts;
  std::vector<uint64_t> sums;
  std::vector<uint64_t> smallest;
  std::vector<uint64_t> largest;
  const auto get = [&](std::vector<uint64_t>* numbers) {
    return GetNumbers(from, runs.size(), numbers);
  };
  if (!get(&are_there) || !get(&lasts)) return false;
  const bool has_totals = kind == FoldKind::kTotals;
  if (has_totals && (!get(&sums) || !get(&smallest) || !get(&largest))) {
    return false;
  }
  folds->resize(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    if (are_there[i] == 0) continue;
    const uint64_t first = runs[i].first;
    RunFold& fold = (*folds)[i].emplace();
    fold.last = first + UnZigZag(lasts[i]);
    if (!has_totals) continue;
    fold.total = {.sum = runs[i].count * first + UnZigZag(sums[i]),
                  .smallest = first - UnZigZag(smallest[i]),
                  .largest = first + UnZigZag(largest[i])};
  }
  return true;
}

}  // namespace fleetperf::aggregator
