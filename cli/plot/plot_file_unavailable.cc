// For builds without Cairo: Windows.

#include "cli/plot/plot_file.h"

namespace fleetperf::cli {

absl::Status CheckPlotFile(const std::string&) {
  return absl::UnimplementedError(
      "--output: fleetperf draws files on Linux only; leave out --output to "
      "draw in the terminal, or export the values: fleetperf query --format "
      "csv");
}

absl::Status WritePlotFile(const Chart&, const std::string& path) {
  return CheckPlotFile(path);
}

}  // namespace fleetperf::cli
