// A store whose process is killed at random points while it takes batches in,
// puts them into chunks and merges these: each time it opens again, it has what
// it acknowledged, once, and all of it is whole.
//
//   store_crash_test --work DIR SEED     takes in and moves, until it is killed
//   store_crash_test --check DIR SEED ACKNOWLEDGED   ends with 1 if it is wrong

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator/store/store.h"
#include "aggregator/store/verify.h"
#include "base/clock.h"
#include "tests/e2e/process.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::kStart;

constexpr int kKills = 300;
// What a process is doing within so long after it said something, is hit.
constexpr uint64_t kMostNanoseconds = 4'000'000;
constexpr char kMachine[] = "web-1";
// Apart from each other, so that a batch takes five minutes.
constexpr double kTickSeconds = 30;
constexpr int kTicks = 11;

std::string program;

// The batches of an agent: the same in every process.
class Batches {
 public:
  explicit Batches(uint64_t seed)
      : random_(seed),
        machine_(writer_.Machine(kMachine)),
        disk_(writer_.Counterset(testing::DiskRegistration())),
        query_(
            writer_.Query(machine_, disk_, absl::Seconds(kTickSeconds),
                          {{testing::kTransfers}, {testing::kQueueLength}})) {}

  struct Made {
    uint64_t sequence;
    absl::Time received;
    v1::BatchContent content;
    std::vector<std::string> ticks;  // as TestStore tells them
  };

  Made Next() {
    ++sequence_;
    if (disks_.empty() || random_() % 4 == 0) {
      names_.push_back(absl::StrCat("disk", sequence_));
      disks_.push_back(writer_.Instance(machine_, disk_, names_.back()));
    }
    Made made{.sequence = sequence_};
    for (int tick = 0; tick < kTicks; ++tick) {
      time_ += kTickSeconds;
      std::vector<testing::BatchWriter::Row> rows;
      for (size_t i = 0; i < disks_.size(); ++i) {
        const uint64_t transfers = random_() >> (random_() % 64);
        const uint64_t queue = random_() % 3;
        rows.push_back({disks_[i], {transfers, queue}});
        made.ticks.push_back(
            absl::StrCat(time_, " ", names_[i], " ", transfers, " ", queue));
      }
      writer_.AddTick(query_, testing::ClocksAt(time_), std::move(rows));
    }
    if (disks_.size() > 3) {
      writer_.Retire(disks_.front());
      disks_.erase(disks_.begin());
      names_.erase(names_.begin());
    }
    made.received = kStart + absl::Seconds(time_);
    made.content = writer_.TakeContent();
    return made;
  }

