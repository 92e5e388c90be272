#include "aggregator/web/points_json.h"

#include <limits>
#include <string>

#include "aggregator/web/json.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

std::string Json(const v1::Points& points) {
  std::string json = "x";  // text before is kept
  AppendPoints(points, &json);
  return json.substr(1);
}

TEST(PointsJson, HasTimesInMillisecondsAndAllDigitsOfValues) {
  v1::Points points;
  points.set_series(7);
  points.add_time_unix_nanos(1'764'257'122'000'000'000);
  points.add_time_unix_nanos(1'000'500'000);
  points.add_time_unix_nanos(1);
  points.add_values(0.1);
  points.add_values(1e300);
  points.add_values(-3);
  EXPECT_EQ(Json(points), R"({"series":7,"t":[1764257122000,1764257123000.5,)"
                          R"(1764257123000.500001],"v":[0.1,1e+300,-3]})");
}

TEST(PointsJson, HasMapsOfWhatIsUnusual) {
  v1::Points points;
  points.set_series(1);
  for (int i = 0; i < 3; ++i) {
    points.add_time_unix_nanos(1'000'000);
    points.add_values(i == 2 ? std::numeric_limits<double>::infinity() : 0);
    points.add_statuses(i == 1 ? v1::VALUE_STATUS_GAP : v1::VALUE_STATUS_OK);
    points.add_causes(i == 1 ? v1::GAP_CAUSE_NO_SAMPLES
                             : v1::GAP_CAUSE_UNSPECIFIED);
    points.add_breaks(i == 0 ? 2 : 0);
    points.add_coverage(i == 2 ? 0.5f : 1);
    points.add_presence(1);
  }
  points.set_last_is_partial(true);
  points.set_newest_sample_unix_nanos(-1'500'000);
  EXPECT_EQ(Json(points), R"({"series":1,"t":[1,2,3],"v":[0,null,null],)"
                          R"("statuses":{"1":"VALUE_STATUS_GAP"},)"
                          R"("causes":{"1":"GAP_CAUSE_NO_SAMPLES"},)"
                          R"("breaks":{"0":2},"coverage":{"2":0.5},)"
                          R"("partial":true,"newest_sample":-1.5})");
}

TEST(Json, HasErrorsOnOneLine) {
  EXPECT_EQ(ErrorJson(absl::NotFoundError("\"a\"\n\\ \xff \xc3\xa4")),
            "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":"
            "\"\\\"a\\\"\\u000a\\\\ \xef\xbf\xbd \xc3\xa4\"}}");
}

}  // namespace
}  // namespace fleetperf::aggregator::web
