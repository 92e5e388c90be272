#include "base/tls/tls_identity.h"

#include <string>

#include "base/os/files.h"
#include "base/tls/certificate_renewal.h"
#include "base/tls/certificates.h"
#include "tests/support/log_capture.h"
#include "tests/support/rsa_keys.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using ::testing::Not;
using testing::StatusIs;

class TlsIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Time real_now = Clock::Real().Now();
    // Certificates are valid from an hour before the time of the machine.
    clock_.Step(real_now - clock_.Now());
    ASSERT_OK_AND_ASSIGN(
        authority_, MakeAuthority("test", real_now + absl::Hours(24 * 3650)));
    ASSERT_OK(WriteFile(files_.authority, authority_.certificate));
    Write(Issue(Role::kAgent, absl::Hours(24 * 90)));
    ASSERT_OK_AND_ASSIGN(identity_,
                         TlsIdentity::Load(files_, Role::kAgent, &clock_));
  }

  KeyPair Issue(Role role, absl::Duration valid) {
    const auto pair = IssueCertificate(
        authority_, {.role = role,
                     .names = {"web-1"},
                     .not_after = Clock::Real().Now() + valid});
    EXPECT_OK(pair);
    return *pair;
  }

  void Write(const KeyPair& pair) {
    EXPECT_OK(WriteFile(files_.certificate, pair.certificate));
    EXPECT_OK(WriteFile(files_.key, pair.key, FileAccess::kOwnerOnly));
  }

  const testing::TempDirectory directory_;
  const TlsFiles files_ = {.authority = directory_.File("authority.pem"),
                           .certificate = directory_.File("agent.pem"),
                           .key = directory_.File("agent.key")};
  testing::SimulatedClock clock_;
  KeyPair authority_;
  std::shared_ptr<TlsIdentity> identity_;
};

TEST_F(TlsIdentityTest, UsesNewFilesSeenTwice) {
  EXPECT_THAT(identity_->Refresh(), IsOkAndHolds(false));
  const uint64_t version = identity_->version();
  const KeyPair renewed = Issue(Role::kAgent, absl::Hours(24 * 365));
  Write(renewed);
  EXPECT_THAT(identity_->Refresh(), IsOkAndHolds(false));
  EXPECT_EQ(identity_->version(), version);
  EXPECT_THAT(identity_->Refresh(), IsOkAndHolds(true));
  EXPECT_NE(identity_->version(), version);
  EXPECT_EQ(identity_->texts().certificate, renewed.certificate);
  EXPECT_EQ(identity_->certificate().fingerprint,
            ReadCertificate(renewed.certificate)->fingerprint);
  EXPECT_THAT(identity_->Refresh(), IsOkAndHolds(false));
}

TEST_F(TlsIdentityTest, KeepsItsFilesIfNewOnesCannotBeUsed) {
  const TlsTexts before = identity_->texts();
  const auto expect_refused = [&](const std::string& reason) {
    identity_->Refresh().IgnoreError();
    EXPECT_THAT(identity_->Refresh().status().message(), HasSubstr(reason));
    EXPECT_EQ(identity_->texts(), before);
  };
  const KeyPair other = Issue(Role::kAgent, absl::Hours(24));
  ASSERT_OK(WriteFile(files_.certificate, other.certificate));
  expect_refused("agent.key is not the key of the certificate beside it");
  Write(Issue(Role::kReader, absl::Hours(24)));
  expect_refused("has the role reader");
  Write(other);
  ASSERT_OK(WriteFile(
      files_.authority,
      authority_.certificate + authority_.certificate.substr(0, 200)));
  expect_refused("authority.pem: cannot read a certificate");
  ASSERT_OK(WriteFile(files_.authority, authority_.certificate));
  ASSERT_OK(WriteFile(files_.key, other.key));
  expect_refused("run: chmod 600");
  ASSERT_OK(RemoveFile(files_.key));
  expect_refused("cannot read");
  ASSERT_OK(WriteFile(files_.key, other.key, FileAccess::kOwnerOnly));
  clock_.Step(absl::Hours(25));
  expect_refused("; make a new one with: fleetperf pki issue agent");
  clock_.Step(-absl::Hours(30));
  expect_refused("is not valid before");
  clock_.Step(absl::Hours(5));
  EXPECT_THAT(identity_->Refresh(), IsOkAndHolds(true));
}

