#include "base/tls/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/os/clock.h"
#include "base/os/input_file.h"
#include "base/os/systemd_credential.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "base/tls/pki_commands.h"

namespace fleetperf {
namespace {

constexpr absl::string_view kCertificate = "CERTIFICATE";
constexpr absl::string_view kKey = "PRIVATE KEY";

// `advice` says where to get such a file.
absl::StatusOr<std::string> ReadPem(const std::string& path,
                                    absl::string_view kind,
                                    absl::string_view advice) {
  ASSIGN_OR_RETURN(std::string text,
                   kind == kKey ? ReadSecretFile(path) : ReadInputFile(path));
  if (!absl::StrContains(text, "-----BEGIN ") ||
      !absl::StrContains(text, absl::StrCat(kind, "-----"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " contains no PEM ", kind, "; ", advice));
  }
  return text;
}

// Returns why a certificate is not valid at `now`; "" if it is. `advice` is
// that for one that has expired.
std::string WhyInvalid(const CertificateInfo& certificate, absl::Time now,
                       absl::string_view advice) {
  if (now < certificate.not_before) {
    return absl::StrCat("is not valid before ",
                        FormatUtc(certificate.not_before),
                        "; check this machine's clock");
  }
  if (now >= certificate.not_after) {
    return absl::StrCat("expired at ", FormatUtc(certificate.not_after), "; ",
                        advice);
  }
  return "";
}

// One of several authorities may have expired.
absl::Status CheckAuthority(const std::string& text, const std::string& file,
                            absl::Time now) {
  const auto authorities = ReadCertificates(text);
  if (!authorities.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", authorities.status().message()));
  }
  constexpr absl::string_view kAdvice =
      "copy a newer authority to it; to make one: fleetperf pki init --force, "
      "then issue all certificates again";
  for (const CertificateInfo& authority : *authorities) {
    if (WhyInvalid(authority, now, kAdvice).empty()) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(file, " ", WhyInvalid(authorities->front(), now, kAdvice)));
}

absl::StatusOr<TlsTexts> ReadAndCheck(const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadTlsTexts(files));
  RETURN_IF_ERROR(
      CheckTlsTexts(texts, files, std::nullopt, Clock::Real().Now()).status());
  return texts;
}

}  // namespace

TlsFiles ReadTlsFiles(ConfigSection tls) {
  TlsFiles files;
  tls.RequirePath("authority", &files.authority);
  tls.RequirePath("certificate", &files.certificate);
  tls.RequirePath("key", &files.key);
  files.key = FindCredential(files.key);
  return files;
}

absl::StatusOr<TlsTexts> ReadTlsTexts(const TlsFiles& files) {
  TlsTexts texts;
  constexpr absl::string_view kMakeOne =
      "make one with: fleetperf pki issue ROLE NAME";
  ASSIGN_OR_RETURN(
      texts.authority,
      ReadPem(files.authority, kCertificate,
              "copy the file authority.pem of fleetperf pki init to it"));
  ASSIGN_OR_RETURN(texts.certificate,
                   ReadPem(files.certificate, kCertificate, kMakeOne));
  ASSIGN_OR_RETURN(texts.key, ReadPem(files.key, kKey, kMakeOne));
  return texts;
}

absl::StatusOr<CertificateInfo> CheckTlsTexts(const TlsTexts& texts,
                                              const TlsFiles& files,
                                              std::optional<Role> role,
                                              absl::Time now) {
  RETURN_IF_ERROR(CheckKeyFits(texts.certificate, texts.key, files.key));
  RETURN_IF_ERROR(CheckAuthority(texts.authority, files.authority, now));
  RETURN_IF_ERROR(CheckKeyStrength(texts.authority, files.authority));
  RETURN_IF_ERROR(CheckKeyStrength(texts.certificate, files.certificate));
  ASSIGN_OR_RETURN(CertificateInfo certificate,
                   ReadCertificate(texts.certificate));
  const std::string advice =
      absl::StrCat("make a new one with: ", ReissueCommand(certificate));
  if (const std::string reason = WhyInvalid(certificate, now, advice);
      !reason.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(files.certificate, " ", reason));
  }
  if (role.has_value() && certificate.role != role) {
    return absl::FailedPreconditionError(absl::StrCat(
        files.certificate, " has the role ",
        certificate.role.has_value() ? RoleName(*certificate.role) : "none",
        "; make one with: ", IssueCommand(*role, {})));
  }
  return certificate;
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(TlsTexts texts) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(texts.authority);
  options.pem_cert_chain = std::move(texts.certificate);
  options.pem_private_key = std::move(texts.key);
  return grpc::SslCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(
    const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadAndCheck(files));
  return ClientCredentials(std::move(texts));
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsTexts texts, ReadAndCheck(files));
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

std::string PeerIdentity::Key() const {
  std::vector<std::string> sorted;
  for (const std::string& name : names) {
    sorted.push_back(absl::AsciiStrToLower(name));
  }
  std::sort(sorted.begin(), sorted.end());
  return Sha256(absl::StrCat(role.has_value() ? RoleName(*role) : "", "\n",
                             absl::StrJoin(sorted, "\n")));
}

PeerIdentity IdentityOf(const grpc::AuthContext& context) {
  PeerIdentity identity;
  for (const grpc::string_ref& name :
       context.FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    identity.names.emplace_back(name.data(), name.size());
  }
  for (const grpc::string_ref& uri :
       context.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    const auto role = RoleOfUri({uri.data(), uri.size()});
    if (role.has_value()) identity.role = role;
  }
  return identity;
}

std::optional<absl::Time> CertificateExpiry(const grpc::AuthContext& context) {
  const auto pem = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return std::nullopt;
  const auto certificate =
      ReadCertificate(std::string(pem.front().data(), pem.front().size()));
  if (!certificate.ok()) return std::nullopt;
  return certificate->not_after;
}

}  // namespace fleetperf
