// Keeps the server's view of certificates up to date.

#ifndef FLEETPERF_BASE_SERVER_CERTIFICATE_WATCH_H_
#define FLEETPERF_BASE_SERVER_CERTIFICATE_WATCH_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/server/client_certificates.h"
#include "base/server/rpc_server.h"
#include "base/settled.h"
#include "base/tls/certificate_renewal.h"
#include "base/tls/tls_identity.h"
#include "base/wakeup.h"

namespace fleetperf {

// The file that lists revoked certificates (base/tls/certificate_list.h).
// Thread-compatible.
class RevokedFile {
 public:
  // Gives the list to `clients`, which must outlive the object. Without a path,
  // no certificate is revoked. Errors name the file.
  static absl::StatusOr<RevokedFile> Load(const std::string& path,
                                          ClientCertificates* clients);

  // Reads the file again. Gives a list that is new, that the last call saw too
  // (settled.h), and that has no errors to the clients, and confirms one that
  // is in use. Logs each change, and once each reason why a list is not used,
  // and that new connections are refused for it (ClientCertificates).
  void Refresh();

 private:
  RevokedFile(std::string path, std::string text, ClientCertificates* clients)
      : path_(std::move(path)), text_(std::move(text)), clients_(*clients) {}

  absl::Status TryRefresh();

  std::string path_;
  Settled<std::string> text_;
  ClientCertificates& clients_;
  std::string problem_;   // the last one that was logged
  bool refuses_ = false;  // as it was logged last
};

// Every two seconds, on a thread of its own, from construction to destruction:
// looks for renewed certificates of the servers and for a new list of revoked
// ones, and closes connections whose certificates were revoked or have expired.
class CertificateWatch {
 public:
  // `server` and `clock` must outlive the object.
  CertificateWatch(std::vector<std::shared_ptr<TlsIdentity>> identities,
                   RevokedFile revoked, RpcServer* server,
                   const Clock* clock = &Clock::Real());
  ~CertificateWatch();

 private:
  void Run();

  std::vector<CertificateRenewal> renewals_;
  RevokedFile revoked_;
  RpcServer& server_;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CERTIFICATE_WATCH_H_
