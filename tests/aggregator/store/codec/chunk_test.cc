// Chunks return the data put into them.

#include "aggregator/store/codec/chunk.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::IsEmpty;
using testing::StatusIs;

constexpr uint32_t kEpoch = 77;

// Values by section, life, tick and column. std::nullopt if the value is
// missing. Failures have life 0 and their status as the column.
using Key = std::tuple<size_t, uint64_t, uint32_t, uint32_t>;
using Values = std::map<Key, std::optional<uint64_t>>;

// Adds the contents of a frame. `first_tick` is the number of its first tick.
void Collect(const Frame& frame, size_t section, uint32_t first_tick,
             Values* values) {
  for (size_t run = 0; run < frame.runs.size(); ++run) {
    const Frame::Run& ticks = frame.runs[run];
    for (uint32_t i = 0; i < ticks.tick_count; ++i) {
      for (uint32_t c = 0; c < frame.columns.size(); ++c) {
        const FrameColumn& column = frame.columns[c];
        if (column.values.empty()) continue;  // not requested
        const bool missing = std::binary_search(
            column.missing.begin(), column.missing.end(), ticks.begin + i);
        const Key key = {section, ticks.instance->life,
                         first_tick + ticks.first_tick + i, c};
        (*values)[key] =
            missing ? std::optional<uint64_t>() : frame.Value(column, run, i);
      }
    }
  }
  for (const Frame::Failure& failure : frame.failures) {
    (*values)[{section, 0, first_tick + failure.tick, failure.status}] = 0;
  }
}

// Generates batches of ticks.
class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed) {
    const size_t queries = 1 + Below(3);
    for (size_t i = 0; i < queries; ++i) {
      auto query = std::make_shared<CollectedQuery>();
      query->machine = "web-1";
      query->columns.resize(1 + Below(4));
      queries_.push_back(std::move(query));
      instances_.emplace_back();
    }
  }

  const std::vector<std::shared_ptr<const CollectedQuery>>& queries() const {
    return queries_;
  }

  std::vector<std::shared_ptr<const Frame>> Batch(uint32_t ticks) {
    auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
    for (uint32_t i = 0; i < ticks; ++i) {
      clocks->push_back(ClocksAt(time_ += 1 + Below(3)));
    }
    std::vector<std::shared_ptr<const Frame>> frames;
    for (size_t i = 0; i < queries_.size(); ++i) {
      auto frame = std::make_shared<Frame>();
      frame->query = queries_[i];
      frame->clocks = clocks;
      Fill(i, ticks, frame.get());
      frames.push_back(std::move(frame));
    }
    return frames;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  void Fill(size_t query, uint32_t ticks, Frame* frame) {
    auto& instances = instances_[query];
    if (instances.empty() || Below(4) == 0) {
      const auto definition = static_cast<uint32_t>(++definitions_);
      instances.push_back(std::make_shared<const Instance>(
          Instance{.name = absl::StrCat("instance ", Below(20)),
                   .instance_id = static_cast<uint32_t>(Below(9)),
                   .occurrence = static_cast<uint32_t>(Below(2)),
                   .life = MakeLife(kEpoch, definition)}));
    }
    uint32_t begin = 0;
    for (const auto& instance : instances) {
      // Usually present throughout, otherwise in a part of the ticks, or not at
      // all.
      uint32_t first = 0;
      uint32_t count = ticks;
      if (Below(4) == 0) {
        first = static_cast<uint32_t>(Below(ticks));
        count = static_cast<uint32_t>(Below(ticks - first + 1));
      }
      if (count == 0) continue;
      frame->runs.push_back({instance, first, count, begin});
      begin += count;
    }
    for (uint32_t tick = 0; tick < ticks; ++tick) {
      if (Below(30) == 0) frame->failures.push_back({tick, 5});
    }
    if (frame->runs.empty()) return;  // a frame without runs has no columns
    frame->columns.resize(frame->query->columns.size());
    for (FrameColumn& column : frame->columns)
      FillColumn(begin, frame, &column);
  }

  void FillColumn(uint32_t values, Frame* frame, FrameColumn* column) {
    column->constant = Below(2) == 0;
    const size_t count = column->constant ? frame->runs.size() : values;
    uint64_t value = Below(3) == 0 ? random_() : Below(3);
    for (size_t i = 0; i < count; ++i) {
      column->values.push_back(value);
      if (Below(3) == 0) value += Below(1000);
    }
    for (uint32_t i = 0; i < values; ++i) {
      if (Below(50) == 0) column->missing.push_back(i);
    }
  }

  std::mt19937_64 random_;
  double time_ = 0;
  uint64_t definitions_ = 0;
  std::vector<std::shared_ptr<const CollectedQuery>> queries_;
  std::vector<std::vector<std::shared_ptr<const Instance>>> instances_;
};

