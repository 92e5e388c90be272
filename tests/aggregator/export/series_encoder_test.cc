// The values and labels that are exported of the samples of a store.

#include "aggregator/export/series_encoder.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/store/store.h"
#include "tests/aggregator/export/encoder_sink.h"
#include "tests/support/disk_agent.h"
#include "tests/support/encoded_labels.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using testing::LabelsIn;
using ::testing::Pair;
using testing::TestStore;

// Values by series: "queue_length C:" has "3=7", which is 7 at 3 s after
// kStart, and "4=end".
using Series = std::map<std::string, std::vector<std::string>>;

// Exports a machine of a store.
class Reader : public EncoderSink<SeriesEncoder> {
 public:
  explicit Reader(TestStore* store, const PathSet* paths = nullptr)
      : store_(*store), paths_(paths) {}

  // Returns what has arrived since the last call.
  Series Read() {
    series_.clear();
    ExportedSchemas schemas;
    SeriesEncoder encoder(
        "web-1", {{"machine", "web-1"}, {"Zone", "north"}, {"role", "db"}},
        paths_, &schemas);
    ReadFrom(*store_, &encoder, [&](const CollectedQuery& query) {
      return encoder.Selects(query);
    });
    return series_;
  }

 private:
  absl::Status Add(absl::string_view encoded,
                   absl::Span<const ExportSample> samples) override {
    auto labels = LabelsIn(encoded);
    EXPECT_EQ(labels["machine"], "web-1");
    EXPECT_EQ(labels["Zone"], "north");
    EXPECT_EQ(labels["role"], "db");
    absl::string_view name = labels["__name__"];
    EXPECT_TRUE(absl::ConsumePrefix(&name, "fleetperf_disk_")) << name;
    std::string key = absl::StrCat(name, " ", labels["instance"]);
    labels.erase("machine");
    labels.erase("Zone");
    labels.erase("role");
    labels.erase("__name__");
    labels.erase("instance");
    for (const auto& [other, value] : labels) absl::StrAppend(&key, "#", value);
    for (const ExportSample& sample : samples) {
      series_[key].push_back(TextOf(sample));
    }
    return absl::OkStatus();
  }

  TestStore& store_;
  const PathSet* const paths_;
  Series series_;
};

class SeriesEncoderTest : public ::testing::Test {
 protected:
  SeriesEncoderTest() { EXPECT_OK(store_->KeepExportCursors(true)); }

  TestStore store_;
  DiskAgent agent_{&store_};
  Reader reader_{&store_};
};

