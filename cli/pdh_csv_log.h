// Watched values in the CSV format of perfmon, row by row.

#ifndef FLEETPERF_CLI_PDH_CSV_LOG_H_
#define FLEETPERF_CLI_PDH_CSV_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/pdh_csv.h"
#include "cli/sample_count.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// The columns are the series that are known when all stored values have
// arrived, in the order of their paths, then of machines and instances; the
// format has no place for later ones. A row is complete when each
// series has a value of it or of a later row, has ended, or is late.
// Thread-compatible.
class PdhCsvLog {
 public:
  struct Options {
    std::vector<std::string> paths;  // of the subscription
    absl::Duration step;             // between rows
    // Whether the rows begin with the oldest value, instead of with the first
    // row that all series have.
    bool with_stored = false;
    uint32_t limit = 0;  // of rows; 0: none
  };
  explicit PdhCsvLog(const Options& options)
      : options_(options), csv_(options.step) {}

  // Adds a message, and returns the lines that are complete.
  std::vector<std::string> Add(const v1::SubscribeResponse& message,
                               absl::Time now);
  // Returns the lines that are not complete.
  std::vector<std::string> Finish();

  // Whether the limit of rows is reached.
  bool is_full() const { return options_.limit > 0 && rows_ == options_.limit; }
  // The number of series that have no column.
  size_t without_column() const { return without_column_; }

 private:
  struct Column {
    v1::Series series;
    SampleTimes times;
    int64_t first_row = INT64_MAX;
    int64_t newest_row = INT64_MIN;
    bool has_ended = false;
  };

  void AddSeries(const v1::Series& series);
  bool IsAwaited(const Column& column, absl::Time now) const {
    return !column.has_ended && !column.times.IsLate(now);
  }
  std::string Header();
  // Removes the rows that not all series have. Returns false if no series is
  // awaited.
  bool FindStart(absl::Time now);
  // Moves complete rows to `lines`, up to the limit.
  void MoveRows(int64_t last, std::vector<std::string>* lines);

  const Options options_;
  PdhCsv csv_;
  std::map<uint32_t, Column> columns_;  // by the series' id
  bool has_stored_ = false;
  bool has_header_ = false;
  uint32_t rows_ = 0;  // returned
  size_t without_column_ = 0;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PDH_CSV_LOG_H_
