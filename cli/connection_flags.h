// The flags that name the aggregators and the user's certificate.

#ifndef FLEETPERF_CLI_CONNECTION_FLAGS_H_
#define FLEETPERF_CLI_CONNECTION_FLAGS_H_

#include <string>
#include <vector>

#include "base/tls/tls_files.h"

namespace fleetperf::cli {

// As typed; empty if not given.
struct ConnectionFlags {
  std::string config;
  std::vector<std::string> aggregators;
  TlsFiles tls;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CONNECTION_FLAGS_H_
