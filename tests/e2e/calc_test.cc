// Tests of fleetperf calc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/deployment.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> OutputLines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

Result Calc(const std::string& input, const std::string& flags = "") {
  const TempDirectory directory;
  const std::string path = directory.File("input");
  Deployment::Write(path, input);
  return RunCommand({"sh", "-c",
                     absl::StrCat(Deployment::Executable("fleetperf"), " calc ",
                                  flags, " < ", path)});
}

// tests/golden/formulas.py calculated the expected values with exact rationals.
TEST(Calc, AgreesWithExactArithmetic) {
  std::ifstream file(absl::StrCat(FLEETPERF_GOLDEN, "/formulas.jsonl"));
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  const Result calc = Calc(golden);
  ASSERT_EQ(calc.status, 0) << calc.error;
  const std::vector<std::string> inputs = OutputLines(golden);
  const std::vector<std::string> outputs = OutputLines(calc.output);
  ASSERT_GT(inputs.size(), 1000);
  ASSERT_EQ(inputs.size(), outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto expected = nlohmann::json::parse(inputs[i])["expected"];
    const auto output = nlohmann::json::parse(outputs[i]);
    ASSERT_EQ(output["status"], expected["status"]) << inputs[i];
    ASSERT_EQ(output.contains("value"), expected.contains("value"));
    if (expected.contains("value")) {
      // The nearest double or its neighbor.
      const double value = expected["value"];
      const double off_by_one = std::nextafter(value, INFINITY) - value;
      EXPECT_NEAR(output["value"].get<double>(), value, off_by_one)
          << inputs[i];
    }
  }
}

TEST(Calc, PrintsSeventeenDigits) {
  EXPECT_EQ(
      Calc(R"({"type":"PERF_RAW_FRACTION","raw1":{"data":1,"time":3}})").output,
      "{\"status\":\"ok\",\"value\":33.333333333333336}\n");
  EXPECT_EQ(Calc(R"({"type":537003008,"raw1":{"data":1,"time":1000}})").output,
            "{\"status\":\"ok\",\"value\":0.10000000000000001}\n");
}

TEST(Calc, ShowsHexTypesInHexadecimal) {
  EXPECT_EQ(Calc(R"({"type":"PERF_COUNTER_RAWCOUNT_HEX","data_size":4,)"
                 R"("raw1":{"data":48879}})")
                .output,
            "{\"status\":\"ok\",\"value\":48879,\"hex\":\"0xBEEF\"}\n");
  // A double has fewer digits.
  EXPECT_EQ(Calc(R"({"type":"PERF_COUNTER_LARGE_RAWCOUNT_HEX",)"
                 R"("raw1":{"data":18446744073709551615}})")
                .output,
            "{\"status\":\"ok\",\"value\":1.8446744073709552e+19,"
            "\"hex\":\"0xFFFFFFFFFFFFFFFF\"}\n");
}

TEST(Calc, Wrap32WrapsFourByteData) {
  const std::string line = R"({"type":"PERF_COUNTER_DELTA","data_size":4,)"
                           R"("raw0":{"data":4294967290},"raw1":{"data":4}})";
  EXPECT_EQ(Calc(line).output, "{\"status\":\"negative_value\"}\n");
  EXPECT_EQ(Calc(line, "--wrap32").output,
            "{\"status\":\"ok\",\"value\":10}\n");
}

TEST(Calc, NamesInvalidLinesAndCalculatesTheRest) {
  const Result result = Calc(
      "{\"type\":\"PERF_COUNTER_RAWCOUNT\",\"raw1\":{\"data\":5}}\n"
      "not json\n"
      "{\"raw1\":{\"data\":5}}\n"
      "{\"type\":\"PERF_COUNTER_RAWCOUNT\"}\n"
      "{\"type\":\"PERF_COUNTER_RAWCOUNT\",\"raw1\":{\"data\":-5}}\n"
      "\n"
      "{\"type\":\"PERF_COUNTER_RAWCOUNT\",\"raw1\":{\"data\":6}}\n");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(OutputLines(result.output), SizeIs(2));
  EXPECT_THAT(
      OutputLines(result.error),
      ElementsAre(
          "fleetperf: standard input:2: the line is not a JSON object",
          "fleetperf: standard input:3: type is missing",
          "fleetperf: standard input:4: raw1, the newer sample, is missing",
          "fleetperf: standard input:5: raw1.data is -5, it must be a whole "
          "number "
          "from 0 to 2^64-1"));
}

// Returns the error message for an invalid line with these type and members.
std::string CalcError(const std::string& type, const std::string& members) {
  const Result result =
      Calc(absl::StrCat("{\"type\":\"", type, "\",", members, "}\n"));
  EXPECT_EQ(result.status, 1) << members;
  EXPECT_THAT(result.output, IsEmpty()) << members;
  return result.error;
}

