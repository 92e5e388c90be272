// A command as Windows takes it: one string.

#ifndef FLEETPERF_DRIVER_PMC_COMMAND_LINE_TEXT_H_
#define FLEETPERF_DRIVER_PMC_COMMAND_LINE_TEXT_H_

#include <string>
#include <vector>

namespace fleetperf::pmc {

// Quotes arguments so that a program's C runtime parses them as they were.
// Source: Microsoft's "Parsing C command-line arguments".
std::string CommandLineText(const std::vector<std::string>& arguments);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_COMMAND_LINE_TEXT_H_
