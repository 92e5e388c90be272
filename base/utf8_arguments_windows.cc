#include <windows.h>

#include "base/utf8_arguments.h"
#include "base/wide_windows.h"

namespace fleetperf {

std::vector<std::string> Utf8Arguments(int argc, char** argv) {
  std::vector<std::string> arguments = SplitCommandLine(GetCommandLineW());
  if (arguments.empty()) return {argv, argv + argc};
  return arguments;
}

}  // namespace fleetperf
