// Parses a process's arguments, and explains errors in them.

#ifndef FLEETPERF_BASE_PARSE_ARGUMENTS_H_
#define FLEETPERF_BASE_PARSE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fleetperf {

// Parses the arguments. Flags of a command may precede the command. If the
// process must end, returns the exit status: 0 after printing the help or the
// version, or the result of `report`, which gets the error.
std::optional<int> ParseArguments(
    CLI::App& app, int argc, char** argv,
    absl::FunctionRef<int(const std::string& error)> report);

// Adds an option whose value must be a whole number from 1 to 4294967295.
CLI::Option* AddCount(CLI::App* command, const std::string& name,
                      uint32_t* value, const std::string& help);

// Makes an option accept only the `choices`: "table|csv|json".
void AcceptOnly(CLI::Option* option, const std::string& choices);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PARSE_ARGUMENTS_H_
