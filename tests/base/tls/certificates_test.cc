#include "base/tls/certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/support/rsa_keys.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

const absl::Time kYear2100 = absl::FromUnixSeconds(4'102'444'800);

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;

Certificate Parse(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Certificate certificate(PEM_read_bio_X509(memory, nullptr, nullptr, nullptr));
  BIO_free(memory);
  return certificate;
}

// Returns the X509_V_ code of OpenSSL's verification of `issued` for a TLS
// client or server, with `authority` as the trusted authority.
int Verify(const KeyPair& authority, const KeyPair& issued, bool as_server,
           absl::Time time = absl::Now(),
           const KeyPair* intermediate = nullptr) {
  const Certificate trusted = Parse(authority.certificate);
  const Certificate certificate = Parse(issued.certificate);
  const Certificate between =
      intermediate == nullptr ? nullptr : Parse(intermediate->certificate);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, trusted.get());
  STACK_OF(X509)* chain = sk_X509_new_null();
  if (between != nullptr) sk_X509_push(chain, between.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, certificate.get(), chain);
  X509_STORE_CTX_set_purpose(
      context, as_server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context),
                             absl::ToTimeT(time));
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context),
                              X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context);
  const int error = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  sk_X509_free(chain);
  X509_STORE_free(store);
  return error;
}

// Returns "DNS:web-1", "IP:7f000001", "URI:urn:..." in the certificate's order.
std::vector<std::string> AlternativeNames(const KeyPair& pair) {
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
      Parse(pair.certificate).get(), NID_subject_alt_name, nullptr, nullptr));
  std::vector<std::string> texts;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    int type;
    const auto* value = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type));
    const std::string bytes(
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
        static_cast<size_t>(ASN1_STRING_length(value)));
    texts.push_back(type == GEN_DNS     ? "DNS:" + bytes
                    : type == GEN_URI   ? "URI:" + bytes
                    : type == GEN_IPADD ? "IP:" + absl::BytesToHexString(bytes)
                                        : "another type");
  }
  GENERAL_NAMES_free(names);
  return texts;
}

std::string CommonName(const KeyPair& pair) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(
      X509_get_subject_name(Parse(pair.certificate).get()), NID_commonName,
      name, sizeof name);
  return name;
}

class CertificatesTest : public ::testing::Test {
 protected:
  KeyPair Issue(const CertificateRequest& request) {
    return IssueCertificate(authority_, request).value();
  }

  const KeyPair authority_ = MakeAuthority("fleet", kYear2100).value();
};

TEST_F(CertificatesTest, VerifyForTheSideOfTheirRole) {
  const struct {
    Role role;
    int as_server;
    int as_client;
  } kCases[] = {{Role::kAgent, X509_V_ERR_INVALID_PURPOSE, X509_V_OK},
                {Role::kAggregator, X509_V_OK, X509_V_ERR_INVALID_PURPOSE},
                {Role::kReader, X509_V_ERR_INVALID_PURPOSE, X509_V_OK},
                {Role::kOperator, X509_V_ERR_INVALID_PURPOSE, X509_V_OK},
                {Role::kEnrolment, X509_V_OK, X509_V_ERR_INVALID_PURPOSE}};
  for (const auto& test : kCases) {
    SCOPED_TRACE(RoleName(test.role));
    const KeyPair issued = Issue({test.role, {"web-1"}, kYear2100});
    EXPECT_EQ(Verify(authority_, issued, /*as_server=*/true), test.as_server);
    EXPECT_EQ(Verify(authority_, issued, /*as_server=*/false), test.as_client);
  }
}

TEST_F(CertificatesTest, VerifyOnlyAgainstTheirOwnAuthority) {
  ASSERT_OK_AND_ASSIGN(const KeyPair namesake,
                       MakeAuthority("fleet", kYear2100));
  const KeyPair issued = Issue({Role::kAgent, {"web-1"}, kYear2100});
  EXPECT_EQ(Verify(authority_, issued, false), X509_V_OK);
  EXPECT_NE(Verify(namesake, issued, false), X509_V_OK);
}

