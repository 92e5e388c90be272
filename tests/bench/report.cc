#include "tests/bench/report.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace fleetperf::bench {

Table::Table(std::string title, std::vector<std::string> servers)
    : title_(std::move(title)), servers_(std::move(servers)) {}

Table::~Table() {
  absl::PrintF("\n%s\n%-44s", title_, "");
  for (const std::string& server : servers_) absl::PrintF("%20s", server);
  absl::PrintF("\n");
  for (const Row& row : rows_) {
    absl::PrintF("%-44s", row.what);
    for (size_t i = 0; i < row.values.size(); ++i) {
      const double value = row.values[i];
      const bool is_known = !std::isnan(value);
      absl::PrintF(
          "%11s%9s",
          is_known ? absl::StrFormat("%.*f", row.decimals, value) : "-",
          is_known && i > 0
              ? absl::StrFormat("%.2fx", value / row.values.front())
              : "");
    }
    absl::PrintF("\n");
  }
  std::fflush(stdout);
}

void Table::Add(std::string what, std::vector<double> values, int decimals) {
  rows_.push_back({std::move(what), std::move(values), decimals});
}

void Progress(absl::string_view what) {
  absl::FPrintF(
      stderr, "%s %s\n",
      absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()), what);
}

}  // namespace fleetperf::bench
