// An engine with the protocols of Prometheus, as the configuration names it.

#ifndef FLEETPERF_AGGREGATOR_ENGINE_ENGINE_TARGET_H_
#define FLEETPERF_AGGREGATOR_ENGINE_ENGINE_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/config/config.h"

namespace fleetperf::aggregator {

struct EngineTarget {
  std::string url;  // "https://engine.example/api/v1/write"
  // Paths of PEM files; "" for the system's authorities, and for no client
  // certificate.
  std::string authority;
  std::string certificate;
  std::string key;
  // At most one of the two is set. A path of the kind of ReadSecretFile.
  std::string user;
  std::string password_file;
  std::string bearer_token_file;
  absl::Duration timeout = absl::Seconds(30);  // of one request
};

// Reads the keys url, timeout, tls.authority, tls.certificate, tls.key,
// basic_auth.user, basic_auth.password_file and bearer_token_file of a section,
// which must exist, and checks them, the files included. Errors are the
// section's; they show `example` for a URL. If systemd passes a credential with
// a secret file's name, that is the file.
EngineTarget ReadEngineTarget(ConfigSection section, absl::string_view example);

// Returns the target's URL for messages: without its query, which may have a
// secret.
std::string DisplayUrl(const EngineTarget& target);

// Returns the value of the header Authorization; "" if the target has none.
// Reads its file, so that a file that is replaced holds from the next call.
absl::StatusOr<std::string> ReadAuthorization(const EngineTarget& target);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_ENGINE_ENGINE_TARGET_H_
