// calc: raw samples on standard input, calculated values on standard output.

#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/cli/calc_line.h"
#include "aggregator/cli/commands.h"
#include "aggregator/formula/calculate.h"
#include "base/printable.h"

namespace fleetperf::cli {
namespace {

using aggregator::CalculatedValue;
using aggregator::PrintedSample;

class Calculator {
 public:
  explicit Calculator(const CalcFlags& flags) : flags_(flags) {}

  // Prints the value of a line.
  absl::Status Use(absl::string_view text) {
    // The header of a block, as decode prints it.
    if (absl::StrContains(text, "\"total_size\":")) return absl::OkStatus();
    auto line = ParseCalcLine(text, flags_.type);
    if (!line.ok()) return line.status();
    if (!line->has_value) {
      previous_.erase(line->series);
      Print(line->origin, CalculatedValue::Gap(GapCause::kNoValue));
      return absl::OkStatus();
    }
    if (!line->series.empty()) TakeOlder(&*line);
    if (!line->is_stored) {
      const std::string defect = aggregator::DefectOf(line->counter);
      if (!defect.empty()) return absl::InvalidArgumentError(defect);
    }
    line->counter.wraps = flags_.wrap32;
    Print(line->origin, aggregator::Calculate(line->counter));
    return absl::OkStatus();
  }

 private:
  struct Previous {
    std::string life;
    PrintedSample sample;
  };

  // Sets the older sample and remembers the newer one. No formula spans two
  // lives.
  void TakeOlder(CalcLine* line) {
    const auto previous = previous_.find(line->series);
    if (previous != previous_.end() && previous->second.life == line->life) {
      line->counter.older = previous->second.sample;
    }
    previous_[line->series] = {line->life, line->counter.newer};
  }

  static void Print(absl::string_view origin, const CalculatedValue& value) {
    const auto status = aggregator::StatusName(value.status);
    PutLine(value.ok()
                ? absl::StrFormat("{%s\"status\":\"%s\",\"value\":%.17g}",
                                  origin, status, value.value)
                : absl::StrFormat("{%s\"status\":\"%s\"}", origin, status));
  }

  const CalcFlags flags_;
  std::map<std::string, Previous> previous_;  // by series
};

}  // namespace

absl::Status Calc(const CalcFlags& flags) {
  Calculator calculator(flags);
  std::string line;
  uint64_t number = 0;
  bool wrong = false;
  while (std::getline(std::cin, line) && !HasOutputFailed()) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const absl::Status used = calculator.Use(line);
    if (used.ok()) continue;
    wrong = true;
    std::fflush(stdout);
    std::fprintf(stderr, "fleetperf: standard input:%llu: %s\n",
                 static_cast<unsigned long long>(number),
                 Printable(used.message()).c_str());
  }
  return wrong ? AlreadyReported() : absl::OkStatus();
}

}  // namespace fleetperf::cli
