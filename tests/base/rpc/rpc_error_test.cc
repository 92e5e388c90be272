// The messages of failed calls.

#include "base/rpc/rpc_error.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <string>

namespace fleetperf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string MessageOf(grpc::StatusCode code, const std::string& message,
                      RpcStage stage = RpcStage::kConnecting) {
  return std::string(
      StatusFromRpc({code, message}, "box:7330", stage).message());
}

TEST(StatusFromRpc, ExplainsWhyTheAggregatorIsUnreachable) {
  const struct {
    const char* from_grpc;
    const char* message;
  } kCases[] = {
      {"failed to connect to all addresses; last error: UNKNOWN: "
       "ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused",
       "nothing listens there; is fleetperf-aggregator running?"},
      {"Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL "
       "routines::certificate verify failed: CERTIFICATE_VERIFY_FAILED",
       "its certificate is not signed by the authority in tls.authority, or "
       "has expired"},
      {"DNS resolution failed for box:7330: C-ares status is not ARES_SUCCESS",
       "the host name is unknown"},
      {"Socket closed",
       "it closed the connection; is this client's certificate signed by its "
       "authority, and neither expired nor revoked?"},
      {"Broken pipe",
       "it closed the connection; is this client's certificate signed by its "
       "authority, and neither expired nor revoked?"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(MessageOf(grpc::StatusCode::UNAVAILABLE, test.from_grpc),
              std::string("cannot reach the aggregator at box:7330: ") +
                  test.message);
  }
}

// The user must learn the name that was used, where the names of the
// certificate are, and how to get one for this name.
TEST(StatusFromRpc, NamesWhatTheCertificateIsNotFor) {
  const auto message_of = [](const std::string& name) {
    return MessageOf(grpc::StatusCode::UNAVAILABLE,
                     "failed to connect to all addresses; last error: UNKNOWN: "
                     "ipv4:10.77.0.1:7443: Peer name " +
                         name + " is not in peer certificate");
  };
  EXPECT_EQ(message_of("box"),
            "cannot reach the aggregator at box:7330: its certificate is not "
            "for \"box\"; use a name that the certificate has (openssl x509 "
            "-noout -ext subjectAltName -in aggregator.pem lists them), or "
            "issue it again for this name, too (fleetperf pki issue aggregator "
            "NAME... box --force)");
  EXPECT_THAT(message_of("10.77.0.1"),
              HasSubstr("is not for \"10.77.0.1\"; use a name"));
  EXPECT_THAT(message_of("fe80::1"),
              HasSubstr("pki issue aggregator NAME... fe80::1 --force)"));
  // No certificate can have this name.
  EXPECT_THAT(message_of("b$x"), EndsWith("aggregator.pem lists them)"));
}

TEST(StatusFromRpc, DistinguishesLostFromFailedConnections) {
  EXPECT_EQ(MessageOf(grpc::StatusCode::UNAVAILABLE, "Socket closed",
                      RpcStage::kAnswering),
            "lost the connection to the aggregator at box:7330 (Socket "
            "closed)");
  EXPECT_EQ(
      MessageOf(grpc::StatusCode::UNAVAILABLE,
                "Server shutdown; Cancelling all calls", RpcStage::kAnswering),
      "the aggregator at box:7330 was stopped");
}

TEST(StatusFromRpc, KeepsTheAggregatorsMessages) {
  const absl::Status status = StatusFromRpc(
      {grpc::StatusCode::NOT_FOUND, "there is no counterset \"Disks\""},
      "box:7330");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "there is no counterset \"Disks\"");
  EXPECT_TRUE(StatusFromRpc(grpc::Status::OK, "box:7330").ok());
  EXPECT_EQ(MessageOf(grpc::StatusCode::UNAVAILABLE, "cannot keep samples"),
            "the aggregator at box:7330: cannot keep samples");
}

TEST(IsRefusal, IsOfCertificatesAndRights) {
  const auto is_refusal = [](grpc::StatusCode code, const std::string& message,
                             RpcStage stage = RpcStage::kConnecting) {
    return IsRefusal({code, message}, stage);
  };
  EXPECT_TRUE(is_refusal(grpc::StatusCode::UNAVAILABLE,
                         "error: CERTIFICATE_VERIFY_FAILED"));
  EXPECT_TRUE(is_refusal(grpc::StatusCode::UNAVAILABLE, "Socket closed"));
  EXPECT_TRUE(is_refusal(grpc::StatusCode::UNAVAILABLE,
                         "Peer name box is not in peer certificate"));
  EXPECT_TRUE(is_refusal(grpc::StatusCode::PERMISSION_DENIED, "no",
                         RpcStage::kAnswering));
  EXPECT_FALSE(is_refusal(grpc::StatusCode::UNAVAILABLE, "Socket closed",
                          RpcStage::kAnswering));
  EXPECT_FALSE(is_refusal(grpc::StatusCode::UNAVAILABLE, "Connection refused"));
  EXPECT_FALSE(is_refusal(grpc::StatusCode::OK, ""));
}

TEST(RpcFromStatus, KeepsCodeAndMessage) {
  const grpc::Status status =
      RpcFromStatus(absl::ResourceExhaustedError("too much"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "too much");
}

// gRPC fails calls whose status is larger than the limit of headers.
TEST(RpcFromStatus, CutsLongMessages) {
  const std::string message =
      RpcFromStatus(absl::NotFoundError(std::string(100'000, 'a')))
          .error_message();
  EXPECT_LT(message.size(), 2100u);
  EXPECT_NE(message.find("(100000 bytes)"), std::string::npos);
}

}  // namespace
}  // namespace fleetperf
