// The aggregator decodes exactly the agent's input: random ticks with instances
// that come, go and flicker, missing values and failed queries.

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/deliver/delivery.h"
#include "aggregator/samples/batch_decoder.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

// The expected samples of one query in one block.
struct Expected {
  std::optional<uint32_t> failure;
  // The column's values by instance name.
  std::map<std::string, std::vector<std::optional<uint64_t>>> rows;

  bool operator==(const Expected&) const = default;
};
// Expected samples by the block's time stamp and the query's interval, which is
// unique per query in this test.
using Blocks = std::map<std::tuple<int64_t, absl::Duration>, Expected>;

class NoDefinitions : public aggregator::DefinitionReader {
 public:
  absl::StatusOr<std::string> ReadDefinition(Kind, uint32_t) const override {
    return absl::NotFoundError("none");
  }
};

class BatchRoundTrip : public ::testing::TestWithParam<uint32_t> {
 protected:
  BatchRoundTrip() : random_(GetParam()) {
    agent::Dictionary& dictionary = delivery_.dictionary();
    machine_ = dictionary.DefineMachine("web-1");
    counterset_ = dictionary.DefineCounterset(testing::DiskRegistration());
    for (uint32_t i = 0; i < 4; ++i) {
      Query& query = queries_.emplace_back();
      query.interval = absl::Seconds(1 + i);
      query.sizes = {Below(2) == 0 ? 4u : 8u, Below(2) == 0 ? 4u : 8u};
      query.sizes.resize(1 + Below(2));
      std::vector<agent::Dictionary::Column> columns;
      for (uint32_t c = 0; c < query.sizes.size(); ++c) {
        columns.push_back({1 + c, query.sizes[c], false});
      }
      query.definition = dictionary.DefineQuery(machine_, counterset_,
                                                query.interval, columns);
    }
  }

  struct Query {
    absl::Duration interval;
    uint32_t definition = 0;
    std::vector<uint32_t> sizes;
    std::map<uint32_t, std::string> instances;        // names by definition
    std::vector<std::pair<uint32_t, uint64_t>> last;  // the last values
  };

  uint32_t Below(uint32_t limit) { return random_() % limit; }

  uint64_t RandomValue(uint32_t size) {
    const uint64_t most = size == 4 ? UINT32_MAX : UINT64_MAX;
    switch (Below(6)) {
      case 0:
        return 0;
      case 1:
        return most;
      case 2:
        return most / 2 + Below(3);
      case 3:
        return (uint64_t{random_()} << 32 | random_()) & most;
      default:
        return 1'000'000 + Below(10);  // repeats often
    }
  }

  // Lets instances come and go. A name never has two instances at a time.
  void ChangeInstances(Query& query) {
    while (query.instances.size() < 2 || Below(3) == 0) {
      const std::string name = absl::StrCat("i", next_name_++);
      query.instances[delivery_.dictionary().DefineInstance(
          machine_, counterset_, name, 0, 0)] = name;
    }
    if (Below(3) == 0) {
      auto gone = query.instances.begin();
      std::advance(gone, Below(static_cast<uint32_t>(query.instances.size())));
      retired_.push_back(gone->first);
      query.instances.erase(gone);
    }
  }

  QuerySamples RandomSamples(Query& query, Expected* expected) {
    QuerySamples samples;
    samples.query = query.definition;
    if (Below(8) == 0) {
      samples.failed = true;
      samples.failure_status = Below(2) * 232;
      expected->failure = samples.failure_status;
      return samples;
    }
    if (Below(4) == 0) ChangeInstances(query);
    for (const auto& [definition, name] : query.instances) {
      if (Below(10) == 0) continue;  // the instance flickers
      samples.instances.push_back(definition);
    }
    if (Below(10) == 0) {
      std::shuffle(samples.instances.begin(), samples.instances.end(), random_);
    }
    const bool has_missing = Below(2) == 0;
    const bool constant = Below(2) == 0;
    for (const uint32_t size : query.sizes) {
      for (const uint32_t instance : samples.instances) {
        const bool present = !has_missing || Below(5) != 0;
        const uint64_t value = constant ? 77 : RandomValue(size);
        samples.values.push_back(present ? value : 0);
        if (has_missing) samples.present.push_back(present);
        expected->rows[query.instances[instance]].push_back(
            present ? std::optional(value) : std::nullopt);
      }
    }
    return samples;
  }

