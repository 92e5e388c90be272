#include "base/logging.h"

#include <spdlog/spdlog.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/os/files.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

class LoggingTest : public ::testing::Test {
 protected:
  std::vector<std::string> Lines() const { return log_.Lines(); }

 private:
  const testing::LogCapture log_;
};

using LogOncePerCauseTest = LoggingTest;

TEST_F(LogOncePerCauseTest, LogsEachCauseOnce) {
  LogOncePerCause log(absl::InfiniteDuration());
  for (int i = 0; i < 3; ++i) {
    log.Warn("disk", absl::StrCat("cannot write, attempt ", i));
    log.Warn("network", "{} is not a placeholder");
  }
  EXPECT_THAT(Lines(), ElementsAre("warning cannot write, attempt 0",
                                   "warning {} is not a placeholder"));
}

TEST_F(LogOncePerCauseTest, LogsAgainAfterTheInterval) {
  LogOncePerCause log(absl::ZeroDuration());
  log.Warn("disk", "a");
  log.Warn("disk", "b");
  EXPECT_THAT(Lines(), ElementsAre("warning a", "warning b"));
}

TEST_F(LogOncePerCauseTest, ReportsTheNumberOfSuppressedLines) {
  testing::SimulatedClock clock;
  LogOncePerCause log(absl::Minutes(5), clock);
  for (int i = 0; i < 4; ++i) log.Warn("disk", "full");
  clock.Advance(absl::Minutes(5));
  log.Warn("disk", "full");
  clock.Advance(absl::Minutes(5));
  log.Warn("disk", "full");
  EXPECT_THAT(Lines(),
              ElementsAre("warning full",
                          "warning full (and 3 times more since the last such "
                          "line)",
                          "warning full"));
}

TEST_F(LogOncePerCauseTest, LogsAtOtherLevels) {
  LogOncePerCause log(absl::InfiniteDuration());
  for (int i = 0; i < 3; ++i) {
    log.Info("agent", "connected");
    log.Debug("gRPC", "detail");
  }
  EXPECT_THAT(Lines(), ElementsAre("info connected"));
  spdlog::set_level(spdlog::level::debug);
  for (int i = 0; i < 3; ++i) log.Debug("gRPC", "detail");
  EXPECT_THAT(Lines(), ElementsAre("info connected", "debug detail"));
}