TEST_F(TlsIdentityTest, LoadChecksTheFiles) {
  EXPECT_THAT(TlsIdentity::Load(files_, Role::kAggregator, &clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("fleetperf pki issue aggregator")));
  EXPECT_OK(TlsIdentity::Load(files_, std::nullopt, &clock_));
  clock_.Step(absl::Hours(24 * 91));
  EXPECT_THAT(
      TlsIdentity::Load(files_, Role::kAgent, &clock_),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("expired at")));
}

TEST_F(TlsIdentityTest, RefusesWeakKeys) {
  const testing::RsaKey weak(1024);
  const KeyPair own = weak.SelfSigned();
  Write(own);
  EXPECT_THAT(TlsIdentity::Load(files_, std::nullopt, &clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(files_.certificate +
                                 " has a key of 1024 bits (RSA)")));
  Write(Issue(Role::kAgent, absl::Hours(24)));
  EXPECT_OK(TlsIdentity::Load(files_, Role::kAgent, &clock_));
  ASSERT_OK(
      WriteFile(files_.authority, authority_.certificate + own.certificate));
  EXPECT_THAT(
      TlsIdentity::Load(files_, Role::kAgent, &clock_),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr(files_.authority + " has a key of 1024 bits (RSA)")));
}

TEST_F(TlsIdentityTest, AcceptsTwoAuthoritiesOfWhichOneHasExpired) {
  ASSERT_OK_AND_ASSIGN(
      const KeyPair old,
      MakeAuthority("old", Clock::Real().Now() + absl::Hours(1)));
  clock_.Step(absl::Hours(2));
  ASSERT_OK(WriteFile(files_.authority, old.certificate));
  EXPECT_THAT(TlsIdentity::Load(files_, Role::kAgent, &clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("authority.pem expired at"),
                             HasSubstr("fleetperf pki init --force"),
                             Not(HasSubstr("pki issue")))));
  ASSERT_OK(
      WriteFile(files_.authority, old.certificate + authority_.certificate));
  EXPECT_OK(TlsIdentity::Load(files_, Role::kAgent, &clock_));
}

using CertificateRenewalTest = TlsIdentityTest;

TEST_F(CertificateRenewalTest, WarnsOnceADayBeforeTheExpiry) {
  const testing::LogCapture log;
  CertificateRenewal renewal(identity_, &clock_);
  renewal.Run();
  EXPECT_THAT(log.Lines(), IsEmpty());
  clock_.Advance(absl::Hours(24 * 60 + 1));
  for (int i = 0; i < 3; ++i) renewal.Run();
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("the certificate expires in 29 days")));
  clock_.Advance(absl::Hours(24 * 30));
  renewal.Run();
  EXPECT_THAT(log.Lines().back(), HasSubstr("the certificate has expired"));
  EXPECT_EQ(log.Lines().size(), 2);
}

TEST_F(CertificateRenewalTest, WarnsInTheLastThirdOfAShortLife) {
  Write(Issue(Role::kAgent, absl::Hours(23)));  // a day, with the hour before
  ASSERT_OK_AND_ASSIGN(identity_,
                       TlsIdentity::Load(files_, Role::kAgent, &clock_));
  const testing::LogCapture log;
  CertificateRenewal renewal(identity_, &clock_);
  clock_.Advance(absl::Hours(14));
  renewal.Run();
  EXPECT_THAT(log.Lines(), IsEmpty());
  clock_.Advance(absl::Hours(2));
  renewal.Run();
  EXPECT_THAT(log.Lines(), ElementsAre(HasSubstr("expires in 0 days")));
}

TEST_F(CertificateRenewalTest, LogsRenewalsAndEachProblemOnce) {
  const testing::LogCapture log;
  CertificateRenewal renewal(identity_, &clock_);
  Write(Issue(Role::kReader, absl::Hours(24 * 90)));
  for (int i = 0; i < 4; ++i) renewal.Run();
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("keeping the certificate in use")));
  Write(Issue(Role::kAgent, absl::Hours(24 * 90)));
  for (int i = 0; i < 4; ++i) renewal.Run();
  EXPECT_THAT(log.Lines().back(),
              HasSubstr("info using a renewed certificate"));
  EXPECT_EQ(log.Lines().size(), 2);
}

TEST(SecondsLeft, AreNotNegative) {
  const absl::Time now = Clock::Real().Now();
  EXPECT_EQ(SecondsLeft({.not_after = now + absl::Seconds(90)}, now), 90);
  EXPECT_EQ(SecondsLeft({.not_after = now - absl::Seconds(90)}, now), 0);
}

}  // namespace
}  // namespace fleetperf
