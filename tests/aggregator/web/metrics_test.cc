// Answers to scrapes. scrape_test.cc has more of their values.

#include "aggregator/web/metrics.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator::web {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestStore;

// The header Accept of Prometheus 2.42 and 3.
constexpr char kPrometheus2[] =
    "application/openmetrics-text;version=1.0.0,"
    "application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
constexpr char kPrometheus3[] =
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

TEST(FormatFor, IsOpenMetricsForClientsThatPreferIt) {
  for (const absl::string_view accept :
       {kPrometheus2, kPrometheus3, "application/openmetrics-text",
        "text/plain, Application/OpenMetrics-Text; version=1.0.0"}) {
    EXPECT_EQ(FormatFor(accept), ExpositionFormat::kOpenMetrics) << accept;
  }
  for (const absl::string_view accept :
       {"", "*/*", "text/plain;version=0.0.4",
        "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0", "application/openmetrics-text;q=x",
        "application/openmetrics-text;q=0.4,text/plain;q=0.5"}) {
    EXPECT_EQ(FormatFor(accept), ExpositionFormat::kPrometheusText) << accept;
  }
}

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}, {agent_.Disk("D:"), 6}});
    EXPECT_OK(agent_.Send());
  }

  std::string Answer(const std::string& query, const std::string& accept = "",
                     const std::string& subject = "alice") {
    HttpRequest request;
    request.query = query;
    request.headers = {{"accept", accept}};
    Reply reply([] {});
    metrics_.Answer(request, {.key = "alice", .is_cancelled = nullptr}, subject,
                    &reply);
    EXPECT_EQ(reply.finished(), std::nullopt);  // not taken
    std::string answer;
    while (const Reply::Bytes bytes = reply.Take()) answer += *bytes;
    EXPECT_EQ(reply.finished(), true);
    return answer;
  }

  TestStore store_;
  DiskAgent agent_{&store_};
  CallerQuota quota_;
  Metrics metrics_{{.store = &*store_,
                    .now_of = [](const std::string&) { return At(1); },
                    .quota = &quota_,
                    .paths = {"\\Disk(*)\\Queue Length"}}};
};

TEST_F(MetricsTest, SendsOneOfTwoFormats) {
  const std::string value =
      "# TYPE fleetperf_disk_queue_length gauge\n"
      "fleetperf_disk_queue_length{instance=\"C:\",machine=\"web-1\"} 5 ";
  const std::string path = "path=%5CDisk%28C%3A%29%5C*";
  const std::string text = Answer(path);
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; "
                               "version=0.0.4; charset=utf-8\r\n"));
  const std::string info =
      "# TYPE fleetperf_machine_info gauge\n"
      "fleetperf_machine_info{machine=\"web-1\"} 1 ";
  EXPECT_THAT(
      text, HasSubstr(absl::StrCat(
                "Content-Length: ", value.size() + info.size() + 28, "\r\n\r\n",
                value, "1800000001000\n", info, "1800000001000\n")));
  const std::string open_metrics = Answer(path, kPrometheus2);
  EXPECT_THAT(open_metrics,
              StartsWith("HTTP/1.1 200 OK\r\nContent-Type: "
                         "application/openmetrics-text; version=1.0.0; "
                         "charset=utf-8\r\n"));
  EXPECT_THAT(open_metrics, HasSubstr("Vary: Accept\r\n"));
  EXPECT_THAT(open_metrics,
              HasSubstr(absl::StrCat("\r\n\r\n", value, "1800000001.000\n",
                                     info, "1800000001.000\n# EOF\n")));
}

TEST_F(MetricsTest, PathsReplaceThoseOfTheConfiguration) {
  const std::string all = Answer("");
  EXPECT_THAT(all, HasSubstr("C:"));
  EXPECT_THAT(all, HasSubstr("D:"));
  EXPECT_THAT(Answer("path=%5CDisk(D:)%5CTransfers/sec"),
              HasSubstr("Content-Length: 0\r\n"));
}

TEST_F(MetricsTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(Answer("paths=x"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Answer("paths=x"), HasSubstr("there is no parameter paths"));
  EXPECT_THAT(Answer("path=%"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Answer("path=Disk"), StartsWith("HTTP/1.1 400"));
  std::string many;
  for (int i = 0; i < 32; ++i) many += "path=%5CDisk(*)%5C*&";
  EXPECT_THAT(Answer(many), StartsWith("HTTP/1.1 200"));
  many += "path=%5CDisk(*)%5C*";
  EXPECT_THAT(Answer(many), HasSubstr("33 paths"));
}

TEST_F(MetricsTest, LogsTheFirstFailureOfEachCaller) {
  const uint64_t before = CountLogLines().suppressed;
  Answer("paths=x", "", "alice");
  Answer("paths=x", "", "bob");
  EXPECT_EQ(CountLogLines().suppressed, before);
  Answer("paths=x", "", "alice");
  EXPECT_EQ(CountLogLines().suppressed, before + 1);
}

}  // namespace
}  // namespace fleetperf::aggregator::web
