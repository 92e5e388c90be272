#include "aggregator/web/message_json.h"

#include <google/protobuf/util/json_util.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "aggregator/web/json.h"
#include "fleetperf/v1/fleet.pb.h"
#include "fleetperf/v1/query.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

using Tree = nlohmann::json;

// Checks that the text is on one line and means the same as the text that
// protobuf's own library writes.
void ExpectSame(const google::protobuf::Message& message) {
  std::string expected;
  ASSERT_TRUE(
      google::protobuf::util::MessageToJsonString(message, &expected).ok());
  const std::string own = ToJson(message);
  EXPECT_EQ(own.find('\n'), own.npos);
  EXPECT_EQ(Tree::parse(own), Tree::parse(expected)) << own;
}

TEST(MessageJson, LeavesOutDefaults) {
  EXPECT_EQ(ToJson(v1::ListMachinesResponse()), "{}");
  v1::Series series;
  EXPECT_EQ(ToJson(series), "{}");
  series.set_instance("");  // it has a presence
  EXPECT_EQ(ToJson(series), R"({"instance":""})");
  series.set_instance_id(3);
  EXPECT_EQ(ToJson(series), R"({"instance":"","instanceId":3})");
}

TEST(MessageJson, ReplacesBytesThatAreNotUtf8) {
  v1::Series series;
  series.set_instance("a\xff!");
  EXPECT_EQ(ToJson(series), "{\"instance\":\"a\xef\xbf\xbd!\"}");
}

TEST(MessageJson, WritesMachinesAsProtobufDoes) {
  v1::ListMachinesResponse response;
  response.set_next_page_token("host-\"9\"\\\n\x01 \xc3\xa4");
  for (const auto& [seconds, nanos] :
       {std::pair<int64_t, int>{1'764'257'122, 0},
        {1'764'257'122, 120'000'000},
        {0, 1'000},
        {-1, 999'999'999},
        {253'402'300'799, 5}}) {
    v1::Machine* const machine = response.add_machines();
    machine->set_name("<host>");
    machine->set_connected(seconds > 0);
    machine->mutable_newest_sample()->set_seconds(seconds);
    machine->mutable_newest_sample()->set_nanos(nanos);
    machine->mutable_skew()->set_seconds(seconds < 0 ? -3 : 3);
    machine->mutable_skew()->set_nanos(seconds < 0 ? -nanos : nanos);
    machine->mutable_lag();  // 0 s
    (*machine->mutable_labels())["role"] = "web";
    (*machine->mutable_labels())["\xc3\xa4"] = "";
    (*machine->mutable_lost_ticks())["spool_full"] =
        std::numeric_limits<uint64_t>::max();
    machine->set_rejected_batches(7);
  }
  response.mutable_machines(0)->mutable_skew()->set_seconds(0);
  response.mutable_machines(0)->mutable_skew()->set_nanos(-5'000'000);
  ExpectSame(response);
  v1::QueryRangeRequest request;
  ExpectSame(request);
  request.add_paths("\\A\\B");
  request.add_paths("\xc3\xa4\"");
  ExpectSame(request);
}

TEST(MessageJson, WritesPartsOfAnswersAsProtobufDoes) {
  v1::QueryRangeResponse part;
  part.mutable_missing()->set_path("\\A(*)\\B");
  ExpectSame(part);
  v1::Points& points = *part.mutable_points();
  points.add_time_unix_nanos(std::numeric_limits<int64_t>::min());
  points.add_time_unix_nanos(5);
  for (const double value :
       {0.1, -1e300, 5e-324, std::numeric_limits<double>::infinity()}) {
    points.add_values(value);
  }
  points.add_values(std::numeric_limits<double>::quiet_NaN());
  points.add_coverage(0.5f);
  points.add_coverage(1);
  points.add_statuses(v1::VALUE_STATUS_GAP);
  points.add_statuses(static_cast<v1::ValueStatus>(99));
  points.set_last_is_partial(true);
  ExpectSame(part);
  v1::ExplainValueResponse explained;
  v1::Explanation& one = *explained.add_explanations();
  one.mutable_older()->set_value(std::numeric_limits<uint64_t>::max());
  one.set_value(0);
  ExpectSame(explained);
}

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