absl::StatusOr<Chunk> Open(const EncodedChunk& encoded) {
  return Chunk::Open(encoded.head, kEpoch,
                     [&](uint64_t offset, uint64_t size, std::string* bytes) {
                       if (offset > encoded.body.size() ||
                           size > encoded.body.size() - offset) {
                         return absl::DataLossError("past the end");
                       }
                       *bytes = encoded.body.substr(offset, size);
                       return absl::OkStatus();
                     });
}

uint32_t ShapeOf(const CollectedQuery& query) {
  return static_cast<uint32_t>(100 + query.columns.size());
}

// Returns the chunk's values of the wanted columns and instances.
Values Read(const Machine& machine, const Chunk& chunk, uint32_t only_column,
            const std::function<bool(const Instance&)>& wants = nullptr) {
  Values values;
  for (size_t section = 0; section < chunk.sections(); ++section) {
    const auto& query = machine.queries()[section];
    std::vector<bool> columns(query->columns.size(), only_column == UINT32_MAX);
    if (only_column < columns.size()) columns[only_column] = true;
    const auto frame = chunk.Read(section, query, columns, {}, wants);
    EXPECT_OK(frame);
    if (frame.ok()) Collect(*frame, section, 0, &values);
  }
  return values;
}

TEST(ChunkTest, RoundTripsRandomFrames) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Machine machine(seed);
    std::mt19937_64 random(seed);
    ChunkBuilder builder;
    Values expected;
    std::vector<perflib::Clocks> clocks;
    for (uint64_t batches = 1 + random() % 12; batches > 0; --batches) {
      const auto ticks = static_cast<uint32_t>(1 + random() % 20);
      const auto frames = machine.Batch(ticks);
      // Sometimes only a part of the ticks: the rest belongs to another hour.
      const uint32_t first = random() % 4 == 0 ? random() % ticks : 0;
      const uint32_t count =
          random() % 4 == 0 ? 1 + random() % (ticks - first) : ticks - first;
      const auto begin = static_cast<uint32_t>(clocks.size());
      builder.Add(frames, first, count);
      clocks.insert(clocks.end(), frames[0]->clocks->begin() + first,
                    frames[0]->clocks->begin() + first + count);
      for (size_t i = 0; i < frames.size(); ++i) {
        Values all;
        Collect(*frames[i], i, 0, &all);
        for (const auto& [key, value] : all) {
          auto [section, life, tick, column] = key;
          if (tick < first || tick >= first + count) continue;
          expected[{section, life, tick - first + begin, column}] = value;
        }
      }
    }
    const EncodedChunk encoded = builder.Finish(&ShapeOf);
    ASSERT_OK_AND_ASSIGN(const Chunk chunk, Open(encoded));
    ASSERT_EQ(chunk.clocks(), clocks);
    for (size_t i = 0; i < chunk.sections(); ++i) {
      EXPECT_EQ(chunk.ShapeOf(i), ShapeOf(*machine.queries()[i]));
    }
    ASSERT_EQ(Read(machine, chunk, UINT32_MAX), expected);

    // One column of some instances.
    const auto wants = [](const Instance& instance) {
      return instance.name.back() == '1';
    };
    const Values some = Read(machine, chunk, 1, wants);
    for (const auto& [key, value] : some) {
      if (std::get<1>(key) != 0) {
        ASSERT_EQ(std::get<3>(key), 1);
        ASSERT_EQ(expected.at(key), value);
      }
    }
  }
}

// Returns a frame of two ticks with two instances, one of them born.
std::shared_ptr<Frame> FrameWithBirth() {
  auto query = std::make_shared<CollectedQuery>();
  query->columns.resize(1);
  auto frame = std::make_shared<Frame>();
  frame->query = std::move(query);
  frame->clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      std::vector<perflib::Clocks>{ClocksAt(1), ClocksAt(2)});
  for (uint32_t i = 0; i < 2; ++i) {
    frame->runs.push_back(
        {std::make_shared<const Instance>(
             Instance{.life = MakeLife(kEpoch, i + 1), .is_born = i == 1}),
         /*first_tick=*/0, /*tick_count=*/2, 2 * i});
  }
  frame->columns = {{.constant = true, .values = {5, 6}}};
  return frame;
}

