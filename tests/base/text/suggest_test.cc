#include "base/text/suggest.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kNames = {
    "Processor", "Processor Information", "Process",
    "Memory",    "PhysicalDisk",          "System",
    "retention"};

TEST(NearestNames, FindsNamesWithAFewWrongLetters) {
  for (const auto& [wrong, right] :
       std::vector<std::pair<std::string, std::string>>{
           {"Memry", "Memory"},    // one is missing
           {"Memmory", "Memory"},  // one too many
           {"Nemory", "Memory"},   // one is wrong
           {"Meomry", "Memory"},   // two are swapped
           {"MEMORY", "Memory"},   // the case
           {"retetnion", "retention"},
           {"Sistem", "System"},
           {"Disk", "PhysicalDisk"},  // a part
       }) {
    EXPECT_THAT(NearestNames(wrong, kNames), ElementsAre(right)) << wrong;
  }
}

TEST(NearestNames, PutsTheNearestFirst) {
  EXPECT_THAT(NearestNames("Proces", kNames),
              ElementsAre("Process", "Processor", "Processor Information"));
  EXPECT_THAT(NearestNames("Processor", kNames),
              ElementsAre("Processor", "Process", "Processor Information"));
}

TEST(NearestNames, CountsASwapAsOneEdit) {
  // "acbd" is one swap from "abcd" and two replacements from "aaad".
  EXPECT_THAT(NearestNames("acbd", std::vector<std::string>{"aaad", "abcd"}),
              ElementsAre("abcd", "aaad"));
}

TEST(NearestNames, IgnoresDistantNames) {
  EXPECT_THAT(NearestNames("Network", kNames), IsEmpty());
  EXPECT_THAT(NearestNames("xyz", kNames), IsEmpty());
  EXPECT_THAT(NearestNames("Memory", {}), IsEmpty());
}

TEST(NearestNames, ReturnsAtMostThreeDistinctNames) {
  const std::vector<std::string> names = {"aaaa1", "aaaa2", "aaaa3", "aaaa4",
                                          "aaaa1"};
  EXPECT_THAT(NearestNames("aaaa", names),
              ElementsAre("aaaa1", "aaaa2", "aaaa3"));
}

TEST(NearestNames, FinishesWithVeryLongNames) {
  const std::string longest(1'000'000, 'a');
  EXPECT_THAT(NearestNames(longest + "b", std::vector<std::string>{longest}),
              ElementsAre(longest));
}

