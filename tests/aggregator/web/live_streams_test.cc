// Starts of streams. The hub has no threads: the test does their work.

#include "aggregator/web/live_streams.h"

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator::web {
namespace {

using ::testing::StartsWith;

// An answer that a test can wait for.
class Answer {
 public:
  // The bytes of the answer, which has ended.
  std::string Await() {
    if (!has_ended_->WaitForNotificationWithTimeout(testing::kPatience)) {
      return "no answer";
    }
    return *reply_->Take();
  }
  bool HasBegun() const { return reply_->waiting_bytes() > 0; }
  const std::shared_ptr<Reply>& reply() const { return reply_; }

 private:
  const std::shared_ptr<absl::Notification> has_ended_ =
      std::make_shared<absl::Notification>();
  // The second call is that of Finish.
  const std::shared_ptr<Reply> reply_ = std::make_shared<Reply>(
      [ended = has_ended_, calls = std::make_shared<int>(0)] {
        if (++*calls == 2) ended->Notify();
      });
};

class LiveStreamsTest : public ::testing::Test {
 protected:
  LiveStreamsTest() { request_.add_paths("\\No such\\Counter"); }
  ~LiveStreamsTest() override { hub_.Stop(); }

  void Join(const std::string& caller, const Answer& answer) {
    streams_.Join(request_, caller, /*keeps_alive=*/true, answer.reply());
  }

  testing::TestStore store_;
  Fleet fleet_{&*store_};
  // A caller has one place.
  Hub hub_{&*store_, {.max_subscribers = 4}, /*threads=*/0};
  CallerQuota quota_;
  Subscriptions subscriptions_{&*store_, &fleet_, &hub_, &Clock::Real(),
                               &quota_};
  v1::SubscribeRequest request_;
  LiveStreams streams_{&subscriptions_};
};

TEST_F(LiveStreamsTest, SharedStreamStartsInAnyCallersTurn) {
  int turns = 0;
  for (int i = 0; i < 3; ++i) subscriptions_.Post("busy", [&] { ++turns; });
  Answer busy;
  Answer other;
  Join("busy", busy);
  Join("other", other);
  hub_.WorkOnce();
  hub_.WorkOnce();
  EXPECT_THAT(other.Await(), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(busy.Await(), StartsWith("HTTP/1.1 404"));
  EXPECT_LT(turns, 3);
}

// A tab that is reloaded while its stream starts.
TEST_F(LiveStreamsTest, LaterViewerGetsAStreamThatIsNotCancelled) {
  const Answer gone;
  Join("alice", gone);
  gone.reply()->Close();
  std::unique_ptr<Answer> later;
  testing::Retry([&] {  // until the place of the first is free
    later = std::make_unique<Answer>();
    Join("alice", *later);
    return !later->HasBegun();
  });
  while (hub_.WorkOnce()) continue;
  EXPECT_THAT(later->Await(), StartsWith("HTTP/1.1 404"));
}

}  // namespace
}  // namespace fleetperf::aggregator::web
