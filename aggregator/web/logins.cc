#include "aggregator/web/logins.h"

#include <openssl/rand.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/tls/credentials.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr size_t kSecretBytes = 32;
// A longer text is no secret, and is not hashed.
constexpr size_t kMaxSecretText = 2 * kSecretBytes;

absl::StatusOr<std::string> MakeSecret() {
  unsigned char bytes[kSecretBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) {
    return absl::InternalError("OpenSSL has no random bytes");
  }
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes), sizeof bytes));
}

}  // namespace

std::optional<Identity> IdentityOf(const CertificateInfo& certificate) {
  if (certificate.role != Role::kReader &&
      certificate.role != Role::kOperator) {
    return std::nullopt;
  }
  const PeerIdentity peer = {.names = certificate.names,
                             .role = certificate.role};
  return Identity{.key = peer.Key(),
                  .subject = certificate.subject,
                  .fingerprint = certificate.fingerprint,
                  .not_after = certificate.not_after};
}

absl::StatusOr<std::string> Logins::Add(const Identity& identity,
                                        absl::Duration life, size_t max,
                                        Grants* grants) {
  const absl::Duration now = clock_.Monotonic();
  absl::erase_if(*grants,
                 [&](const auto& entry) { return entry.second.end <= now; });
  size_t count = 0;
  auto oldest = grants->end();
  for (auto entry = grants->begin(); entry != grants->end(); ++entry) {
    if (entry->second.identity.key != identity.key) continue;
    ++count;
    if (oldest == grants->end() || entry->second.end < oldest->second.end) {
      oldest = entry;
    }
  }
  if (count >= max) grants->erase(oldest);
  ASSIGN_OR_RETURN(std::string secret, MakeSecret());
  (*grants)[Sha256(secret)] = {.identity = identity, .end = now + life};
  return secret;
}

std::optional<Identity> Logins::Use(absl::string_view secret, Grants* grants) {
  if (secret.empty() || secret.size() > kMaxSecretText) return std::nullopt;
  const auto found = grants->find(Sha256(secret));
  if (found == grants->end()) return std::nullopt;
  const Grant& grant = found->second;
  if (grant.end <= clock_.Monotonic() ||
      clients_.Refuses(grant.identity.fingerprint, grant.identity.not_after)) {
    grants->erase(found);
    return std::nullopt;
  }
  return grant.identity;
}

absl::StatusOr<std::string> Logins::MakeToken(const Identity& identity) {
  absl::MutexLock lock(&mutex_);
  return Add(identity, kTokenLife, kMaxTokens, &tokens_);
}

std::optional<std::string> Logins::Redeem(absl::string_view token) {
  absl::MutexLock lock(&mutex_);
  std::optional<Identity> identity = Use(token, &tokens_);
  if (!identity.has_value()) return std::nullopt;
  tokens_.erase(Sha256(token));
  identity->not_after =
      std::min(identity->not_after, clock_.Now() + kSessionLife);
  const auto session = Add(*identity, kSessionLife, kMaxSessions, &sessions_);
  if (!session.ok()) return std::nullopt;
  return *session;
}

std::optional<Identity> Logins::Find(absl::string_view session) {
  absl::MutexLock lock(&mutex_);
  return Use(session, &sessions_);
}

}  // namespace fleetperf::aggregator::web