  // Takes a tick of one of two handles with two queries each.
  void Tick() {
    clock_.Advance(absl::Nanoseconds(100) * (9'990'000 + Below(20'000)));
    const uint32_t handle = Below(2);
    const perflib::Clocks clocks = {
        .perf_time_stamp = clock_.Monotonic() / absl::Nanoseconds(100),
        .perf_time_100nsec =
            perflib::PerfTime100NSecFromTime(clock_.Now()) -
            (Below(20) == 0 ? 50'000'000'000 : 0),  // the clock was set
        .perf_freq = Below(20) == 0 ? 10'000'001 : 10'000'000};
    BlockSamples block = {
        .handle = handle, .interval = absl::Seconds(1), .clocks = clocks};
    clocks_[clocks.perf_time_stamp] = clocks;
    for (uint32_t i = 0; i < 2; ++i) {
      Query& query = queries_[2 * handle + i];
      if (Below(20) == 0) continue;
      Expected& expected = expected_[{clocks.perf_time_stamp, query.interval}];
      block.queries.push_back(RandomSamples(query, &expected));
    }
    for (const uint32_t instance : std::exchange(retired_, {})) {
      delivery_.dictionary().RetireInstance(instance);
    }
    delivery_.Add(std::move(block));
  }

  // Adds the contents of the frame.
  void AddFrame(const aggregator::Frame& frame) {
    const auto& clocks = *frame.clocks;
    const auto block = [&](uint32_t tick) -> Expected& {
      EXPECT_EQ(clocks[tick], clocks_.at(clocks[tick].perf_time_stamp));
      return decoded_[{clocks[tick].perf_time_stamp, frame.query->interval}];
    };
    for (const auto& failure : frame.failures) {
      block(failure.tick).failure = failure.status;
    }
    for (const aggregator::FrameColumn& column : frame.columns) {
      std::set<uint32_t> missing(column.missing.begin(), column.missing.end());
      for (size_t r = 0; r < frame.runs.size(); ++r) {
        const aggregator::Frame::Run& run = frame.runs[r];
        for (uint32_t tick = 0; tick < run.tick_count; ++tick) {
          const bool present = missing.count(run.begin + tick) == 0;
          block(run.first_tick + tick)
              .rows[run.instance->name]
              .push_back(present ? std::optional(frame.Value(column, r, tick))
                                 : std::nullopt);
        }
      }
    }
  }

  std::mt19937 random_;
  testing::SimulatedClock clock_;
  Delivery delivery_{{.epoch = 1, .clock = &clock_}};
  uint32_t machine_;
  uint32_t counterset_;
  std::vector<Query> queries_;
  std::vector<uint32_t> retired_;
  int next_name_ = 0;
  std::map<int64_t, perflib::Clocks> clocks_;
  Blocks expected_;
  Blocks decoded_;
};

TEST_P(BatchRoundTrip, RoundTripsRandomBlocks) {
  for (int tick = 0; tick < 150; ++tick) {
    Tick();
    if (Below(15) == 0) delivery_.Flush();
  }
  delivery_.Flush();

  aggregator::SchemaTable schemas;
  aggregator::Dictionary dictionary(1, &schemas,
                                    std::make_unique<NoDefinitions>(), {});
  for (const v1::Batch& batch : testing::BatchesOf(delivery_.spool())) {
    ASSERT_OK_AND_ASSIGN(const auto contents,
                         aggregator::ParseBatch(batch, {}));
    if (contents.definitions != nullptr) {
      ASSERT_OK(dictionary.Apply(*contents.definitions));
    }
    ASSERT_OK_AND_ASSIGN(
        const auto decoded,
        aggregator::DecodeBatch(contents, {}, nullptr, &dictionary));
    for (const aggregator::Frame& frame : decoded.frames) AddFrame(frame);
    for (const uint32_t instance : contents.retired_instances) {
      dictionary.Retire(instance);
    }
  }
  // A block without rows and failures is not encoded.
  std::erase_if(expected_,
                [](const auto& entry) { return entry.second == Expected(); });
  EXPECT_GT(expected_.size(), 200);
  EXPECT_TRUE(decoded_ == expected_);
  for (const auto& [key, expected] : expected_) {
    if (decoded_[key] == expected) continue;
    ADD_FAILURE() << "the first that differs: " << std::get<0>(key);
    break;
  }
  EXPECT_EQ(dictionary.instances(),
            queries_[0].instances.size() + queries_[1].instances.size() +
                queries_[2].instances.size() + queries_[3].instances.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, BatchRoundTrip,
                         ::testing::Range<uint32_t>(1, 41));

}  // namespace
}  // namespace fleetperf::agent
