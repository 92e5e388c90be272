#include "base/daemon/command_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fleetperf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program with two options and two commands, one of which has a command.
class CommandParserTest : public ::testing::Test {
 protected:
  CommandParserTest() {
    program_.AcceptParentOptions();
    program_.AddText("--config", &config_, "A file").SetType("FILE");
    const Option quiet = program_.AddFlag("--quiet", &quiet_, "Less output");
    list_ = program_.AddCommand("list", "List names", [this] { Run("list"); });
    list_.AddList("NAME", &names_, "Names");
    list_.AddList("--by", &by_, "Columns").SplitAt(',');
    list_.AddNumber("--top", &top_, "Only some", 1, 9).Exclude(quiet);
    list_.AddCommand("clear", "Clear the list", [this] { Run("clear"); });
    Command keys = program_.AddCommand("keys", "Manage keys");
    keys.AddCommand("show", "Show a key", [this] { Run("show"); })
        .AddText("--format", &format_, "The format")
        .AcceptOnly("text|json");
  }

  // Returns the error; empty if there is none.
  std::string Parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    std::string error;
    const auto status =
        program_.Parse(static_cast<int>(argv.size()), argv.data(),
                       [&](const std::string& explained) {
                         error = explained;
                         return 7;
                       });
    EXPECT_EQ(status.value_or(0), error.empty() ? 0 : 7);
    return error;
  }

  void Run(const std::string& command) { ran_.push_back(command); }

  std::vector<std::string> ran_;
  std::string config_;
  bool quiet_ = false;
  std::vector<std::string> names_;
  std::vector<std::string> by_;
  uint32_t top_ = 0;
  std::string format_ = "text";
  Command program_{"program", "Manages names.", [this] { Run("program"); }};
  Command list_ = program_;
};

TEST_F(CommandParserTest, RunsTheProgramWithoutACommand) {
  EXPECT_EQ(Parse({"--config", "a.yaml"}), "");
  EXPECT_THAT(ran_, ElementsAre("program"));
  EXPECT_EQ(config_, "a.yaml");
  EXPECT_FALSE(list_.given());
}

TEST_F(CommandParserTest, RefusesArgumentsThatAreNotText) {
  EXPECT_THAT(Parse({"--config", "caf\xE9"}),
              HasSubstr("--config: \"caf\\xE9\" is not UTF-8"));
  EXPECT_THAT(Parse({"--config=a\x1B[2J"}),
              HasSubstr("--config: \"a\\x1B[2J\" has the control character "
                        "U+001B"));
  EXPECT_THAT(Parse({"list", "a", "caf\xE9"}),
              HasSubstr("NAME: \"caf\\xE9\" is not UTF-8"));
  EXPECT_THAT(Parse({"list", "--", "a\nb"}),
              HasSubstr("NAME: \"a\\x0Ab\" has the control character"));
  EXPECT_THAT(Parse({"list", "--by", "a,caf\xE9"}),
              HasSubstr("--by: \"caf\\xE9\" is not UTF-8"));
  EXPECT_THAT(Parse({"caf\xE9"}), HasSubstr("\"caf\\xE9\""));
  EXPECT_THAT(Parse({"--caf\xE9"}), HasSubstr("\"--caf\\xE9\""));
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_EQ(Parse({"list", "café"}), "");
  EXPECT_THAT(names_, ElementsAre("café"));
}

TEST_F(CommandParserTest, AcceptsAnyBytesForAnotherProgram) {
  std::vector<std::string> command;
  program_.AddCommand("run", "Run a program", [this] { Run("run"); })
      .AddList("COMMAND", &command, "The program")
      .AcceptAnyBytes();
  EXPECT_EQ(Parse({"run", "--", "echo", "caf\xE9\n"}), "");
  EXPECT_THAT(command, ElementsAre("echo", "caf\xE9\n"));
}

TEST_F(CommandParserTest, RunsTheInnermostCommand) {
  EXPECT_EQ(Parse({"list", "clear"}), "");
  EXPECT_THAT(ran_, ElementsAre("clear"));
}

TEST_F(CommandParserTest, AcceptsOptionsBeforeAndAfterTheCommand) {
  EXPECT_EQ(Parse({"--top", "9", "list", "a", "--config", "a.yaml", "b"}), "");
  EXPECT_THAT(ran_, ElementsAre("list"));
  EXPECT_EQ(config_, "a.yaml");
  EXPECT_EQ(top_, 9u);
  EXPECT_THAT(names_, ElementsAre("a", "b"));
}

TEST_F(CommandParserTest, AListOptionTakesOneValueForEachUse) {
  EXPECT_EQ(Parse({"list", "--by", "x,y", "a", "--by", "z", "b"}), "");
  EXPECT_THAT(by_, ElementsAre("x", "y", "z"));
  EXPECT_THAT(names_, ElementsAre("a", "b"));
}

TEST_F(CommandParserTest, RunsNothingIfAnArgumentIsInvalid) {
  EXPECT_EQ(Parse({"list", "--top", "10"}),
            "--top: \"10\" is not a whole number from 1 to 9; see program list "
            "--help");
  EXPECT_TRUE(list_.given());
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(CommandParserTest, RejectsASecondCommand) {
  EXPECT_THAT(Parse({"keys", "show", "list"}),
              HasSubstr("unknown argument \"list\""));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(CommandParserTest, RequiresACommandOfACommandThatDoesNotRun) {
  EXPECT_EQ(Parse({"keys"}),
            "a command is missing: show; see program keys --help");
}

TEST_F(CommandParserTest, SuggestsTheNearestChoice) {
  EXPECT_EQ(
      Parse({"keys", "show", "--format", "jsno"}),
      "--format: \"jsno\" is not text or json; did you mean \"json\"? See "
      "program keys show --help");
}

TEST_F(CommandParserTest, RejectsOptionsThatExcludeEachOther) {
  EXPECT_THAT(Parse({"list", "--quiet", "--top", "3"}), HasSubstr("excludes"));
}

}  // namespace
}  // namespace fleetperf