TEST_F(CertificatesTest, CannotIssueOthers) {
  const KeyPair agent = Issue({Role::kAgent, {"web-1"}, kYear2100});
  ASSERT_OK_AND_ASSIGN(
      const KeyPair forged,
      IssueCertificate(agent, {Role::kOperator, {"mallory"}, kYear2100}));
  EXPECT_EQ(Verify(authority_, forged, false, absl::Now(), &agent),
            X509_V_ERR_INVALID_CA);
}

TEST_F(CertificatesTest, AreLimitedToTheirPurpose) {
  const Certificate authority = Parse(authority_.certificate);
  const Certificate agent =
      Parse(Issue({Role::kAgent, {"web-1"}, kYear2100}).certificate);
  EXPECT_TRUE(X509_get_extension_flags(authority.get()) & EXFLAG_CA);
  EXPECT_EQ(X509_get_key_usage(authority.get()),
            uint32_t{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
  EXPECT_FALSE(X509_get_extension_flags(agent.get()) & EXFLAG_CA);
  EXPECT_EQ(X509_get_key_usage(agent.get()), uint32_t{KU_DIGITAL_SIGNATURE});
}

TEST_F(CertificatesTest, AreValidFromAnHourAgoUntilTheyExpire) {
  // Before and after 2050, when X.509 changes its encoding of years.
  for (const int64_t seconds : {2'493'072'000, 2'550'000'000}) {
    const absl::Time not_after = absl::FromUnixSeconds(seconds);
    const KeyPair issued = Issue({Role::kAgent, {"web-1"}, not_after});
    const auto verify_at = [&](absl::Time time) {
      return Verify(authority_, issued, false, time);
    };
    EXPECT_EQ(verify_at(absl::Now() - absl::Hours(2)),
              X509_V_ERR_CERT_NOT_YET_VALID);
    EXPECT_EQ(verify_at(absl::Now() - absl::Minutes(30)), X509_V_OK);
    EXPECT_EQ(verify_at(not_after - absl::Seconds(1)), X509_V_OK);
    EXPECT_EQ(verify_at(not_after + absl::Seconds(1)),
              X509_V_ERR_CERT_HAS_EXPIRED);
  }
}

TEST_F(CertificatesTest, CarryNamesAddressesAndTheRole) {
  const KeyPair issued =
      Issue({Role::kAggregator,
             {"Perf-1.example.com", "10.1.2.3", "::1", "db_2"},
             kYear2100});
  EXPECT_EQ(CommonName(issued), "Perf-1.example.com");
  EXPECT_THAT(AlternativeNames(issued),
              ElementsAre("DNS:Perf-1.example.com", "IP:0a010203",
                          "IP:00000000000000000000000000000001", "DNS:db_2",
                          "URI:urn:fleetperf:aggregator"));
  const Certificate certificate = Parse(issued.certificate);
  EXPECT_EQ(
      X509_check_host(certificate.get(), "perf-1.EXAMPLE.com", 0, 0, nullptr),
      1);
  EXPECT_EQ(X509_check_host(certificate.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "10.1.2.3", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "10.1.2.4", 0), 0);
}

TEST_F(CertificatesTest, ReturnTheirDnsNames) {
  const KeyPair issued =
      Issue({Role::kAgent, {"Perf-1", "10.1.2.3", "db_2"}, kYear2100});
  ASSERT_OK_AND_ASSIGN(const CertificateInfo info,
                       ReadCertificate(issued.certificate));
  EXPECT_THAT(info.names, ElementsAre("Perf-1", "db_2"));
  EXPECT_FALSE(ReadCertificate("no certificate").ok());
}

TEST_F(CertificatesTest, AreDescribed) {
  const KeyPair issued = Issue({Role::kOperator, {"bob"}, kYear2100});
  ASSERT_OK_AND_ASSIGN(
      const auto infos,
      ReadCertificates(authority_.certificate + issued.certificate));
  ASSERT_EQ(infos.size(), 2);
  EXPECT_TRUE(infos[0].is_authority);
  EXPECT_EQ(infos[0].role, std::nullopt);
  EXPECT_FALSE(infos[1].is_authority);
  EXPECT_EQ(infos[1].role, Role::kOperator);
  EXPECT_EQ(infos[1].subject, "bob");
  EXPECT_EQ(infos[1].not_after, kYear2100);
  EXPECT_LT(infos[1].not_before, absl::Now());
  EXPECT_EQ(infos[1].fingerprint.size(), 64);
  EXPECT_NE(infos[0].fingerprint, infos[1].fingerprint);
}

TEST_F(CertificatesTest, ThatAreCutOffAreErrors) {
  const std::string& pem = authority_.certificate;
  EXPECT_FALSE(ReadCertificates("").ok());
  EXPECT_FALSE(ReadCertificates(pem + pem.substr(0, pem.size() / 2)).ok());
  EXPECT_OK(ReadCertificates(pem + "a comment\n"));
}

TEST_F(CertificatesTest, CarryNamesTooLongForASubject) {
  const std::string name = std::string(60, 'a') + ".example.com";
  const KeyPair issued = Issue({Role::kAgent, {name}, kYear2100});
  EXPECT_THAT(AlternativeNames(issued),
              ElementsAre("DNS:" + name, "URI:urn:fleetperf:agent"));
  EXPECT_EQ(Verify(authority_, issued, false), X509_V_OK);
}

TEST_F(CertificatesTest, DifferFromEachOther) {
  const KeyPair a = Issue({Role::kAgent, {"web-1"}, kYear2100});
  const KeyPair b = Issue({Role::kAgent, {"web-1"}, kYear2100});
  EXPECT_NE(a.key, b.key);
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(Parse(a.certificate).get()),
                       X509_get0_serialNumber(Parse(b.certificate).get())),
      0);
}

