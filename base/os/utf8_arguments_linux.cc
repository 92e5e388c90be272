#include "base/os/utf8_arguments.h"

namespace fleetperf {

std::vector<std::string> Utf8Arguments(int argc, char** argv) {
  return {argv, argv + argc};
}

}  // namespace fleetperf
