#include "aggregator/web/tls.h"

#include <string>

#include "tests/aggregator/web/tls_client.h"

namespace fleetperf::aggregator::web {
namespace {

TEST(TlsConnection, ReadsOneRecordAtATime) {
  TlsFixture fixture;
  TlsClient client;
  const OwnedFd fd = client.TakeServersEnd();
  TlsConnection connection(fixture.server().Accept(fd.get()));
  EXPECT_FALSE(client.Handshake());
  EXPECT_EQ(connection.Handshake(), TlsConnection::Result::kWantsRead);
  ASSERT_TRUE(client.Handshake());
  ASSERT_EQ(connection.Handshake(), TlsConnection::Result::kOk);
  // Records without data let other connections have their turn.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.SendKeyUpdate());
  ASSERT_TRUE(client.Send("data"));
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(connection.Read(&bytes), TlsConnection::Result::kWantsRead);
  }
  EXPECT_EQ(connection.Read(&bytes), TlsConnection::Result::kOk);
  EXPECT_EQ(bytes, "data");
}

}  // namespace
}  // namespace fleetperf::aggregator::web
