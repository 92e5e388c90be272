// Chunks return the data put into them.

#include "aggregator/store/codec/chunk.h"

#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/countersets.h"
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
  return Chunk::Open(
      encoded.head, kEpoch,
      [&](uint64_t offset, uint64_t size) -> absl::StatusOr<absl::string_view> {
        if (offset > encoded.body.size() ||
            size > encoded.body.size() - offset) {
          return absl::DataLossError("past the end");
        }
        return absl::string_view(encoded.body).substr(offset, size);
      });
}

uint32_t ShapeOf(const CollectedQuery& query) {
  return static_cast<uint32_t>(100 + query.columns.size());
}

// Returns the chunk's values of the wanted columns and instances.
Values Read(const Machine& machine, Chunk& chunk, uint32_t only_column,
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
    ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
    ASSERT_OK_AND_ASSIGN(const Chunk::Clocks read, chunk.ReadClocks());
    ASSERT_EQ(*read, clocks);
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
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
  ASSERT_OK_AND_ASSIGN(const Frame frame,
                       chunk.Read(0, first->query, {true}, {}, nullptr));
  EXPECT_EQ(frame.epoch_number, kEpoch);
  EXPECT_THAT(frame.interval_times,
              ::testing::ElementsAre(60'000'000'000, 59'000'000'001, 8));
  ASSERT_EQ(frame.runs.size(), 2);
  EXPECT_FALSE(frame.runs[0].instance->is_born);
  EXPECT_TRUE(frame.runs[1].instance->is_born);
}

TEST(ChunkTest, KeepsFailuresAndTimesOfEachSection) {
  std::vector<std::shared_ptr<Frame>> frames;
  for (uint32_t i = 0; i < 3; ++i) {
    frames.push_back(FrameWithBirth());
    frames[i]->interval_times = {10 + i, 20 + i};
    frames[i]->failures = {{.tick = 1, .status = 100 + i}};
  }
  frames[1]->interval_times.clear();
  ChunkBuilder builder;
  builder.Add({frames[0], frames[1], frames[2]}, 0, 2);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
  ASSERT_EQ(chunk.sections(), 3);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const Frame frame,
                         chunk.Read(i, frames[i]->query, {true}, {}, nullptr));
    EXPECT_EQ(frame.interval_times, frames[i]->interval_times);
    ASSERT_EQ(frame.failures.size(), 1);
    EXPECT_EQ(frame.failures[0].status, 100 + i);
  }
}

TEST(ChunkTest, UsesProvidedClocks) {
  const auto put = FrameWithBirth();
  ChunkBuilder builder;
  builder.Add({put}, 0, 2);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
  const auto clocks =
      std::make_shared<const std::vector<perflib::Clocks>>(*put->clocks);
  chunk.SetClocks(clocks);
  ASSERT_OK_AND_ASSIGN(const Frame frame,
                       chunk.Read(0, put->query, {true}, {}, nullptr));
  EXPECT_EQ(frame.clocks, clocks);
}