TEST_F(SeriesEncoderTest, ValuesGoOnBetweenReads) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 3, {{c, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(
      reader_.Read(),
      ElementsAre(Pair("queue_length C:", ElementsAre("1=5", "2=5", "3=5")),
                  Pair("transfers_per_second C:", ElementsAre("2=5", "3=5"))));
  EXPECT_THAT(reader_.Read(), IsEmpty());
  agent_.Ticks(4, 4, {{c, 5}});
  // Nothing is exported of a gap, except that it ends.
  agent_.Ticks(14, 15, {{c, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(
      reader_.Read(),
      ElementsAre(Pair("queue_length C:", ElementsAre("4=5", "14=5", "15=5")),
                  Pair("transfers_per_second C:", ElementsAre("4=5", "15=5"))));
}

// Transfers are read as 0 from 5 s to 6 s, in any division into reads.
TEST_F(SeriesEncoderTest, ACounterThatReturnsAfterAFallHasNotGrown) {
  for (int first = 3; first <= 7; ++first) {
    for (const int next : {first + 1, first + 2, 8}) {
      TestStore store;
      ASSERT_OK(store->KeepExportCursors(true));
      DiskAgent agent(&store);
      Reader reader(&store);
      const uint32_t c = agent.Disk("C:");
      std::vector<std::string> values;
      for (int t = 1; t <= 9; ++t) {
        const bool is_read = t < 5 || t > 6;
        const uint64_t transfers = is_read ? 1000 + 5 * uint64_t(t) : 0;
        agent.AddTick(agent.query, ClocksAt(t), {{c, {transfers, 1}}});
        if (t != first && t != next && t != 9) continue;
        ASSERT_OK(agent.Send());
        Series series = reader.Read();
        for (const std::string& value : series["transfers_per_second C:"]) {
          values.push_back(value);
        }
      }
      EXPECT_THAT(values, ElementsAre("2=5", "3=5", "4=5", "6=0", "8=5", "9=5"))
          << first << " " << next;
    }
  }
}

TEST_F(SeriesEncoderTest, SeriesEndWithTheirInstance) {
  const uint32_t c = agent_.Disk("C:");
  const uint32_t d = agent_.Disk("D:");
  agent_.Ticks(1, 3, {{c, 1}, {d, 2}});
  ASSERT_OK(agent_.Send());
  Series first = reader_.Read();
  EXPECT_THAT(first["queue_length D:"], ElementsAre("1=2", "2=2", "3=2"));
  // A failed tick says nothing.
  agent_.AddBlock(agent_.query, ClocksAt(4), {{agent_.query, {}, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(reader_.Read(), IsEmpty());
  agent_.Ticks(5, 7, {{c, 1}});
  ASSERT_OK(agent_.Send());
  Series next = reader_.Read();
  EXPECT_THAT(next["queue_length C:"], ElementsAre("5=1", "6=1", "7=1"));
  EXPECT_THAT(next["queue_length D:"], ElementsAre("5=end"));
  EXPECT_THAT(next["transfers_per_second D:"], ElementsAre("5=end"));
  // The disk comes back, and goes within a batch.
  const uint32_t again = agent_.Disk("D:");
  agent_.Ticks(8, 9, {{c, 1}, {again, 2}});
  agent_.Ticks(10, 11, {{c, 1}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(reader_.Read()["queue_length D:"],
              ElementsAre("8=2", "9=2", "10=end"));
}

TEST_F(SeriesEncoderTest, InstancesOfOneNameAreNumberedAtEachTick) {
  const uint32_t first = agent_.Disk("C:", 1);
  const uint32_t second = agent_.Disk("C:", 2);
  agent_.Ticks(1, 2, {{second, 20}, {first, 10}});
  agent_.Ticks(3, 4, {{second, 20}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(
      reader_.Read(),
      ElementsAre(
          Pair("queue_length C:", ElementsAre("1=10", "2=10", "3=20", "4=20")),
          Pair("queue_length C:#1", ElementsAre("1=20", "2=20", "3=end")),
          Pair("transfers_per_second C:", ElementsAre("2=10", "3=20", "4=20")),
          Pair("transfers_per_second C:#1", ElementsAre("2=20", "3=end"))));
}

TEST_F(SeriesEncoderTest, ATwinGoesOnWhenAnotherOneEnds) {
  const uint32_t first = agent_.Disk("C:", 1);
  const uint32_t second = agent_.Disk("C:", 2);
  agent_.Ticks(1, 2, {{first, 10}, {second, 20}});
  ASSERT_OK(agent_.Send());
  reader_.Read();
  // Within a frame, whose first values need samples of the one before.
  agent_.Ticks(3, 4, {{first, 10}, {second, 20}});
  agent_.Ticks(5, 6, {{second, 20}});
  ASSERT_OK(agent_.Send());
  Series series = reader_.Read();
  EXPECT_THAT(series["transfers_per_second C:"],
              ElementsAre("3=10", "4=10", "5=20", "6=20"));
  EXPECT_THAT(series["transfers_per_second C:#1"],
              ElementsAre("3=20", "4=20", "5=end"));
}

TEST_F(SeriesEncoderTest, ValuesGoOnAfterAFailedTick) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 2, {{c, 5}});
  ASSERT_OK(agent_.Send());
  reader_.Read();
  agent_.Ticks(3, 3, {{c, 5}});
  agent_.AddBlock(agent_.query, ClocksAt(4), {{agent_.query, {}, 5}});
  agent_.Ticks(5, 5, {{c, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(reader_.Read()["transfers_per_second C:"],
              ElementsAre("3=5", "5=5"));
}

TEST_F(SeriesEncoderTest, SeriesEndWithTheirMachine) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 2, {{c, 5}});
  ASSERT_OK(agent_.Send());
  reader_.ends = true;
  EXPECT_THAT(
      reader_.Read(),
      ElementsAre(
          Pair("queue_length C:", ElementsAre("1=5", "2=5", "2.001=end")),
          Pair("transfers_per_second C:", ElementsAre("2=5", "2.001=end"))));
}

TEST_F(SeriesEncoderTest, PathsSelectSeries) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\\\web-*\\Disk(D*)\\Queue Length"}, {"Disk"}));
  Reader reader(&store_, &paths);
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 1}, {agent_.Disk("D:"), 2}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(reader.Read(),
              ElementsAre(Pair("queue_length D:", ElementsAre("1=2"))));
}

}  // namespace
}  // namespace fleetperf::aggregator
