// The account that a service runs as, and the rights that setup gives it.

#ifndef FLEETPERF_BASE_OS_SERVICE_ACCOUNT_WINDOWS_H_
#define FLEETPERF_BASE_OS_SERVICE_ACCOUNT_WINDOWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

struct ServiceAccount {
  std::vector<unsigned char> sid;
  bool is_virtual = true;  // the service's own, not a gMSA or a user

  // PSID
  void* psid() { return sid.data(); }
};

// Finds the account by its name in the configuration of `service`: empty or
// "NT SERVICE\..." for the virtual account, which exists even before the
// service does; otherwise "DOMAIN\name$" or ".\name". Without case.
absl::StatusOr<ServiceAccount> FindServiceAccount(absl::string_view service,
                                                  const std::string& name);

// What setup has to do for an account.
struct AccountSteps {
  // Windows gives virtual accounts the right to log on as a service.
  bool grant_service_logon;
  // The next step if the account cannot join the group that may read counters.
  // May be empty.
  absl::string_view join_advice;
};
AccountSteps StepsFor(bool is_virtual, bool is_domain_controller);

// Gives the account its rights: those of StepsFor, and the membership in
// Performance Monitor Users. Returns the steps that failed.
std::vector<absl::Status> PrepareServiceAccount(ServiceAccount* account);

// Ends the membership in Performance Monitor Users. A no-op for other accounts.
absl::Status RevokeCounterRights(ServiceAccount* account);

// Returns "S-1-5-80-...". Windows derives the identifier from the service's
// name (here ASCII), so it is known before the service exists. The five numbers
// are the SHA-1 of the upper-case name in UTF-16.
std::string ServiceSid(absl::string_view service);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_SERVICE_ACCOUNT_WINDOWS_H_
