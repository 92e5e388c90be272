// Tests of names, which ignore case.

#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

using enum absl::StatusCode;

class SessionNamesTest : public SessionTest {
 protected:
  static v1::CollectRequest HelloOf(const std::string& name,
                                    uint64_t epoch = kEpoch) {
    v1::CollectRequest hello = Hello(1, 0, epoch);
    hello.mutable_hello()->set_agent(name);
    return hello;
  }
};

TEST_F(SessionNamesTest, AnAgentIsTheSameInEverySpelling) {
  Welcomed(HelloOf("web-1"));
  const auto link = link_;
  EXPECT_THAT(Connect("box:2", 78)->Handle(HelloOf("WEB-1", 78)),
              StatusIs(kAlreadyExists, HasSubstr("\"web-1\" is connected")));
  // The same process, configured anew.
  const auto successor = Connect("box:2");
  EXPECT_OK(successor->Handle(HelloOf("Web-1")));
  link->WaitForEnd();
  EXPECT_THAT(link->end(), StatusIs(kAborted, HasSubstr("replaced")));
  AwaitCommits();
  ASSERT_THAT(store_->GetMachines(), SizeIs(1));
  EXPECT_EQ(store_->GetMachines()[0].machine.name(), "web-1");
  EXPECT_EQ(store_->GetMachines()[0].machine.agent(), "web-1");
  EXPECT_EQ(ingest_->sizes().agents, 1);
  EXPECT_EQ(ingest_->FindConnection("web-1")->address, "box:2");
  successor->Close();
}

TEST_F(SessionNamesTest, StoresAMachineUnderOneName) {
  Welcomed(HelloOf("WEB-1"));
  ASSERT_OK(Handle(Batch()));
  const uint32_t again = writer_.Machine("WEB-1");
  const uint32_t disk = writer_.Counterset(DiskRegistration());
  query_ = writer_.Query(again, disk, absl::Seconds(1), {{kQueueLength}});
  instance_ = writer_.Instance(again, disk, "D:");
  writer_.Lose("Web-1", kStart, kStart, 1, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(2);
  EXPECT_THAT(Stored(), SizeIs(2));
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(1));
  EXPECT_THAT(store_->directory().Machines(), ElementsAre("web-1"));
  EXPECT_EQ(ingest_->sizes().speakers, 0);  // it is the agent itself
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kOverrun, 1)));
  Restart();
  EXPECT_THAT(Stored(), SizeIs(2));
  EXPECT_THAT(store_->directory().Machines(), ElementsAre("web-1"));
}

}  // namespace
}  // namespace fleetperf::aggregator