// All values read belong to wanted instances, and none of them is omitted.
TEST(ChunkTest, ReturnsOnlyWantedInstances) {
  Machine machine(5);
  ChunkBuilder builder;
  for (int i = 0; i < 10; ++i) builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
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
      Chunk chunk,
      Chunk::Open(encoded.head, kEpoch, [&](uint64_t offset, uint64_t size) {
        bytes_read += size;
        return absl::string_view(encoded.body).substr(offset, size);
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
  std::string other_version = encoded.head;
  ++other_version[0];
  EXPECT_THAT(
      Chunk::Open(other_version, kEpoch, nullptr),
      StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("damaged")));
  // Changed bytes may have any result except a crash.
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    EncodedChunk changed = encoded;
    std::string& part = random() % 2 == 0 ? changed.head : changed.body;
    part[random() % part.size()] = static_cast<char>(random());
    auto chunk = Open(changed);
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

// Ticks of two disks with a rate and a gauge, each second.
class Disks {
 public:
  static constexpr uint32_t kTicks = 600;

  Disks() {
    auto schema = std::make_shared<Schema>();
    schema->registration = testing::DiskRegistration();
    auto query = std::make_shared<CollectedQuery>();
    query->machine = "web-1";
    query->schema = std::move(schema);
    query->interval = absl::Seconds(1);
    query->columns = {{.counter_id = testing::kTransfers, .value_size = 8},
                      {.counter_id = testing::kQueueLength, .value_size = 8}};
    frame.query = std::move(query);
    for (uint32_t tick = 0; tick < kTicks; ++tick) {
      clocks.push_back(ClocksAt(tick + (random_() % 8) * 0.001));
    }
    frame.columns.resize(2);
    for (uint32_t disk = 0; disk < 2; ++disk) {
      frame.runs.push_back({std::make_shared<const Instance>(
                                Instance{.name = disk == 0 ? "C:" : "D:",
                                         .life = MakeLife(kEpoch, disk + 1)}),
                            /*first_tick=*/0, kTicks, disk * kTicks});
      // One of the disks has a run of some 220 bytes, which has a fold, and a
      // gauge of as many, which has none.
      const uint64_t most = disk == 0 ? 1'000'000'000 : 8;
      uint64_t transfers = random_();
      transfers >>= 1;
      for (uint32_t tick = 0; tick < kTicks; ++tick) {
        transfers += random_() % most;
        frame.columns[0].values.push_back(transfers);
        frame.columns[1].values.push_back(random_() % most);
      }
    }
  }

  EncodedChunk Encode() {
    frame.clocks = std::make_shared<const std::vector<perflib::Clocks>>(clocks);
    ChunkBuilder builder;
    builder.Add({std::make_shared<const Frame>(frame)}, 0, kTicks);
    return builder.Finish(&ShapeOf);
  }

  // Returns the folded frame of the chunk.
  absl::StatusOr<std::optional<Frame>> ReadFolded(
      bool includes_all_ticks = true,
      const std::function<bool(const Instance&)>& wants = nullptr) {
    const EncodedChunk encoded = Encode();
    ASSIGN_OR_RETURN(Chunk chunk, Open(encoded));
    return chunk.ReadFolded(0, frame.query, {true, true}, includes_all_ticks,
                            wants);
  }

  std::vector<perflib::Clocks> clocks;
  Frame frame;

 private:
  std::mt19937_64 random_{11};
};

TEST(ChunkTest, FoldsItsTicks) {
  Disks disks;
  ASSERT_OK_AND_ASSIGN(const std::optional<Frame> folded, disks.ReadFolded());
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(*folded->clocks, std::vector<perflib::Clocks>(
                                 {disks.clocks.front(), disks.clocks.back()}));
  ASSERT_TRUE(folded->fold.has_value());
  EXPECT_EQ(folded->fold->ticks, Disks::kTicks - 1);
  int64_t longest = 0;
  int64_t length = 0;
  for (uint32_t tick = 1; tick < Disks::kTicks; ++tick) {
    const int64_t one = 100 * (disks.clocks[tick].perf_time_stamp -
                               disks.clocks[tick - 1].perf_time_stamp);
    longest = std::max(longest, one);
    length += one;
  }
  EXPECT_EQ(folded->fold->length, length);
  EXPECT_EQ(folded->fold->longest, longest);
  ASSERT_EQ(folded->runs.size(), 2);
  for (size_t disk = 0; disk < 2; ++disk) {
    EXPECT_EQ(folded->runs[disk].first_tick, 0);
    EXPECT_EQ(folded->runs[disk].tick_count, 2);
    for (size_t column = 0; column < 2; ++column) {
      const auto values =
          absl::MakeConstSpan(disks.frame.columns[column].values)
              .subspan(disk * Disks::kTicks, Disks::kTicks);
      const FrameColumn& of = folded->columns[column];
      EXPECT_EQ(folded->Value(of, disk, 0), values.front());
      EXPECT_EQ(folded->Value(of, disk, 1), values.back());
    }
    const auto queue =
        absl::MakeConstSpan(disks.frame.columns[1].values)
            .subspan(disk * Disks::kTicks + 1, Disks::kTicks - 1);
    const FrameColumn::Total& total = folded->columns[1].totals.at(disk);
    EXPECT_EQ(total.sum,
              std::accumulate(queue.begin(), queue.end(), uint64_t{0}));
    EXPECT_EQ(total.smallest, *std::min_element(queue.begin(), queue.end()));
    EXPECT_EQ(total.largest, *std::max_element(queue.begin(), queue.end()));
  }
}

TEST(ChunkTest, TakesLittleSpaceForFolds) {
  Disks disks;
  const EncodedChunk encoded = disks.Encode();
  auto without = std::make_shared<CollectedQuery>(*disks.frame.query);
  without->schema = nullptr;
  disks.frame.query = std::move(without);
  const EncodedChunk plain = disks.Encode();
  EXPECT_EQ(encoded.body, plain.body);
  EXPECT_GT(encoded.head.size(), plain.head.size());
  EXPECT_LT(encoded.head.size() - plain.head.size(), plain.body.size() / 50);
}

// A wide window reads heads, which lie next to each other.
TEST(ChunkTest, ReadsFoldsFromTheHead) {
  const EncodedChunk encoded = Disks().Encode();
  ASSERT_OK_AND_ASSIGN(
      Chunk chunk, Chunk::Open(encoded.head, kEpoch, [](uint64_t, uint64_t) {
        return absl::UnavailableError("the body is not read");
      }));
  ASSERT_OK_AND_ASSIGN(const std::optional<Frame> folded,
                       chunk.ReadFolded(0, Disks().frame.query, {true, false},
                                        /*includes_all_ticks=*/true, nullptr));
  EXPECT_TRUE(folded.has_value());
}

// Reading one column of a large machine must not read the indexes of all.
TEST(ChunkTest, KeepsLargeIndexesInTheBody) {
  constexpr uint32_t kInstances = 4000;
  std::mt19937_64 random(12);
  Frame frame;
  auto query = std::make_shared<CollectedQuery>();
  query->columns.resize(3);
  frame.query = query;
  frame.clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      std::vector<perflib::Clocks>{ClocksAt(1), ClocksAt(2)});
  frame.columns.resize(3);
  for (uint32_t i = 0; i < kInstances; ++i) {
    frame.runs.push_back(
        {std::make_shared<const Instance>(Instance{
             .name = absl::StrCat("process ", i), .life = MakeLife(kEpoch, i)}),
         /*first_tick=*/0, /*tick_count=*/2, 2 * i});
    for (FrameColumn& column : frame.columns) {
      column.values.insert(column.values.end(), {random(), random()});
    }
  }
  ChunkBuilder builder;
  builder.Add({std::make_shared<const Frame>(frame)}, 0, 2);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  EXPECT_LT(encoded.head.size(), 1000);
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
  ASSERT_OK_AND_ASSIGN(const Frame read,
                       chunk.Read(0, query, {true, true, true}, {}, nullptr));
  ASSERT_EQ(read.runs.size(), kInstances);
  EXPECT_EQ(read.runs.back().instance->name, "process 3999");
  for (size_t column = 0; column < 3; ++column) {
    EXPECT_EQ(read.columns[column].values, frame.columns[column].values);
  }
}

TEST(ChunkTest, FoldsNoTicksWithABreak) {
  const auto is_folded = [](const std::function<void(Disks*)>& change,
                            bool includes_all_ticks = true,
                            const std::function<bool(const Instance&)>& wants =
                                nullptr) {
    Disks disks;
    change(&disks);
    const auto folded = disks.ReadFolded(includes_all_ticks, wants);
    EXPECT_OK(folded);
    return folded.ok() && folded->has_value();
  };
  EXPECT_TRUE(is_folded([](Disks*) {}));
  EXPECT_FALSE(is_folded([](Disks* disks) {  // a gap
    for (size_t i = 300; i < Disks::kTicks; ++i) {
      disks->clocks[i].perf_time_stamp += 20'000'000;
      disks->clocks[i].perf_time_100nsec += 20'000'000;
    }
  }));
  EXPECT_FALSE(is_folded([](Disks* disks) {  // the time of day is set
    for (size_t i = 300; i < Disks::kTicks; ++i) {
      disks->clocks[i].perf_time_100nsec += 20'000'000;
    }
  }));
  EXPECT_FALSE(is_folded([](Disks* disks) {  // another frequency
    for (perflib::Clocks& clocks : disks->clocks) clocks.perf_freq = 3'000'000;
  }));
  EXPECT_FALSE(is_folded([](Disks* disks) {
    disks->frame.failures.push_back({.tick = 77, .status = 5});
  }));
  for (const uint32_t at : {300u, Disks::kTicks + 300}) {
    EXPECT_FALSE(is_folded([&](Disks* disks) {  // a reset
      disks->frame.columns[0].values[at] = 5;
    }));
    EXPECT_FALSE(is_folded(
        [&](Disks* disks) { disks->frame.columns[1].missing = {at}; }));
  }
  const auto ends_early = [](Disks* disks) {
    --disks->frame.runs[1].tick_count;
  };
  const auto is_first = [](const Instance& instance) {
    return instance.name == "C:";
  };
  EXPECT_FALSE(is_folded(ends_early));
  EXPECT_TRUE(is_folded(ends_early, /*includes_all_ticks=*/true, is_first));
  EXPECT_FALSE(is_folded(ends_early, /*includes_all_ticks=*/false, is_first));
}

TEST(ChunkTest, RejectsQueryOfAnotherShape) {
  Machine machine(9);
  ChunkBuilder builder;
  builder.Add(machine.Batch(10), 0, 10);
  const EncodedChunk encoded = builder.Finish(&ShapeOf);
  ASSERT_OK_AND_ASSIGN(Chunk chunk, Open(encoded));
  auto other = std::make_shared<CollectedQuery>(*machine.queries()[0]);
  other->columns.resize(9);
  EXPECT_THAT(
      chunk.Read(0, other, std::vector<bool>(9, true), {}, nullptr),
      StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("damaged")));
}

}  // namespace
}  // namespace fleetperf::aggregator
