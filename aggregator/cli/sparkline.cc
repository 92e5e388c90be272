#include "aggregator/cli/sparkline.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kHeights = 8;

struct Marks {
  absl::string_view gap;
  absl::string_view bars[kHeights];
};

constexpr Marks kUnicode = {"·", {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}};
constexpr Marks kAscii = {"?", {"_", ".", "-", "=", "+", "*", "%", "@"}};

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

std::string Sparkline(const std::vector<std::optional<double>>& values,
                      size_t cells, Characters characters) {
  const Marks& marks = characters == Characters::kUnicode ? kUnicode : kAscii;
  double low = 0;
  double high = -std::numeric_limits<double>::infinity();
  for (const Cell& value : values) {
    if (!value.has_value()) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  std::string line;
  for (const Cell& cell : Downsampled(values, cells)) {
    if (!cell.has_value()) {
      absl::StrAppend(&line, marks.gap);
      continue;
    }
    const double part = high > low ? (*cell - low) / (high - low) : 0;
    const auto height = static_cast<size_t>(part * (kHeights - 1) + 0.5);
    absl::StrAppend(&line, marks.bars[height]);
  }
  return line;
}

}  // namespace fleetperf::cli
