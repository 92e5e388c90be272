#include "base/certificates.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

constexpr absl::string_view kRoleUriPrefix = "urn:fleetperf:";
constexpr int kSerialNumberBits = 127;
// Certificates are valid from an hour ago, so that machines whose clock is
// behind accept new ones.
constexpr absl::Duration kBackdate = absl::Hours(1);

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Request = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;
using Store = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using StoreContext =
    std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;
using BigNumber = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using GeneralNames =
    std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

absl::Status OpenSslError(absl::string_view action) {
  char reason[256] = "unknown reason";
  if (const unsigned long error = ERR_get_error(); error != 0) {
    ERR_error_string_n(error, reason, sizeof reason);
  }
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("cannot ", action, ": ", reason));
}

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
    return OpenSslError("write a certificate");
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
    return OpenSslError("make a certificate");
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
    if (!IsHostName(name) && !IsAddress(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name,
                       "\" is not allowed in a certificate: a name consists of "
                       "letters, digits, \".\", \"-\" and \"_\""));
    }
  }
  if (request.not_after <= Clock::Real().Now()) {
    return absl::InvalidArgumentError("the certificate would have expired");
  }
  return absl::OkStatus();
}

// Keys are not encrypted. Without this callback, OpenSSL would prompt on the
// terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<PrivateKey> ParseKey(const std::string& pem) {
  const Memory memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PrivateKey key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return OpenSslError("read a private key");
  return key;
}

absl::StatusOr<Certificate> ParseCertificate(const std::string& pem) {
  const Memory memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(
      PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return OpenSslError("read a certificate");
  }
  return certificate;
}

absl::StatusOr<Certificate> Sign(const KeyPair& authority, EVP_PKEY* key,
                                 const CertificateRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const PrivateKey authority_key, ParseKey(authority.key));
  ASSIGN_OR_RETURN(const Certificate issuer,
                   ParseCertificate(authority.certificate));
  ASSIGN_OR_RETURN(
      Certificate certificate,
      NewCertificate(request.names.front(), key, request.not_after));
  X509* raw = certificate.get();
  // An aggregator is a client of other aggregators.
  const char* usage = request.role == Role::kAggregator
                          ? "serverAuth,clientAuth"
                          : "clientAuth";
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
    return OpenSslError("issue a certificate");
  }
  return certificate;
}

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

// Adds the DNS names, and the role in a URI.
void AddNames(const X509* certificate, CertificateInfo* info) {
  const GeneralNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
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

absl::StatusOr<KeyPair> MakeAuthority(const std::string& name,
                                      absl::Time not_after) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("make a key");
  ASSIGN_OR_RETURN(const Certificate certificate,
                   NewCertificate(name, key.get(), not_after));
  X509* raw = certificate.get();
  if (!X509_set_issuer_name(raw, X509_get_subject_name(raw)) ||
      !AddExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(raw, raw, NID_subject_key_identifier, "hash") ||
      !X509_sign(raw, key.get(), EVP_sha256())) {
    return OpenSslError("make a certificate authority");
  }
  return ToPem(certificate, key);
}

absl::StatusOr<KeyPair> IssueCertificate(const KeyPair& authority,
                                         const CertificateRequest& request) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("make a key");
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
    return OpenSslError("make a signing request");
  }
  return SigningRequest{Contents(request_pem.get()), Contents(key_pem.get())};
}

absl::StatusOr<std::string> SignRequest(const KeyPair& authority,
                                        const std::string& signing_request,
                                        const CertificateRequest& request) {
  const Memory memory(BIO_new_mem_buf(
      signing_request.data(), static_cast<int>(signing_request.size())));
  const Request parsed(
      PEM_read_bio_X509_REQ(memory.get(), nullptr, NoPassword, nullptr));
  EVP_PKEY* const key =
      parsed == nullptr ? nullptr : X509_REQ_get0_pubkey(parsed.get());
  if (key == nullptr || X509_REQ_verify(parsed.get(), key) != 1) {
    return absl::InvalidArgumentError(
        OpenSslError("read a signing request").message());
  }
  ASSIGN_OR_RETURN(const Certificate certificate,
                   Sign(authority, key, request));
  const Memory pem(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(pem.get(), certificate.get())) {
    return OpenSslError("write a certificate");
  }
  return Contents(pem.get());
}

absl::Status CheckServerChain(const std::string& chain,
                              const std::string& authority) {
  const Memory memory(
      BIO_new_mem_buf(chain.data(), static_cast<int>(chain.size())));
  Certificate server;
  const Store trusted(X509_STORE_new());
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
  const StoreContext context(X509_STORE_CTX_new());
  if (!X509_STORE_CTX_init(context.get(), trusted.get(), server.get(),
                           nullptr) ||
      !X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER)) {
    return OpenSslError("check a certificate");
  }
  if (X509_verify_cert(context.get()) != 1) {
    return absl::PermissionDeniedError(
        absl::StrCat("the server's certificate is not valid: ",
                     X509_verify_cert_error_string(
                         X509_STORE_CTX_get_error(context.get()))));
  }
  return absl::OkStatus();
}

absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name) {
  const auto parsed_certificate = ParseCertificate(certificate);
  if (!parsed_certificate.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate beside ", key_name, ": ",
                     parsed_certificate.status().message()));
  }
  const auto parsed_key = ParseKey(key);
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

absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(pem));
  return DescribeCertificate(certificate.get());
}

absl::StatusOr<std::vector<CertificateInfo>> ReadCertificates(
    const std::string& pem) {
  const Memory memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
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
    return OpenSslError("read a certificate");
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
  AddNames(certificate, &info);
  return info;
}

std::optional<Role> RoleOfUri(absl::string_view uri) {
  if (!absl::ConsumePrefix(&uri, kRoleUriPrefix)) return std::nullopt;
  const auto role = ParseRole(uri);
  return role.ok() ? std::make_optional(*role) : std::nullopt;
}

}  // namespace fleetperf
