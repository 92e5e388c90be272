#include "aggregator/services/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;

class TurnsTest : public ::testing::Test {
 protected:
  void Post(const std::string& caller, const std::string& name) {
    turns_->Post(caller, [this, name] { done_.push_back(name); });
  }
  void RunOne() {
    Turns::Task task = std::move(queue_.front());
    queue_.pop_front();
    task();
  }

  std::deque<Turns::Task> queue_;
  std::shared_ptr<Turns> turns_ = Turns::Make(
      [this](Turns::Task task) { queue_.push_back(std::move(task)); });
  std::vector<std::string> done_;
};

TEST_F(TurnsTest, ACallerHasOneTaskInTheQueue) {
  for (const char* name : {"a1", "a2", "a3"}) Post("a", name);
  EXPECT_EQ(queue_.size(), 1u);
  Post("b", "b1");
  Post("c", "c1");
  Post("b", "b2");
  EXPECT_EQ(queue_.size(), 3u);
  while (!queue_.empty()) RunOne();
  EXPECT_THAT(done_, ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST_F(TurnsTest, ACallerMayComeBack) {
  Post("a", "a1");
  RunOne();
  Post("a", "a2");
  RunOne();
  EXPECT_THAT(done_, ElementsAre("a1", "a2"));
}

TEST_F(TurnsTest, OutlivesItsOwnerInTheQueue) {
  Post("a", "a1");
  Post("a", "a2");
  turns_ = nullptr;
  RunOne();
  RunOne();
  EXPECT_THAT(done_, ElementsAre("a1", "a2"));
}

}  // namespace
}  // namespace fleetperf::aggregator
