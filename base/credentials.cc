#include "base/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/units.h"

namespace fleetperf {
namespace {

struct TlsTexts {
  std::string authority;
  std::string certificate;
  std::string key;
};

absl::StatusOr<std::string> ReadPem(const std::string& path,
                                    absl::string_view kind) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (!absl::StrContains(text, "-----BEGIN ") ||
      !absl::StrContains(text, absl::StrCat(kind, "-----"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " contains no PEM ", kind,
                     "; make one with: fleetperf pki issue"));
  }
  return text;
}

absl::StatusOr<TlsTexts> ReadTexts(const TlsFiles& files) {
  TlsTexts texts;
  ASSIGN_OR_RETURN(texts.authority, ReadPem(files.authority, "CERTIFICATE"));
  ASSIGN_OR_RETURN(texts.certificate,
                   ReadPem(files.certificate, "CERTIFICATE"));
  ASSIGN_OR_RETURN(texts.key, ReadPem(files.key, "PRIVATE KEY"));
  RETURN_IF_ERROR(CheckKeyFits(texts.certificate, texts.key, files.key));
  ASSIGN_OR_RETURN(const absl::Time expiry, ExpiryOf(texts.certificate));
  if (expiry <= Clock::Real().Now()) {
    return absl::FailedPreconditionError(
        absl::StrCat(files.certificate, " expired at ", FormatUtc(expiry),
                     "; make a new one with: fleetperf pki issue"));
  }
  return texts;
}

}  // namespace

TlsFiles ReadTlsFiles(ConfigSection root) {
  TlsFiles files;
  ConfigSection tls = root.Section("tls");
  tls.RequirePath("authority", &files.authority);
  tls.RequirePath("certificate", &files.certificate);
  tls.RequirePath("key", &files.key);
  return files;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(
    const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadTexts(files));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(texts.authority);
  options.pem_cert_chain = std::move(texts.certificate);
  options.pem_private_key = std::move(texts.key);
  return grpc::SslCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadTexts(files));
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = std::move(texts.authority);
  options.pem_key_cert_pairs.push_back(
      {std::move(texts.key), std::move(texts.certificate)});
  return grpc::SslServerCredentials(options);
}

bool PeerIdentity::HasName(absl::string_view name) const {
  for (const std::string& own : names) {
    if (absl::EqualsIgnoreCase(own, name)) return true;
  }
  return false;
}

PeerIdentity IdentityOf(const grpc::AuthContext& context) {
  PeerIdentity identity;
  for (const grpc::string_ref& name :
       context.FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    identity.names.emplace_back(name.data(), name.size());
  }
  for (const grpc::string_ref& uri :
       context.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    const absl::string_view text(uri.data(), uri.size());
    for (const Role role :
         {Role::kAgent, Role::kAggregator, Role::kReader, Role::kOperator}) {
      if (text == RoleUri(role)) identity.role = role;
    }
  }
  return identity;
}

}  // namespace fleetperf
