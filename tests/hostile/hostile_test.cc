// Attacks a real aggregator, one attack after the other, and measures how long
// an honest agent and an honest reader wait meanwhile. The table has the
// measures; a bystander that fails, a lost batch or an excess of memory or
// threads fails the test. The same for `fleetperf pki serve`. With --bars,
// waits beyond the bars do, too: the machine must then be idle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/wakeup.h"
#include "tests/e2e/fake_agent.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/bystanders.h"
#include "tests/hostile/enrolment_bystander.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Options {
  int seconds = 2;
  int attackers = 1;
  std::string attack;
  bool bars = false;
} options;

// The bars of docs/reference/reliability.md.
constexpr absl::Duration kMaxAcknowledgment = absl::Milliseconds(250);
constexpr double kMaxTimesIdle = 20;
constexpr absl::Duration kMaxAnswer = absl::Seconds(1);
// Of random attacks.
constexpr uint64_t kSeed = 20261126;
// Beyond what the aggregator used when it was idle, for each attacker.
constexpr int64_t kMaxMemoryKib = 64 << 10;
constexpr int64_t kMaxThreads = 300;
// Of `fleetperf pki serve`, beyond what it used when it was idle.
constexpr int64_t kMaxEnrolmentMemoryKib = 64 << 10;
constexpr int64_t kMaxEnrolmentThreads = 48;

double Milliseconds(absl::Duration duration) {
  return absl::ToDoubleMilliseconds(duration);
}

absl::Duration Worst(const std::vector<absl::Duration>& waits) {
  return Measured::Quantile(waits, 1);
}

void Print(const std::string& name, const Measured& measured) {
  std::printf("%-30s %6.0f %6.0f %6.0f %8lld %7lld %7lld\n", name.c_str(),
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

// Starts an attacker. It would be on another machine: here, it takes what the
// others leave of the processors.
std::thread StartAttacker(const Attack& attack, const Target& target,
                          const std::atomic<bool>* is_over) {
  return std::thread([&attack, target, is_over] {
    constexpr int kLowest = 19;
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowest);
    attack.run(target, [&] { return is_over->load(); });
  });
}

// Each attacker has certificates of its own. The attack lasts until both
// bystanders have measured something, which on a slow machine may take longer
// than intended.
void RunAttack(const Attack& attack, int attackers, Deployment* deployment,
               int page_port, SteppedClock* clock, Bystanders* bystanders) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 1; i <= attackers; ++i) {
    const std::string name = i == 1 ? "evil" : absl::StrCat("evil-", i, "-");
    const Target target = {
        .address = deployment->address(),
        .port = PortOf(deployment->address()),
        .page_port = page_port,
        .name = name,
        // The first attacker is behind the bystanders' address.
        .from = i == 1 ? "127.0.0.1" : absl::StrCat("127.0.0.", 10 + i),
        .agent = deployment->Issue("agent", AttackerNames(name)),
        .reader = deployment->Issue("reader", {name}),
        .seed = kSeed,
        .deployment = deployment,
        .clock = clock};
    threads.push_back(StartAttacker(attack, target, &is_over));
  }
  Wait(absl::Seconds(options.seconds));
  bystanders->AwaitMeasures();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

void CheckBars(const Attack& attack, const Measured& idle,
               const Measured& measured) {
  const auto p99 = Measured::Quantile(measured.acknowledgments, 0.99);
  EXPECT_LT(p99, kMaxAcknowledgment) << attack.name;
  EXPECT_LT(p99, kMaxTimesIdle * Measured::Quantile(idle.acknowledgments, 0.99))
      << attack.name;
  EXPECT_LT(Worst(measured.answers), kMaxAnswer) << attack.name;
}

void PrintTitles() {
  std::printf("%-30s %6s %6s %6s %8s %7s %7s\n", "attack", "ack99", "ack",
              "answer", "MiB", "threads", "files");
}

// The file with the address of the page.
constexpr char kPage[] = "page";

