// An engine that receives samples by remote write, as the configuration names
// it.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_TARGET_H_
#define FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config.h"

namespace fleetperf::aggregator {

struct RemoteWriteTarget {
  std::string url;  // "https://engine.example/api/v1/write"
  // Paths of PEM files; "" for the system's authorities, and for no client
  // certificate.
  std::string authority;
  std::string certificate;
  std::string key;
  // At most one of the two is set. A path of the kind of ReadSecret.
  std::string user;
  std::string password_file;
  std::string bearer_token_file;
  absl::Duration timeout = absl::Seconds(30);  // of one request
};

// Reads the keys url, timeout, tls.authority, tls.certificate, tls.key,
// basic_auth.user, basic_auth.password_file and bearer_token_file of a section,
// which must exist, and checks them, the files included. Errors are the
// section's. If systemd passes a credential with a secret file's name, that is
// the file.
RemoteWriteTarget ReadRemoteWriteTarget(ConfigSection section);

// Returns the target's URL for messages: without its query, which may have a
// secret.
std::string DisplayUrl(const RemoteWriteTarget& target);

// Returns the value of the header Authorization; "" if the target has none.
// Reads its file, so that a file that is replaced holds from the next call.
absl::StatusOr<std::string> ReadAuthorization(const RemoteWriteTarget& target);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_TARGET_H_
