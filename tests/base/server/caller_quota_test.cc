#include "base/server/caller_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using Share = CallerQuota::Share;

constexpr auto kPool = Pool::kQueries;
const std::function<bool()> kForEver;

// Threads that take a share, note their caller, and give it back.
class WaitingCallers {
 public:
  explicit WaitingCallers(CallerQuota* quota) : quota_(*quota) {}
  ~WaitingCallers() { Join(); }

  // Starts a call of Take and returns when it waits.
  void Add(const std::string& caller) {
    const uint64_t waiting = quota_.counts(kPool).waiting;
    threads_.emplace_back([this, caller] {
      const Share share = quota_.Take(kPool, caller, kForEver);
      absl::MutexLock lock(&mutex_);
      entered_.push_back(caller);
    });
    while (quota_.counts(kPool).waiting == waiting) std::this_thread::yield();
  }

  // Returns the callers in the order in which they got a share.
  std::vector<std::string> Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    absl::MutexLock lock(&mutex_);
    return entered_;
  }

 private:
  CallerQuota& quota_;
  std::vector<std::thread> threads_;
  absl::Mutex mutex_;
  std::vector<std::string> entered_ ABSL_GUARDED_BY(mutex_);
};

class CallerQuotaTest : public ::testing::Test {
 protected:
  void Use(int64_t of_caller, int64_t in_all) {
    quota_.SetLimits(kPool, of_caller, in_all);
  }
  Share Take(const std::string& caller) {
    return quota_.Take(kPool, caller, kForEver);
  }

  // Returns how many shares the caller gets, which taken_ holds.
  int TakeAll(Pool pool, const std::string& caller) {
    for (int taken = 0;; ++taken) {
      auto share = quota_.TryTake(pool, caller);
      if (!share.ok()) return taken;
      taken_.push_back(*std::move(share));
    }
  }

  CallerQuota quota_;
  std::vector<Share> taken_;
};

TEST_F(CallerQuotaTest, RefusesMoreThanTheLimitOfACaller) {
  Use(2, 8);
  auto first = quota_.TryTake(kPool, "a");
  ASSERT_OK(first);
  const auto second = quota_.TryTake(kPool, "a");
  ASSERT_OK(second);
  EXPECT_THAT(
      quota_.TryTake(kPool, "a"),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("this certificate has 2 queries in progress")));
  EXPECT_OK(quota_.TryTake(kPool, "b"));
  first->Release();
  EXPECT_OK(quota_.TryTake(kPool, "a"));
  EXPECT_EQ(quota_.counts(kPool).refused, 1u);
}

TEST_F(CallerQuotaTest, RefusesMoreThanTheLimitOfAll) {
  Use(2, 2);
  const auto first = quota_.TryTake(kPool, "a");
  const auto second = quota_.TryTake(kPool, "b");
  EXPECT_THAT(quota_.TryTake(kPool, "c"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("all certificates together have 2 queries")));
}

TEST_F(CallerQuotaTest, ManyCallersLeaveCallsForOthers) {
  EXPECT_EQ(TakeAll(Pool::kCalls, "the only one"), 32);
  taken_.clear();
  for (int i = 0; i < 10; ++i) TakeAll(Pool::kCalls, std::to_string(i));
  EXPECT_GE(TakeAll(Pool::kCalls, "another"), 3);
}

TEST_F(CallerQuotaTest, LendsSharesWhoseHoldersWait) {
  Use(1, 2);
  Share of_a = Take("a");
  const Share of_b = Take("b");
  of_a.Lend();
  Share of_c = Take("c");
  EXPECT_TRUE(of_c);
  EXPECT_THAT(quota_.TryTake(kPool, "a"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("this certificate has 1 queries")));
  EXPECT_FALSE(of_a.Resume([] { return true; }));
  EXPECT_EQ(quota_.counts(kPool).held, 2);
  of_c.Release();
  EXPECT_TRUE(of_a.Resume(kForEver));
  EXPECT_EQ(quota_.counts(kPool).held, 2);
}

TEST_F(CallerQuotaTest, SharesThatAreLentAreGivenBackOnce) {
  Use(1, 1);
  Share of_a = Take("a");
  of_a.Lend();
  Share of_b = Take("b");
  of_a.Release();
  EXPECT_EQ(quota_.counts(kPool).held, 1);
  of_b.Lend();
  EXPECT_TRUE(of_b.Resume(kForEver));
  of_b.Release();
  EXPECT_EQ(quota_.counts(kPool).held, 0);
  EXPECT_OK(quota_.TryTake(kPool, "a"));
}

TEST_F(CallerQuotaTest, PoolsAreIndependent) {
  Use(1, 1);
  const Share query = Take("a");
  EXPECT_OK(quota_.TryTake(Pool::kCalls, "a"));
}