TEST(Calc, RequiresFieldsThatTheTypeUses) {
  const auto missing = [](const std::string& name) {
    return absl::StrCat("fleetperf: standard input:1: ", name, " is missing\n");
  };
  EXPECT_EQ(CalcError("PERF_AVERAGE_BULK",
                      R"("raw0":{"data":1},"raw1":{"data":2,"time":9})"),
            missing("raw0.time"));
  EXPECT_EQ(CalcError("PERF_COUNTER_TIMER",
                      R"("raw0":{"data":1,"time":5},"raw1":{"data":2})"),
            missing("raw1.time"));
  EXPECT_EQ(
      CalcError("PERF_COUNTER_COUNTER",
                R"("raw0":{"data":1,"time":5},"raw1":{"data":2,"time":9})"),
      missing("raw1.freq"));
  EXPECT_EQ(
      CalcError("PERF_100NSEC_MULTI_TIMER",
                R"("raw0":{"data":1,"time":5},"raw1":{"data":2,"time":9})"),
      missing("raw1.multi"));
  EXPECT_EQ(CalcError("PERF_ELAPSED_TIME",
                      R"("raw1":{"data":2,"time":9,"freq":null})"),
            missing("raw1.freq"));
  EXPECT_EQ(CalcError("PERF_RAW_FRACTION", R"("raw1":{"data":2})"),
            missing("raw1.time"));
}

// Two samples of a rate in the forms of three commands: 50 in 2 s.
TEST(Calc, ReadsRawSamplesOfOtherCommands) {
  const std::string older =
      R"("time":"2027-01-15T08:00:00Z","value":"100","size":4,)"
      R"("perf_time":"10000000","perf_time_100ns":"134444448000000000",)"
      R"("perf_freq":"10000000","life":"7"})";
  const std::string newer =
      R"("time":"2027-01-15T08:00:02Z","value":"150","size":4,)"
      R"("perf_time":"30000000","perf_time_100ns":"134444448020000000",)"
      R"("perf_freq":"10000000","life":"7"})";
  const std::string head = R"({"machine":"a","path":"\\X\\Y",)";
  const std::string type = R"("type":"PERF_COUNTER_COUNTER",)";
  EXPECT_EQ(Calc(absl::StrCat(head, type, R"("raw0":{)", older, R"(,"raw1":{)",
                              newer, "}"))
                .output,
            absl::StrCat(head, "\"status\":\"ok\",\"value\":25}\n"));
  // The samples of one life belong together, also among those of others.
  const std::string other = R"({"machine":"b","path":"\\X\\Y",)";
  EXPECT_EQ(
      Calc(absl::StrCat(head, type, older, "\n", other, type, newer, "\n", head,
                        type, newer))
          .output,
      absl::StrCat(
          head, R"("time":"2027-01-15T08:00:00Z","status":"need_two_samples"})",
          "\n", other,
          R"("time":"2027-01-15T08:00:02Z","status":"need_two_samples"})", "\n",
          head, R"("time":"2027-01-15T08:00:02Z","status":"ok","value":25})",
          "\n"));
  EXPECT_THAT(
      Calc(absl::StrCat(head, type, older, "\n", head, type,
                        absl::StrReplaceAll(newer, {{"\"7\"", "\"8\""}})))
          .output,
      Not(HasSubstr("ok")));
  // Missing inputs of a stored sample have a status, as in a query.
  EXPECT_EQ(Calc(absl::StrCat(R"({"type":"PERF_RAW_FRACTION",)", newer)).output,
            R"({"time":"2027-01-15T08:00:02Z","status":"zero_denominator"})"
            "\n");
  // A block has no types.
  const std::string lines =
      absl::StrCat(R"({"file":"f","total_size":80,"perf_freq":"10000000"})",
                   "\n", R"({"query":0,"counter":1,)", older, "\n",
                   R"({"query":0,"counter":1,)", newer);
  EXPECT_THAT(Calc(lines, "--type PERF_COUNTER_COUNTER").output,
              HasSubstr("\"status\":\"ok\",\"value\":25}"));
  EXPECT_THAT(Calc(lines).error,
              HasSubstr("standard input:2: type is missing"));
}

TEST(Calc, RejectsNumbersThatDoNotFitTheirSize) {
  EXPECT_EQ(CalcError("PERF_COUNTER_RAWCOUNT",
                      R"("data_size":4,"raw1":{"data":4294967296})"),
            "fleetperf: standard input:1: raw1.data is 4294967296, which does "
            "not fit in 4 bytes\n");
  EXPECT_EQ(CalcError("PERF_AVERAGE_BULK",
                      R"("base_size":4,"raw0":{"data":1,"time":4294967296},)"
                      R"("raw1":{"data":2,"time":4294967297})"),
            "fleetperf: standard input:1: raw0.time is 4294967296, which does "
            "not fit in 4 bytes\n");
  // base_size does not apply to a clock.
  EXPECT_EQ(Calc(R"({"type":"PERF_COUNTER_TIMER","base_size":4,)"
                 R"("raw0":{"data":1,"time":4294967296},)"
                 R"("raw1":{"data":2,"time":4294967396}})")
                .output,
            "{\"status\":\"ok\",\"value\":1}\n");
}

}  // namespace
}  // namespace fleetperf::testing
