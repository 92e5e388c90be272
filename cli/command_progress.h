// The progress display of commands that print a result.

#ifndef FLEETPERF_CLI_COMMAND_PROGRESS_H_
#define FLEETPERF_CLI_COMMAND_PROGRESS_H_

#include <memory>
#include <string>
#include <utility>

#include "base/progress.h"
#include "cli/terminal.h"

namespace fleetperf::cli {

// The time at which a command prints its result: while it runs, or at the end.
enum class Printing { kMeanwhile, kAtEnd };

// Whether the result itself, on a terminal, shows the progress.
inline bool ResultShowsProgress(Printing printing) {
  return printing == Printing::kMeanwhile && IsTerminal();
}

// Returns null if the result itself shows the progress.
inline std::unique_ptr<Progress> MakeProgress(std::string what,
                                              Printing printing) {
  if (ResultShowsProgress(printing)) return nullptr;
  return std::make_unique<Progress>(std::move(what));
}

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_COMMAND_PROGRESS_H_
