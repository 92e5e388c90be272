#include "aggregator/web/live_stream.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

v1::SubscribeResponse Values(uint32_t id, int millis, double value,
                             const std::string& path = "") {
  v1::SubscribeResponse message;
  if (!path.empty()) {
    message.add_series()->set_id(id);
    message.mutable_series(0)->set_path(path);
  }
  v1::Points* points = message.add_points();
  points->set_series(id);
  points->add_time_unix_nanos(int64_t{millis} * 1'000'000);
  points->add_values(value);
  return message;
}

TEST(LiveState, EncodesMessagesAndRemembersTheNewestValues) {
  LiveState state;
  v1::SubscribeResponse first = Values(1, 5, 0.5, "\\A");
  first.mutable_live_machines()->set_live(3);
  first.add_missing()->set_path("\\B");
  EXPECT_EQ(state.Add(first),
            R"({"series":[{"id":1,"path":"\\A"}],)"
            R"("points":[{"series":1,"t":[5],"v":[0.5]}],)"
            R"("machines":{"live":3},"missing":[{"path":"\\B"}]})");
  v1::SubscribeResponse second = Values(1, 6, 1);
  second.mutable_points(0)->add_time_unix_nanos(1'000'000);
  second.mutable_points(0)->add_values(2);
  second.set_lagged(4);
  EXPECT_EQ(state.Add(second),
            R"({"points":[{"series":1,"t":[6,7],"v":[1,2]}],"lagged":4})");
  EXPECT_EQ(state.Snapshot(0),
            R"({"series":[{"id":1,"path":"\\A"}],)"
            R"("points":[{"series":1,"t":[7],"v":[2]}],)"
            R"("machines":{"live":3},"missing":[{"path":"\\B"}]})");
  v1::SubscribeResponse third;
  third.add_ended(1);
  EXPECT_EQ(state.Add(third), R"({"ended":[1]})");
  EXPECT_EQ(state.Snapshot(9),
            R"({"lagged":9,"machines":{"live":3},"missing":[{"path":"\\B"}]})");
  EXPECT_EQ(state.Add({}), "{}");
}

class LiveViewersTest : public ::testing::Test {
 protected:
  std::shared_ptr<Reply> Join(CallerQuota::Share memory = {}) {
    auto reply = std::make_shared<Reply>([] {});
    viewers_.Add(reply, /*keeps_alive=*/true, CallerQuota::Share(),
                 std::move(memory));
    return reply;
  }

  void Update(absl::Duration now = absl::ZeroDuration()) {
    viewers_.Update(
        [this](uint64_t lagged) {
          ++snapshots_;
          return absl::StrCat("snapshot ", lagged);
        },
        now);
  }

  // Takes what a viewer gets: the lines of the chunks.
  static std::vector<std::string> Read(Reply& reply) {
    std::vector<std::string> lines;
    while (const Reply::Bytes bytes = reply.Take()) {
      std::string line = *bytes;
      if (line.substr(0, 4) != "HTTP") {
        line = line.substr(line.find("\r\n") + 2);
        line = line.substr(0, line.find('\n'));
      }
      lines.push_back(line);
    }
    return lines;
  }

  int woken_ = 0;
  int snapshots_ = 0;
  LiveViewers viewers_{[this] { ++woken_; }};
};

TEST_F(LiveViewersTest, FirstViewerGetsAllMessages) {
  const auto viewer = Join();
  viewers_.Begin();
  viewers_.Send("a", 1, {});
  viewers_.Send("b", 1, {});
  EXPECT_THAT(Read(*viewer), ElementsAre(StartsWith("HTTP/1.1 200"), "a", "b"));
}

TEST_F(LiveViewersTest, LaterViewersGetOneSnapshotAndThenTheSameLines) {
  const auto first = Join();
  viewers_.Begin();
  viewers_.Send("a", 1, {});
  const auto second = Join();
  const auto third = Join();
  viewers_.Send("b", 1, {});
  Update();
  viewers_.Send("c", 1, {});
  EXPECT_EQ(snapshots_, 1);
  EXPECT_THAT(Read(*first), ElementsAre(_, "a", "b", "c"));
  second->Take();  // the head
  third->Take();
  EXPECT_EQ(second->Take(), third->Take());  // not only equal: shared
  EXPECT_EQ(second->Take(), third->Take());
}

TEST_F(LiveViewersTest, SlowViewerLosesItsLinesAndGetsASnapshot) {
  const auto slow = Join();
  const auto fast = Join();
  viewers_.Begin();
  const std::string line(LiveViewers::kMaxWaitingBytes / 2, 'x');
  uint64_t lost = 0;
  for (int i = 0; i < 5; ++i) {
    lost += viewers_.Send(line, 10, {});
    EXPECT_EQ(Read(*fast).back(), line);
    Update();
  }
  // Two lines are below the limit, the third is above. The fourth finds that.
  EXPECT_EQ(lost, 50);
  EXPECT_FALSE(viewers_.AllAreBusy());
  // The answer's head is not lost.
  EXPECT_THAT(Read(*slow), ElementsAre(StartsWith("HTTP/1.1 200")));
  EXPECT_GT(woken_, 0);
  Update();
  viewers_.Send("next", 1, {});
  EXPECT_THAT(Read(*slow), ElementsAre("snapshot 50", "next"));
  EXPECT_THAT(Read(*fast), ElementsAre("next"));
}