TEST_F(LogOncePerCauseTest, IgnoresTheWallClock) {
  testing::SimulatedClock clock;
  LogOncePerCause log(absl::Minutes(5), clock);
  log.Warn("disk", "full");
  clock.Step(absl::Hours(1));
  log.Warn("disk", "full");
  clock.Step(-absl::Hours(24));
  clock.Advance(absl::Minutes(5));
  log.Warn("disk", "full");
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(LogOncePerCauseTest, KeepsExternalMessagesOnOneLine) {
  LogOncePerCause log;
  log.Warn("name", "no \"a\nerror forged\x1b[2J\"");
  EXPECT_THAT(Lines(), ElementsAre("warning no \"a?error forged?[2J\""));
}

TEST_F(LogOncePerCauseTest, RemembersABoundedNumberOfCauses) {
  LogOncePerCause log(absl::InfiniteDuration());
  for (int i = 0; i < 3000; ++i) {
    log.Warn(absl::StrCat("cause ", i), absl::StrCat("new ", i));
    log.Warn("cause 0", "again");  // remembered regardless of later causes
  }
  const size_t lines = Lines().size();
  EXPECT_GE(lines, 100);
  EXPECT_LT(lines, 2000);
  EXPECT_THAT(Lines(), Each(HasSubstr("new ")));
  // New causes share an entry that was logged already.
  for (int i = 3000; i < 6000; ++i) log.Warn(absl::StrCat("cause ", i), "m");
  EXPECT_THAT(Lines(), SizeIs(lines));
}

// An agent that invents causes must not silence later ones.
TEST_F(LogOncePerCauseTest, LogsNewCausesAgainAfterOthersExpire) {
  testing::SimulatedClock clock;
  LogOncePerCause log(absl::Minutes(5), clock);
  for (int i = 0; i < 3000; ++i) {
    log.Warn(absl::StrCat("cause ", i, std::string(10'000, 'x')), "flood");
  }
  const size_t flood = Lines().size();
  const size_t most = log.size();
  log.Warn("disk", "full");
  EXPECT_THAT(Lines(), SizeIs(flood));
  clock.Advance(absl::Minutes(6));
  log.Warn("disk", "full");
  log.Warn("network", "away");
  EXPECT_THAT(Lines(), SizeIs(flood + 2));
  EXPECT_LT(log.size(), 10);
  EXPECT_LE(most, 1001);
}

TEST_F(LoggingTest, StartLoggingWritesToTheFile) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("agent.log");
  ASSERT_OK(StartLogging("fleetperf-agent", {.level = "info", .file = path}));
  spdlog::debug("left out");
  spdlog::info("started");
  spdlog::warn("{} of {}", 1, 2);
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  std::vector<std::string> messages;
  for (const absl::string_view line :
       absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    absl::Time time;
    std::string error;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, parts.first, &time, &error))
        << line << ": " << error;
    EXPECT_EQ(parts.first.back(), 'Z');
    messages.emplace_back(parts.second);
  }
  EXPECT_THAT(messages, ElementsAre("info fleetperf-agent: started",
                                    "warning fleetperf-agent: 1 of 2"));
}

TEST_F(LoggingTest, WritesJson) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("agent.log");
  ASSERT_OK(
      StartLogging("agent", {.level = "info", .format = "json", .file = path}));
  testing::SimulatedClock clock;
  LogOncePerCause log(absl::Minutes(5), clock);
  spdlog::info("say \"hi\" in C:\\\n");
  for (int i = 0; i < 3; ++i) log.Warn("disk", "full", "web-1");
  log.Warn("disk", "full", "web-2");
  clock.Advance(absl::Minutes(5));
  log.Warn("disk", "full", "web-1");
  log.Info("peer", "gone");
  LogInfoOf("web-1", "collecting {} from web-1\n");
  LogWarningOf("web-\"2\"", "slow");
  LogErrorOf("web-3", "damaged");
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  std::vector<std::string> lines;
  for (const absl::string_view line :
       absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty())) {
    // The time, such as 2026-11-27T02:33:00.123Z, has 24 characters.
    ASSERT_GT(line.size(), 33);
    EXPECT_EQ(line.substr(0, 9), "{\"time\":\"");
    absl::Time time;
    std::string error;
    EXPECT_TRUE(
        absl::ParseTime(absl::RFC3339_full, line.substr(9, 24), &time, &error))
        << line << ": " << error;
    lines.emplace_back(line.substr(33));
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          R"~(","level":"info","program":"agent",)~"
          R"~("message":"say \"hi\" in C:\\?"})~",
          R"~(","level":"warning","program":"agent",)~"
          R"~("message":"full","cause":"disk","machine":"web-1"})~",
          R"~(","level":"warning","program":"agent",)~"
          R"~("message":"full","cause":"disk","machine":"web-2"})~",
          R"~(","level":"warning","program":"agent",)~"
          R"~("message":"full (and 2 times more since the last such line)",)~"
          R"~("cause":"disk","machine":"web-1","repeated":2})~",
          R"~(","level":"info","program":"agent",)~"
          R"~("message":"gone","cause":"peer"})~",
          R"~(","level":"info","program":"agent",)~"
          R"~("message":"collecting {} from web-1?","machine":"web-1"})~",
          R"~(","level":"warning","program":"agent",)~"
          R"~("message":"slow","machine":"web-\"2\""})~",
          R"~(","level":"error","program":"agent",)~"
          R"~("message":"damaged","machine":"web-3"})~"));
}

TEST_F(LoggingTest, NamesNoMachineBesideTheText) {
  LogWarningOf("web-1", "skipped samples of web-1");
  EXPECT_THAT(Lines(), ElementsAre("warning skipped samples of web-1"));
}

TEST_F(LoggingTest, CountsWarningsErrorsAndSuppressedLines) {
  const testing::TempDirectory directory;
  ASSERT_OK(StartLogging(
      "agent", {.level = "info", .file = directory.File("agent.log")}));
  const LogCounts before = CountLogLines();
  LogOncePerCause log;
  for (int i = 0; i < 3; ++i) log.Warn("disk", "full");
  spdlog::info("started");
  spdlog::error("damaged");
  spdlog::error("damaged");
  const LogCounts after = CountLogLines();
  EXPECT_EQ(after.warnings - before.warnings, 1);
  EXPECT_EQ(after.suppressed - before.suppressed, 2);
  EXPECT_EQ(after.errors - before.errors, 2);
}

