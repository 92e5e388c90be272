// Tests of a server's certificate checks, with real TLS.

#include "base/tls/certificates.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "aggregator/services/services.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/server/access.h"
#include "base/server/client_certificates.h"
#include "base/server/rpc_server.h"
#include "base/tls/tls_identity.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/log_capture.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;

class CertificatesOfServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(authority_, MakeAuthority("test", kNotAfter));
    server_files_ = Write("server", Issue(authority_, Role::kAggregator));
    ASSERT_OK_AND_ASSIGN(identity_,
                         TlsIdentity::Load(server_files_, Role::kAggregator));
    services_.push_back(MakeHealthService([] { return absl::OkStatus(); }));
    ASSERT_OK_AND_ASSIGN(
        server_,
        RpcServer::Start("127.0.0.1:0", "", ConnectionLimits(),
                         identity_->ForServer(), clients_, services_, {}));
  }

  static KeyPair Issue(const KeyPair& authority, Role role) {
    const auto pair = IssueCertificate(
        authority,
        {.role = role, .names = {"127.0.0.1"}, .not_after = kNotAfter});
    EXPECT_OK(pair);
    return *pair;
  }

  TlsFiles Write(const std::string& name, const KeyPair& pair) {
    const TlsFiles files = {.authority = directory_.File("authority.pem"),
                            .certificate = directory_.File(name + ".pem"),
                            .key = directory_.File(name + ".key")};
    EXPECT_OK(WriteFile(files.authority, authority_.certificate));
    EXPECT_OK(WriteFile(files.certificate, pair.certificate));
    EXPECT_OK(WriteFile(files.key, pair.key, FileAccess::kOwnerOnly));
    return files;
  }

  std::shared_ptr<grpc::Channel> Connect(const KeyPair& pair) {
    return MakeChannel(
        server_->address(),
        ClientCredentials(TlsTexts{.authority = authority_.certificate,
                                   .certificate = pair.certificate,
                                   .key = pair.key}));
  }

  // Calls the server. Sets `*certificate`, if not null, to the server's.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                           std::string* certificate = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(RpcDeadline(kPatience));
    ::grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status =
        ::grpc::health::v1::Health::NewStub(channel)->Check(&context, {},
                                                            &response);
    if (status.ok() && certificate != nullptr) {
      const auto found = context.auth_context()->FindPropertyValues(
          GRPC_X509_PEM_CERT_PROPERTY_NAME);
      *certificate = std::string(found.at(0).data(), found.at(0).size());
    }
    return status;
  }

  static inline const absl::Time kNotAfter =
      Clock::Real().Now() + absl::Hours(24);
  const testing::LogCapture log_;
  const testing::TempDirectory directory_;
  KeyPair authority_;
  TlsFiles server_files_;
  std::shared_ptr<TlsIdentity> identity_;
  const std::shared_ptr<ClientCertificates> clients_ =
      std::make_shared<ClientCertificates>();
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(CertificatesOfServerTest, AreRenewedForNewConnections) {
  const KeyPair reader = Issue(authority_, Role::kReader);
  const auto before = Connect(reader);
  std::string first;
  ASSERT_TRUE(Call(before, &first).ok());
  const KeyPair renewed = Issue(authority_, Role::kAggregator);
  Write("server", renewed);
  ASSERT_OK(identity_->Refresh());
  ASSERT_OK(identity_->Refresh());
  std::string second;
  ASSERT_TRUE(Call(Connect(reader), &second).ok());
  EXPECT_NE(first, renewed.certificate);
  EXPECT_EQ(second, renewed.certificate);
  // Open connections stay.
  EXPECT_TRUE(Call(before).ok());
}

TEST_F(CertificatesOfServerTest, RevokedClientsAreRefusedAndDisconnected) {
  const KeyPair stolen = Issue(authority_, Role::kReader);
  const KeyPair other = Issue(authority_, Role::kReader);
  const auto open = Connect(stolen);
  const auto open_of_other = Connect(other);
  ASSERT_TRUE(Call(open).ok());
  ASSERT_TRUE(Call(open_of_other).ok());
  clients_->SetRevoked(
      {{.fingerprint = ReadCertificate(stolen.certificate)->fingerprint}});
  EXPECT_FALSE(Call(Connect(stolen)).ok());
  server_->CloseRefused();
  EXPECT_TRUE(
      open->WaitForStateChange(GRPC_CHANNEL_READY, RpcDeadline(kPatience)));
  EXPECT_FALSE(Call(open).ok());
  EXPECT_TRUE(Call(open_of_other).ok());
  EXPECT_GE(clients_->counts().refused, 2);
}

TEST_F(CertificatesOfServerTest, FailedHandshakesAreCountedAndLogged) {
  ASSERT_OK_AND_ASSIGN(const KeyPair stranger,
                       MakeAuthority("stranger", kNotAfter));
  EXPECT_FALSE(Call(Connect(Issue(stranger, Role::kReader))).ok());
  const absl::Time deadline = absl::Now() + kPatience;
  while (clients_->counts().failed_handshakes == 0 && absl::Now() < deadline) {
  }
  EXPECT_GE(clients_->counts().failed_handshakes, 1);
  EXPECT_EQ(clients_->counts().refused, 0);
  server_.reset();  // stops the threads that log
  EXPECT_THAT(log_.Lines(), ::testing::Contains(::testing::AllOf(
                                HasSubstr("the TLS handshake of 127.0.0.1:"),
                                HasSubstr("with certificate \"127.0.0.1\""),
                                HasSubstr("unable to get local issuer"))));
}

}  // namespace
}  // namespace fleetperf::aggregator
