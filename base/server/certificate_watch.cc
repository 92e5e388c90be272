#include "base/server/certificate_watch.h"

#include <utility>

#include "base/log.h"
#include "base/os/input_file.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "base/tls/certificate_list.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kWatchInterval = absl::Seconds(2);

std::vector<CertificateRenewal> MakeRenewals(
    std::vector<std::shared_ptr<TlsIdentity>> identities, const Clock* clock) {
  std::vector<CertificateRenewal> renewals;
  renewals.reserve(identities.size());
  for (auto& identity : identities) {
    renewals.emplace_back(std::move(identity), clock);
  }
  return renewals;
}

}  // namespace

absl::StatusOr<RevokedFile> RevokedFile::Load(const std::string& path,
                                              ClientCertificates* clients) {
  std::string text;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(text, ReadInputFile(path));
    ASSIGN_OR_RETURN(const auto revoked, ParseCertificateList(text, path));
    clients->SetRevoked(revoked);
  }
  return RevokedFile(path, std::move(text), clients);
}

void RevokedFile::Refresh() {
  const std::string problem(TryRefresh().message());
  if (!problem.empty() && problem != problem_) {
    LogError("cannot use the list of revoked certificates: ", problem,
             "; the last good list stays in use, and new connections are "
             "refused once this has lasted ",
             FormatInOneUnit(kMaxRevocationAge));
  }
  problem_ = problem;
  const absl::Status current = clients_.CheckRevocations();
  if (refuses_ == !current.ok()) return;
  refuses_ = !current.ok();
  if (refuses_) {
    LogError(current.message(), ": ", problem);
  } else {
    LogInfo("accepting new connections again: ", path_, " can be used");
  }
}

absl::Status RevokedFile::TryRefresh() {
  if (path_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string text, ReadInputFile(path_));
  if (!text_.IsNew(text)) {
    if (text == text_.used()) clients_.ConfirmRevoked();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto revoked, ParseCertificateList(text, path_));
  clients_.SetRevoked(revoked);
  text_.Use(std::move(text));
  LogInfo(revoked.size(), " certificates are revoked by ", path_);
  return absl::OkStatus();
}

CertificateWatch::CertificateWatch(
    std::vector<std::shared_ptr<TlsIdentity>> identities, RevokedFile revoked,
    RpcServer* server, const Clock* clock)
    : renewals_(MakeRenewals(std::move(identities), clock)),
      revoked_(std::move(revoked)),
      server_(*server),
      wakeup_(clock),
      thread_([this] { Run(); }) {}

CertificateWatch::~CertificateWatch() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    wakeup_.Notify();
  }
  thread_.join();
}

void CertificateWatch::Run() {
  for (;;) {
    // First, because a certificate of ours on a filesystem that hangs delays
    // the list.
    revoked_.Refresh();
    for (CertificateRenewal& renewal : renewals_) renewal.Run();
    server_.CloseRefused();
    absl::MutexLock lock(&mutex_);
    const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_;
    };
    if (wakeup_.Await(&mutex_, kWatchInterval, stops)) return;
  }
}

}  // namespace fleetperf
