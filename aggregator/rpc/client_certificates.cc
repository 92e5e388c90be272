#include "aggregator/rpc/client_certificates.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {

void ClientCertificates::SetRevoked(
    const std::vector<ListedCertificate>& revoked) {
  absl::flat_hash_set<std::string> fingerprints;
  for (const ListedCertificate& certificate : revoked) {
    fingerprints.insert(certificate.fingerprint);
  }
  absl::MutexLock lock(&mutex_);
  revoked_ = std::move(fingerprints);
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
  absl::string_view reason;
  {
    absl::MutexLock lock(&mutex_);
    reason = WhyRefused(certificate.fingerprint, certificate.not_after);
    if (reason.empty()) {
      connections_[++last_] = {.peer = peer,
                               .port = port,
                               .subject = certificate.subject,
                               .fingerprint = certificate.fingerprint,
                               .not_after = certificate.not_after};
      return last_;
    }
    ++counts_.refused;
  }
  log_.Warn(
      absl::StrCat(certificate.fingerprint, AddressText(peer.address)),
      absl::StrCat("refused a connection from ", PeerText(peer),
                   ": its certificate \"", certificate.subject, "\" ", reason));
  return std::nullopt;
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

}  // namespace fleetperf::aggregator
