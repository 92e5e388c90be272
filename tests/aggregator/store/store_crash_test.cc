// Kills the process of a store at random points while it commits batches, moves
// them to chunks, merges and thins chunks, and makes backups. After each kill,
// the store opens and has all acknowledged batches, exactly once and undamaged.
// Each backup has all batches acknowledged before it.
//
//   store_crash_test --work DIR SEED     commits and moves until it is killed
//   store_crash_test --check DIR SEED ACKNOWLEDGED   exits with 1 on an error
//   store_crash_test --check-backup DIR SEED

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/os/clock.h"
#include "tests/aggregator/store/store_crash_child.h"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

constexpr int kKills = 300;
// A backup of all data takes longer to check than the store does.
constexpr int kKillsPerBackupCheck = 5;
// The maximum delay between a line of output and the kill.
constexpr uint64_t kMaxNanoseconds = 4'000'000;

std::string program;

// Returns the last batch that the process acknowledged, or `before` if none.
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

// Lets other processes run for a time too short to sleep.
void Spin(absl::Duration duration) {
  const absl::Duration end = Clock::Real().Monotonic() + duration;
  while (Clock::Real().Monotonic() < end) {
  }
}

// Runs `command`, which checks the state after a kill. Returns its output.
std::string Check(int kill, const std::vector<std::string>& command) {
  const testing::Result result = testing::RunCommand(command);
  EXPECT_EQ(result.status, 0) << "after kill " << kill << ": " << result.error;
  return result.output;
}

TEST(StoreCrash, AcknowledgedBatchesSurviveEveryKill) {
  const testing::TempDirectory temp;
  const std::string directory = temp.File("store");
  constexpr uint64_t kSeed = 20261122;
  const std::string seed = absl::StrCat(kSeed);
  std::mt19937_64 random(kSeed);
  uint64_t acknowledged = 0;
  std::string last;
  for (int kill = 1; kill <= kKills && !HasFailure(); ++kill) {
    {
      testing::Process process({program, "--work", directory, seed});
      process.WaitForOutput("", 1 + static_cast<int>(random() % 12));
      Spin(absl::Nanoseconds(random() % kMaxNanoseconds));
      process.Signal(SIGKILL);
      ASSERT_EQ(process.Wait(), -SIGKILL) << process.error();
      process.WaitForOutput("none", 1);  // reads the remaining output
      acknowledged = AcknowledgedIn(process.output(), acknowledged);
    }
    last = Check(kill, {program, "--check", directory, seed,
                        absl::StrCat(acknowledged)});
    if (kill % kKillsPerBackupCheck != 0) continue;
    last += Check(kill, {program, "--check-backup", directory, seed});
  }
  std::printf("%d kills, %llu batches acknowledged; in the end: %s", kKills,
              static_cast<unsigned long long>(acknowledged), last.c_str());
}

}  // namespace
}  // namespace fleetperf::aggregator

int main(int argc, char** argv) {
  using namespace fleetperf::aggregator;
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto number = [&](int argument) {
    return std::strtoull(argv[argument], nullptr, 10);
  };
  if (argc == 4 && arguments[1] == "--work") {
    CommitUntilKilled(arguments[2], number(3));
  }
  if (argc == 5 && arguments[1] == "--check") {
    return CheckStore(arguments[2], number(3), number(4));
  }
  if (argc == 4 && arguments[1] == "--check-backup") {
    return CheckBackup(arguments[2], number(3));
  }
  program = arguments[0];
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
