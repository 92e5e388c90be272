#include <windows.h>

#include "base/os/utf8_arguments.h"
#include "base/os/wide_windows.h"

namespace fleetperf {

std::vector<std::string> Utf8Arguments(int argc, char** argv) {
  std::vector<std::string> arguments = SplitCommandLine(GetCommandLineW());
  if (arguments.empty()) return {argv, argv + argc};
  return arguments;
}

}  // namespace fleetperf
