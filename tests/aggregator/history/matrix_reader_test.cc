#include "aggregator/history/matrix_reader.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// Keeps all series except those with the label "skip".
class Sink : public MatrixSink {
 public:
  std::vector<EngineSample>* Begin(const EngineLabels& labels) override {
    if (!labels.Find("skip").empty()) return nullptr;
    return &series[std::string(labels.Find("__name__"))];
  }

  // "NAME TIME=VALUE ...", by name.
  std::vector<std::string> Text() const {
    std::vector<std::string> lines;
    for (const auto& [name, samples] : series) {
      std::string& line = lines.emplace_back(name);
      for (const EngineSample& sample : samples) {
        absl::StrAppend(&line, " ", sample.unix_millis, "=",
                        absl::StrFormat("%.17g", sample.value));
      }
    }
    return lines;
  }

  std::map<std::string, std::vector<EngineSample>> series;
};

std::string Answer(const std::string& result) {
  return absl::StrCat(
      R"({"status":"success","data":{"resultType":"matrix","result":[)", result,
      "]}}");
}

TEST(MatrixReaderTest, ReadsSeries) {
  Sink sink;
  EXPECT_OK(ReadMatrix(
      Answer(R"({"metric":{"__name__":"a","instance":"\"\u00f6\\"},"values":[)"
             R"([1800000000.123,"9007199254740991"],[1800000001,"0"],)"
             R"([1800000002.5,"0.25"],[1800000003,"NaN"],[1800000004,"+Inf"],)"
             R"([1800000005,"1e3"],[1800000006,"-1"],[1800000007,"x"]]},)"
             R"({"metric":{"skip":"1"},"values":[[1,"1"]]},)"
             R"({"metric":{},"values":[]})"),
      &sink));
  EXPECT_THAT(sink.Text(), ElementsAre("",
                                       "a 1800000000123=9007199254740991 "
                                       "1800000001000=0 1800000002500=0.25 "
                                       "1800000005000=1000 1800000006000=-1"));
}

// Engines add fields.
TEST(MatrixReaderTest, SkipsWhatItDoesNotKnow) {
  Sink sink;
  EXPECT_OK(ReadMatrix(
      R"( {"isPartial":false,"warnings":["status",{"data":[1,null,true]}],)"
      R"("stats":{"seriesFetched":"1","x":[[[]]]},"data":{"more":{"result":1},)"
      R"("result":[{"metric":{"__name__":"a"},"histograms":[[1,{}]],)"
      R"("values":[[1.5,"2"]],"x":-1.5e3}],"resultType":"matrix"},)"
      R"("status":"success"} )",
      &sink));
  EXPECT_THAT(sink.Text(), ElementsAre("a 1500=2"));
}

TEST(MatrixReaderTest, RefusesOtherAnswers) {
  std::string deep = R"({"x":)";
  deep.append(100'000, '[');
  std::string labels = R"("a":"1")";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&labels, R"(,"a":"1")");
  const std::string kAnswers[] = {
      "",
      "<html>",
      "[]",
      "7",
      "{}",
      R"({"status":"success"})",
      R"({"status":"success","data":{"resultType":"vector","result":[]}})",
      R"({"data":{"resultType":"matrix","result":[]}})",
      Answer("") + "x",
      Answer("").substr(0, 60),
      Answer("1"),
      Answer("[]"),
      Answer(R"({"values":[[1,"2"]]})"),
      Answer(R"({"metric":{"a":1},"values":[]})"),
      Answer(R"({"metric":{"a":{}},"values":[]})"),
      Answer(R"({"metric":{},"metric":{},"values":[]})"),
      Answer(R"({"metric":{},"values":[],"values":[]})"),
      Answer(R"({"metric":{},"values":{}})"),
      Answer(R"({"metric":{},"values":[1]})"),
      Answer(R"({"metric":{},"values":[[1]]})"),
      Answer(R"({"metric":{},"values":[["1","2"]]})"),
      Answer(R"({"metric":{},"values":[[1,2]]})"),
      Answer(R"({"metric":{},"values":[[1,"2","3"]]})"),
      Answer(R"({"metric":{},"values":[[1,"2"],[[]]]})"),
      Answer(R"({"metric":{},"values":[[1e300,"2"]]})"),
      Answer(R"({"metric":{},"values":[[null,"2"]]})"),
      Answer(R"({"metric":{},"values":[[true,"2"]]})"),
      Answer("{\"metric\":{\"a\":\"\xFF\"},\"values\":[]}"),
      Answer(absl::StrCat(R"({"metric":{)", labels, R"(},"values":[]})")),
      Answer(absl::StrCat(R"({"metric":{"a":")", std::string(70'000, 'x'),
                          R"("},"values":[]})")),
      deep,
  };
  for (const std::string& answer : kAnswers) {
    Sink sink;
    EXPECT_THAT(ReadMatrix(answer, &sink),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its answer")))
        << answer.substr(0, 200);
  }
}

TEST(MatrixReaderTest, QuotesErrorsOfTheEngine) {
  Sink sink;
  EXPECT_THAT(
      ReadMatrix(R"({"status":"error","errorType":"x","error":"no\u0007 \"y"})",
                 &sink),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no? \"y")));
  EXPECT_THAT(
      ReadMatrix(R"({"status":"success","isPartial":true,"data":{"resultType")"
                 R"(:"matrix","result":[]}})",
                 &sink),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a part of")));
}

}  // namespace
}  // namespace fleetperf::aggregator
