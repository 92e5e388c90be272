// Tests of agents that exceed their rate limits.

#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

// An agent with a stream of its own. Tests set the times of its samples.
class TimedAgent {
 public:
  // `skew` is the agent's clock minus the aggregator's.
  TimedAgent(Ingest* ingest, const std::string& name,
             absl::Duration skew = absl::ZeroDuration())
      : session_(std::make_shared<Session>(
            ingest, PeerIdentity{.names = {name}, .role = Role::kAgent},
            "box:1", link_)),
        clock_(ingest->clock()) {
    v1::CollectRequest request;
    v1::Hello* hello = request.mutable_hello();
    hello->set_agent(name);
    hello->set_epoch(kEpoch);
    hello->add_held_epochs()->set_epoch(kEpoch);
    hello->mutable_held_epochs(0)->set_first_sequence(1);
    *hello->mutable_time() = ToProto(clock_.Now() + skew);
    *hello->mutable_batch_period() = ToProto(absl::Seconds(10));
    EXPECT_OK(session_->Handle(request));
    link_->WaitForWelcome();
    machine_ = writer_.Machine(name);
    disk_ = writer_.Counterset(DiskRegistration());
    query_ = writer_.Query(machine_, disk_, absl::Seconds(1),
                           {{testing::kTransfers}, {testing::kQueueLength, 4}});
    instance_ = writer_.Instance(machine_, disk_, "C:");
  }
  ~TimedAgent() { session_->Close(); }

  // Defines `count` more instances of two series each.
  void AddInstances(int count) {
    for (int i = 0; i < count; ++i) writer_.Instance(machine_, disk_, "D:");
  }
  // Sends a batch of `ticks` ticks with two samples each. The newest tick is
  // taken at `time`.
  absl::Status Send(uint64_t ticks) { return Send(ticks, clock_.Now()); }
  absl::Status Send(uint64_t ticks, absl::Time time) {
    for (uint64_t i = 0; i < ticks; ++i) {
      writer_.AddTick(
          query_, ClocksAt(time - kStart - absl::Milliseconds(ticks - 1 - i)),
          {{instance_, {i, i}}});
    }
    v1::CollectRequest request;
    *request.mutable_batch() =
        MakeSealedBatch(kEpoch, ++sequence_, writer_.TakeContent());
    return session_->Handle(std::move(request));
  }
  void AwaitAll() { link_->WaitForAck(sequence_); }
  // Returns the pauses requested since the last call: "4s: too much".
  std::vector<std::string> Throttles() {
    std::vector<std::string> texts;
    for (const v1::CollectResponse& response : link_->Take()) {
      if (!response.has_throttle()) continue;
      const absl::Duration pause = FromProto(response.throttle().pause());
      last_pause_ = pause;
      texts.push_back(absl::StrCat(absl::FormatDuration(pause), ": ",
                                   response.throttle().reason()));
    }
    return texts;
  }
  // The last pause returned by Throttles().
  absl::Duration last_pause() const { return last_pause_; }

 private:
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  const std::shared_ptr<Session> session_;
  const Clock& clock_;
  BatchWriter writer_;
  uint32_t machine_ = 0, disk_ = 0, query_ = 0, instance_ = 0;
  uint64_t sequence_ = 0;
  absl::Duration last_pause_;
};

TEST_F(SessionTest, ThrottlesAnAgentWithTooManySamplesWithoutLoss) {
  limits_.max_samples_per_second = 10;
  Restart();
  TimedAgent greedy(ingest_.get(), "web-1");
  TimedAgent modest(ingest_.get(), "web-2");
  ASSERT_OK(greedy.Send(5));
  EXPECT_THAT(greedy.Throttles(), IsEmpty());
  ASSERT_OK(greedy.Send(500));
  const auto throttles = greedy.Throttles();
  ASSERT_THAT(throttles, SizeIs(1));
  EXPECT_THAT(throttles[0], HasSubstr("(max_samples_per_second)"));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_samples_per_second", 1)));
  ASSERT_OK(modest.Send(5));
  EXPECT_THAT(modest.Throttles(), IsEmpty());
  EXPECT_THAT(ingest_->FindConnection("web-2")->limits_broken, IsEmpty());
  greedy.AwaitAll();
  modest.AwaitAll();
  EXPECT_THAT(store_.Read("web-1"), SizeIs(505));
  EXPECT_THAT(store_.Read("web-2"), SizeIs(5));
}