TEST_F(LoggingTest, StartLoggingRotatesFilesOfLongPaths) {
  const testing::TempDirectory directory;
  const std::string logs = testing::LongDirectoryIn(directory.path());
  const std::string path = ResolvePath(logs, "\xC3\xA4gent.log");
  ASSERT_OK(StartLogging("test", {.level = "info", .file = path}));
  spdlog::info("first");
  const std::string filler(1 << 20, '.');
  for (int i = 0; i < 20; ++i) spdlog::info(filler);
  spdlog::info("last");
  // The files are too long for messages.
  EXPECT_TRUE(absl::StrContains(ReadFile(path).value_or(""), "last"));
  const std::string oldest = ResolvePath(logs, "\xC3\xA4gent.2.log");
  EXPECT_TRUE(absl::StrContains(ReadFile(oldest).value_or(""), "first"));
  ASSERT_OK(StartLogging("test", {}));  // closes the file
}

TEST_F(LoggingTest, StartLoggingSetsTheLevel) {
  const struct {
    const char* level;
    spdlog::level::level_enum expected;
  } kCases[] = {{"debug", spdlog::level::debug},
                {"info", spdlog::level::info},
                {"warning", spdlog::level::warn},
                {"error", spdlog::level::err}};
  for (const auto& test : kCases) {
    ASSERT_OK(StartLogging("test", {.level = test.level}));
    EXPECT_EQ(spdlog::default_logger()->level(), test.expected);
  }
}

TEST_F(LoggingTest, StartLoggingReportsUnwritableFiles) {
  const testing::TempDirectory directory;
  EXPECT_THAT(StartLogging("test", {.file = directory.path()}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(directory.path())));
}

TEST(LogConfig, IsReadFromItsSection) {
  ASSERT_OK_AND_ASSIGN(
      ConfigFile file,
      ConfigFile::Parse("log:\n  level: warning\n  file: agent.log",
                        "/etc/agent.yaml"));
  const LogConfig config = ReadLogConfig(file.root());
  EXPECT_EQ(config.level, "warning");
  EXPECT_EQ(config.file, "/etc/agent.log");
  EXPECT_OK(file.Finish());
}

TEST(LogConfig, IsInfoToStandardErrorByDefault) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse("", "agent.yaml"));
  const LogConfig config = ReadLogConfig(file.root());
  EXPECT_EQ(config.level, "info");
  EXPECT_EQ(config.file, "");
  EXPECT_OK(file.Finish());
}

TEST(LogConfig, FormatIsTextOrJson) {
  ASSERT_OK_AND_ASSIGN(ConfigFile json,
                       ConfigFile::Parse("log: {format: json}", "agent.yaml"));
  EXPECT_EQ(ReadLogConfig(json.root()).format, "json");
  EXPECT_OK(json.Finish());
  ASSERT_OK_AND_ASSIGN(ConfigFile wrong,
                       ConfigFile::Parse("log:\n  format: JSON", "agent.yaml"));
  ReadLogConfig(wrong.root());
  EXPECT_THAT(
      wrong.Finish(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "agent.yaml:2: log.format: \"JSON\" is not text or json; "
               "did you mean \"json\"?"));
}

TEST(LogConfig, AcceptsEveryLevel) {
  for (const std::string level : {"debug", "info", "warning", "error"}) {
    ASSERT_OK_AND_ASSIGN(
        ConfigFile file,
        ConfigFile::Parse("log: {level: " + level + "}", "agent.yaml"));
    EXPECT_EQ(ReadLogConfig(file.root()).level, level);
    EXPECT_OK(file.Finish());
  }
}

TEST(LogConfig, RejectsUnknownLevels) {
  const std::map<std::string, std::string> kHints = {
      {"verbose", ""},
      {"warn", "; did you mean \"warning\"?"},
      {"INFO", "; did you mean \"info\"?"},
      {"off", ""}};
  for (const auto& [level, hint] : kHints) {
    ASSERT_OK_AND_ASSIGN(
        ConfigFile file,
        ConfigFile::Parse("log:\n  level: " + level, "agent.yaml"));
    ReadLogConfig(file.root());
    EXPECT_THAT(file.Finish(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "agent.yaml:2: log.level: \"" + level +
                             "\" is not debug, info, warning or error" + hint));
  }
}

}  // namespace
}  // namespace fleetperf
