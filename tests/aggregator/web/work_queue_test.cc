#include "aggregator/web/work_queue.h"

#include <future>

#include "tests/support/gate.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

TEST(WorkQueue, CallerDoesNotKeepOthersWaiting) {
  testing::Gate gate;
  std::promise<void> greedy_done;
  std::promise<void> other_done;
  WorkQueue queue(
      {.threads = 2, .threads_of_caller = 1, .waiting_of_caller = 2});
  gate.Close();
  ASSERT_TRUE(queue.Post("greedy", [&] { gate.Pass(); }));
  ASSERT_TRUE(gate.AwaitStopped());
  ASSERT_TRUE(queue.Post("greedy", [] {}));
  ASSERT_TRUE(queue.Post("greedy", [&] { greedy_done.set_value(); }));
  // Two wait.
  EXPECT_FALSE(queue.Post("greedy", [] {}));
  ASSERT_TRUE(queue.Post("other", [&] { other_done.set_value(); }));
  const auto patience = absl::ToChronoMilliseconds(testing::kPatience);
  EXPECT_EQ(other_done.get_future().wait_for(patience),
            std::future_status::ready);
  std::future<void> greedy = greedy_done.get_future();
  EXPECT_EQ(greedy.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  gate.Open();
  EXPECT_EQ(greedy.wait_for(patience), std::future_status::ready);
}

}  // namespace
}  // namespace fleetperf::aggregator::web
