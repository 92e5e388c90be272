// Expected texts follow from the two specifications, which exposition.h names.

#include "aggregator/export/exposition.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

std::string TextOf(Exposition* exposition) {
  const size_t bytes = exposition->bytes();
  std::string text;
  EXPECT_OK(exposition->Write([&](std::string part) {
    EXPECT_FALSE(part.empty());
    text += part;
    return absl::OkStatus();
  }));
  EXPECT_EQ(text.size(), bytes);
  return text;
}

void AddAll(Exposition* exposition) {
  exposition->Add(
      EncodeLabels({{"__name__", "fleetperf_b"}, {"machine", "web-1"}}),
      {.unix_millis = 1'800'000'000'123, .value = 0.1});
  exposition->Add(EncodeLabels({{"__name__", "fleetperf_a_percent"},
                                {"Zone", "north"},
                                {"instance", "C:\\ \"x\"\n\xC3\xB6\r"},
                                {"machine", "web-1"}}),
                  {.unix_millis = 1'800'000'001'000, .value = 1e300});
  exposition->Add(
      EncodeLabels({{"__name__", "fleetperf_b"}, {"machine", "web-2"}}),
      {.unix_millis = 1'800'000'000'005,
       .value = -std::numeric_limits<double>::infinity()});
}

TEST(Exposition, WritesOpenMetrics) {
  Exposition exposition(ExpositionFormat::kOpenMetrics);
  AddAll(&exposition);
  EXPECT_EQ(TextOf(&exposition),
            "# TYPE fleetperf_a_percent gauge\n"
            "fleetperf_a_percent{Zone=\"north\",instance=\"C:\\\\ \\\"x\\\"\\n"
            "\xC3\xB6\r\",machine=\"web-1\"} 1e+300 1800000001.000\n"
            "# TYPE fleetperf_b gauge\n"
            "fleetperf_b{machine=\"web-1\"} 0.1 1800000000.123\n"
            "fleetperf_b{machine=\"web-2\"} -Inf 1800000000.005\n"
            "# EOF\n");
}

TEST(Exposition, WritesTheTextOfPrometheus) {
  Exposition exposition(ExpositionFormat::kPrometheusText);
  AddAll(&exposition);
  EXPECT_EQ(TextOf(&exposition),
            "# TYPE fleetperf_a_percent gauge\n"
            "fleetperf_a_percent{Zone=\"north\",instance=\"C:\\\\ \\\"x\\\"\\n"
            "\xC3\xB6\r\",machine=\"web-1\"} 1e+300 1800000001000\n"
            "# TYPE fleetperf_b gauge\n"
            "fleetperf_b{machine=\"web-1\"} 0.1 1800000000123\n"
            "fleetperf_b{machine=\"web-2\"} -Inf 1800000000005\n");
}

TEST(Exposition, WithoutValuesIsWhole) {
  Exposition open_metrics(ExpositionFormat::kOpenMetrics);
  EXPECT_EQ(TextOf(&open_metrics), "# EOF\n");
  Exposition text(ExpositionFormat::kPrometheusText);
  EXPECT_EQ(TextOf(&text), "");
}

TEST(Exposition, IsWrittenInPartsUntilAnError) {
  Exposition exposition(ExpositionFormat::kOpenMetrics);
  const std::string long_value(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    exposition.Add(EncodeLabels({{"__name__", absl::StrCat("m", i)},
                                 {"machine", long_value}}),
                   {.unix_millis = 1, .value = 2});
  }
  int parts = 0;
  EXPECT_TRUE(absl::IsCancelled(exposition.Write([&](const std::string& part) {
    EXPECT_LT(part.size(), 40'000);
    return ++parts < 3 ? absl::OkStatus() : absl::CancelledError("gone");
  })));
  EXPECT_EQ(parts, 3);
}

}  // namespace
}  // namespace fleetperf::aggregator