TEST_F(CallerQuotaTest, CallersTakeTurns) {
  Use(1, 1);
  Share first = Take("a");
  WaitingCallers callers(&quota_);
  for (const char* caller : {"a", "a", "a", "b", "b", "c"}) {
    callers.Add(caller);
  }
  first.Release();
  EXPECT_THAT(callers.Join(), ElementsAre("b", "c", "a", "b", "a", "a"));
}

TEST_F(CallerQuotaTest, PrefersTheCallerWithTheFewestShares) {
  Use(3, 6);
  const Share first = Take("a");
  const Share second = Take("a");
  Share of_b = Take("b");
  const Share of_c = Take("c");
  Share of_d = Take("d");
  Share of_e = Take("e");
  WaitingCallers callers(&quota_);
  callers.Add("a");
  callers.Add("b");
  of_b.Release();
  of_d.Release();
  of_e.Release();
  EXPECT_THAT(callers.Join(), ElementsAre("b", "a"));
}

TEST_F(CallerQuotaTest, ACallerAtItsLimitKeepsNobodyWaiting) {
  Use(2, 3);
  Share first = Take("a");
  const Share second = Take("a");
  WaitingCallers callers(&quota_);
  callers.Add("a");
  EXPECT_TRUE(Take("b"));
  EXPECT_EQ(quota_.counts(kPool).waiting, 1u);
  first.Release();
  EXPECT_THAT(callers.Join(), ElementsAre("a"));
}

TEST_F(CallerQuotaTest, ACallerThatIsGoneLeavesTheQueue) {
  Use(1, 1);
  Share first = Take("a");
  EXPECT_FALSE(quota_.Take(kPool, "b", [] { return true; }));
  EXPECT_EQ(quota_.counts(kPool).waiting, 0u);
  first.Release();
  EXPECT_TRUE(Take("c"));
}

TEST_F(CallerQuotaTest, AHigherLimitEndsWaits) {
  Use(1, 1);
  const Share first = Take("a");
  WaitingCallers callers(&quota_);
  callers.Add("a");
  Use(2, 3);
  EXPECT_THAT(callers.Join(), ElementsAre("a"));
}

TEST_F(CallerQuotaTest, AmountsGrowUpToTheLimit) {
  Use(100, 250);
  auto first = quota_.TryTake(kPool, "a", 60);
  ASSERT_OK(first);
  auto second = quota_.TryTake(kPool, "a", 0);
  ASSERT_OK(second);
  EXPECT_FALSE(second->Resize(41));
  EXPECT_EQ(second->amount(), 0);
  EXPECT_TRUE(second->Resize(40));
  EXPECT_EQ(second->others(), 60);
  auto of_b = quota_.TryTake(kPool, "b", 50);
  ASSERT_OK(of_b);
  EXPECT_TRUE(of_b->Resize(75));
  EXPECT_FALSE(of_b->Resize(76));
  EXPECT_TRUE(first->Resize(10));
  EXPECT_TRUE(of_b->Resize(100));
  of_b->Force(200);
  EXPECT_EQ(quota_.counts(kPool).held, 250);
}

TEST_F(CallerQuotaTest, NobodyTakesMoreThanIsLeftForOthers) {
  Use(4, 8);
  EXPECT_EQ(TakeAll(kPool, "a"), 4);
  EXPECT_EQ(TakeAll(kPool, "b"), 2);
  EXPECT_EQ(TakeAll(kPool, "c"), 1);
  EXPECT_THAT(quota_.TryTake(kPool, "c"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("this certificate has 1 queries in progress, "
                                 "and the rest is left for others")));
  EXPECT_EQ(TakeAll(kPool, "d"), 1);
  EXPECT_EQ(TakeAll(kPool, "e"), 0);
}

TEST_F(CallerQuotaTest, LaterSharesComeInOrder) {
  Use(1, kNoLimit);
  std::vector<std::string> begun;
  std::vector<Share> shares;
  const auto post = [&](const std::string& caller, const std::string& name) {
    quota_.TakeLater(kPool, caller, [&begun, &shares, name](Share share) {
      begun.push_back(name);
      shares.push_back(std::move(share));
    });
  };
  for (const char* name : {"a1", "a2"}) post("a", name);
  post("b", "b1");
  EXPECT_THAT(begun, ElementsAre("a1", "b1"));
  Share first = std::move(shares[0]);
  first.Release();
  EXPECT_THAT(begun, ElementsAre("a1", "b1", "a2"));
}

TEST_F(CallerQuotaTest, SharesOutliveTheQuota) {
  auto quota = std::make_unique<CallerQuota>();
  Share share = quota->Take(kPool, "a", kForEver);
  quota = nullptr;
  EXPECT_EQ(share.others(), 0);
  share.Release();
  EXPECT_FALSE(share);
}

}  // namespace
}  // namespace fleetperf
