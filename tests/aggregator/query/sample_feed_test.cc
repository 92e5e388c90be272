#include "aggregator/query/sample_feed.h"

#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/dictionary.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::BatchWriter;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records its calls: series as "C: id=3 wanted=#1", samples as
// "0@12s 5/7": the second sample of series 0, 5 with denominator 7.
class Notebook : public SampleSink {
 public:
  size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                   std::vector<uint32_t> wanted_indexes) override {
    std::string text = absl::StrCat(instance.name, " id=", formula.counter_id);
    for (const uint32_t index : wanted_indexes) {
      absl::StrAppend(&text, " #", index);
    }
    series.push_back(text);
    return series.size() - 1;
  }

  void AddRun(size_t number, const SeriesRun& run) override {
    intervals.push_back(run.interval());
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const RawSample sample = run.Sample(tick);
      std::string text = absl::StrCat(number, ":");
      for (const RawValue& value :
           {sample.value, sample.denominator, sample.frequency, sample.multi}) {
        absl::StrAppend(&text, " ",
                        value.has_value() ? absl::StrCat(value.value) : "-");
      }
      texts.push_back(text);
      samples.push_back(sample);
    }
  }

  std::vector<std::string> series, texts;
  std::vector<RawSample> samples;
  std::vector<absl::Duration> intervals;
};

class SampleFeedTest : public ::testing::Test {
 protected:
  // Feeds all batches written so far.
  void Feed(SampleFeed& feed) {
    const v1::BatchContent content = writer_.TakeContent();
    ASSERT_OK(dictionary_.Apply(content.definitions()));
    ASSERT_OK_AND_ASSIGN(const DecodedBatch batch,
                         testing::Decode(content, &dictionary_));
    for (const Frame& frame : batch.frames) feed.Add(frame);
  }

  SampleFeed MakeFeed(const std::vector<Selection>& selections) {
    EXPECT_OK(dictionary_.Apply(writer_.definitions()));
    return SampleFeed({*dictionary_.FindCounterset(disk_), selections},
                      &notebook_);
  }

  static Selection Select(const std::string& instance,
                          std::vector<uint32_t> counters,
                          std::optional<uint32_t> index = std::nullopt) {
    return {perflib::Pattern(instance), index, std::move(counters)};
  }

  SchemaTable schemas_;
  Dictionary dictionary_{1, &schemas_, nullptr, {}};
  BatchWriter writer_;
  Notebook notebook_;
  const uint32_t machine_ = writer_.Machine("web-1");
  const uint32_t disk_ = writer_.Counterset(testing::DiskRegistration());
};

TEST_F(SampleFeedTest, FindsEachFormulasColumnsByTheirCounters) {
  // In no particular order.
  const uint32_t query = writer_.Query(machine_, disk_, absl::Seconds(1),
                                       {{testing::kTimeFreq, 8, true},
                                        {testing::kReads, 4, true},
                                        {testing::kUpTime},
                                        {testing::kTime, 8, true},
                                        {testing::kBytesPerRead},
                                        {testing::kTransfers}});
  const uint32_t c = writer_.Instance(machine_, disk_, "C:");
  writer_.AddTick(query, ClocksAt(1), {{c, {8, 4, 6, 7, 3, 1}}});
  SampleFeed feed = MakeFeed({Select(
      "*", {testing::kTransfers, testing::kBytesPerRead, testing::kUpTime})});
  Feed(feed);
  EXPECT_THAT(notebook_.series, ElementsAre("C: id=1", "C: id=3", "C: id=6"));
  EXPECT_THAT(notebook_.texts,
              ElementsAre("0: 1 - - -", "1: 3 4 - -", "2: 6 7 8 -"));
  ASSERT_EQ(notebook_.samples.size(), 3);
  // Sizes come from the columns, not from the types.
  EXPECT_EQ(notebook_.samples[1].value.size, 8);
  EXPECT_EQ(notebook_.samples[1].denominator.size, 4);
  EXPECT_EQ(notebook_.samples[1].clocks, ClocksAt(1));
  EXPECT_EQ(notebook_.samples[1].life, MakeLife(1, c));
  EXPECT_EQ(notebook_.intervals[0], absl::Seconds(1));
}

TEST_F(SampleFeedTest, LinkedColumnsAreNoSeries) {
  const uint32_t linked =
      writer_.Query(machine_, disk_, absl::Seconds(1),
                    {{testing::kQueueLength, 8, /*only_linked=*/true}});
  const uint32_t own = writer_.Query(machine_, disk_, absl::Seconds(5),
                                     {{testing::kQueueLength}});
  const uint32_t c = writer_.Instance(machine_, disk_, "C:");
  writer_.AddTick(linked, ClocksAt(1), {{c, {11}}});
  writer_.AddTick(own, ClocksAt(5), {{c, {55}}});
  SampleFeed feed = MakeFeed({Select("*", {testing::kQueueLength})});
  Feed(feed);
  EXPECT_THAT(notebook_.texts, ElementsAre("0: 55 - - -"));
  EXPECT_THAT(notebook_.intervals, ElementsAre(absl::Seconds(5)));
}

