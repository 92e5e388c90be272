// Subscriptions that select series by their values.

#include "aggregator/subscribe/live_chooser.h"

#include "tests/aggregator/subscribe/hub_fixture.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQueue;

class LiveChooserTest : public HubTest {
 protected:
  // Adds a tick with these queue lengths of C:, D: and E:.
  void Tick(uint64_t c, uint64_t d, uint64_t e) {
    ++time_;
    agent_.Ticks(time_, time_, {{c_, c}, {d_, d}, {e_, e}});
  }

  DiskAgent agent_{&store_};
  const uint32_t c_ = agent_.Disk("C:");
  const uint32_t d_ = agent_.Disk("D:");
  const uint32_t e_ = agent_.Disk("E:");
  int time_ = 0;
};

TEST_F(LiveChooserTest, EndsSeriesThatFailTheCondition) {
  Tick(5, 95, 5);
  ASSERT_OK(agent_.Send());
  const auto reader = Subscribe(
      {kQueue}, {.choice = {.where = Condition{Comparison::kGreater, 90}}});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length", "1@1=95"));
  Tick(99, 90, 5);
  Arrive(agent_);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 web-1 \\Disk(C:)\\Queue Length", "2@2=99", "-1"));
  // Of several values in one batch, only those that meet the condition are
  // sent.
  Tick(3, 91, 5);
  Tick(92, 7, 5);
  Arrive(agent_);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length",
                                          "2@4=92", "1@3=91", "-1"));
  Tick(5, 5, 5);
  Arrive(agent_);
  EXPECT_THAT(reader->Read(), ElementsAre("-2"));
  Tick(5, 5, 5);
  Arrive(agent_);
  EXPECT_THAT(reader->Read(), IsEmpty());
}

TEST_F(LiveChooserTest, RanksTheNewestValues) {
  Tick(1, 2, 3);
  ASSERT_OK(agent_.Send());
  const auto reader = Subscribe({kQueue}, {.choice = {.top = 2}});
  EXPECT_THAT(reader->Read(),
              ::testing::UnorderedElementsAre(
                  "+1 web-1 \\Disk(D:)\\Queue Length",
                  "+2 web-1 \\Disk(E:)\\Queue Length", "1@1=2", "2@1=3"));
  Tick(4, 2, 3);
  Arrive(agent_);
  EXPECT_THAT(reader->Read(), ElementsAre("+3 web-1 \\Disk(C:)\\Queue Length",
                                          "3@2=4", "2@2=3", "-1"));
  // A series that drops out is replaced by one with an older value.
  agent_.Ticks(3, 3, {{c_, 4}, {d_, 2}});
  Arrive(agent_);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length",
                                          "3@3=4", "1@3=2", "-2"));
}

TEST_F(LiveChooserTest, RanksByPresence) {
  agent_.Ticks(0, 0, {{c_, 4}});
  ASSERT_OK(agent_.Send());
  const std::vector<std::string> paths = {"\\Disk(*)\\Transfers/sec"};
  const auto reader =
      Subscribe(paths, {.interval = absl::Seconds(10), .choice = {.top = 1}});
  const auto with_condition = Subscribe(
      paths,
      {.interval = absl::Seconds(10),
       .choice = {.where = Condition{Comparison::kGreater, 1}, .top = 1}});
  // D: has 9 in the last 4 s of 10 s, C: has 4 all the time.
  agent_.Ticks(1, 5, {{c_, 4}});
  agent_.Ticks(6, 11, {{c_, 4}, {d_, 9}});
  Arrive(agent_);
  const auto is_first =
      ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec", "1@10=4");
  EXPECT_THAT(reader->Read(), is_first);
  EXPECT_THAT(with_condition->Read(), is_first);
}

TEST_F(LiveChooserTest, BottomRanksTheSmallestValues) {
  Tick(1, 2, 3);
  ASSERT_OK(agent_.Send());
  const auto reader = Subscribe({kQueue}, {.choice = {.bottom = 1}});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@1=1"));
}

TEST_F(LiveChooserTest, AddsASeriesWhenAnotherMachineFallsBehind) {
  Tick(1, 1, 5);
  ASSERT_OK(agent_.Send());
  DiskAgent other(&store_, "web-2");
  const uint32_t c = other.Disk("C:");
  other.Ticks(1, 1, {{c, 9}});
  ASSERT_OK(other.Send());
  const auto reader = Subscribe({kQueue}, {.choice = {.top = 1}});
  EXPECT_THAT(reader->Read(), ::testing::Contains("2@1=9"));
  // Its newest value is sent although only the other machine has a new value.
  other.Ticks(2, 2, {{c, 4}});
  Arrive(other);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(E:)\\Queue Length", "1@1=5", "-2"));
}

TEST_F(LiveChooserTest, AggregatesAreThoseOfThePathsThatNameThem) {
  const uint32_t total = agent_.Disk("_Total");
  const uint32_t of_node = agent_.Disk("0,_Total");
  agent_.Ticks(0, 1, {{c_, 1}, {d_, 2}, {total, 9}, {of_node, 8}});
  ASSERT_OK(agent_.Send());
  const std::vector<std::string> paths = {kQueue,
                                          "\\Disk(_Total)\\Transfers/sec",
                                          "\\Disk(*,_Total)\\Transfers/sec"};
  const auto top = Subscribe(paths, {.choice = {.top = 9}});
  const auto positive = Subscribe(
      paths, {.choice = {.where = Condition{Comparison::kGreater, 0}}});
  // Numbers follow the order of announcement, which is not defined.
  const auto paths_of = [](const std::vector<std::string>& notes) {
    std::vector<std::string> named;
    for (const std::string& note : notes) {
      if (note[0] == '+') named.push_back(note.substr(note.find(' ') + 1));
    }
    return named;
  };
  const auto are_named = ::testing::UnorderedElementsAre(
      "web-1 \\Disk(C:)\\Queue Length", "web-1 \\Disk(D:)\\Queue Length",
      "web-1 \\Disk(_Total)\\Transfers/sec",
      "web-1 \\Disk(0,_Total)\\Transfers/sec");
  EXPECT_THAT(paths_of(top->Read()), are_named);
  EXPECT_THAT(paths_of(positive->Read()), are_named);
  // Without a choice, every series that a path selects is shown.
  EXPECT_THAT(paths_of(Subscribe(paths)->Read()), ::testing::SizeIs(6));
}

// A machine that is away, with the newest samples of all its disks.
TEST_F(LiveChooserTest, RanksLateSeriesByValue) {
  Tick(1, 9, 3);
  ASSERT_OK(agent_.Send());
  clock_.Advance(absl::Minutes(10));
  const auto notes = Subscribe({kQueue}, {.choice = {.top = 1}})->Read();
  EXPECT_THAT(notes, ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length", "1@1=9"));
  EXPECT_THAT(Subscribe({kQueue}, {.choice = {.bottom = 1}})->Read(),
              ::testing::Contains(::testing::HasSubstr("=1")));
}

TEST_F(LiveChooserTest, RanksTheSeriesOfEachCounter) {
  agent_.Ticks(0, 1, {{c_, 1}, {d_, 2}, {e_, 3}});
  ASSERT_OK(agent_.Send());
  const auto reader =
      Subscribe({kQueue, "\\Disk(*)\\Transfers/sec"}, {.choice = {.top = 1}});
  std::vector<std::string> series;
  for (const std::string& note : reader->Read()) {
    if (note[0] == '+') series.push_back(note.substr(note.find(' ') + 1));
  }
  EXPECT_THAT(series, ::testing::UnorderedElementsAre(
                          "web-1 \\Disk(E:)\\Queue Length",
                          "web-1 \\Disk(E:)\\Transfers/sec"));
}

// Two machines with one disk each.
class LateSeriesTest : public HubTest {
 protected:
  DiskAgent large_{&store_, "web-1"};
  DiskAgent small_{&store_, "web-2"};
  const uint32_t of_large_ = large_.Disk("C:");
  const uint32_t of_small_ = small_.Disk("C:");
};

TEST_F(LateSeriesTest, LoseTheirPlaceToOthers) {
  large_.Ticks(0, 0, {{of_large_, 9}});
  ASSERT_OK(large_.Send());
  small_.Ticks(0, 0, {{of_small_, 4}});
  ASSERT_OK(small_.Send());
  const auto reader = Subscribe({kQueue}, {.choice = {.top = 1}});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@0=9"));

  // 30 s old, more than 2.5 intervals: not late yet.
  clock_.Advance(absl::Seconds(30));
  small_.Ticks(30, 30, {{of_small_, 4}});
  Arrive(small_);
  EXPECT_THAT(reader->Read(), IsEmpty());

  clock_.Advance(absl::Seconds(1));
  small_.Ticks(31, 31, {{of_small_, 5}});
  Arrive(small_);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 web-2 \\Disk(C:)\\Queue Length", "2@31=5", "-1"));

  large_.Ticks(32, 32, {{of_large_, 8}});
  Arrive(large_);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@32=8", "-2"));
}

TEST_F(LateSeriesTest, OfLongIntervalsAreLateAfterTwoAndAHalf) {
  large_.Ticks(0, 0, {{of_large_, 9}});
  ASSERT_OK(large_.Send());
  small_.Ticks(0, 0, {{of_small_, 4}});
  ASSERT_OK(small_.Send());
  const auto reader = Subscribe(
      {kQueue}, {.interval = absl::Seconds(20), .choice = {.top = 1}});
  large_.Ticks(1, 21, {{of_large_, 9}});
  Arrive(large_);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                          "1@0=9", "1@20=9"));
  clock_.Advance(absl::Seconds(70));
  small_.Ticks(1, 61, {{of_small_, 4}});
  Arrive(small_);
  EXPECT_THAT(reader->Read(), IsEmpty());
  clock_.Advance(absl::Seconds(11));
  small_.Ticks(62, 81, {{of_small_, 4}});
  Arrive(small_);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 web-2 \\Disk(C:)\\Queue Length", "2@80=4", "-1"));
}

TEST_F(LateSeriesTest, HavePlacesThatNoOtherSeriesTakes) {
  large_.Ticks(0, 0, {{of_large_, 9}});
  ASSERT_OK(large_.Send());
  small_.Ticks(60, 60, {{of_small_, 4}});
  ASSERT_OK(small_.Send());
  clock_.Advance(absl::Seconds(60));
  const auto one = Subscribe({kQueue}, {.choice = {.top = 1}});
  EXPECT_THAT(one->Read(), ::testing::IsSupersetOf({"2@60=4", "-1"}));
  const auto both = Subscribe({kQueue}, {.choice = {.bottom = 2}});
  EXPECT_THAT(both->Read(),
              ::testing::UnorderedElementsAre(
                  "+1 web-1 \\Disk(C:)\\Queue Length",
                  "+2 web-2 \\Disk(C:)\\Queue Length", "1@0=9", "2@60=4"));
}

}  // namespace
}  // namespace fleetperf::aggregator
