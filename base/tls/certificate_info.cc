#include "base/tls/certificate_info.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/tls/openssl_objects.h"

namespace fleetperf {
namespace {

using openssl::Certificate;
using openssl::GeneralNames;
using openssl::Memory;
using TrustedStore =
    std::unique_ptr<X509_STORE, openssl::Deleter<X509_STORE_free>>;
using StoreContext =
    std::unique_ptr<X509_STORE_CTX, openssl::Deleter<X509_STORE_CTX_free>>;

constexpr absl::string_view kRoleUriPrefix = "urn:fleetperf:";

// Returns `fallback` for a time that is malformed.
absl::Time TimeOf(const ASN1_TIME* time, absl::Time fallback) {
  tm civil = {};
  return ASN1_TIME_to_tm(time, &civil)
             ? absl::FromTM(civil, absl::UTCTimeZone())
             : fallback;
}

std::string FingerprintOf(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  X509_digest(certificate, EVP_sha256(), digest, &size);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), size));
}

// Returns "10.0.0.1" or "fe80:0:0:0:0:0:0:1"; "" for any other size.
std::string AddressText(const ASN1_OCTET_STRING* address) {
  const unsigned char* const bytes = ASN1_STRING_get0_data(address);
  std::vector<std::string> parts;
  if (ASN1_STRING_length(address) == 4) {
    for (int i = 0; i < 4; ++i) parts.push_back(absl::StrCat(int{bytes[i]}));
    return absl::StrJoin(parts, ".");
  }
  if (ASN1_STRING_length(address) != 16) return "";
  for (int i = 0; i < 16; i += 2) {
    parts.push_back(absl::StrCat(absl::Hex((bytes[i] << 8) | bytes[i + 1])));
  }
  return absl::StrJoin(parts, ":");
}

// Adds the DNS names and addresses, and the role in a URI.
void AddNames(const X509* certificate, CertificateInfo* info) {
  const GeneralNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_IPADD) {
      info->addresses.push_back(AddressText(name->d.iPAddress));
    }
    if (name->type != GEN_DNS && name->type != GEN_URI) continue;
    const ASN1_IA5STRING* value = name->d.ia5;
    const std::string text(
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
        static_cast<size_t>(ASN1_STRING_length(value)));
    if (name->type == GEN_DNS) {
      info->names.push_back(text);
    } else if (const auto role = RoleOfUri(text)) {
      info->role = role;
    }
  }
}

}  // namespace

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kAgent:
      return "agent";
    case Role::kAggregator:
      return "aggregator";
    case Role::kReader:
      return "reader";
    case Role::kOperator:
      return "operator";
    case Role::kEnrolment:
      return "enrolment";
  }
  return "unknown";
}

absl::StatusOr<Role> ParseRole(absl::string_view name) {
  for (const Role role :
       {Role::kAgent, Role::kAggregator, Role::kReader, Role::kOperator}) {
    if (RoleName(role) == name) return role;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is not agent, aggregator, reader or operator"));
}

std::string RoleUri(Role role) {
  return absl::StrCat(kRoleUriPrefix, RoleName(role));
}

std::optional<Role> RoleOfUri(absl::string_view uri) {
  if (uri == RoleUri(Role::kEnrolment)) return Role::kEnrolment;
  if (!absl::ConsumePrefix(&uri, kRoleUriPrefix)) return std::nullopt;
  const auto role = ParseRole(uri);
  return role.ok() ? std::make_optional(*role) : std::nullopt;
}

absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem) {
  ASSIGN_OR_RETURN(const Certificate certificate,
                   openssl::ParseCertificate(pem));
  return DescribeCertificate(certificate.get());
}

absl::StatusOr<std::vector<CertificateInfo>> ReadCertificates(
    const std::string& pem) {
  const Memory memory = openssl::Reader(pem);
  std::vector<CertificateInfo> certificates;
  for (;;) {
    const Certificate certificate(
        PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    certificates.push_back(DescribeCertificate(certificate.get()));
  }
  const bool is_at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!is_at_end || certificates.empty()) {
    return openssl::Error("read a certificate");
  }
  ERR_clear_error();
  return certificates;
}

CertificateInfo DescribeCertificate(X509* certificate) {
  CertificateInfo info;
  char subject[ub_common_name + 1] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                            subject, sizeof subject);
  info.subject = subject;
  info.not_before =
      TimeOf(X509_get0_notBefore(certificate), absl::InfiniteFuture());
  info.not_after =
      TimeOf(X509_get0_notAfter(certificate), absl::InfinitePast());
  info.fingerprint = FingerprintOf(certificate);
  info.is_authority = X509_check_ca(certificate) != 0;
  info.weakness = openssl::WeaknessOf(X509_get0_pubkey(certificate));
  AddNames(certificate, &info);
  return info;
}

absl::Status CheckServerChain(const std::string& chain,
                              const std::string& authority) {
  const Memory memory = openssl::Reader(chain);
  Certificate server;
  const TrustedStore trusted(X509_STORE_new());
  bool has_authority = false;
  for (;;) {
    Certificate next(
        PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    if (FingerprintOf(next.get()) == authority) {
      has_authority = X509_STORE_add_cert(trusted.get(), next.get()) == 1;
    }
    if (server == nullptr) server = std::move(next);
  }
  ERR_clear_error();
  if (!has_authority) {
    return absl::PermissionDeniedError("the server is of another authority");
  }
  // The server is the first one, and sends the authority for its fingerprint.
  RETURN_IF_ERROR(CheckKeyStrength(chain, "the server's certificate"));
  const StoreContext context(X509_STORE_CTX_new());
  if (!X509_STORE_CTX_init(context.get(), trusted.get(), server.get(),
                           nullptr) ||
      !X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER)) {
    return openssl::Error("check a certificate");
  }
  if (X509_verify_cert(context.get()) != 1) {
    return absl::PermissionDeniedError(
        absl::StrCat("the server's certificate is not valid: ",
                     X509_verify_cert_error_string(
                         X509_STORE_CTX_get_error(context.get()))));
  }
  return absl::OkStatus();
}

absl::Status CheckEnrolmentServer(const std::string& chain,
                                  const std::string& authority) {
  RETURN_IF_ERROR(CheckServerChain(chain, authority));
  ASSIGN_OR_RETURN(const CertificateInfo server, ReadCertificate(chain));
  if (server.role == Role::kEnrolment) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the server \"", server.subject,
      "\" is not fleetperf pki serve of this version, so it gets no token; "
      "check the address, and update fleetperf where the authority is"));
}

absl::Status CheckKeyStrength(const std::string& pem, absl::string_view file) {
  const auto certificates = ReadCertificates(pem);
  if (!certificates.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", certificates.status().message()));
  }
  for (const CertificateInfo& certificate : *certificates) {
    if (certificate.weakness.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(file, " ", certificate.weakness));
  }
  return absl::OkStatus();
}

absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name) {
  const auto parsed_certificate = openssl::ParseCertificate(certificate);
  if (!parsed_certificate.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate beside ", key_name, ": ",
                     parsed_certificate.status().message()));
  }
  const auto parsed_key = openssl::ParseKey(key);
  if (!parsed_key.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key_name, ": ", parsed_key.status().message()));
  }
  if (X509_check_private_key(parsed_certificate->get(), parsed_key->get()) !=
      1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat(key_name, " is not the key of the certificate beside it"));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf
