// check: compares values with thresholds, for cron and monitoring systems.

#ifndef FLEETPERF_CLI_CHECK_H_
#define FLEETPERF_CLI_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/values.h"
#include "fleetperf/v1/values.pb.h"
#include "proto/condition.h"

namespace fleetperf::cli {

// The exit statuses of monitoring plugins.
enum class CheckState : uint8_t {
  kOk = 0,
  kWarning = 1,
  kCritical = 2,
  kUnknown = 3
};

// A condition and its text as typed.
struct Threshold {
  Condition condition;
  std::string text;
};

// The values to compare, and the result. Thread-compatible.
class CheckResult {
 public:
  struct Limits {
    std::optional<Threshold> warn;
    std::optional<Threshold> critical;
    // Samples that are older than this at the end of the time are stale.
    absl::Duration stale;
    // Whether the paths have wildcards: then instances that ended, or that have
    // one sample only, are left out if the machine has others.
    bool has_wildcards = false;
    // Only series whose value meets the condition, as in query.
    std::optional<Threshold> where = std::nullopt;
    // Of these, only this many with the largest values. 0: all. Series without
    // a value are never left out.
    uint32_t top = 0;
  };
  explicit CheckResult(const Limits& limits) : limits_(limits) {}

  // Returns InvalidArgument if a limit's unit does not suit the values.
  absl::Status Add(const v1::Series& series, const Value& value);
  // Adds a path or a machine without samples: "PATH: reason".
  void AddMissing(std::string missing) {
    missing_.push_back(std::move(missing));
  }

  // Returns the worst state: critical, unknown, warning, ok. Without a series,
  // it is unknown, unless the condition has left out all.
  CheckState state() const;

  // Returns one line in the format of monitoring plugins, with the worst series
  // and the performance data of all, or of the worst ten if there are more:
  //   FLEETPERF WARNING - \\web-1\A(b)\C is 85 %, > 80; 1 warning of 2 series |
  //   '\\web-1\A(b)\C'=85%;~:80;~:95 ...
  std::string Line() const;

 private:
  struct Item {
    v1::Series series;
    Value value;
    double rank = 0;                // RankOf
    std::optional<Condition> warn;  // in the unit of the series
    std::optional<Condition> where;
    std::optional<Condition> critical;
  };

  bool IsPassing(const Item& item) const;
  bool IsLeftOut(const Item& item) const;
  bool HasLeftOut() const;
  CheckState StateOf(const Item& item) const;
  std::vector<const Item*> Shown() const;
  std::vector<const Item*> WithPerformanceData(
      std::vector<const Item*> shown) const;
  std::string Describe(const Item& item) const;
  std::string MissingText() const;
  std::string PerformanceData(const Item& item) const;

  const Limits limits_;
  std::vector<Item> items_;
  std::vector<std::string> missing_;
};

// Whether a path, or a path of an expression, has wildcards. The operator " * "
// is none.
bool HasWildcards(const std::string& path);

// Returns "FLEETPERF OK - text". A plugin's text is one line and ends at "|".
std::string PluginLine(CheckState state, absl::string_view text);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CHECK_H_
