#include "base/suggest.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

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

TEST(DidYouMean, WritesASentence) {
  EXPECT_EQ(DidYouMean("Memry", kNames), "; did you mean \"Memory\"?");
  EXPECT_EQ(DidYouMean("Proces", kNames),
            "; did you mean \"Process\" or \"Processor\" or \"Processor "
            "Information\"?");
  EXPECT_EQ(DidYouMean("Network", kNames), "");
}

}  // namespace
}  // namespace fleetperf
