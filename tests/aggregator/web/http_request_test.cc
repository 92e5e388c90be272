#include "aggregator/web/http_request.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using ::testing::Pair;
using State = RequestReader::State;

constexpr char kGet[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Returns the HTTP status of the answer to bytes that are not a request; 0 for
// others.
int FailureOf(const std::string& bytes) {
  RequestReader reader;
  return reader.Add(bytes) == State::kFailed ? reader.failure() : 0;
}

int FailureOfHeader(const std::string& header) {
  return FailureOf(
      absl::StrCat("POST /x HTTP/1.1\r\nHost: a\r\n", header, "\r\n\r\n"));
}

TEST(RequestReader, ReadsRequestsOneAfterTheOther) {
  const std::string bytes = absl::StrCat(
      "POST /api/v1/query?a=1&token=t HTTP/1.1\r\nHost: fleet:7445\r\n"
      "Content-Type:  application/json \r\nContent-Length: 5\r\n"
      "Cookie: a=b; fleetperf_session=s3cret ;c=d\r\n\r\n{\"\"}\n",
      kGet);
  RequestReader reader;
  size_t end = 0;  // of the first request
  for (size_t i = 0; i < bytes.size() && reader.state() != State::kDone; ++i) {
    reader.Add(bytes.substr(i, 1));
    end = i + 1;
  }
  ASSERT_EQ(reader.state(), State::kDone);
  const HttpRequest request = reader.Take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/query");
  EXPECT_EQ(request.Parameter("token"), "t");
  EXPECT_EQ(request.Parameter("oken"), "");
  EXPECT_EQ(request.Header("content-type"), "application/json");
  EXPECT_EQ(request.Cookie("fleetperf_session"), "s3cret");
  EXPECT_EQ(request.Cookie("session"), "");
  EXPECT_EQ(request.body, "{\"\"}\n");
  EXPECT_TRUE(request.keeps_alive);
  EXPECT_FALSE(reader.has_begun());
  EXPECT_EQ(reader.Add(bytes.substr(end)), State::kDone);
  EXPECT_EQ(reader.Take().path, "/");
}

TEST(RequestReader, KeepsPipelinedBytes) {
  RequestReader reader;
  ASSERT_EQ(reader.Add(absl::StrCat(kGet, kGet)), State::kDone);
  reader.Take();
  EXPECT_EQ(reader.state(), State::kDone);
}

TEST(RequestReader, KnowsWhenTheClientWantsToClose) {
  RequestReader reader;
  reader.Add("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n");
  EXPECT_FALSE(reader.Take().keeps_alive);
}

// RFC 9112, sections 2.2, 3, 3.2, 5, 5.2 and 6.3. What it leaves open is
// refused, too: requests that two readers understand in different ways.
TEST(RequestReader, RefusesWhatIsNoRequest) {
  EXPECT_EQ(FailureOf("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(FailureOf("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(FailureOf("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(FailureOf("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(FailureOf("GET / HTTP/1.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(FailureOf("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(FailureOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(FailureOfHeader("Host: b"), 400);
  EXPECT_EQ(FailureOfHeader("A : b"), 400);
  EXPECT_EQ(FailureOfHeader("A: b\r\n c"), 400);
  EXPECT_EQ(FailureOfHeader("A: b\nC: d"), 400);
  EXPECT_EQ(FailureOfHeader("Transfer-Encoding: chunked"), 501);
  EXPECT_EQ(FailureOfHeader("Content-Length: 1\r\nContent-Length: 1"), 400);
  EXPECT_EQ(FailureOfHeader("Content-Length: +1"), 400);
  EXPECT_EQ(FailureOfHeader("Content-Length: 1, 1"), 400);
  EXPECT_EQ(FailureOfHeader("Content-Length: -1"), 400);
}

TEST(RequestReader, BoundsHeadAndBody) {
  EXPECT_EQ(FailureOfHeader("Content-Length: 262145"), 413);
  EXPECT_EQ(FailureOfHeader("Content-Length: 18446744073709551615"), 413);
  EXPECT_EQ(FailureOfHeader("Content-Length: 18446744073709551616"), 400);
  EXPECT_EQ(FailureOfHeader("Content-Length: 262144"), 0);
  EXPECT_EQ(FailureOfHeader(absl::StrCat("A: ", std::string(16 << 10, 'a'))),
            431);
  // Without an end, too.
  EXPECT_EQ(FailureOf(std::string((16 << 10) + 4, 'a')), 431);
  std::string headers = "A: b";
  for (int i = 0; i < 100; ++i) headers += "\r\nA: b";
  EXPECT_EQ(FailureOfHeader(headers), 431);
}

TEST(DecodeQuery, DecodesNamesAndValues) {
  EXPECT_THAT(DecodeQuery("path=%5CMemory%5c*&p%61th=a+b%3D=c&&x&=y"),
              IsOkAndHolds(ElementsAre(Pair("path", "\\Memory\\*"),
                                       Pair("path", "a b==c"), Pair("x", ""),
                                       Pair("", "y"))));
  EXPECT_THAT(DecodeQuery(""), IsOkAndHolds(IsEmpty()));
  for (const absl::string_view bad : {"%", "a=%4", "a=%4g", "a=%-1", "%=1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeQuery(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace fleetperf::aggregator::web
