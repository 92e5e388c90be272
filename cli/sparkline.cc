#include "cli/sparkline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kHeights = 8;

constexpr absl::string_view kGap = " ";
constexpr absl::string_view kUnicode[kHeights] = {"▁", "▂", "▃", "▄",
                                                  "▅", "▆", "▇", "█"};
constexpr absl::string_view kAscii[kHeights] = {"_", ".", "-", "=",
                                                "+", "*", "%", "@"};

// nullopt compares less than every value.
using Cell = std::optional<double>;

std::vector<Cell> Downsampled(const std::vector<Cell>& values, size_t cells) {
  if (values.size() <= cells) return values;
  std::vector<Cell> largest;
  for (size_t i = 0; i < cells; ++i) {
    const auto begin = values.begin() + i * values.size() / cells;
    const auto end = values.begin() + (i + 1) * values.size() / cells;
    largest.push_back(*std::max_element(begin, end));
  }
  return largest;
}

}  // namespace

void TrendScale::Add(const std::optional<double>& value) {
  if (!value.has_value()) return;
  low = std::min(low, *value);
  high = std::max(high, *value);
}

std::string Sparkline(const std::vector<std::optional<double>>& values,
                      size_t cells, Characters characters,
                      const TrendScale& scale) {
  const auto& bars = characters == Characters::kUnicode ? kUnicode : kAscii;
  const auto [low, high] = scale;
  std::string line;
  for (const Cell& cell : Downsampled(values, cells)) {
    if (!cell.has_value()) {
      absl::StrAppend(&line, kGap);
      continue;
    }
    const double part = high > low ? (*cell - low) / (high - low) : 0;
    const auto height = static_cast<size_t>(part * (kHeights - 1) + 0.5);
    absl::StrAppend(&line, bars[height]);
  }
  return line;
}

std::vector<std::optional<double>> OnAxis(absl::Span<const TimedValue> values,
                                          absl::Span<const TimeRange> ranges,
                                          const TimeRange& axis, size_t cells) {
  std::vector<Cell> largest(cells);
  const auto position_of = [&](absl::Time time) {
    return absl::FDivDuration(time - axis.begin, axis.length()) *
           static_cast<double>(cells);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].value.has_value()) continue;
    const double begin = std::max(0.0, position_of(ranges[i].begin));
    const double end = position_of(ranges[i].end);
    // A value belongs to the cells that have half of it, or that it fills by
    // half: times are never exactly on the border of a cell.
    const double least = std::min(end - begin, 1.0) / 2 - 1e-6;
    for (auto cell = static_cast<size_t>(begin); cell < cells; ++cell) {
      const auto start = static_cast<double>(cell);
      if (start >= end) break;
      if (std::min(end, start + 1) - std::max(begin, start) < least) continue;
      largest[cell] = std::max(largest[cell], values[i].value);
    }
  }
  return largest;
}

}  // namespace fleetperf::cli
