#include "base/server/client_certificates.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/units.h"
#include "base/tls/credentials.h"

namespace fleetperf {
namespace {

Pool PoolOf(ClientCertificates::Port port) {
  return port == ClientCertificates::Port::kGrpc ? Pool::kConnections
                                                 : Pool::kPageConnections;
}

std::string KeyOf(const CertificateInfo& certificate) {
  return PeerIdentity{.names = certificate.names, .role = certificate.role}
      .Key();
}

}  // namespace

void ClientCertificates::SetRevoked(
    const std::vector<ListedCertificate>& revoked) {
  absl::flat_hash_set<std::string> fingerprints;
  for (const ListedCertificate& certificate : revoked) {
    fingerprints.insert(certificate.fingerprint);
  }
  absl::MutexLock lock(&mutex_);
  revoked_ = std::move(fingerprints);
  confirmed_ = clock_.Monotonic();
}

void ClientCertificates::ConfirmRevoked() {
  absl::MutexLock lock(&mutex_);
  confirmed_ = clock_.Monotonic();
}

absl::Duration ClientCertificates::RevocationAge() const {
  return confirmed_.has_value() ? clock_.Monotonic() - *confirmed_
                                : absl::ZeroDuration();
}

absl::Duration ClientCertificates::revocation_age() const {
  absl::MutexLock lock(&mutex_);
  return RevocationAge();
}

absl::Status ClientCertificates::CheckRevocations() const {
  if (revocation_age() <= kMaxRevocationAge) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "new connections are refused, because the list of revoked certificates "
      "could not be used for ",
      FormatInOneUnit(kMaxRevocationAge),
      "; fix the file that tls.revoked names"));
}

absl::string_view ClientCertificates::WhyRefused(const std::string& fingerprint,
                                                 absl::Time not_after) const {
  if (revoked_.contains(fingerprint)) return "was revoked";
  if (not_after <= clock_.Now()) return "has expired";
  return "";
}

bool ClientCertificates::Refuses(const std::string& fingerprint,
                                 absl::Time not_after) const {
  absl::MutexLock lock(&mutex_);
  return !WhyRefused(fingerprint, not_after).empty();
}

std::optional<uint64_t> ClientCertificates::Add(
    const Peer& peer, const CertificateInfo& certificate, Port port) {
  auto share = quota_.TryTake(PoolOf(port), KeyOf(certificate));
  absl::string_view reason;
  {
    absl::MutexLock lock(&mutex_);
    reason = WhyRefused(certificate.fingerprint, certificate.not_after);
    if (reason.empty()) reason = certificate.weakness;
    if (reason.empty() && RevocationAge() > kMaxRevocationAge) {
      reason = "may be revoked: the list of tls.revoked cannot be used";
    }
    if (!reason.empty()) {
      ++counts_.refused;
    } else if (!share.ok()) {
      ++counts_.too_many;
    } else {
      connections_[++last_] = {.peer = peer,
                               .port = port,
                               .subject = certificate.subject,
                               .fingerprint = certificate.fingerprint,
                               .not_after = certificate.not_after,
                               .share = *std::move(share)};
      return last_;
    }
  }
  log_.Warn(
      absl::StrCat(certificate.fingerprint, AddressText(peer.address)),
      absl::StrCat("refused a connection from ", PeerText(peer),
                   ": its certificate \"", certificate.subject, "\" ",
                   reason.empty() ? absl::StripPrefix(share.status().message(),
                                                      "this certificate ")
                                  : reason));
  return std::nullopt;
}

void ClientCertificates::SetLimit(Port port, int64_t connections) {
  const Pool pool = PoolOf(port);
  const int64_t of_caller =
      std::clamp<int64_t>(connections / (port == Port::kGrpc ? 16 : 8), 16,
                          kDefaultLimits[static_cast<size_t>(pool)].of_caller);
  quota_.SetLimits(pool, of_caller, std::max(connections, 2 * of_caller));
}

void ClientCertificates::Remove(uint64_t connection) {
  absl::MutexLock lock(&mutex_);
  connections_.erase(connection);
}

std::vector<Peer> ClientCertificates::FindRefused() {
  std::vector<Peer> refused;
  std::vector<std::string> messages;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [number, connection] : connections_) {
      const absl::string_view reason =
          WhyRefused(connection.fingerprint, connection.not_after);
      if (reason.empty()) continue;
      if (connection.port == Port::kGrpc) refused.push_back(connection.peer);
      if (std::exchange(connection.is_reported, true)) continue;
      ++counts_.refused;
      messages.push_back(absl::StrCat(
          "ended the connection of ", PeerText(connection.peer),
          ": its certificate \"", connection.subject, "\" ", reason));
    }
  }
  for (const std::string& message : messages) log_.Warn(message, message);
  return refused;
}

void ClientCertificates::ReportFailedHandshake(const Peer& peer,
                                               absl::string_view subject,
                                               absl::string_view reason) {
  {
    absl::MutexLock lock(&mutex_);
    ++counts_.failed_handshakes;
  }
  const std::string with =
      subject.empty() ? ""
                      : absl::StrCat(" with certificate \"", subject, "\"");
  log_.Warn(absl::StrCat("handshake ", AddressText(peer.address), reason),
            absl::StrCat("the TLS handshake of ", PeerText(peer), with,
                         " failed: ", reason));
}

ClientCertificates::Counts ClientCertificates::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace fleetperf
