// Tests of the commands that show how values are calculated: decode, explain
// and raw queries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "perflib/block_writer.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "tests/e2e/deployment.h"
#include "tests/support/temp_directory.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

Result Fleetperf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Deployment::Executable("fleetperf"));
  return RunCommand(arguments);
}

// Returns a block with results of every kind.
std::string Block() {
  std::string bytes;
  perflib::BlockWriter writer({.perf_time_stamp = 123456789,
                               .perf_time_100nsec = 133'000'000'000'000'000,
                               .perf_freq = 10'000'000},
                              &bytes);
  const uint32_t ids[] = {0, 26};
  writer.BeginResult(perflib::HeaderType::kCounterset, ids);
  writer.BeginInstance(perflib::Utf16FromUtf8("0,Größe"), 7);
  writer.AddValue32(4'000'000'000);
  writer.AddValue64(UINT64_MAX);
  writer.BeginInstance(perflib::Utf16FromUtf8("_Total"), 8);
  writer.AddValueBytes("text, no number");
  writer.AddValue64(1);
  writer.EndResult();
  writer.AddErrorReturn(232);
  writer.BeginResult(perflib::HeaderType::kSingleCounter);
  writer.AddValue32(5);
  writer.EndResult();
  writer.BeginResult(perflib::HeaderType::kMultipleCounters, ids);
  writer.AddValue32(1);
  writer.AddValue32(2);
  writer.EndResult();
  writer.BeginResult(perflib::HeaderType::kMultipleInstances);
  writer.BeginInstance(perflib::Utf16FromUtf8("a"), 1);
  writer.AddValue64(3);
  writer.EndResult();
  writer.Finish();
  return bytes;
}

TEST(Decode, PrintsAllValuesInBlockOrder) {
  const TempDirectory directory;
  const std::string path = directory.File("a.block");
  Deployment::Write(path, Block());
  const Result result = Fleetperf({"decode", path, "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.error;
  const std::string set = R"({"query":0,"result":"PERF_COUNTERSET",)";
  const std::string several =
      R"({"query":3,"result":"PERF_MULTIPLE_COUNTERS",)";
  const std::string clocks =
      R"("perf_time":"123456789","perf_time_100ns":"133000000000000000",)"
      R"("perf_freq":"10000000"})";
  EXPECT_THAT(
      Lines(result.output),
      ElementsAre(
          absl::StrCat(R"({"file":")", path, R"(","total_size":)",
                       Block().size(), R"(,"queries":5,)", clocks),
          absl::StrCat(set,
                       R"("counter":0,"instance":"0,Größe","instance_id":7,)",
                       R"("size":4,"value":"4000000000",)", clocks),
          absl::StrCat(set,
                       R"("counter":26,"instance":"0,Größe","instance_id":7,)",
                       R"("size":8,"value":"18446744073709551615",)", clocks),
          absl::StrCat(set,
                       R"("counter":0,"instance":"_Total","instance_id":8,)",
                       R"("size":15,"value":null,)", clocks),
          absl::StrCat(set,
                       R"("counter":26,"instance":"_Total","instance_id":8,)",
                       R"("size":8,"value":"1",)", clocks),
          R"({"query":1,"result":"PERF_ERROR_RETURN","status":232})",
          absl::StrCat(
              R"({"query":2,"result":"PERF_SINGLE_COUNTER","counter":null,)",
              R"("instance":null,"instance_id":null,"size":4,"value":"5",)",
              clocks),
          absl::StrCat(several,
                       R"("counter":0,"instance":null,"instance_id":null,)",
                       R"("size":4,"value":"1",)", clocks),
          absl::StrCat(several,
                       R"("counter":26,"instance":null,"instance_id":null,)",
                       R"("size":4,"value":"2",)", clocks),
          absl::StrCat(
              R"({"query":4,"result":"PERF_MULTIPLE_INSTANCES",)",
              R"("counter":null,"instance":"a","instance_id":1,"size":8,)",
              R"("value":"3",)", clocks)));
}

TEST(Decode, NamesInvalidFilesAndDecodesTheRest) {
  const TempDirectory directory;
  const std::string cut = directory.File("cut.block");
  const std::string wrong = directory.File("wrong.block");
  const std::string good = directory.File("good.block");
  std::string block = Block();
  Deployment::Write(good, block);
  Deployment::Write(cut, block.substr(0, 40));
  // The offset of the second result: the headers, the ids, the list, and two
  // instances with two values each precede it.
  const size_t second = 48 + 16 + 16 + 8 + (24 + 16 + 16) + (24 + 24 + 16);
  ASSERT_EQ(static_cast<uint8_t>(block[second]), 232);  // the error return
  block[second + 4] = 9;                                // its dwType
  Deployment::Write(wrong, block);
  const Result result = Fleetperf(
      {"decode", cut, wrong, "/no/such.block", good, "--format", "json"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(
      Lines(result.error),
      ElementsAre(
          absl::StrCat(cut, ": offset 0: PERF_DATA_HEADER needs 48 bytes, 40 ",
                       "remain"),
          absl::StrCat(wrong, ": offset ", second,
                       ": PERF_COUNTER_HEADER.dwType is 9, which is unknown"),
          "cannot read /no/such.block: No such file or directory"));
  // All results of the good file, and the valid results of the wrong file.
  EXPECT_THAT(Lines(result.output), SizeIs(10 + 9));
}

// Data of PerfLib V1 has no names of objects and counters, only title indexes.
TEST(Decode, PrintsV1Data) {
  const TempDirectory directory;
  const std::string file = directory.File("hkpd.bin");
  const V1ObjectBytes disks = {
      .name_index = 234,
      .counters = {{.name_index = 218, .type = perflib::kPerfCounterBulkCount}},
      .instances = {{.name = "0 C:", .values = {5}, .unique_id = 7},
                    {.name = "_Total", .values = {6}}}};
  const std::string data = V1Data({}, {MakeV1Object(disks)});
  Deployment::Write(file, data);
  const Result json = Fleetperf({"decode", file, "--format", "json"});
  EXPECT_EQ(json.status, 0) << json.error;
  const auto lines = Lines(json.output);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(nlohmann::json::parse(lines[0]),
            (nlohmann::json{{"file", file},
                            {"object", 234},
                            {"instance", "0 C:"},
                            {"unique_id", 7},
                            {"counter", 218},
                            {"type", "PERF_COUNTER_BULK_COUNT"},
                            {"size", 8},
                            {"value", "5"}}));
  EXPECT_THAT(Fleetperf({"decode", file}).output,
              AllOf(HasSubstr("OBJECT"), HasSubstr("_Total")));

  Deployment::Write(file, data.substr(0, 100));
  const Result cut = Fleetperf({"decode", file});
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.error,
              HasSubstr("hkpd.bin: offset 0: PERF_DATA_BLOCK.TotalByteLength"));
}

Result DecodeTable(const std::string& block) {
  const TempDirectory directory;
  const std::string path = directory.File("a.block");
  Deployment::Write(path, block);
  return Fleetperf({"decode", path});
}

// Returns the rows of a table without its header; words are separated by one
// space.
std::vector<std::string> Rows(const Result& result) {
  std::vector<std::string> rows = Lines(result.output);
  while (!rows.empty() && rows.front().find("QUERY") == std::string::npos) {
    rows.erase(rows.begin());
  }
  if (!rows.empty()) rows.erase(rows.begin());
  for (std::string& row : rows) {
    row = absl::StrJoin(absl::StrSplit(row, ' ', absl::SkipEmpty()), " ");
  }
  return rows;
}

TEST(Decode, PrintsTable) {
  const Result result = DecodeTable(Block());
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("5 queries"), HasSubstr("COUNTER  INSTANCE"),
                    HasSubstr("STATUS"), Not(HasSubstr("warnings"))));
  EXPECT_THAT(
      Rows(result),
      ElementsAre("0 PERF_COUNTERSET 0 0,Größe 7 4 4000000000 0",
                  "0 PERF_COUNTERSET 26 0,Größe 7 8 "
                  "18446744073709551615 0",
                  "0 PERF_COUNTERSET 0 _Total 8 15 0",
                  "0 PERF_COUNTERSET 26 _Total 8 8 1 0",
                  "1 PERF_ERROR_RETURN 232", "2 PERF_SINGLE_COUNTER 4 5 0",
                  "3 PERF_MULTIPLE_COUNTERS 0 4 1 0",
                  "3 PERF_MULTIPLE_COUNTERS 26 4 2 0",
                  "4 PERF_MULTIPLE_INSTANCES a 1 8 3 0"));
  EXPECT_THAT(result.error, IsEmpty());
}

TEST(Decode, ShowsResultsAndInstancesWithoutValues) {
  std::string bytes;
  perflib::BlockWriter writer({}, &bytes);
  writer.BeginResult(perflib::HeaderType::kMultipleInstances);
  writer.EndResult();
  writer.BeginResult(perflib::HeaderType::kCounterset);
  writer.BeginInstance(perflib::Utf16FromUtf8("idle"), 7);
  writer.EndResult();
  writer.BeginResult(perflib::HeaderType::kSingleCounter);
  writer.AddValue32(5);
  writer.EndResult();
  writer.Finish();
  bytes[bytes.size() - 16] = 99;  // the last value's dwDataSize
  const Result result = DecodeTable(bytes);
  EXPECT_THAT(Rows(result), ElementsAre("0 PERF_MULTIPLE_INSTANCES 0",
                                        "1 PERF_COUNTERSET idle 7 0",
                                        "2 PERF_SINGLE_COUNTER 0"));
  EXPECT_THAT(result.error, HasSubstr("PERF_COUNTER_DATA.dwDataSize is 99"));
}

TEST(Decode, TableMarksWarningsAndIncompleteResults) {
  std::string bytes;
  perflib::BlockWriter writer({}, &bytes);
  writer.AddErrorReturn(232);
  writer.BeginResult(perflib::HeaderType::kSingleCounter);
  writer.AddValue64(5);
  writer.EndResult();
  writer.Finish();
  std::string unused = bytes;
  unused[4] = 1;  // dwNumCounters
  const Result unusual = DecodeTable(unused);
  EXPECT_EQ(unusual.status, 0);
  EXPECT_THAT(unusual.output,
              HasSubstr("warnings: 1\n"
                        "  offset 0: PERF_DATA_HEADER.dwTotalSize leaves 32 "
                        "bytes unused\n"));
  EXPECT_THAT(Rows(unusual), ElementsAre("0 PERF_ERROR_RETURN 232"));
  std::string unknown = bytes;
  unknown[48 + 16 + 4] = 9;  // the second result's dwType
  EXPECT_THAT(
      Rows(DecodeTable(unknown)),
      ElementsAre("0 PERF_ERROR_RETURN 232", "1 unknown (9) 0 (incomplete)"));
}

TEST(Explain, ShowsCalculationOfStoredValue) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const std::string path = "\\System\\Context Switches/sec";
  const auto watch =
      deployment.StartFleetperf({"watch", path, "--format", "json"});
  ASSERT_TRUE(watch->WaitForOutput("\"ok\"", 2));
  // Calculates the expected value from raw samples.
  const auto raw = deployment.Json({"query", path, "--since", "1h", "--raw"});
  ASSERT_GE(raw.size(), 3);
  const auto number = [](const nlohmann::json& text) {
    return std::stoull(text.get<std::string>());
  };
  const auto& older = raw[1];
  const auto& newer = raw[2];
  const double expected =
      static_cast<double>(number(newer["value"]) - number(older["value"])) *
      1e7 /
      static_cast<double>(number(newer["perf_time"]) -
                          number(older["perf_time"]));
  const auto explained = deployment.Json(
      {"explain", path, "--at", newer["time"].get<std::string>()});
  ASSERT_EQ(explained.size(), 1);
  EXPECT_EQ(explained[0]["machine"], "box");
  EXPECT_EQ(explained[0]["type"], "PERF_COUNTER_COUNTER");
  EXPECT_EQ(explained[0]["counter_id"], 0);
  EXPECT_EQ(explained[0]["formula"], "dN * F / dD");
  EXPECT_EQ(explained[0]["raw0"]["value"], older["value"]);
  EXPECT_EQ(explained[0]["raw1"]["value"], newer["value"]);
  EXPECT_DOUBLE_EQ(explained[0]["value"].get<double>(), expected);
  EXPECT_THAT(
      explained[0]["arithmetic"].get<std::string>(),
      HasSubstr(absl::StrCat("(", newer["value"].get<std::string>(), " - ",
                             older["value"].get<std::string>(), ")")));
  const Result text = deployment.Fleetperf({"explain", path});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("\\\\box\\System"), HasSubstr("older sample (0)"),
                    HasSubstr("dN * F / dD"), HasSubstr("= (")));
  // calc agrees, from either kind of line.
  const auto piped = [&](const std::string& command) {
    const Result calc =
        RunCommand({"sh", "-c",
                    absl::StrCat(Deployment::Executable("fleetperf"), " ",
                                 command, " --format json | ",
                                 Deployment::Executable("fleetperf"), " calc")},
                   {{"FLEETPERF_CONFIG", deployment.File("config.yaml")}});
    EXPECT_EQ(calc.status, 0) << calc.error;
    return Lines(calc.output);
  };
  const auto of_explain = piped(absl::StrCat("explain '", path, "' --at ",
                                             newer["time"].get<std::string>()));
  ASSERT_THAT(of_explain, SizeIs(1));
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(of_explain[0])["value"].get<double>(),
                   expected);
  const auto of_raw =
      piped(absl::StrCat("query '", path, "' --since 1h --raw"));
  ASSERT_GE(of_raw.size(), 3);
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(of_raw[2])["value"].get<double>(),
                   expected);
  // The query returns the same value, here in perfmon's CSV format.
  const Result csv = deployment.Fleetperf(
      {"query", path, "--since", "1h", "--step", "1s", "--format", "pdh-csv"});
  EXPECT_THAT(csv.output,
              AllOf(HasSubstr("(PDH-CSV 4.0)"),
                    HasSubstr("\"\\\\box\\System\\Context Switches/sec\"\r\n"),
                    HasSubstr(nlohmann::json(expected).dump())));
}

