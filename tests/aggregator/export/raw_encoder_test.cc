// The raw series that are exported of the samples of a store.

#include "aggregator/export/raw_encoder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/store/store.h"
#include "perflib/counter_type.h"
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
using ::testing::Key;
using testing::kStart;
using testing::LabelsIn;
using ::testing::Pair;
using testing::TestStore;

constexpr uint64_t k2To50 = uint64_t{1} << 50;
// An agent's epoch, and the epoch modulo 2^50.
constexpr uint64_t kEpoch = (uint64_t{1} << 63) + 5;

// Values by series: "queue_length_raw C:" has "3=7", which is 7 at 3 s after
// kStart, and "4=end".
using RawSeries = std::map<std::string, std::vector<std::string>>;

// Exports a machine of a store.
class RawReader : public EncoderSink<RawEncoder> {
 public:
  explicit RawReader(TestStore* store, const PathSet* paths = nullptr)
      : store_(*store), paths_(paths) {}

  // Returns what has arrived since the last call.
  RawSeries Read() {
    series_.clear();
    order.clear();
    ExportedSchemas schemas;
    RawEpochs epochs(&*store_);
    RawEncoder encoder("web-1", paths_, &schemas, &epochs);
    ReadFrom(*store_, &encoder);
    return series_;
  }

  bool has_queries = false;        // whether series are named by their query
  std::vector<std::string> order;  // the metrics of a read

 private:
  absl::Status Add(absl::string_view encoded,
                   absl::Span<const ExportSample> samples) override {
    auto labels = LabelsIn(encoded);
    EXPECT_EQ(labels["machine"], "web-1");
    EXPECT_EQ(labels["interval"], "1");
    EXPECT_EQ(labels["schema"].size(), 16);
    EXPECT_EQ(labels["query"].size(), 8);
    absl::string_view name = labels["__name__"];
    order.emplace_back(name);
    EXPECT_TRUE(absl::ConsumePrefix(&name, "fleetperf_disk_")) << name;
    std::string key(name);
    if (labels.contains("instance")) {
      absl::StrAppend(&key, " ", labels["instance"]);
    }
    for (const auto& [label, value] : labels) {
      if (label == "instance_id" || label == "occurrence" ||
          label == "columns" || (label == "query" && has_queries)) {
        absl::StrAppend(&key, " ", label, "=", value);
      }
    }
    for (const ExportSample& sample : samples) {
      series_[key].push_back(TextOf(sample));
    }
    return absl::OkStatus();
  }

  TestStore& store_;
  const PathSet* const paths_;
  RawSeries series_;
};

class RawEncoderTest : public ::testing::Test {
 protected:
  RawEncoderTest() { EXPECT_OK(store_->KeepExportCursors(true)); }

  uint32_t Query(const std::vector<DiskAgent::Column>& columns) {
    return agent_.Query(agent_.machine_id, agent_.disk, absl::Seconds(1),
                        columns);
  }

  TestStore store_;
  DiskAgent agent_{&store_, "web-1", kEpoch};
  RawReader reader_{&store_};
};