// Each kind of attack has an aggregator of its own, whose configuration ends
// with `more`.
void RunAttacks(const std::vector<Attack>& attacks, const std::string& more,
                int attackers) {
  Deployment deployment;
  SteppedClock clock(deployment.File("clock"));
  const auto aggregator = deployment.StartAggregator(more, clock.environment());
  const auto page = ReadFile(deployment.File(kPage));
  const int page_port = page.ok() ? PortOf(*page) : 0;
  PrintTitles();
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
      RunAttack(attack, attackers, &deployment, page_port, &clock, &bystanders);
      const Measured measured = bystanders.Next();
      Print(attack.name, measured);
      ASSERT_EQ(bystanders.failure(), "") << attack.name;
      EXPECT_FALSE(measured.acknowledgments.empty()) << attack.name;
      EXPECT_FALSE(measured.answers.empty()) << attack.name;
      EXPECT_LT(measured.memory_kib,
                idle.memory_kib + attackers * kMaxMemoryKib)
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

std::string PageConfig() {
  return absl::StrCat("web: {listen: '127.0.0.1:0', address_file: ", kPage,
                      "}\n");
}

// The attackers are strangers, whose bar of memory is that of a certificate.
void RunEnrolmentAttacks() {
  Deployment deployment;
  PrintTitles();
  EnrolmentBystander enrolment(&deployment);
  const Target target = {.enrolment_port = enrolment.port()};
  Wait(absl::Seconds(options.seconds));
  enrolment.AwaitMeasures();
  const Measured idle = enrolment.Next();
  Print("idle", idle);
  int number = 0;
  for (const Attack& attack : EnrolmentAttacks()) {
    if (!options.attack.empty() && options.attack != attack.name) continue;
    std::atomic<bool> is_over = false;
    std::thread attacker = StartAttacker(attack, target, &is_over);
    Wait(absl::Seconds(options.seconds));
    enrolment.AwaitMeasures();
    EXPECT_EQ(enrolment.Enroll(absl::StrCat("honest-", ++number)), "")
        << attack.name;
    is_over = true;
    attacker.join();
    const Measured measured = enrolment.Next();
    Print(attack.name, measured);
    ASSERT_EQ(enrolment.failure(), "") << attack.name;
    EXPECT_LT(measured.memory_kib, idle.memory_kib + kMaxEnrolmentMemoryKib)
        << attack.name;
    EXPECT_LT(measured.threads, kMaxEnrolmentThreads) << attack.name;
    if (options.bars) {
      EXPECT_LT(Worst(measured.answers), kMaxAnswer) << attack.name;
    }
  }
}

TEST(Hostile, Enrolment) { RunEnrolmentAttacks(); }
TEST(Hostile, Connections) {
  RunAttacks(ConnectionAttacks(), "", options.attackers);
}
TEST(Hostile, Agents) { RunAttacks(AgentAttacks(), "", options.attackers); }
TEST(Hostile, Clocks) { RunAttacks(ClockAttacks(), "", 1); }
TEST(Hostile, Readers) { RunAttacks(ReaderAttacks(), "", options.attackers); }
TEST(Hostile, Page) {
  RunAttacks(PageAttacks(), PageConfig(), options.attackers);
}
TEST(Hostile, Quotas) { RunAttacks(QuotaAttacks(), "", options.attackers); }

}  // namespace
}  // namespace fleetperf::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  using fleetperf::testing::options;
  fleetperf::Command program(
      "hostile_test", "Attacks an aggregator and measures what others notice.");
  program.AddNumber("--seconds", &options.seconds, "Duration of each attack", 1,
                    1'000'000);
  program.AddNumber("--attackers", &options.attackers,
                    "Attackers at once, each with its own certificate", 1, 100);
  program.AddText("--attack", &options.attack, "Only this attack");
  program.AddFlag("--bars", &options.bars,
                  "Waits beyond the bars fail the test");
  if (const auto status = program.Parse(argc, argv)) return *status;
  return RUN_ALL_TESTS();
}
