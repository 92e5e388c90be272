// The machines that the agent may speak for.

#ifndef FLEETPERF_AGENT_CERTIFICATE_NAMES_H_
#define FLEETPERF_AGENT_CERTIFICATE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/config.h"

namespace fleetperf::agent {

// They are the names in its certificate.
class CertificateNames {
 public:
  // Reads the certificate's file.
  static absl::StatusOr<CertificateNames> Load(const Config& config);

  const std::vector<std::string>& all() const { return names_; }

  // PermissionDenied if `machine` is not among them, with the command that
  // issues a certificate which has it, too.
  absl::Status Check(const std::string& machine) const;

 private:
  CertificateNames(std::string own, std::vector<std::string> names)
      : own_(std::move(own)), names_(std::move(names)) {}

  std::string own_;
  std::vector<std::string> names_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CERTIFICATE_NAMES_H_