TEST_F(CertificatesTest, RejectInvalidNames) {
  for (const std::string& name :
       {std::string(), std::string("web-1,DNS:*"), std::string("web 1"),
        std::string("*.example.com"), std::string("a\nb"), std::string("a/b"),
        std::string("web-1\0.evil", 11), std::string("10.0.0.1\0x", 10),
        std::string("w\u00E9b"), std::string("web-1:7700"),
        std::string("1:2:3"), std::string(254, 'a')}) {
    EXPECT_THAT(IssueCertificate(authority_,
                                 {Role::kAgent, {"web-1", name}, kYear2100}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith("\"" + name +
                                          "\" is not allowed in a certificate"),
                               HasSubstr("with \"name\" in its agent's"))));
  }
  EXPECT_THAT(
      IssueCertificate(authority_, {Role::kReader, {"web 1"}, kYear2100}),
      StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("agent"))));
}

TEST_F(CertificatesTest, RejectInvalidRequests) {
  EXPECT_THAT(
      IssueCertificate(authority_, {Role::kAgent, {}, kYear2100}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a name")));
  EXPECT_THAT(
      IssueCertificate(authority_, {Role::kAgent, {"web-1"}, absl::Now()}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expired")));
  EXPECT_FALSE(IssueCertificate({.certificate = "x", .key = authority_.key},
                                {Role::kAgent, {"web-1"}, kYear2100})
                   .ok());
  EXPECT_FALSE(
      IssueCertificate({.certificate = authority_.certificate, .key = "x"},
                       {Role::kAgent, {"web-1"}, kYear2100})
          .ok());
}

TEST_F(CertificatesTest, CheckKeyFitsComparesKeyAndCertificate) {
  const KeyPair a = Issue({Role::kAgent, {"web-1"}, kYear2100});
  const KeyPair b = Issue({Role::kAgent, {"web-1"}, kYear2100});
  EXPECT_OK(CheckKeyFits(a.certificate, a.key, "a.key"));
  EXPECT_OK(CheckKeyFits(authority_.certificate, authority_.key, "ca.key"));
  EXPECT_THAT(CheckKeyFits(a.certificate, b.key, "b.key"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "b.key is not the key of the certificate beside it"));
  for (const auto& [certificate, key] :
       {KeyPair{"x", b.key}, KeyPair{a.certificate, "x"},
        KeyPair{a.certificate, a.certificate}}) {
    EXPECT_THAT(
        CheckKeyFits(certificate, key, "b.key"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b.key")));
  }
}

TEST_F(CertificatesTest, OfEnrolmentAloneMayGetTokens) {
  const std::string authority =
      ReadCertificate(authority_.certificate)->fingerprint;
  const auto check = [&](const KeyPair& server) {
    return CheckEnrolmentServer(server.certificate + authority_.certificate,
                                authority);
  };
  EXPECT_OK(check(Issue({Role::kEnrolment, {"enrolment"}, kYear2100})));
  const KeyPair aggregator =
      Issue({Role::kAggregator, {"fleetperf-enrolment"}, kYear2100});
  EXPECT_OK(CheckServerChain(aggregator.certificate + authority_.certificate,
                             authority));
  EXPECT_THAT(check(aggregator),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("the server \"fleetperf-enrolment\" is not "
                                 "fleetperf pki serve")));
  ASSERT_OK_AND_ASSIGN(const KeyPair stranger,
                       MakeAuthority("fleet", kYear2100));
  ASSERT_OK_AND_ASSIGN(
      const KeyPair forged,
      IssueCertificate(stranger, {Role::kEnrolment, {"enrolment"}, kYear2100}));
  EXPECT_FALSE(check(forged).ok());
  // No command issues one.
  EXPECT_FALSE(ParseRole("enrolment").ok());
  EXPECT_EQ(RoleOfUri("urn:fleetperf:enrolment"), Role::kEnrolment);
}

TEST_F(CertificatesTest, NeedStrongKeys) {
  const struct {
    unsigned bits;
    bool is_strong;
  } kCases[] = {{1024, false}, {2047, false}, {2048, true}};
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.bits);
    const testing::RsaKey key(test.bits);
    const KeyPair pair = key.SelfSigned();
    const std::string weakness = absl::StrCat(
        "has a key of ", test.bits, " bits (RSA), which is too short; use");
    const std::string found = ReadCertificate(pair.certificate)->weakness;
    const absl::Status strength = CheckKeyStrength(
        authority_.certificate + pair.certificate, "authority.pem");
    const auto issued = SignRequest(authority_, key.SigningRequest(),
                                    {Role::kAgent, {"web-1"}, kYear2100});
    const auto by_it =
        IssueCertificate(pair, {Role::kAgent, {"web-1"}, kYear2100});
    if (test.is_strong) {
      EXPECT_EQ(found, "");
      EXPECT_OK(strength);
      EXPECT_OK(issued);
    } else {
      EXPECT_THAT(found, StartsWith(weakness));
      EXPECT_THAT(strength, StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("authority.pem " + weakness)));
      EXPECT_THAT(issued,
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("the new certificate " + weakness)));
      EXPECT_THAT(by_it, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("the authority " + weakness)));
    }
  }
  EXPECT_EQ(ReadCertificate(authority_.certificate)->weakness, "");
}

TEST(Role, HasANameAndAUri) {
  const struct {
    Role role;
    const char* name;
    const char* uri;
  } kCases[] = {
      {Role::kAgent, "agent", "urn:fleetperf:agent"},
      {Role::kAggregator, "aggregator", "urn:fleetperf:aggregator"},
      {Role::kReader, "reader", "urn:fleetperf:reader"},
      {Role::kOperator, "operator", "urn:fleetperf:operator"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(RoleName(test.role), test.name);
    EXPECT_EQ(RoleUri(test.role), test.uri);
    EXPECT_EQ(ParseRole(test.name).value(), test.role);
  }
  EXPECT_THAT(ParseRole("Agent"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"Agent\" is not agent, aggregator, reader or "
                       "operator"));
}

}  // namespace
}  // namespace fleetperf
