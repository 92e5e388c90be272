#include "aggregator/query/ordered_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::StatusIs;

using Work = OrderedWork<size_t>;

std::vector<size_t> NumbersTo(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(OrderedWork, UsesItemsInOrder) {
  for (const size_t count : {0, 1, 2, 7, 1000}) {
    std::vector<size_t> used;
    Work work(count, /*threads=*/4,
              [](size_t number, bool) { return number * number; });
    EXPECT_OK(work.Run([&](size_t number, size_t item) {
      EXPECT_EQ(item, number * number);
      used.push_back(number);
      return absl::OkStatus();
    }));
    EXPECT_EQ(used, NumbersTo(count));
  }
}

TEST(OrderedWork, OneThreadMakesEachItemInTurn) {
  std::vector<size_t> events;
  Work work(3, /*threads=*/1, [&](size_t number, bool in_turn) {
    EXPECT_TRUE(in_turn);
    events.push_back(number);
    return number;
  });
  EXPECT_OK(work.Run([&](size_t number, size_t) {
    events.push_back(10 + number);
    return absl::OkStatus();
  }));
  EXPECT_EQ(events, (std::vector<size_t>{0, 10, 1, 11, 2, 12}));
}

TEST(OrderedWork, MakesItemsConcurrently) {
  absl::Notification second_is_begun;
  Work work(2, /*threads=*/2, [&](size_t number, bool) {
    if (number == 0) {
      second_is_begun.WaitForNotification();
    } else {
      second_is_begun.Notify();
    }
    return number;
  });
  EXPECT_OK(work.Run([](size_t, size_t) { return absl::OkStatus(); }));
}

TEST(OrderedWork, LimitsItemsInMemory) {
  constexpr size_t kThreads = 3;
  std::atomic<size_t> begun = 0;
  size_t used = 0;
  Work work(500, kThreads, [&](size_t number, bool) {
    ++begun;
    return number;
  });
  EXPECT_OK(work.Run([&](size_t, size_t) {
    // Includes the item in use.
    EXPECT_LE(begun - used, Work::MaxAhead(kThreads));
    ++used;
    return absl::OkStatus();
  }));
}

TEST(OrderedWork, EndsWithTheFirstError) {
  std::atomic<int> running = 0;
  std::atomic<size_t> begun = 0;
  Work work(1000, /*threads=*/4, [&](size_t number, bool) {
    ++running;
    ++begun;
    --running;
    return number;
  });
  EXPECT_THAT(work.Run([](size_t number, size_t) {
    return number == 7 ? absl::CancelledError("enough") : absl::OkStatus();
  }),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(running, 0);
  EXPECT_LE(begun, 8 + Work::MaxAhead(4));
}

TEST(OrderedWork, MakesRefusedItemsInTurn) {
  constexpr size_t kThreads = 4;
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<size_t> tried_ahead = 0;
  std::vector<size_t> made;
  Work work(100, kThreads,
            [&](size_t number, bool in_turn) -> std::optional<size_t> {
              if (!in_turn) {
                ++tried_ahead;
                return std::nullopt;
              }
              EXPECT_EQ(std::this_thread::get_id(), caller);
              made.push_back(number);
              return number;
            });
  std::vector<size_t> used;
  EXPECT_OK(work.Run([&](size_t, size_t item) {
    used.push_back(item);
    return absl::OkStatus();
  }));
  EXPECT_EQ(made, NumbersTo(100));
  EXPECT_EQ(used, NumbersTo(100));
  // No other was begun after the first.
  EXPECT_LE(tried_ahead, kThreads);
}

// At a limit of processes.
TEST(OrderedWork, MakesAllItemsOnItsThreadIfNoOtherStarts) {
  const std::thread::id caller = std::this_thread::get_id();
  Work work(100, /*threads=*/4, [&](size_t number, bool) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return number;
  });
  std::vector<size_t> used;
  const testing::NoNewThreads no_new_threads;
  EXPECT_OK(work.Run([&](size_t, size_t item) {
    used.push_back(item);
    return absl::OkStatus();
  }));
  EXPECT_EQ(used, NumbersTo(100));
}

}  // namespace
}  // namespace fleetperf::aggregator