TEST(Capture, IsDecodedAndReplayedAsOtherMachine) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const std::string capture = deployment.File("capture");
  const std::string path = "\\System\\Context Switches/sec";
  {
    const auto agent = deployment.StartAgent(
        "box", absl::StrCat("capture: {directory: ", capture, "}\n"));
    deployment.WaitForSamples("box");
    const auto watch =
        deployment.StartFleetperf({"watch", path, "--format", "json"});
    ASSERT_TRUE(watch->WaitForOutput("\"ok\"", 3));
    agent->Signal(SIGTERM);
    EXPECT_EQ(agent->Wait(), 0);
  }
  const Result decoded = RunCommand(
      {"sh", "-c",
       absl::StrCat(Deployment::Executable("fleetperf"),
                    " decode --format json ", capture, "/*/*.block")});
  EXPECT_EQ(decoded.status, 0) << decoded.error;
  EXPECT_THAT(decoded.output, HasSubstr("\"instance\":\"_Total\""));
  // calc gets the query's values from the blocks, with the types of
  // capture.json.
  const Result calculated = RunCommand(
      {"sh", "-c",
       absl::StrCat(Deployment::Executable("fleetperf"),
                    " decode --format json ", capture, "/*/*.block | ",
                    Deployment::Executable("fleetperf"), " calc")});
  EXPECT_EQ(calculated.status, 0) << calculated.error;
  std::set<double> values;
  for (const std::string& line : Lines(calculated.output)) {
    const auto value = nlohmann::json::parse(line);
    if (value["status"] == "ok") values.insert(value["value"].get<double>());
  }
  const auto queried = deployment.Json(
      {"query", path, "\\PhysicalDisk(*)\\Avg. Disk Bytes/Write", "--since",
       "1h", "--step", "1s"});
  EXPECT_GT(queried.size(), 2);
  for (const auto& line : queried) {
    if (line["status"] != "ok") continue;
    EXPECT_TRUE(values.contains(line["value"].get<double>())) << line;
  }

  // A replay requires the name of the machine; the certificate must contain it.
  const TlsFiles tls = deployment.Issue("agent", {"incident"});
  const std::string config = deployment.File("replay.yaml");
  Deployment::Write(
      config,
      absl::StrCat("aggregators: ['", deployment.address(),
                   "']\nreplay: ", capture, "\n", Deployment::TlsSection(tls)));
  const std::string executable = Deployment::Executable("fleetperf-agent");
  const Result nameless = RunCommand({executable, "--config", config});
  EXPECT_EQ(nameless.status, 1);
  EXPECT_THAT(nameless.error, HasSubstr("set it to the machine"));
  const auto play = [&] {
    return RunCommand({executable, "--config", config, "--name", "incident"});
  };
  const Result played = play();
  EXPECT_EQ(played.status, 0) << played.error;
  EXPECT_THAT(played.error, HasSubstr("blocks as incident, and all are"));
  const Result again = play();  // must store nothing twice
  EXPECT_EQ(again.status, 0) << again.error;
  EXPECT_THAT(again.error, HasSubstr("the aggregator already had the first"));

  // The replay has the same values at the same times.
  const auto query = [&](const std::string& machine) {
    auto lines = deployment.Json({"query", absl::StrCat("\\\\", machine, path),
                                  "--since", "1h", "--raw"});
    for (auto& line : lines) {
      line.erase("machine");
      line.erase("life");  // differs between agent processes
    }
    return lines;
  };
  const auto original = query("box");
  EXPECT_GE(original.size(), 4);
  EXPECT_EQ(original, query("incident"));

  // The replay reports blocks that it could not store.
  for (const auto& handle : std::filesystem::directory_iterator(capture)) {
    Deployment::Write(handle.path() / "000000001.block", "no block");
  }
  const Result damaged = play();
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.error,
              AllOf(HasSubstr("000000001.block: offset 0: "),
                    HasSubstr("fleetperf-agent: stored "),
                    HasSubstr(" could not be read; the log says why")));

  // The authority of another deployment signed the certificate.
  Deployment other;
  const std::string refused_config = deployment.File("refused.yaml");
  Deployment::Write(
      refused_config,
      absl::StrCat("aggregators: ['", deployment.address(),
                   "']\nreplay: ", capture, "\n",
                   Deployment::TlsSection(other.Issue("agent", {"incident"}))));
  const Result refused = RunCommand(
      {executable, "--config", refused_config, "--name", "incident"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(
      refused.error,
      AllOf(HasSubstr("fleetperf-agent: cannot reach the aggregator at " +
                      deployment.address()),
            HasSubstr("need certificates of the same authority")));
  // The certificate names another machine.
  const Result misnamed =
      RunCommand({executable, "--config", config, "--name", "another"});
  EXPECT_EQ(misnamed.status, 1);
  EXPECT_THAT(misnamed.error, HasSubstr("another"));

  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  const auto stopped =
      deployment.StartAgent("later", absl::StrCat("replay: ", capture, "\n"));
  ASSERT_TRUE(stopped->WaitForError("trying again"));
  stopped->Signal(SIGTERM);
  EXPECT_EQ(stopped->Wait(), 1);
  EXPECT_TRUE(stopped->WaitForError("fleetperf-agent: stopped after "));
}

}  // namespace
}  // namespace fleetperf::testing