TEST_F(SessionTest, AcceptsBatchesAfterTheRequestedPauses) {
  limits_.max_samples_per_second = 10;
  limits_.max_unacknowledged_batches = 1;
  Restart();
  TimedAgent agent(ingest_.get(), "web-1");
  ASSERT_OK(agent.Send(300));  // the budget of a minute
  EXPECT_THAT(agent.Throttles(), IsEmpty());
  absl::Duration paused;
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(agent.Send(25));
    ASSERT_OK(agent.Send(25));  // was in flight
    ASSERT_THAT(agent.Throttles(), SizeIs(2));
    clock_.Advance(agent.last_pause());
    paused += agent.last_pause();
  }
  EXPECT_EQ(paused, absl::Seconds(500));  // for 5000 samples
  // Two seconds accumulate a budget of twenty samples.
  clock_.Advance(absl::Seconds(2));
  ASSERT_OK(agent.Send(5));
  EXPECT_THAT(agent.Throttles(), IsEmpty());
}

TEST_F(SessionTest, ThrottlesAnAgentWithTooManyNewSeries) {
  limits_.max_new_series_per_hour = 10;
  Restart();
  TimedAgent agent(ingest_.get(), "web-1");
  TimedAgent other(ingest_.get(), "web-2");
  agent.AddInstances(4);
  ASSERT_OK(agent.Send(1));  // which defines one more
  EXPECT_THAT(agent.Throttles(), IsEmpty());
  agent.AddInstances(10);
  ASSERT_OK(agent.Send(1));
  // The hour's budget is used up. Twenty series take two more hours.
  EXPECT_THAT(agent.Throttles(),
              ElementsAre("2h: more than 10 new series per hour "
                          "(max_new_series_per_hour)"));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_new_series_per_hour", 1)));
  ASSERT_OK(other.Send(1));
  EXPECT_THAT(other.Throttles(), IsEmpty());
  clock_.Advance(agent.last_pause());
  ASSERT_OK(agent.Send(1));
  EXPECT_THAT(agent.Throttles(), IsEmpty());
  agent.AwaitAll();
  EXPECT_THAT(store_.Read("web-1"), SizeIs(3));
}

TEST_F(SessionTest, DisconnectsAnAgentThatIgnoresThrottling) {
  limits_.max_samples_per_second = 10;
  Restart();
  TimedAgent agent(ingest_.get(), "web-1");
  ASSERT_OK(agent.Send(500));
  ASSERT_THAT(agent.Throttles(), SizeIs(1));
  // These batches were in flight.
  size_t sent = 1;
  for (uint32_t i = 0; i < limits_.max_unacknowledged_batches; ++i, ++sent) {
    ASSERT_OK(agent.Send(1));
  }
  absl::Status status;
  for (; status.ok() && sent < 100; ++sent) status = agent.Send(1);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("agent web-1"),
                                     HasSubstr("throttled"))));
  agent.AwaitAll();
  EXPECT_THAT(store_.Read("web-1"), SizeIs(500 + sent - 1));
}

TEST_F(SessionTest, LimitsTheSharedRateOfAgentsThatCatchUp) {
  limits_.catch_up_samples_per_second = 100;
  Restart();
  const absl::Time old = clock_.Now() - absl::Hours(1);
  TimedAgent first(ingest_.get(), "web-1");
  TimedAgent second(ingest_.get(), "web-2");
  TimedAgent live(ingest_.get(), "web-3");
  TimedAgent slow_clock(ingest_.get(), "web-4", -absl::Hours(1));
  ASSERT_OK(first.Send(50, old));
  EXPECT_THAT(first.Throttles(), IsEmpty());
  // The budget of this second is used up.
  ASSERT_OK(second.Send(100, old));
  ASSERT_OK(first.Send(50, old));
  EXPECT_THAT(second.Throttles(),
              ElementsAre(HasSubstr("2s: the agent is catching up")));
  EXPECT_THAT(first.Throttles(),
              ElementsAre(HasSubstr("3s: the agent is catching up")));
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(live.Send(1000));
    // These samples waited for their batch.
    ASSERT_OK(live.Send(1000, clock_.Now() - absl::Seconds(10)));
    ASSERT_OK(slow_clock.Send(1000, clock_.Now() - absl::Hours(1)));
  }
  EXPECT_THAT(live.Throttles(), IsEmpty());
  EXPECT_THAT(slow_clock.Throttles(), IsEmpty());
  // Live samples do not count against the shared rate.
  clock_.Advance(absl::Seconds(4));
  ASSERT_OK(second.Send(50, old));
  EXPECT_THAT(second.Throttles(), IsEmpty());
  // The shared rate is not an agent's own limit.
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken, IsEmpty());
  first.AwaitAll();
  EXPECT_THAT(store_.Read("web-1"), SizeIs(100));
}

TEST_F(SessionTest, StopsThrottlingAnAgentThatHasCaughtUp) {
  limits_.catch_up_samples_per_second = 10;
  Restart();
  TimedAgent agent(ingest_.get(), "web-1");
  ASSERT_OK(agent.Send(50, clock_.Now() - absl::Hours(1)));
  EXPECT_THAT(agent.Throttles(), SizeIs(1));
  clock_.Advance(agent.last_pause());
  for (int i = 0; i < 20; ++i) ASSERT_OK(agent.Send(50));
  EXPECT_THAT(agent.Throttles(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
