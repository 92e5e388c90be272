// Measures the cost of subscribers: CPU time per tick of a machine, from the
// decoded batch to messages ready to be written, for one subscriber and many.
//
//   subscribe_bench [SUBSCRIBERS]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/subscribe/hub.h"
#include "tests/bench/measure.h"
#include "tests/support/disk_agent.h"

namespace fleetperf::bench {
namespace {

using aggregator::Hub;
using aggregator::PathSet;
using aggregator::Subscription;

constexpr uint32_t kDisks = 500;  // with two counters each

// A machine and its subscribers.
class Bench {
 public:
  // Subscriber i watches paths[i % paths.size()].
  Bench(int subscribers, const std::vector<std::string>& paths)
      : hub_(&*store_, {}, /*threads=*/0) {
    for (uint32_t i = 0; i < kDisks; ++i) {
      rates_.emplace_back(agent_.Disk(absl::StrCat("disk-", i)), i);
    }
    agent_.Ticks(0, 0, rates_);
    agent_.Send().IgnoreError();
    for (int i = 0; i < subscribers; ++i) {
      auto parsed = PathSet::Parse(
          {paths[static_cast<size_t>(i) % paths.size()]}, store_->directory());
      subscriptions_.push_back(std::make_shared<Subscription>(
          aggregator::SubscriptionRequest{.paths = *std::move(parsed)}));
      if (!hub_.Add(subscriptions_.back()).ok()) std::exit(1);
    }
    Deliver();
  }

  void Tick() {
    ++time_;
    agent_.Ticks(time_, time_, rates_);
    const auto batch = agent_.TakeBatch();
    const double start = CpuNanos();
    hub_.OnBatch(*batch);
    Deliver();
    nanos_ += CpuNanos() - start;
  }

  double NanosPerTick() const { return nanos_ / time_; }
  double BytesPerTick() const { return static_cast<double>(bytes_) / time_; }

 private:
  void Deliver() {
    while (hub_.WorkOnce()) {
    }
    for (const auto& subscription : subscriptions_) {
      aggregator::Outbox::Message message;
      while (subscription->outbox()->Take(&message)) {
        bytes_ += message.response.SerializeAsString().size();
        for (const auto& part : message.encoded_values) bytes_ += part->size();
      }
    }
  }

  testing::TestStore store_;
  testing::DiskAgent agent_{&store_};
  Hub hub_;
  std::vector<std::pair<uint32_t, uint64_t>> rates_;
  std::vector<std::shared_ptr<Subscription>> subscriptions_;
  int time_ = 0;
  double nanos_ = 0;
  size_t bytes_ = 0;
};

void Report(const char* what, int subscribers,
            const std::vector<std::string>& paths) {
  const int kTicks = subscribers > 1 ? 20 : 1000;
  Bench bench(subscribers, paths);
  for (int i = 0; i < kTicks; ++i) bench.Tick();
  std::printf("%-44s %10.1f us a tick, %7.2f us a subscriber\n", what,
              bench.NanosPerTick() / 1e3,
              bench.NanosPerTick() / 1e3 / subscribers);
}

void Run(int subscribers) {
  std::printf("a machine with %u series, one tick a batch\n", 2 * kDisks);
  const std::string all = "\\Disk(*)\\*";
  std::vector<std::string> overlapping;
  for (int i = 0; i < 10; ++i) {
    overlapping.push_back(absl::StrCat("\\Disk(disk-", i, "*)\\*"));
  }
  const std::string one = "\\Disk(disk-7)\\Transfers/sec";
  Report("one subscriber of all", 1, {all});
  Report(absl::StrCat(subscribers, " subscribers of all").c_str(), subscribers,
         {all});
  Report(absl::StrCat(subscribers, " of ten tenths, or all").c_str(),
         subscribers, overlapping);
  Report("one subscriber of one series", 1, {one});
  Report(absl::StrCat(subscribers, " subscribers of one series").c_str(),
         subscribers, {one});
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Run(argc > 1 ? std::atoi(argv[1]) : 1000);
  return 0;
}