TEST(ChunkTest, KeepsBirthsAndTimesOfIntervals) {
  const auto first = FrameWithBirth();
  first->interval_times = {60'000'000'000, 59'000'000'001};
  const auto second = FrameWithBirth();
  second->query = first->query;
  second->interval_times = {7, 8};
  ChunkBuilder builder;
  builder.Add({first}, 0, 2);
  builder.Add({second}, 1, 1);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(const Chunk chunk, Open(encoded));
  ASSERT_OK_AND_ASSIGN(const Frame frame,
                       chunk.Read(0, first->query, {true}, {}, nullptr));
  EXPECT_EQ(frame.epoch_number, kEpoch);
  EXPECT_THAT(frame.interval_times,
              ::testing::ElementsAre(60'000'000'000, 59'000'000'001, 8));
  ASSERT_EQ(frame.runs.size(), 2);
  EXPECT_FALSE(frame.runs[0].instance->is_born);
  EXPECT_TRUE(frame.runs[1].instance->is_born);
}

// All values read belong to wanted instances, and none of them is omitted.
TEST(ChunkTest, ReturnsOnlyWantedInstances) {
  Machine machine(5);
  ChunkBuilder builder;
  for (int i = 0; i < 10; ++i) builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(const Chunk chunk, Open(encoded));
  const Values all = Read(machine, chunk, 0);
  Values even;
  for (const auto& [key, value] : all) {
    const uint64_t life = std::get<1>(key);
    if (life == 0 || life % 2 == 0) even[key] = value;
  }
  EXPECT_EQ(
      Read(machine, chunk, 0,
           [](const Instance& instance) { return instance.life % 2 == 0; }),
      even);
}

TEST(ChunkTest, ReadsOnlyNeededPartsOfTheBody) {
  Machine machine(6);
  ChunkBuilder builder;
  for (int i = 0; i < 30; ++i) builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  uint64_t bytes_read = 0;
  ASSERT_OK_AND_ASSIGN(
      const Chunk chunk,
      Chunk::Open(encoded.head, kEpoch,
                  [&](uint64_t offset, uint64_t size, std::string* bytes) {
                    bytes_read += size;
                    *bytes = encoded.body.substr(offset, size);
                    return absl::OkStatus();
                  }));
  EXPECT_EQ(bytes_read, 0);
  const uint64_t life = MakeLife(kEpoch, 1);
  Read(machine, chunk, 0,
       [&](const Instance& instance) { return instance.life == life; });
  EXPECT_GT(bytes_read, 0);
  EXPECT_LT(bytes_read, encoded.body.size() / 2);
}

TEST(ChunkTest, ReportsDamage) {
  Machine machine(7);
  ChunkBuilder builder;
  for (int i = 0; i < 10; ++i) builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  for (size_t size = 0; size < encoded.head.size(); ++size) {
    EXPECT_THAT(Chunk::Open(encoded.head.substr(0, size), kEpoch, nullptr),
                StatusIs(absl::StatusCode::kDataLoss,
                         ::testing::HasSubstr("invalid head")));
  }
  EXPECT_THAT(
      Chunk::Open(encoded.head + "x", kEpoch, nullptr),
      StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("damaged")));
  // Changed bytes may have any result except a crash.
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    EncodedChunk changed = encoded;
    std::string& part = random() % 2 == 0 ? changed.head : changed.body;
    part[random() % part.size()] = static_cast<char>(random());
    const auto chunk = Open(changed);
    if (!chunk.ok()) continue;
    for (size_t section = 0; section < chunk->sections(); ++section) {
      if (section >= machine.queries().size()) break;
      const auto& query = machine.queries()[section];
      chunk
          ->Read(section, query, std::vector<bool>(query->columns.size(), true),
                 {}, nullptr)
          .status()
          .IgnoreError();
    }
  }
}

TEST(ChunkTest, RejectsQueryOfAnotherShape) {
  Machine machine(9);
  ChunkBuilder builder;
  builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(const Chunk chunk, Open(encoded));
  auto other = std::make_shared<CollectedQuery>(*machine.queries()[0]);
  other->columns.resize(9);
  EXPECT_THAT(
      chunk.Read(0, other, std::vector<bool>(9, true), {}, nullptr),
      StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("damaged")));
}

}  // namespace
}  // namespace fleetperf::aggregator
