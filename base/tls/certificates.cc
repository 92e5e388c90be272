#include "base/tls/certificates.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/tls/openssl_objects.h"
#include "base/tls/pki_commands.h"

namespace fleetperf {
namespace {

using openssl::Certificate;
using openssl::GeneralNames;
using openssl::Memory;
using openssl::PrivateKey;
using Request = std::unique_ptr<X509_REQ, openssl::Deleter<X509_REQ_free>>;
using BigNumber = std::unique_ptr<BIGNUM, openssl::Deleter<BN_free>>;
using Extension =
    std::unique_ptr<X509_EXTENSION, openssl::Deleter<X509_EXTENSION_free>>;

constexpr int kSerialNumberBits = 127;
// Certificates are valid from an hour ago, so that machines whose clock is
// behind accept new ones.
constexpr absl::Duration kBackdate = absl::Hours(1);

std::string Contents(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<KeyPair> ToPem(const Certificate& certificate,
                              const PrivateKey& key) {
  const Memory certificate_pem(BIO_new(BIO_s_mem()));
  const Memory key_pem(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(certificate_pem.get(), certificate.get()) ||
      !PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key.get(), nullptr, nullptr,
                                     0, nullptr, nullptr)) {
    return openssl::Error("write a certificate");
  }
  return KeyPair{Contents(certificate_pem.get()), Contents(key_pem.get())};
}

bool SetSerialNumber(X509* certificate) {
  const BigNumber number(BN_new());
  return BN_rand(number.get(), kSerialNumberBits, BN_RAND_TOP_ANY,
                 BN_RAND_BOTTOM_ANY) &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

bool SetValidity(X509* certificate, absl::Time not_after) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       absl::ToTimeT(Clock::Real().Now() - kBackdate)) &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       absl::ToTimeT(not_after));
}

// Truncates names that are too long for a subject; only the alternative names
// are checked.
bool AddCommonName(X509_NAME* subject, absl::string_view name) {
  name = name.substr(0, ub_common_name);
  return X509_NAME_add_entry_by_txt(
      subject, "CN", MBSTRING_UTF8,
      reinterpret_cast<const unsigned char*>(name.data()),
      static_cast<int>(name.size()), -1, 0);
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1);
}

// Takes ownership of `value`.
bool PushName(GENERAL_NAMES* names, int type, void* value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr || value == nullptr) return false;
  GENERAL_NAME_set0_value(name, type, value);
  return sk_GENERAL_NAME_push(names, name) > 0;
}

bool PushText(GENERAL_NAMES* names, int type, const std::string& text) {
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  return value != nullptr &&
         ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) &&
         PushName(names, type, value);
}

// Builds the extension from values, because in a configuration string a comma
// would start another name.
bool AddAlternativeNames(X509* certificate, const CertificateRequest& request) {
  const GeneralNames names(GENERAL_NAMES_new());
  for (const std::string& name : request.names) {
    if (ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str())) {
      if (!PushName(names.get(), GEN_IPADD, address)) return false;
    } else if (!PushText(names.get(), GEN_DNS, name)) {
      return false;
    }
  }
  return PushText(names.get(), GEN_URI, RoleUri(request.role)) &&
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0,
                           0);
}

absl::StatusOr<Certificate> NewCertificate(const std::string& name,
                                           EVP_PKEY* key,
                                           absl::Time not_after) {
  Certificate certificate(X509_new());
  if (certificate == nullptr || !X509_set_version(certificate.get(), 2) ||
      !SetSerialNumber(certificate.get()) ||
      !SetValidity(certificate.get(), not_after) ||
      !AddCommonName(X509_get_subject_name(certificate.get()), name) ||
      !X509_set_pubkey(certificate.get(), key)) {
    return openssl::Error("make a certificate");
  }
  return certificate;
}

bool IsHostName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_') {
      return false;
    }
  }
  return true;
}

bool IsAddress(const std::string& name) {
  if (absl::StrContains(name, '\0'))
    return false;  // OpenSSL would truncate there
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str());
  ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

absl::Status CheckRequest(const CertificateRequest& request) {
  if (request.names.empty()) {
    return absl::InvalidArgumentError("a certificate needs a name");
  }
  for (const std::string& name : request.names) {
    const absl::Status allowed = CheckCertificateName(name);
    if (allowed.ok()) continue;
    return request.role == Role::kAgent
               ? absl::InvalidArgumentError(
                     absl::StrCat(allowed.message(), kRenameAgent))
               : allowed;
  }
  if (request.not_after <= Clock::Real().Now()) {
    return absl::InvalidArgumentError("the certificate would have expired");
  }
  return absl::OkStatus();
}