TEST(NearestNames, ComparesABoundedNumberOfLetters) {
  const std::string wrong(200, 'a');
  std::vector<std::string> names = {wrong + "b"};
  // 10,000 times 200 times 200 pairs of letters.
  names.insert(names.end(), 10'000, std::string(200, 'z'));
  names.push_back(wrong + "c");
  names.push_back(std::string(150, 'a') + "d");
  names.push_back("contains " + wrong);
  EXPECT_THAT(NearestNames(wrong, names),
              ElementsAre(wrong + "b", wrong + "c", "contains " + wrong));
}

TEST(NearestNames, KnowsEverydayWords) {
  EXPECT_THAT(NearestNames("CPU", kNames),
              ElementsAre("Processor Information", "Processor"));
  EXPECT_THAT(NearestNames("RAM", kNames), ElementsAre("Memory"));
  EXPECT_THAT(
      NearestNames("cpu usage",
                   std::vector<std::string>{"% User Time", "% Processor Time"}),
      ElementsAre("% Processor Time"));
  // All words occur, in another order.
  EXPECT_THAT(NearestNames("Read Disk Bytes",
                           std::vector<std::string>{"Disk Write Bytes/sec",
                                                    "Disk Read Bytes/sec"}),
              ElementsAre("Disk Read Bytes/sec"));
}

const std::vector<NamedThing> kThings = {
    {"\\Memory\\Available Bytes", "Memory that programs can get.", true},
    {"\\Memory\\Used Bytes", "", true},
    {"\\PhysicalDisk\\Disk Read Bytes/sec", "Data that was read.", true},
    {"\\Process V2\\% Processor Time", "CPU time of a process.", true},
    {"\\Processor Information\\% IO Wait Time", "Idle time.", true},
    {"\\Processor Information\\% Processor Time", "Busy time.", true},
    {"\\Processor\\% IO Wait Time", "Idle time.", false},
    {"\\Processor\\% Processor Time", "Busy time.", false},
    {"\\Linux Socket\\% TCP Memory Used", "", false},
    {"nginx:312", "Process V2", true},
    {"web-1", "role=frontend", true}};

// Returns the names that words find.
std::vector<std::string> NamesOf(absl::string_view words) {
  std::vector<std::string> names;
  for (const size_t i : FindByWords(words, kThings)) {
    names.push_back(kThings[i].name);
  }
  return names;
}

TEST(FindByWords, KnowsEverydayWords) {
  EXPECT_THAT(
      NamesOf("CPU usage"),
      ElementsAre("\\Processor Information\\% Processor Time", _, _, _, _));
  EXPECT_THAT(NamesOf("iowait"),
              ElementsAre("\\Processor Information\\% IO Wait Time",
                          "\\Processor\\% IO Wait Time"));
  EXPECT_THAT(NamesOf("memory used"),
              ElementsAre("\\Memory\\Used Bytes", "\\Memory\\Available Bytes",
                          "\\Linux Socket\\% TCP Memory Used"));
  EXPECT_THAT(NamesOf("how much ram is free"),
              ElementsAre("\\Memory\\Available Bytes"));
  EXPECT_THAT(NamesOf("disk reads"),
              ElementsAre("\\PhysicalDisk\\Disk Read Bytes/sec"));
}

TEST(FindByWords, FindsPartsOfNames) {
  EXPECT_THAT(NamesOf("nginx"), ElementsAre("nginx:312"));
  EXPECT_THAT(NamesOf("WEB"), ElementsAre("web-1"));
  EXPECT_THAT(NamesOf("frontend"), ElementsAre("web-1"));
  EXPECT_THAT(NamesOf("disk read"),
              ElementsAre("\\PhysicalDisk\\Disk Read Bytes/sec"));
  EXPECT_THAT(NamesOf("disk nginx"), IsEmpty());
  EXPECT_THAT(NamesOf(""), IsEmpty());
}

// The name counts before the help, and then what is preferred.
TEST(FindByWords, PutsTheBestFirst) {
  EXPECT_THAT(NamesOf("% processor time"),
              ElementsAre("\\Processor Information\\% Processor Time",
                          "\\Process V2\\% Processor Time",
                          "\\Processor Information\\% IO Wait Time",
                          "\\Processor\\% Processor Time",
                          "\\Processor\\% IO Wait Time"));
  EXPECT_THAT(NamesOf("available"), ElementsAre("\\Memory\\Available Bytes"));
}

TEST(FindByWords, FinishesWithManyWords) {
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += "cpu usage ";
  EXPECT_LE(FindByWords(words, kThings).size(), kThings.size());
}

TEST(CorrectedWords, ReplacesWordsThatOccurNowhere) {
  EXPECT_EQ(CorrectedWords("procesor time", kThings), "processor time");
  EXPECT_EQ(CorrectedWords("ngnix", kThings), "nginx");
  EXPECT_EQ(CorrectedWords("cpu utilization", kThings), "cpu utilization");
  EXPECT_EQ(CorrectedWords("xyzzy", kThings), "xyzzy");
}

TEST(DidYouMean, WritesASentence) {
  EXPECT_EQ(DidYouMean("Memry", kNames), "; did you mean \"Memory\"?");
  EXPECT_EQ(DidYouMean("Proces", kNames),
            "; did you mean \"Process\" or \"Processor\" or \"Processor "
            "Information\"?");
  EXPECT_EQ(DidYouMean("Network", kNames), "");
}

}  // namespace
}  // namespace fleetperf
