#include "base/server/client_certificates.h"

#include <string>

#include "base/os/files.h"
#include "base/server/certificate_watch.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

const Peer kPeer = *ParsePeer("ipv4:192.0.2.1:1234");
const Peer kOther = *ParsePeer("ipv6:%5B2001:db8::1%5D:99");

class ClientCertificatesTest : public ::testing::Test {
 protected:
  CertificateInfo Certificate(char digit,
                              absl::Duration left = absl::Hours(1)) const {
    return {.subject = std::string("holder-") + digit,
            .not_after = clock_.Now() + left,
            .fingerprint = std::string(64, digit)};
  }

  const testing::LogCapture log_;
  testing::SimulatedClock clock_;
  CallerQuota quota_{&clock_};
  ClientCertificates clients_{&clock_, &quota_};
};

TEST_F(ClientCertificatesTest, FindsConnectionsThatAreRevoked) {
  ASSERT_TRUE(clients_.Add(kPeer, Certificate('a')).has_value());
  ASSERT_TRUE(clients_.Add(kOther, Certificate('b')).has_value());
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());
  clients_.SetRevoked({{.fingerprint = std::string(64, 'b')}});
  // Until the connection has ended.
  EXPECT_THAT(clients_.FindRefused(), ElementsAre(kOther));
  EXPECT_THAT(clients_.FindRefused(), ElementsAre(kOther));
  EXPECT_EQ(clients_.counts().refused, 1);
  EXPECT_THAT(log_.Lines(),
              ElementsAre("warning ended the connection of [2001:db8::1]:99: "
                          "its certificate \"holder-b\" was revoked"));
  clients_.SetRevoked({});
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());
}

TEST_F(ClientCertificatesTest, LeavesConnectionsOfThePageToThePage) {
  ASSERT_TRUE(
      clients_.Add(kPeer, Certificate('a'), ClientCertificates::Port::kPage)
          .has_value());
  clients_.SetRevoked({{.fingerprint = std::string(64, 'a')}});
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());
  EXPECT_EQ(clients_.counts().refused, 1);
}

TEST_F(ClientCertificatesTest, FindsConnectionsThatExpire) {
  const auto connection =
      clients_.Add(kPeer, Certificate('a', absl::Seconds(10)));
  ASSERT_TRUE(connection.has_value());
  clock_.Advance(absl::Seconds(9));
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(clients_.FindRefused(), ElementsAre(kPeer));
  EXPECT_THAT(log_.Lines().back(), HasSubstr("\"holder-a\" has expired"));
  clients_.Remove(*connection);
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());
}

TEST_F(ClientCertificatesTest, RefusesNewConnections) {
  clients_.SetRevoked({{.fingerprint = std::string(64, 'b')}});
  EXPECT_FALSE(clients_.Add(kPeer, Certificate('b')).has_value());
  EXPECT_FALSE(
      clients_.Add(kPeer, Certificate('c', absl::ZeroDuration())).has_value());
  EXPECT_TRUE(clients_.Add(kPeer, Certificate('d')).has_value());
  EXPECT_EQ(clients_.counts().refused, 2);
  EXPECT_THAT(log_.Lines().front(),
              "warning refused a connection from 192.0.2.1:1234: its "
              "certificate \"holder-b\" was revoked");
}

TEST_F(ClientCertificatesTest, RefusesWeakKeys) {
  CertificateInfo weak = Certificate('a');
  weak.weakness = "has a key of 1024 bits";
  EXPECT_FALSE(clients_.Add(kPeer, weak).has_value());
  EXPECT_EQ(clients_.counts().refused, 1);
  EXPECT_THAT(log_.Lines().front(),
              HasSubstr("\"holder-a\" has a key of 1024 bits"));
}

TEST_F(ClientCertificatesTest, LimitsTheConnectionsOfACertificate) {
  clients_.SetLimit(ClientCertificates::Port::kGrpc, 16 * 20);
  CertificateInfo evil = Certificate('e');
  evil.role = Role::kAgent;
  evil.names = {"evil"};
  std::optional<uint64_t> first;
  for (int i = 0; i < 20; ++i) {
    const auto connection = clients_.Add(kPeer, evil);
    ASSERT_TRUE(connection.has_value());
    if (!first.has_value()) first = connection;
  }
  evil.fingerprint = std::string(64, 'f');  // renewed
  EXPECT_FALSE(clients_.Add(kPeer, evil).has_value());
  EXPECT_THAT(log_.Lines().back(),
              HasSubstr("its certificate \"holder-e\" has 20 connections, the "
                        "limit"));
  EXPECT_EQ(clients_.counts().too_many, 1u);
  EXPECT_EQ(clients_.counts().refused, 0u);
  EXPECT_TRUE(
      clients_.Add(kPeer, evil, ClientCertificates::Port::kPage).has_value());
  evil.names = {"honest"};
  EXPECT_TRUE(clients_.Add(kPeer, evil).has_value());
  clients_.Remove(*first);
  evil.names = {"EVIL"};
  EXPECT_TRUE(clients_.Add(kPeer, evil).has_value());
}

