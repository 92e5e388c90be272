// How a request is divided whose engine refuses it.

#include "aggregator/export/request_sender.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::HttpServer;

class RequestSenderTest : public ::testing::Test {
 protected:
  // Adds series of the next machine, each with two samples.
  void AddMachine(int series) {
    constexpr ExportSample kSamples[] = {{1, 2}, {2, 3}};
    request_.BeginMachine();
    for (int i = 0; i < series; ++i) {
      request_.Add(EncodeLabels({{"__name__", absl::StrCat("m", i)}}),
                   kSamples);
    }
  }
  void Refuse(int times) {
    for (int i = 0; i < times; ++i) server_.Answer({.status = 400});
  }

  HttpServer server_;
  RemoteWriteClient client_{{.url = server_.url()}};
  WriteRequestBuilder request_;
  SentRequest sent_;
};

TEST_F(RequestSenderTest, DividesAMachineSixtyTimes) {
  AddMachine(1000);
  Refuse(1000);
  ASSERT_OK(SendRequest(request_, &client_, &sent_));
  // The whole, and two halves of each division.
  EXPECT_EQ(server_.requests().size(), 1 + 2 * 60);
  EXPECT_EQ(sent_.refused, 2000);
  EXPECT_EQ(sent_.samples, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(sent_.refusal));
}

TEST_F(RequestSenderTest, DividesEachMachineSixtyTimes) {
  AddMachine(100);
  AddMachine(200);
  Refuse(1000);
  ASSERT_OK(SendRequest(request_, &client_, &sent_));
  EXPECT_EQ(server_.requests().size(), 1 + 2 * (1 + 2 * 60));
  EXPECT_EQ(sent_.refused, 600);
}

TEST_F(RequestSenderTest, SendsWhatTheEngineTakes) {
  AddMachine(4);
  // All; the first half; its first series; then all others.
  Refuse(3);
  ASSERT_OK(SendRequest(request_, &client_, &sent_));
  EXPECT_EQ(server_.requests().size(), 5);
  EXPECT_EQ(sent_.refused, 2);
  EXPECT_EQ(sent_.samples, 6);
  EXPECT_EQ(sent_.requests, 2);
}

TEST_F(RequestSenderTest, EndsWithOtherErrors) {
  AddMachine(4);
  Refuse(1);
  server_.Answer({.status = 204});
  server_.Answer({.status = 503});
  EXPECT_TRUE(absl::IsUnavailable(SendRequest(request_, &client_, &sent_)));
  EXPECT_EQ(server_.requests().size(), 3);
  EXPECT_EQ(sent_.samples, 4);
  EXPECT_EQ(sent_.refused, 0);
}

TEST_F(RequestSenderTest, SendsNothingOfAnEmptyRequest) {
  ASSERT_OK(SendRequest(request_, &client_, &sent_));
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace fleetperf::aggregator
