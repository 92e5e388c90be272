#include "driver/pmc/table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetperf::pmc {

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<int> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], static_cast<int>(row[i].size()));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, i == 0 ? "" : "  ",
                      i == 0 ? absl::StrFormat("%-*s", widths[i], row[i])
                             : absl::StrFormat("%*s", widths[i], row[i]));
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string FormatNumber(std::optional<double> number, int digits) {
  return number ? absl::StrFormat("%.*f", digits, *number) : "-";
}

std::string FormatCount(std::optional<double> count) {
  if (!count) return "-";
  if (std::abs(*count) < 1e4) return absl::StrFormat("%.0f", *count);
  if (std::abs(*count) < 1e6) return absl::StrFormat("%.1f K", *count / 1e3);
  if (std::abs(*count) < 1e9) return absl::StrFormat("%.1f M", *count / 1e6);
  return absl::StrFormat("%.3f G", *count / 1e9);
}

}  // namespace fleetperf::pmc
