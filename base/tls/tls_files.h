// The names of the files of a certificate.

#ifndef FLEETPERF_BASE_TLS_TLS_FILES_H_
#define FLEETPERF_BASE_TLS_TLS_FILES_H_

#include <string>

namespace fleetperf {

// Paths of PEM files.
struct TlsFiles {
  std::string authority;  // one or several certificates
  std::string certificate;
  std::string key;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_TLS_FILES_H_