// A client that reads nothing keeps what the connection writes to it.
TEST_F(LiveViewersTest, ViewersOfACertificateShareItsMemory) {
  CallerQuota quota;
  quota.SetLimits(Pool::kUnreadBytes, 1000);
  const auto first = Join(*quota.TryTake(Pool::kUnreadBytes, "evil", 0));
  const auto second = Join(*quota.TryTake(Pool::kUnreadBytes, "evil", 0));
  const auto other = Join(*quota.TryTake(Pool::kUnreadBytes, "honest", 0));
  viewers_.Begin();
  for (const auto& viewer : {first, second, other}) {
    EXPECT_THAT(Read(*viewer), ElementsAre(StartsWith("HTTP/1.1 200")));
  }
  const std::string line(600, 'x');
  EXPECT_EQ(viewers_.Send(line, 10, {}), 0);
  EXPECT_THAT(Read(*other), ElementsAre(line));
  // Neither of the two has read, and together they would have 2400 bytes.
  EXPECT_EQ(viewers_.Send(line, 10, {}), 40);
  EXPECT_THAT(Read(*other), ElementsAre(line));
  EXPECT_THAT(Read(*first), IsEmpty());
  EXPECT_THAT(Read(*second), IsEmpty());
  Update();
  EXPECT_THAT(Read(*second), ElementsAre("snapshot 20"));
}

TEST_F(LiveViewersTest, ViewerGetsNoSnapshotBeforeTheRestIsWritten) {
  const auto slow = Join();
  viewers_.Begin();
  const std::string line(LiveViewers::kMaxWaitingBytes + 1, 'x');
  viewers_.Send(line, 10, {});
  slow->Take();                                 // the head
  ASSERT_NE(slow->Take(), nullptr);             // is being written from now on
  viewers_.Send(line, 10, {});                  // waits
  EXPECT_EQ(viewers_.Send("next", 1, {}), 11);  // finds that it does
  Update();
  EXPECT_EQ(snapshots_, 0);
  const int before = woken_;
  EXPECT_EQ(slow->Take(), nullptr);  // is written
  EXPECT_GT(woken_, before);
  Update();
  EXPECT_EQ(snapshots_, 1);
  // A snapshot that is dropped hands its count on; no value is lost twice.
  viewers_.Send(line, 5, {});
  EXPECT_EQ(viewers_.Send("next", 1, {}), 6);
  Update();
  EXPECT_THAT(Read(*slow), ElementsAre("snapshot 17"));
}

TEST_F(LiveViewersTest, WaitsWithMessagesWhileAllAreBusy) {
  const auto viewer = Join();
  viewers_.Begin();
  EXPECT_FALSE(viewers_.AllAreBusy());
  viewers_.Send(std::string(LiveViewers::kBusyBytes, 'x'), 1, {});
  EXPECT_TRUE(viewers_.AllAreBusy());
  const int before = woken_;
  Read(*viewer);
  EXPECT_GT(woken_, before);
  EXPECT_FALSE(viewers_.AllAreBusy());
}

TEST_F(LiveViewersTest, SendsHeartbeats) {
  const auto viewer = Join();
  viewers_.Begin();
  viewers_.Send("a", 1, absl::Seconds(100));
  Update(absl::Seconds(100) + LiveViewers::kHeartbeat - absl::Seconds(1));
  EXPECT_THAT(Read(*viewer), ElementsAre(_, "a"));
  Update(absl::Seconds(100) + LiveViewers::kHeartbeat);
  EXPECT_THAT(Read(*viewer), ElementsAre("{}"));
}

TEST_F(LiveViewersTest, ErrorsAreAnswersOrLastLines) {
  const auto first = Join();
  viewers_.Begin();
  const auto second = Join();
  viewers_.End(absl::NotFoundError("x"));
  EXPECT_TRUE(viewers_.empty());
  EXPECT_THAT(
      Read(*first),
      ElementsAre(_, R"({"error":{"code":"NOT_FOUND","message":"x"}})"));
  EXPECT_THAT(Read(*second), ElementsAre(StartsWith("HTTP/1.1 404")));
  EXPECT_TRUE(first->finished().has_value());
}

TEST_F(LiveViewersTest, ForgetsViewersThatAreGone) {
  const auto viewer = Join();
  viewers_.Begin();
  const int before = woken_;
  viewer->Close();
  EXPECT_GT(woken_, before);
  viewers_.RemoveGone();
  EXPECT_TRUE(viewers_.empty());
}

}  // namespace
}  // namespace fleetperf::aggregator::web
