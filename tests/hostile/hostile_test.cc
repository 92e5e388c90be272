// Attacks a real aggregator, one attack after the other, and measures how long
// an honest agent and an honest reader wait meanwhile. The table has the
// measures; a bystander that fails, a lost batch or an excess of memory or
// threads fails the test. With --bars, waits beyond the bars do, too: the
// machine must then be idle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/command_parser.h"
#include "base/files.h"
#include "base/wakeup.h"
#include "tests/e2e/fake_agent.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/bystanders.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Options {
  int seconds = 2;
  std::string attack;
  bool bars = false;
} options;

// The bars of docs/reference/reliability.md.
constexpr absl::Duration kMaxAcknowledgment = absl::Milliseconds(250);
constexpr double kMaxTimesIdle = 20;
constexpr absl::Duration kMaxAnswer = absl::Seconds(1);
// Of random attacks.
constexpr uint64_t kSeed = 20261126;
// Beyond what the aggregator used when it was idle.
constexpr int64_t kMaxMemoryKib = 512 << 10;
constexpr int64_t kMaxThreads = 300;

double Milliseconds(absl::Duration duration) {
  return absl::ToDoubleMilliseconds(duration);
}

absl::Duration Worst(const std::vector<absl::Duration>& waits) {
  return Measured::Quantile(waits, 1);
}

void Print(const char* name, const Measured& measured) {
  std::printf("%-24s %6.0f %6.0f %6.0f %8lld %7lld %7lld\n", name,
              Milliseconds(Measured::Quantile(measured.acknowledgments, 0.99)),
              Milliseconds(Worst(measured.acknowledgments)),
              Milliseconds(Worst(measured.answers)),
              static_cast<long long>(measured.memory_kib >> 10),
              static_cast<long long>(measured.threads),
              static_cast<long long>(measured.descriptors));
  std::fflush(stdout);
}

// Lets `duration` pass while the bystanders measure.
void Wait(absl::Duration duration) {
  absl::Mutex mutex;
  Wakeup never;
  absl::MutexLock lock(&mutex);
  never.Await(&mutex, duration, [] { return false; });
}

int PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port;
}

// Each attack has certificates of its own. It lasts until both bystanders have
// measured something, which on a slow machine may take longer than intended.
void RunAttack(const Attack& attack, Deployment* deployment, int page_port,
               SteppedClock* clock, Bystanders* bystanders) {
  const Target target = {.address = deployment->address(),
                         .port = PortOf(deployment->address()),
                         .page_port = page_port,
                         .agent = deployment->Issue("agent", Attackers()),
                         .reader = deployment->Issue("reader", {"evil"}),
                         .seed = kSeed,
                         .deployment = deployment,
                         .clock = clock};
  std::atomic<bool> is_over = false;
  std::thread attacker(
      [&] { attack.run(target, [&] { return is_over.load(); }); });
  Wait(absl::Seconds(options.seconds));
  bystanders->AwaitMeasures();
  is_over = true;
  attacker.join();
}

void CheckBars(const Attack& attack, const Measured& idle,
               const Measured& measured) {
  const auto p99 = Measured::Quantile(measured.acknowledgments, 0.99);
  EXPECT_LT(p99, kMaxAcknowledgment) << attack.name;
  EXPECT_LT(p99, kMaxTimesIdle * Measured::Quantile(idle.acknowledgments, 0.99))
      << attack.name;
  EXPECT_LT(Worst(measured.answers), kMaxAnswer) << attack.name;
}

// The file with the address of the page.
constexpr char kPage[] = "page";

// Each kind of attack has an aggregator of its own, whose configuration ends
// with `more`.
void RunAttacks(const std::vector<Attack>& attacks,
                const std::string& more = "") {
  Deployment deployment;
  SteppedClock clock(deployment.File("clock"));
  const auto aggregator = deployment.StartAggregator(more, clock.environment());
  const auto page = ReadFile(deployment.File(kPage));
  const int page_port = page.ok() ? PortOf(*page) : 0;
  std::printf("%-24s %6s %6s %6s %8s %7s %7s\n", "attack", "ack99", "ack",
              "answer", "MiB", "threads", "files");
  uint64_t acknowledged = 0;
  absl::Time start;
  {
    Bystanders bystanders(&deployment, aggregator->pid(), page_port);
    start = bystanders.start();
    Wait(absl::Seconds(options.seconds));
    const Measured idle = bystanders.Next();
    Print("idle", idle);
    for (const Attack& attack : attacks) {
      if (!options.attack.empty() && options.attack != attack.name) continue;
      RunAttack(attack, &deployment, page_port, &clock, &bystanders);
      const Measured measured = bystanders.Next();
      Print(attack.name, measured);
      ASSERT_EQ(bystanders.failure(), "") << attack.name;
      EXPECT_FALSE(measured.acknowledgments.empty()) << attack.name;
      EXPECT_FALSE(measured.answers.empty()) << attack.name;
      EXPECT_LT(measured.memory_kib, idle.memory_kib + kMaxMemoryKib)
          << attack.name;
      EXPECT_LT(measured.threads, kMaxThreads) << attack.name;
      if (options.bars) CheckBars(attack, idle, measured);
    }
    acknowledged = bystanders.acknowledged();
  }
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);
  // Libraries print nothing: attackers could fill the disk with it.
  EXPECT_THAT(aggregator->error(), Not(HasSubstr("[libprotobuf")));
  // Nothing acknowledged is lost, and the store can be opened.
  const auto restarted = deployment.StartAggregator();
  EXPECT_GE(StoredNumbers(deployment, start - absl::Seconds(1)).size(),
            acknowledged);
}

TEST(Hostile, Connections) { RunAttacks(ConnectionAttacks()); }
TEST(Hostile, Agents) { RunAttacks(AgentAttacks()); }
TEST(Hostile, Clocks) { RunAttacks(ClockAttacks()); }
TEST(Hostile, Readers) { RunAttacks(ReaderAttacks()); }
TEST(Hostile, Page) {
  RunAttacks(PageAttacks(),
             absl::StrCat("web: {listen: '127.0.0.1:0', address_file: ", kPage,
                          "}\n"));
}

}  // namespace
}  // namespace fleetperf::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  using fleetperf::testing::options;
  fleetperf::Command program(
      "hostile_test", "Attacks an aggregator and measures what others notice.");
  program.AddNumber("--seconds", &options.seconds, "Duration of each attack", 1,
                    1'000'000);
  program.AddText("--attack", &options.attack, "Only this attack");
  program.AddFlag("--bars", &options.bars,
                  "Waits beyond the bars fail the test");
  if (const auto status = program.Parse(argc, argv)) return *status;
  return RUN_ALL_TESTS();
}