TEST_F(RawEncoderTest, HasEachValueAndClock) {
  const uint32_t query = Query({{testing::kTransfers, 4, false, true},
                                {testing::kQueueLength},
                                {testing::kBytesPerRead},
                                {testing::kReads, 4, true}});
  const uint32_t c = agent_.Disk("C:");
  ASSERT_EQ(c, 5);  // its definition
  agent_.AddTick(query, ClocksAt(1),
                 {{c, {4'294'967'295, k2To50 + 1, 2 * k2To50 + 6, 7}}});
  agent_.AddTick(query, ClocksAt(2), {{c, {3, 5, 2 * k2To50 + 16, 9}}});
  // A value is missing.
  agent_.AddTick(query, ClocksAt(3),
                 {{c, {4, std::nullopt, 2 * k2To50 + 16, 9}}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(
      reader_.Read(),
      ElementsAre(
          Pair("bytes_per_read_raw C:", ElementsAre("1=6", "2=16", "3=16")),
          Pair("bytes_per_read_raw_high C:", ElementsAre("1=2", "2=2", "3=2")),
          Pair("counter_4_raw C:", ElementsAre("1=7", "2=9", "3=9")),
          Pair("presence_raw C:", ElementsAre("1=10", "2=10", "3=10")),
          Pair("queue_length_raw C:", ElementsAre("1=1", "2=5")),
          Pair("queue_length_raw_high C:", ElementsAre("1=1")),
          Pair("tick_epoch_raw columns=1:4w,2:8,3:8,4:4l",
               ElementsAre("1=5", "2=5", "3=5")),
          Pair("tick_perf_freq_raw",
               ElementsAre("1=10000000", "2=10000000", "3=10000000")),
          // 134444736010000000 modulo 2^50, and so on
          Pair("tick_perf_time_100ns_raw",
               ElementsAre("1=462647095727744", "2=462647105727744",
                           "3=462647115727744")),
          Pair("tick_perf_time_raw",
               ElementsAre("1=777010000000", "2=777020000000",
                           "3=777030000000")),
          Pair("transfers_raw C:", ElementsAre("1=4294967295", "2=3", "3=4"))));
  EXPECT_THAT(reader_.Read(), IsEmpty());
}

TEST_F(RawEncoderTest, APartOfATickPrecedesItsEpoch) {
  agent_.AddTick(agent_.query, ClocksAt(1), {{agent_.Disk("C:"), {k2To50, 1}}});
  ASSERT_OK(agent_.Send());
  reader_.Read();
  EXPECT_THAT(reader_.order,
              ElementsAre("fleetperf_disk_transfers_raw_high",
                          "fleetperf_disk_transfers_raw",
                          "fleetperf_disk_queue_length_raw",
                          "fleetperf_disk_presence_raw",
                          "fleetperf_disk_tick_perf_time_raw",
                          "fleetperf_disk_tick_perf_freq_raw",
                          "fleetperf_disk_tick_perf_time_100ns_raw",
                          "fleetperf_disk_tick_epoch_raw"));
}

TEST_F(RawEncoderTest, FailedTicksHaveClocksAndAStatus) {
  const uint32_t c = agent_.Disk("C:");
  // A clock of 3 GHz.
  perflib::Clocks clocks = ClocksAt(1);
  clocks.perf_time_stamp = 3 * int64_t{k2To50} + 17;
  clocks.perf_freq = 3'000'000'000;
  agent_.AddTick(agent_.query, clocks, {{c, {1, 1}}});
  agent_.AddBlock(agent_.query, ClocksAt(2), {{agent_.query, {}, 1450}});
  agent_.AddTick(agent_.query, ClocksAt(3), {{c, {3, 1}}});
  ASSERT_OK(agent_.Send());
  RawSeries series = reader_.Read();
  EXPECT_THAT(series["tick_perf_time_raw"],
              ElementsAre("1=17", "2=777020000000", "3=777030000000"));
  EXPECT_THAT(series["tick_perf_time_raw_high"], ElementsAre("1=3"));
  EXPECT_THAT(series["tick_perf_freq_raw"],
              ElementsAre("1=3000000000", "2=10000000", "3=10000000"));
  EXPECT_THAT(series["tick_status_raw"], ElementsAre("2=1450"));
  EXPECT_THAT(series["tick_epoch_raw columns=1:8,2:4"],
              ElementsAre("1=5", "2=5", "3=5"));
  EXPECT_THAT(series["transfers_raw C:"], ElementsAre("1=1", "3=3"));
  EXPECT_THAT(series["presence_raw C:"], ElementsAre("1=8", "3=8"));
}

TEST_F(RawEncoderTest, EachInstanceHasSeriesOfItsOwn) {
  const uint32_t first = agent_.Disk("C:", 1);
  const uint32_t second = agent_.Disk("C:", 1, 1);
  agent_.Ticks(1, 2, {{second, 20}, {first, 10}});
  ASSERT_OK(agent_.Send());
  RawSeries series = reader_.Read();
  EXPECT_THAT(series["queue_length_raw C: instance_id=1"],
              ElementsAre("1=10", "2=10"));
  EXPECT_THAT(series["queue_length_raw C: instance_id=1 occurrence=1"],
              ElementsAre("1=20", "2=20"));
  // The first one ends, and is born again. The second one stays what it was.
  agent_.Ticks(3, 4, {{second, 20}});
  const uint32_t again = agent_.Instance(agent_.machine_id, agent_.disk,
                                         "C:", 1, 0, /*is_born=*/true);
  ASSERT_EQ(again, 6);
  agent_.Ticks(5, 5, {{second, 20}, {again, 30}});
  ASSERT_OK(agent_.Send());
  series = reader_.Read();
  EXPECT_THAT(series["queue_length_raw C: instance_id=1"],
              ElementsAre("3=end", "5=30"));
  EXPECT_THAT(series["presence_raw C: instance_id=1"],
              ElementsAre("3=end", "5=13"));
  EXPECT_THAT(series["queue_length_raw C: instance_id=1 occurrence=1"],
              ElementsAre("3=20", "4=20", "5=20"));
  EXPECT_THAT(series["presence_raw C: instance_id=1 occurrence=1"],
              ElementsAre("3=10", "4=10", "5=10"));
}

TEST_F(RawEncoderTest, SeriesEndWithTheirMachine) {
  agent_.Ticks(1, 2, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  reader_.Read();
  agent_.Ticks(3, 3, {});
  agent_.Ticks(4, 4, {{agent_.Disk("D:"), 5}});
  ASSERT_OK(agent_.Send());
  reader_.ends = true;
  RawSeries series = reader_.Read();
  EXPECT_THAT(series["transfers_raw C:"], ElementsAre("3=end"));
  EXPECT_THAT(series["transfers_raw D:"], ElementsAre("4=20", "4.001=end"));
  EXPECT_THAT(series["presence_raw D:"], ElementsAre("4=10", "4.001=end"));
  EXPECT_THAT(series["tick_perf_freq_raw"],
              ElementsAre("3=10000000", "4=10000000", "4.001=end"));
  EXPECT_THAT(series["tick_epoch_raw columns=1:8,2:4"],
              ElementsAre("3=5", "4=5", "4.001=end"));
}

// A plan may have queries of one counterset with different instances.
TEST_F(RawEncoderTest, QueriesThatShareAColumnHaveSeriesOfTheirOwn) {
  const uint32_t one =
      Query({{testing::kBytesPerRead}, {testing::kReads, 8, true}});
  const uint32_t other =
      Query({{testing::kQueueLength}, {testing::kReads, 8, true}});
  const uint32_t c = agent_.Disk("C:");
  agent_.AddTick(one, ClocksAt(1), {{c, {100, 10}}});
  // Less than a millisecond later.
  agent_.AddTick(other, ClocksAt(1.0002), {{c, {1, 11}}});
  ASSERT_OK(agent_.Send());
  reader_.has_queries = true;
  RawSeries series = reader_.Read();
  // The first 32 bits of the SHA-256 of "3:8,4:8l" and "2:8,4:8l".
  EXPECT_THAT(series["counter_4_raw C: query=fee5b1c4"], ElementsAre("1=10"));
  EXPECT_THAT(series["counter_4_raw C: query=cc028aba"], ElementsAre("1=11"));
  EXPECT_THAT(series["tick_perf_time_raw query=fee5b1c4"],
              ElementsAre("1=777010000000"));
  EXPECT_THAT(series["tick_perf_time_raw query=cc028aba"],
              ElementsAre("1=777010002000"));
}

TEST_F(RawEncoderTest, PathsSelectWhatTheirCountersNeed) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\\\web-*\\Disk(D*)\\Bytes per Read"}, {"Disk"}));
  RawReader reader(&store_, &paths);
  const uint32_t query = Query({{testing::kTransfers},
                                {testing::kBytesPerRead},
                                {testing::kReads, 8, true}});
  agent_.AddTick(
      query, ClocksAt(1),
      {{agent_.Disk("C:"), {1, 2, 3}}, {agent_.Disk("D:"), {4, 5, 6}}});
  // No column of the other query is needed.
  agent_.Ticks(1, 1, {});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(
      reader.Read(),
      ElementsAre(Pair("bytes_per_read_raw D:", ElementsAre("1=5")),
                  Pair("counter_4_raw D:", ElementsAre("1=6")),
                  Pair("presence_raw D:", ElementsAre("1=12")),
                  Key("tick_epoch_raw columns=1:8,3:8,4:8l"),
                  Key("tick_perf_freq_raw"), Key("tick_perf_time_100ns_raw"),
                  Key("tick_perf_time_raw")));
}

TEST_F(RawEncoderTest, QueriesWithTooManyColumnsHaveNoSeries) {
  perflib::CountersetRegistration wide = testing::DiskRegistration();
  wide.counters.clear();
  std::vector<DiskAgent::Column> columns;
  std::vector<std::optional<uint64_t>> values;
  for (uint32_t id = 1000; id < 3300; ++id) {
    wide.counters.push_back(
        {.counter_id = id, .type = perflib::kPerfCounterLargeRawcount});
    columns.push_back({id});
    values.emplace_back(id);
  }
  // Each column has seven bytes: "1000:8,".
  const uint32_t counterset = agent_.Counterset(wide);
  const uint32_t query =
      agent_.Query(agent_.machine_id, counterset, absl::Seconds(1), columns);
  const uint32_t c = agent_.Instance(agent_.machine_id, counterset, "C:");
  agent_.AddTick(query, ClocksAt(1), {{c, values}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(reader_.Read(), IsEmpty());
}

TEST(RawEpochs, AreThoseOfAgents) {
  TestStore store;
  RawEpochs epochs(&*store);
  EXPECT_EQ(epochs.Of("web-1", store.Epoch("web-1", kEpoch).number), 5);
  EXPECT_EQ(epochs.Of("web-1", store.Epoch("web-1", 77).number), 77);
  EXPECT_EQ(epochs.Of("web-1", store.Epoch(OwnAgentName("web-1"), 78).number),
            78);
  // Numbers in the store mean nothing to others.
  TestStore other;
  const double unknown = epochs.Of("web-1", 1000);
  EXPECT_EQ(epochs.Of("web-1", 1000), unknown);
  EXPECT_NE(epochs.Of("web-1", 1001), unknown);
  EXPECT_NE(RawEpochs(&*other).Of("web-1", 1000), unknown);
}

}  // namespace
}  // namespace fleetperf::aggregator