absl::StatusOr<Certificate> Sign(const KeyPair& authority, EVP_PKEY* key,
                                 const CertificateRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  RETURN_IF_ERROR(CheckKeyStrength(authority.certificate, "the authority"));
  if (const std::string weakness = openssl::WeaknessOf(key);
      !weakness.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the new certificate ", weakness));
  }
  ASSIGN_OR_RETURN(const PrivateKey authority_key,
                   openssl::ParseKey(authority.key));
  ASSIGN_OR_RETURN(const Certificate issuer,
                   openssl::ParseCertificate(authority.certificate));
  ASSIGN_OR_RETURN(
      Certificate certificate,
      NewCertificate(request.names.front(), key, request.not_after));
  X509* raw = certificate.get();
  const bool is_server =
      request.role == Role::kAggregator || request.role == Role::kEnrolment;
  const char* usage = is_server ? "serverAuth" : "clientAuth";
  if (!X509_set_issuer_name(raw, X509_get_subject_name(issuer.get())) ||
      !AddExtension(raw, issuer.get(), NID_basic_constraints,
                    "critical,CA:FALSE") ||
      !AddExtension(raw, issuer.get(), NID_key_usage,
                    "critical,digitalSignature") ||
      !AddExtension(raw, issuer.get(), NID_ext_key_usage, usage) ||
      !AddExtension(raw, issuer.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(raw, issuer.get(), NID_authority_key_identifier, "keyid") ||
      !AddAlternativeNames(raw, request) ||
      !X509_sign(raw, authority_key.get(), EVP_sha256())) {
    return openssl::Error("issue a certificate");
  }
  return certificate;
}

}  // namespace

absl::Status CheckCertificateName(const std::string& name) {
  if (IsHostName(name) || IsAddress(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name,
                   "\" is not allowed in a certificate: a name consists of "
                   "letters, digits, \".\", \"-\" and \"_\""));
}

absl::StatusOr<KeyPair> MakeAuthority(const std::string& name,
                                      absl::Time not_after) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return openssl::Error("make a key");
  ASSIGN_OR_RETURN(const Certificate certificate,
                   NewCertificate(name, key.get(), not_after));
  X509* raw = certificate.get();
  if (!X509_set_issuer_name(raw, X509_get_subject_name(raw)) ||
      !AddExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(raw, raw, NID_subject_key_identifier, "hash") ||
      !X509_sign(raw, key.get(), EVP_sha256())) {
    return openssl::Error("make a certificate authority");
  }
  return ToPem(certificate, key);
}

absl::StatusOr<KeyPair> IssueCertificate(const KeyPair& authority,
                                         const CertificateRequest& request) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return openssl::Error("make a key");
  ASSIGN_OR_RETURN(const Certificate certificate,
                   Sign(authority, key.get(), request));
  return ToPem(certificate, key);
}

absl::StatusOr<SigningRequest> MakeSigningRequest(const std::string& name) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  const Request request(X509_REQ_new());
  const Memory request_pem(BIO_new(BIO_s_mem()));
  const Memory key_pem(BIO_new(BIO_s_mem()));
  if (key == nullptr || request == nullptr ||
      !AddCommonName(X509_REQ_get_subject_name(request.get()), name) ||
      !X509_REQ_set_pubkey(request.get(), key.get()) ||
      !X509_REQ_sign(request.get(), key.get(), EVP_sha256()) ||
      !PEM_write_bio_X509_REQ(request_pem.get(), request.get()) ||
      !PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key.get(), nullptr, nullptr,
                                     0, nullptr, nullptr)) {
    return openssl::Error("make a signing request");
  }
  return SigningRequest{Contents(request_pem.get()), Contents(key_pem.get())};
}

absl::StatusOr<std::string> SignRequest(const KeyPair& authority,
                                        const std::string& signing_request,
                                        const CertificateRequest& request) {
  const Memory memory = openssl::Reader(signing_request);
  const Request parsed(PEM_read_bio_X509_REQ(memory.get(), nullptr,
                                             openssl::NoPassword, nullptr));
  EVP_PKEY* const key =
      parsed == nullptr ? nullptr : X509_REQ_get0_pubkey(parsed.get());
  if (key == nullptr || X509_REQ_verify(parsed.get(), key) != 1) {
    return absl::InvalidArgumentError(
        openssl::Error("read a signing request").message());
  }
  ASSIGN_OR_RETURN(const Certificate certificate,
                   Sign(authority, key, request));
  const Memory pem(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(pem.get(), certificate.get())) {
    return openssl::Error("write a certificate");
  }
  return Contents(pem.get());
}

}  // namespace fleetperf
