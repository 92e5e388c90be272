#include "aggregator/export/raw_names.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/export/metric_names.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"
#include "values/life.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr uint32_t kBulkCount = perflib::kPerfCounterBulkCount;
constexpr uint32_t kLargeGauge = perflib::kPerfCounterLargeRawcount;
constexpr uint64_t kTwoTo50 = 1'125'899'906'842'624;

TEST(RawMetricsOf, NamesEachCounterWithoutItsUnit) {
  const RawMetrics metrics = RawMetricsOf(testing::DiskRegistration());
  EXPECT_THAT(
      metrics.counters,
      ElementsAre(
          "fleetperf_disk_transfers_raw", "fleetperf_disk_queue_length_raw",
          "fleetperf_disk_bytes_per_read_raw", "fleetperf_disk_counter_4_raw",
          "fleetperf_disk_busy_time_raw", "fleetperf_disk_up_time_raw",
          "fleetperf_disk_counter_7_raw", "fleetperf_disk_counter_8_raw"));
  EXPECT_EQ(metrics.presence, "fleetperf_disk_presence_raw");
  EXPECT_EQ(metrics.perf_time, "fleetperf_disk_tick_perf_time_raw");
  EXPECT_EQ(metrics.perf_freq, "fleetperf_disk_tick_perf_freq_raw");
  EXPECT_EQ(metrics.perf_time_100ns, "fleetperf_disk_tick_perf_time_100ns_raw");
  EXPECT_EQ(metrics.status, "fleetperf_disk_tick_status_raw");
  EXPECT_EQ(metrics.epoch, "fleetperf_disk_tick_epoch_raw");
  EXPECT_EQ(HighMetric(metrics.epoch), "fleetperf_disk_tick_epoch_raw_high");
}

TEST(RawMetricsOf, NamesDifferFromAllOthers) {
  const perflib::CountersetRegistration counterset = {
      .name = "Disk",
      .counters = {
          {.counter_id = 9, .type = kBulkCount, .name = "Reads/sec"},
          // The lowest id keeps the name.
          {.counter_id = 3, .type = kLargeGauge, .name = "Reads"},
          {.counter_id = 4, .type = kLargeGauge, .name = "Tick Epoch"},
          // Calculated metrics that end like raw ones.
          {.counter_id = 5, .type = kLargeGauge, .name = "Writes Raw"},
          {.counter_id = 6, .type = kLargeGauge, .name = "Seeks Raw High"},
          {.counter_id = 7, .type = kLargeGauge, .name = "Presence Raw"},
          {.counter_id = 10, .type = kLargeGauge, .name = "Writes"},
          {.counter_id = 11, .type = kLargeGauge, .name = "Seeks"},
      }};
  const RawMetrics metrics = RawMetricsOf(counterset);
  EXPECT_THAT(metrics.counters, ElementsAre("fleetperf_disk_reads_id9_raw",
                                            "fleetperf_disk_reads_raw",
                                            "fleetperf_disk_tick_epoch_id4_raw",
                                            "fleetperf_disk_writes_raw_raw",
                                            "fleetperf_disk_seeks_raw_high_raw",
                                            "fleetperf_disk_presence_raw_raw",
                                            "fleetperf_disk_writes_id10_raw",
                                            "fleetperf_disk_seeks_id11_raw"));
  EXPECT_EQ(metrics.epoch, "fleetperf_disk_tick_epoch_raw");
  EXPECT_EQ(metrics.presence, "fleetperf_disk_presence_2_raw");
}

TEST(RawLabels, TellQueriesApart) {
  CollectedQuery query = {
      .schema = std::make_shared<const Schema>(Schema{
          .hash = std::string("\x00\x01\x02\x03\x04\x05\x06\xFF\x08\x09", 10)}),
      .interval = absl::Milliseconds(1500),
      .columns = {{.counter_id = 1, .value_size = 4, .wraps = true},
                  {.counter_id = 2, .value_size = 8},
                  {.counter_id = 3, .value_size = 8},
                  {.counter_id = 4, .value_size = 4, .only_linked = true}}};
  EXPECT_EQ(ColumnsText(query), "1:4w,2:8,3:8,4:4l");
  // The query is the first 32 bits of the SHA-256 of that text, little-endian.
  EXPECT_EQ(RawLabels("web-1", query), (Labels{{"machine", "web-1"},
                                               {"interval", "1.5"},
                                               {"schema", "00010203040506ff"},
                                               {"query", "33801757"}}));
  EXPECT_EQ(IntervalText(absl::Seconds(10)), "10");
  query.columns.pop_back();
  EXPECT_NE(QueryText(query), "33801757");
}