 private:
  testing::BatchWriter writer_;
  std::mt19937_64 random_;
  const uint32_t machine_, disk_, query_;
  std::vector<uint32_t> disks_;
  std::vector<std::string> names_;
  uint64_t sequence_ = 0;
  double time_ = 0;
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

[[noreturn]] void Work(const std::string& directory, uint64_t seed) {
  auto opened = OpenRocksDbStore(directory);
  Check(opened.status());
  Store& store = **opened;
  auto epoch = store.OpenEpoch(kMachine, 1, {});
  Check(epoch.status());
  Batches batches(seed);
  for (;;) {
    const Batches::Made made = batches.Next();
    if (made.sequence <= epoch->durable_sequence) continue;
    Check(epoch->dictionary->Apply(made.content.definitions()));
    const auto decoded =
        DecodeBatch(made.content, {}, nullptr, epoch->dictionary.get());
    Check(decoded.status());
    const v1::Batch batch = testing::MakeBatch(1, made.sequence, made.content);
    Check(
        store.Commit({BatchToCommit{.epoch_number = epoch->number,
                                    .sequence = made.sequence,
                                    .agent = kMachine,
                                    .fingerprint = made.sequence,
                                    .received = made.received,
                                    .batch = &batch,
                                    .definitions = &made.content.definitions(),
                                    .decoded = &*decoded}}));
    Say(absl::StrCat("acknowledged ", made.sequence));
    if (made.sequence % 3 != 0) continue;
    for (bool more = true; more;) {
      const auto done = store.Compact(made.received - absl::Hours(1));
      Check(done.status());
      more = *done;
      Say("moved");
    }
  }
}

// What the store has of the machine, in the order of time.
std::vector<std::string> ReadAll(Store& store) {
  std::vector<std::pair<double, std::string>> ticks;
  Check(store.Read(
      {.machine = kMachine,
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {}},
      [&](const Frame& frame) {
        for (const std::string& tick : testing::ToText(frame)) {
          ticks.emplace_back(std::atof(tick.c_str()), tick);
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  // Within a tick, the order of the disks does not matter.
  std::sort(ticks.begin(), ticks.end());
  std::vector<std::string> texts;
  for (auto& [time, text] : ticks) texts.push_back(std::move(text));
  return texts;
}

int CheckStore(const std::string& directory, uint64_t seed,
               uint64_t acknowledged) {
  std::vector<std::string> expected;
  uint64_t durable = 0;
  std::vector<std::string> stored;
  {
    const auto store = OpenRocksDbStore(directory);
    Check(store.status());
    const auto epoch = (*store)->OpenEpoch(kMachine, 1, {});
    Check(epoch.status());
    durable = epoch->durable_sequence;
    stored = ReadAll(**store);
    for (uint64_t i = 1; i <= durable; ++i) {
      if ((*store)->HasBatch(epoch->number, i, i).value()) continue;
      std::fprintf(stderr, "batch %llu is not known any more\n",
                   static_cast<unsigned long long>(i));
      return 1;
    }
  }
  if (durable < acknowledged) {
    std::fprintf(stderr, "it has %llu batches of %llu\n",
                 static_cast<unsigned long long>(durable),
                 static_cast<unsigned long long>(acknowledged));
    return 1;
  }
  Batches batches(seed);
  for (uint64_t i = 0; i < durable; ++i) {
    std::vector<std::string> ticks = batches.Next().ticks;
    std::stable_sort(ticks.begin(), ticks.end(),
                     [](const std::string& a, const std::string& b) {
                       return std::pair(std::atof(a.c_str()), a) <
                              std::pair(std::atof(b.c_str()), b);
                     });
    expected.insert(expected.end(), ticks.begin(), ticks.end());
  }
  for (size_t i = 0; i < std::max(stored.size(), expected.size()); ++i) {
    const std::string is = i < stored.size() ? stored[i] : "nothing";
    const std::string should_be = i < expected.size() ? expected[i] : "nothing";
    if (is == should_be) continue;
    std::fprintf(stderr, "\"%s\" instead of \"%s\"\n", is.c_str(),
                 should_be.c_str());
    return 1;
  }
  const auto report = VerifyStore(directory, [](double) {});
  Check(report.status());
  for (const std::string& damage : report->damage) {
    std::fprintf(stderr, "%s\n", damage.c_str());
  }
  std::printf("%llu batches, %llu chunks\n",
              static_cast<unsigned long long>(durable),
              static_cast<unsigned long long>(report->chunks));
  return report->damage.empty() ? 0 : 1;
}

// The last batch that a process said it has acknowledged; `before` if none.
uint64_t AcknowledgedIn(const std::string& output, uint64_t before) {
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    uint64_t number = 0;
    if (words.size() == 2 && words[0] == "acknowledged" &&
        absl::SimpleAtoi(words[1], &number)) {
      before = std::max(before, number);
    }
  }
  return before;
}

// Lets the others go on for a moment that is too short to sleep.
void Spin(absl::Duration duration) {
  const absl::Duration end = Clock::Real().Monotonic() + duration;
  while (Clock::Real().Monotonic() < end) {
  }
}

TEST(StoreCrash, WhatIsAcknowledgedSurvivesEveryKill) {
  const testing::TempDirectory temp;
  const std::string directory = temp.File("store");
  constexpr uint64_t kSeed = 20261122;
  std::mt19937_64 random(kSeed);
  uint64_t acknowledged = 0;
  std::string last;
  for (int kill = 0; kill < kKills; ++kill) {
    {
      testing::Process process(
          {program, "--work", directory, absl::StrCat(kSeed)});
      process.WaitForOutput("", 1 + static_cast<int>(random() % 12));
      Spin(absl::Nanoseconds(random() % kMostNanoseconds));
      process.Signal(SIGKILL);
      ASSERT_EQ(process.Wait(), -SIGKILL) << process.error();
      process.WaitForOutput("none", 1);  // all that it has said
      acknowledged = AcknowledgedIn(process.output(), acknowledged);
    }
    if (kill % 5 != 4 && kill + 1 < kKills) continue;
    const testing::Result result =
        testing::RunCommand({program, "--check", directory, absl::StrCat(kSeed),
                             absl::StrCat(acknowledged)});
    ASSERT_EQ(result.status, 0)
        << "after kill " << kill + 1 << ": " << result.error;
    last = result.output;
  }
  std::printf("%d kills, %llu batches acknowledged; in the end: %s", kKills,
              static_cast<unsigned long long>(acknowledged), last.c_str());
}

}  // namespace
}  // namespace fleetperf::aggregator

int main(int argc, char** argv) {
  using namespace fleetperf::aggregator;
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc == 4 && arguments[1] == "--work") {
    Work(arguments[2], std::strtoull(argv[3], nullptr, 10));
  }
  if (argc == 5 && arguments[1] == "--check") {
    return CheckStore(arguments[2], std::strtoull(argv[3], nullptr, 10),
                      std::strtoull(argv[4], nullptr, 10));
  }
  program = arguments[0];
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
