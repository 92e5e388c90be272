// The CSV format of perfmon and relog: a column per series, a row per time.

#ifndef FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_
#define FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

class PdhCsv {
 public:
  void Add(const v1::Series& series, const Value& value);

  // Returns the lines, which end with CR LF.
  std::string Text() const;

 private:
  std::vector<std::string> columns_;
  std::map<std::string, size_t> column_of_path_;
  std::map<absl::Time, std::map<size_t, double>> rows_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_
