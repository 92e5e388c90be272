#include "tests/bench/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

constexpr double kMiB = 1 << 20;
// The largest permitted relative difference between values: fleetperf's clocks
// have a resolution of 100 ns, those of the others 1 ms.
constexpr double kTolerance = 1e-3;

std::vector<std::string> NamesOf(const std::vector<Result>& results) {
  std::vector<std::string> names;
  for (const Result& result : results) names.push_back(result.server);
  return names;
}

// Returns a row of a table: `value` of each result.
std::vector<double> ForEach(const std::vector<Result>& results,
                            const std::function<double(const Result&)>& value) {
  std::vector<double> values;
  for (const Result& result : results) values.push_back(value(result));
  return values;
}

// Returns the largest relative difference. Internal if the answers differ in
// the number of values or in their machines, or by more than kTolerance.
absl::StatusOr<double> Compare(const Answer& first, const Answer& other) {
  if (first.values.empty() || first.values.size() != other.values.size()) {
    return absl::InternalError(absl::StrCat(first.values.size(), " and ",
                                            other.values.size(), " values"));
  }
  if (first.machines != other.machines) {
    return absl::InternalError("the machines or their order differ");
  }
  double difference = 0;
  for (size_t i = 0; i < first.values.size(); ++i) {
    difference =
        std::max(difference, std::abs(first.values[i] - other.values[i]) /
                                 std::abs(first.values[i]));
  }
  if (difference > kTolerance) {
    return absl::InternalError(absl::StrCat("values differ by ", difference));
  }
  return difference;
}

}  // namespace

void PrintIngest(const std::string& title, const std::vector<Result>& results) {
  Table table(absl::StrCat(title, ", ", results[0].ingest.samples, " samples"),
              NamesOf(results));
  const auto add_nanoseconds = [&](const char* what, auto duration) {
    table.Add(
        what,
        ForEach(results,
                [&](const Result& result) {
                  return absl::ToDoubleNanoseconds(duration(result.ingest)) /
                         static_cast<double>(result.ingest.samples);
                }),
        1);
  };
  const auto add_bytes = [&](const char* what, auto bytes) {
    table.Add(what,
              ForEach(results,
                      [&](const Result& result) {
                        return static_cast<double>(bytes(result.disk)) /
                               static_cast<double>(result.ingest.samples);
                      }),
              3);
  };
  add_nanoseconds("CPU until acknowledged, ns a sample",
                  [](const IngestCost& cost) { return cost.acknowledged; });
  add_nanoseconds("CPU until merged, ns a sample", [](const IngestCost& cost) {
    return cost.acknowledged + cost.settled;
  });
  table.Add("time until acknowledged, s",
            ForEach(results,
                    [](const Result& result) {
                      return absl::ToDoubleSeconds(result.ingest.wall);
                    }),
            2);
  table.Add("peak memory, MiB",
            ForEach(results,
                    [](const Result& result) {
                      return static_cast<double>(result.ingest.peak_memory) /
                             kMiB;
                    }),
            0);
  add_bytes("data, bytes a sample",
            [](const DiskUse& disk) { return disk.data; });
  add_bytes("index, bytes a sample",
            [](const DiskUse& disk) { return disk.index; });
  add_bytes("both, bytes a sample",
            [](const DiskUse& disk) { return disk.data + disk.index; });
  add_bytes("both, before RocksDB's compaction", [](const DiskUse& disk) {
    return disk.before_compaction.has_value()
               ? static_cast<double>(*disk.before_compaction)
               : std::nan("");
  });
}

void PrintQueries(const std::vector<Result>& results) {
  for (size_t i = 0; i < std::size(kQuestions); ++i) {
    Table table(NameOf(kQuestions[i]), NamesOf(results));
    const auto add = [&](const char* what, auto duration) {
      table.Add(what,
                ForEach(results,
                        [&](const Result& result) {
                          return absl::ToDoubleMilliseconds(
                              duration(result.queries[i]));
                        }),
                2);
    };
    add("median, ms", [](const QueryCost& cost) { return cost.median; });
    add("p99, ms", [](const QueryCost& cost) { return cost.p99; });
    add("server's CPU, ms", [](const QueryCost& cost) { return cost.cpu; });
    table.Add("fleetperf query, from start to end, ms",
              ForEach(results,
                      [&](const Result& result) {
                        const auto& command = result.queries[i].command;
                        return command.has_value()
                                   ? absl::ToDoubleMilliseconds(*command)
                                   : std::nan("");
                      }),
              1);
  }
  Table table("after these queries", NamesOf(results));
  table.Add("peak memory, MiB",
            ForEach(results,
                    [](const Result& result) {
                      return static_cast<double>(result.peak_memory) / kMiB;
                    }),
            0);
}

absl::Status CompareAnswers(const std::vector<Result>& results) {
  absl::PrintF("\n");
  for (size_t i = 0; i < std::size(kQuestions); ++i) {
    const Answer& first = results[0].queries[i].answer;
    for (size_t other = 1; other < results.size(); ++other) {
      const std::string what =
          absl::StrCat(NameOf(kQuestions[i]), ", ", results[0].server, " and ",
                       results[other].server);
      const auto difference = Compare(first, results[other].queries[i].answer);
      if (!difference.ok()) {
        return absl::InternalError(absl::StrCat(
            what, " do not agree: ", difference.status().message()));
      }
      absl::PrintF(
          "%s: %d values, which differ by at most %.1g of their size\n", what,
          first.values.size(), *difference);
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::bench