TEST_F(ClientCertificatesTest, LogsRepetitionsOnce) {
  clients_.SetRevoked({{.fingerprint = std::string(64, 'b')}});
  for (int i = 0; i < 100; ++i) {
    clients_.Add(kPeer, Certificate('b'));
    clients_.ReportFailedHandshake(kPeer, "mal\nlory", "unknown CA");
  }
  EXPECT_EQ(clients_.counts().refused, 100);
  EXPECT_EQ(clients_.counts().failed_handshakes, 100);
  ASSERT_EQ(log_.Lines().size(), 2);
  EXPECT_THAT(log_.Lines()[1], HasSubstr("192.0.2.1:1234"));
  EXPECT_THAT(log_.Lines()[1], HasSubstr("failed: unknown CA"));
}

TEST_F(ClientCertificatesTest, ReadTheirRevokedFileAgain) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("revoked");
  EXPECT_THAT(RevokedFile::Load(path, &clients_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  const auto is_revoked = [&](char digit) {
    return !clients_.Add(kPeer, Certificate(digit)).has_value();
  };
  ASSERT_OK(WriteFile(path, std::string(64, 'a')));
  ASSERT_OK_AND_ASSIGN(RevokedFile file, RevokedFile::Load(path, &clients_));
  EXPECT_TRUE(is_revoked('a'));

  // A list is used when it was seen twice.
  ASSERT_OK(WriteFile(path, std::string(64, 'b')));
  file.Refresh();
  EXPECT_FALSE(is_revoked('b'));
  file.Refresh();
  EXPECT_TRUE(is_revoked('b'));
  EXPECT_FALSE(is_revoked('a'));

  // A bad list changes nothing, and is logged once.
  const size_t lines = log_.Lines().size();
  ASSERT_OK(WriteFile(path, "web-1"));
  for (int i = 0; i < 4; ++i) file.Refresh();
  EXPECT_TRUE(is_revoked('b'));
  ASSERT_OK(RemoveFile(path));
  for (int i = 0; i < 4; ++i) file.Refresh();
  EXPECT_TRUE(is_revoked('b'));
  EXPECT_EQ(log_.Lines().size(), lines + 2);
}

TEST_F(ClientCertificatesTest, NeedNoListOfRevokedCertificates) {
  clock_.Advance(absl::Hours(1));
  EXPECT_OK(clients_.CheckRevocations());
  EXPECT_EQ(clients_.revocation_age(), absl::ZeroDuration());
  EXPECT_TRUE(clients_.Add(kPeer, Certificate('a')).has_value());
}

TEST_F(ClientCertificatesTest, AreRefusedIfTheListCannotBeUsed) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("revoked");
  ASSERT_OK(WriteFile(path, ""));
  ASSERT_OK_AND_ASSIGN(RevokedFile file, RevokedFile::Load(path, &clients_));
  ASSERT_TRUE(clients_.Add(kPeer, Certificate('a')).has_value());
  const auto refresh = [&](absl::Duration after) {
    clock_.Advance(after);
    file.Refresh();
  };
  // An unchanged list is confirmed.
  refresh(kMaxRevocationAge * 2);
  EXPECT_EQ(clients_.revocation_age(), absl::ZeroDuration());

  ASSERT_OK(WriteFile(path, "web-1"));  // an error
  refresh(absl::ZeroDuration());
  refresh(kMaxRevocationAge / 2);
  EXPECT_THAT(log_.Lines().back(),
              AllOf(HasSubstr("error cannot use the list of revoked "
                              "certificates: " +
                              path + ":1: the line"),
                    HasSubstr("refused once this has lasted 5m")));
  ASSERT_OK(RemoveFile(path));
  refresh(kMaxRevocationAge / 2);
  EXPECT_OK(clients_.CheckRevocations());
  EXPECT_TRUE(clients_.Add(kOther, Certificate('b')).has_value());
  EXPECT_EQ(clients_.revocation_age(), kMaxRevocationAge);

  refresh(absl::Seconds(1));
  EXPECT_THAT(clients_.CheckRevocations(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("fix the file that tls.revoked names")));
  EXPECT_THAT(
      log_.Lines().back(),
      AllOf(HasSubstr("error new connections are refused"), HasSubstr(path)));
  EXPECT_FALSE(clients_.Add(kOther, Certificate('c')).has_value());
  EXPECT_THAT(log_.Lines().back(), HasSubstr("may be revoked"));
  // Open connections stay.
  EXPECT_THAT(clients_.FindRefused(), IsEmpty());

  ASSERT_OK(WriteFile(path, std::string(64, 'd')));
  refresh(absl::Seconds(2));
  EXPECT_FALSE(clients_.Add(kOther, Certificate('c')).has_value());
  refresh(absl::Seconds(2));
  EXPECT_TRUE(clients_.Add(kOther, Certificate('c')).has_value());
  EXPECT_FALSE(clients_.Add(kOther, Certificate('d')).has_value());
  EXPECT_OK(clients_.CheckRevocations());
}

}  // namespace
}  // namespace fleetperf