TEST(RawInstanceLabels, LeaveOutWhatIsEmpty) {
  EXPECT_EQ(RawInstanceLabels(Labels{{"machine", "m"}}, Instance()),
            (Labels{{"machine", "m"}}));
  EXPECT_EQ(
      RawInstanceLabels(Labels(),
                        {.name = "C:", .instance_id = 7, .occurrence = 2}),
      (Labels{{"instance", "C:"}, {"instance_id", "7"}, {"occurrence", "2"}}));
}

TEST(FromRaw, ReturnsEachValueAndNothingElse) {
  constexpr struct {
    uint64_t value;
    double low;
    double high;
  } kCases[] = {{0, 0, 0},
                {4'294'967'295, 4'294'967'295, 0},
                {kTwoTo50 - 1, 1'125'899'906'842'623, 0},
                {kTwoTo50, 0, 1},
                {3 * kTwoTo50 + 5, 5, 3},
                {UINT64_MAX, 1'125'899'906'842'623, 16383}};
  for (const auto& [value, low, high] : kCases) {
    EXPECT_EQ(RawLow(value), low);
    EXPECT_EQ(RawHigh(value), high);
    EXPECT_THAT(FromRaw(low, high), Optional(value));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(FromRaw(nan, 0), std::nullopt);
  EXPECT_EQ(FromRaw(0, nan), std::nullopt);
  EXPECT_EQ(FromRaw(-1, 0), std::nullopt);
  EXPECT_EQ(FromRaw(0.5, 0), std::nullopt);
  EXPECT_EQ(FromRaw(1'125'899'906'842'624, 0), std::nullopt);
  EXPECT_EQ(FromRaw(0, 16384), std::nullopt);
}

// VictoriaMetrics 1.79 returns 4025947293916.0005 for 4025947293916.
TEST(FromRaw, CorrectsTheLastBits) {
  for (const uint64_t value :
       {uint64_t{1}, uint64_t{4'025'947'293'916}, uint64_t{kTwoTo50 - 1}}) {
    const double number = RawLow(value);
    for (const double limit : {0.0, 1e300}) {
      const double changed = std::nextafter(number, limit);
      ASSERT_NE(changed, number);
      EXPECT_THAT(FromRaw(changed, 0), Optional(value));
    }
  }
  EXPECT_THAT(FromRaw(5, std::nextafter(3, 4)), Optional(3 * kTwoTo50 + 5));
  EXPECT_EQ(FromRaw(4'025'947'293'916.01, 0), std::nullopt);
}

TEST(PerfTime100NSecFromRaw, IsExactWithTheTimeOfTheSample) {
  // 2027-01-15T08:00:01.5Z and 900 ns, and other times of that form.
  for (const int64_t time : {int64_t{134'444'736'015'000'009}, int64_t{0},
                             int64_t{-1}, std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min()}) {
    const int64_t millis =
        absl::ToUnixMillis(perflib::TimeFromPerfTime100NSec(time));
    const double low = RawLow(static_cast<uint64_t>(time));
    EXPECT_THAT(PerfTime100NSecFromRaw(low, millis), Optional(time));
    EXPECT_EQ(PerfTime100NSecFromRaw(low, millis + 1), std::nullopt);
  }
  EXPECT_EQ(RawLow(134'444'736'015'000'009), 462'647'100'727'753);
}

TEST(PresenceOf, IsTheDefinitionAndTheBirth) {
  EXPECT_EQ(PresenceOf({.life = MakeLife(7, 5)}), 10);
  EXPECT_EQ(PresenceOf({.life = MakeLife(7, UINT32_MAX), .is_born = true}),
            8'589'934'591);
}

}  // namespace
}  // namespace fleetperf::aggregator
