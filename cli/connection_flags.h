// The flags that name the aggregator and the user's certificate.

#ifndef FLEETPERF_CLI_CONNECTION_FLAGS_H_
#define FLEETPERF_CLI_CONNECTION_FLAGS_H_

#include <string>

#include "base/tls/tls_files.h"

namespace fleetperf::cli {

// As typed; empty if not given.
struct ConnectionFlags {
  std::string config;
  std::string aggregator;
  TlsFiles tls;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CONNECTION_FLAGS_H_