TEST_F(SampleFeedTest, LinksOnlyWithinAQuery) {
  const uint32_t without_base = writer_.Query(machine_, disk_, absl::Seconds(1),
                                              {{testing::kBytesPerRead}});
  const uint32_t base =
      writer_.Query(machine_, disk_, absl::Seconds(1), {{testing::kReads}});
  const uint32_t c = writer_.Instance(machine_, disk_, "C:");
  writer_.AddTick(without_base, ClocksAt(1), {{c, {3}}});
  writer_.AddTick(base, ClocksAt(1), {{c, {4}}});
  SampleFeed feed = MakeFeed({Select("*", {testing::kBytesPerRead})});
  Feed(feed);
  EXPECT_THAT(notebook_.texts, ElementsAre("0: 3 - - -"));
}

TEST_F(SampleFeedTest, DistinguishesMissingFromConstantValues) {
  const uint32_t query =
      writer_.Query(machine_, disk_, absl::Seconds(1),
                    {{testing::kBytesPerRead}, {testing::kReads, 4, true}});
  const uint32_t c = writer_.Instance(machine_, disk_, "C:");
  const uint32_t d = writer_.Instance(machine_, disk_, "D:");
  writer_.AddTick(query, ClocksAt(1), {{c, {7, 1}}, {d, {9, 1}}});
  writer_.AddTick(query, ClocksAt(2), {{c, {{}, 1}}, {d, {9, {}}}});
  writer_.AddTick(query, ClocksAt(3), {{c, {7, 1}}, {d, {{}, 1}}});
  SampleFeed feed = MakeFeed({Select("*", {testing::kBytesPerRead})});
  Feed(feed);
  EXPECT_THAT(notebook_.texts,
              ElementsAre("0: 7 1 - -", "0: - 1 - -", "0: 7 1 - -",
                          "1: 9 1 - -", "1: 9 - - -", "1: - 1 - -"));
}

TEST_F(SampleFeedTest, FollowsAnInstanceThroughItsLives) {
  const uint32_t query =
      writer_.Query(machine_, disk_, absl::Seconds(1), {{testing::kTransfers}});
  const uint32_t first = writer_.Instance(machine_, disk_, "usb", 4);
  writer_.AddTick(query, ClocksAt(1), {{first, {100}}});
  writer_.AddTick(query, ClocksAt(2), {});
  const uint32_t second = writer_.Instance(machine_, disk_, "usb", 4);
  writer_.AddTick(query, ClocksAt(3), {{second, {1}}});
  // Another id or occurrence is another series, even with the same name.
  const uint32_t other_id = writer_.Instance(machine_, disk_, "usb", 5);
  const uint32_t twin = writer_.Instance(machine_, disk_, "usb", 4, 1);
  writer_.AddTick(query, ClocksAt(4), {{other_id, {2}}, {twin, {3}}});
  SampleFeed feed = MakeFeed({Select("usb", {testing::kTransfers})});
  Feed(feed);
  EXPECT_THAT(notebook_.texts, ElementsAre("0: 100 - - -", "0: 1 - - -",
                                           "1: 2 - - -", "2: 3 - - -"));
  EXPECT_NE(notebook_.samples[0].life, notebook_.samples[1].life);
}

TEST_F(SampleFeedTest, TakesASeriesOfSeveralSelectionsOnce) {
  const uint32_t query =
      writer_.Query(machine_, disk_, absl::Seconds(1),
                    {{testing::kTransfers}, {testing::kQueueLength}});
  const uint32_t c = writer_.Instance(machine_, disk_, "C:");
  const uint32_t d = writer_.Instance(machine_, disk_, "D:");
  const uint32_t e = writer_.Instance(machine_, disk_, "E:");
  writer_.AddTick(query, ClocksAt(1), {{c, {1, 2}}, {d, {3, 4}}, {e, {5, 6}}});
  SampleFeed feed =
      MakeFeed({Select("C:", {testing::kTransfers}),
                Select("?:", {testing::kQueueLength}, 0), Select("c:", {1}, 1),
                Select("D:", {testing::kQueueLength}, 2)});
  Feed(feed);
  // No index is requested if another path selects all.
  EXPECT_THAT(notebook_.series, ElementsAre("C: id=1", "C: id=2 #0",
                                            "D: id=2 #0 #2", "E: id=2 #0"));
  EXPECT_THAT(notebook_.texts, ElementsAre("0: 1 - - -", "1: 2 - - -",
                                           "2: 4 - - -", "3: 6 - - -"));
}

TEST_F(SampleFeedTest, IgnoresOtherCountersets) {
  const uint32_t memory = writer_.Counterset(testing::MemoryRegistration());
  const uint32_t query =
      writer_.Query(machine_, memory, absl::Seconds(1), {{1}});
  const uint32_t single = writer_.Instance(machine_, memory);
  writer_.AddTick(query, ClocksAt(1), {{single, {1}}});
  SampleFeed feed = MakeFeed({Select("*", {1})});
  Feed(feed);
  EXPECT_THAT(notebook_.series, IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
