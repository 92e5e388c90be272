// The machine names in the agent's certificate.

#ifndef FLEETPERF_AGENT_CERTIFICATE_NAMES_H_
#define FLEETPERF_AGENT_CERTIFICATE_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace fleetperf::agent {

// The machines that the agent may report: the names in its certificate.
class CertificateNames {
 public:
  // `own` is the agent's name, `names` are those in its certificate.
  CertificateNames(std::string own, std::vector<std::string> names)
      : own_(std::move(own)), names_(std::move(names)) {}

  const std::vector<std::string>& all() const { return names_; }

  // Returns PermissionDenied if the certificate does not name `machine`. The
  // message includes the command that issues a certificate with that name
  // added. If no certificate can have the name, it says how to change that.
  absl::Status Check(const std::string& machine) const;

 private:
  std::string own_;
  std::vector<std::string> names_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CERTIFICATE_NAMES_H_
