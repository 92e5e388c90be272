// An agent's messages on a stream, and its reactions to the answers.

#include "agent/deliver/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "proto/conversions.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/agent/deliver/conversation_fixture.h"
#include "tests/support/gate.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ConversationTest, SendsOnlyHelloBeforeWelcome) {
  AddBatches(2);
  const v1::Hello hello = Hello();
  EXPECT_EQ(hello.agent(), "box");
  EXPECT_EQ(hello.epoch(), kEpoch);
  EXPECT_EQ(hello.catalogue_hash(), "hash");
  EXPECT_EQ(hello.operating_system(), "Linux 6.1");
  EXPECT_EQ(hello.labels().at("rack"), "7");
  EXPECT_EQ(FromProto(hello.time()), clock_.Now());
  EXPECT_EQ(FromProto(hello.batch_period()), delivery_->batch_period());
  EXPECT_THAT(HeldBy(hello), ElementsAre("101: 1..2"));
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_FALSE(conversation_->is_welcome());
  conversation_->Handle(WelcomeOf({{.epoch = kEpoch}}));
  EXPECT_TRUE(conversation_->is_welcome());
  EXPECT_THAT(Said(), ElementsAre("batch 101/1", "batch 101/2"));
}

TEST_F(ConversationTest, SendsNonDurableAndNewBatches) {
  AddBatches(3);
  Converse({{.epoch = kEpoch, .durable = 1}});
  EXPECT_THAT(Said(), ElementsAre("batch 101/2", "batch 101/3"));
  EXPECT_THAT(Said(), IsEmpty());
  AddBatches(1);
  EXPECT_THAT(Said(), ElementsAre("batch 101/4"));
  EXPECT_FALSE(conversation_->is_settled());
  Ack(kEpoch, 3);
  EXPECT_FALSE(conversation_->is_settled());
  Ack(kEpoch, 4);
  EXPECT_TRUE(conversation_->is_settled());
  // The next conversation continues after this one.
  AddBatches(1);
  EXPECT_FALSE(conversation_->is_settled());
  EXPECT_THAT(HeldBy(Hello()), ElementsAre("101: 5..5"));
}

// A Welcome alone is no progress: the aggregator may reject every stream after
// it.
TEST_F(ConversationTest, GetsThroughOnlyWithAnAnswerToABatch) {
  AddBatches(1);
  Converse();
  Say();
  EXPECT_FALSE(conversation_->got_through());
  Ack(kEpoch, 1);
  EXPECT_TRUE(conversation_->got_through());
  AddBatches(1);
  Converse();
  Say();
  EXPECT_FALSE(conversation_->got_through());
  Reject(kEpoch, 2);
  EXPECT_TRUE(conversation_->got_through());
}

TEST_F(ConversationTest, LimitsUnacknowledgedBatches) {
  AddBatches(200);
  // No limit, a limit, and a limit beyond the agent's maximum.
  const std::vector<std::pair<uint32_t, size_t>> cases = {
      {0, 8}, {3, 3}, {64, 64}, {65, 64}, {1'000'000, 64}};
  for (const auto& [limit, expected] : cases) {
    Converse(Unacknowledged(limit));
    EXPECT_THAT(Say(), SizeIs(expected)) << limit;
    EXPECT_THAT(Say(), IsEmpty());
  }
}

TEST_F(ConversationTest, AcksAndRejectsFreeTheWindow) {
  AddBatches(20);
  Converse(Unacknowledged(3));
  EXPECT_THAT(Said(), ElementsAre("batch 101/1", "batch 101/2", "batch 101/3"));
  Ack(kEpoch, 2);
  EXPECT_THAT(Said(), ElementsAre("batch 101/4", "batch 101/5"));
  Ack(kEpoch, 1);  // late
  EXPECT_THAT(Said(), IsEmpty());
  Reject(kEpoch, 4);
  EXPECT_THAT(Said(), ElementsAre("batch 101/6"));
  Ack(kEpoch, 4);  // counts as acknowledged after the reject
  EXPECT_THAT(Said(), ElementsAre("batch 101/7"));
  // These epochs are unknown.
  Ack(kEpoch + 1, 20);
  Reject(kEpoch + 1, 5);
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(ConversationTest, SendsBatchesOfFormerProcessesFirst) {
  StartWithDirectory();  // 102
  AddBatches(3);
  StartWithDirectory();
  AddBatches(2);
  StartWithDirectory();
  AddBatches(1);
  EXPECT_THAT(HeldBy(Hello()),
              ElementsAre("102: 1..3", "103: 1..2", "104: 1..1"));
  conversation_->Handle(WelcomeOf(
      {{.epoch = 102, .durable = 1}, {.epoch = 103}, {.epoch = 104}}));
  EXPECT_THAT(Said(), ElementsAre("batch 102/2", "batch 102/3", "batch 103/1",
                                  "batch 103/2", "batch 104/1"));
  // Batches count against the limit until acknowledged under their own epoch.
  AddBatches(10);
  EXPECT_THAT(Said(), ElementsAre("batch 104/2", "batch 104/3", "batch 104/4"));
  Ack(103, 2);
  EXPECT_THAT(Said(), ElementsAre("batch 104/5", "batch 104/6"));
  Ack(102, 3);
  EXPECT_THAT(Said(), ElementsAre("batch 104/7", "batch 104/8"));
  EXPECT_THAT(HeldBy(Hello()).back(), "104: 1..11");
  // The previous process's epoch is named; older ones are settled.
  StartWithDirectory();
  EXPECT_THAT(HeldBy(Hello()), ElementsAre("104: 1..11", "105: 1..0"));
}

TEST_F(ConversationTest, SendsDictionariesThatAreNotHeld) {
  const auto begin_process = [&](const std::string& instance) {
    StartWithDirectory();
    const uint32_t machine = delivery_->dictionary().DefineMachine("box");
    delivery_->dictionary().DefineInstance(machine, 1, instance, 0, 0);
    AddBatches(1);
  };
  begin_process("sda");
  begin_process("sdb");
  begin_process("sdc");
  Hello();
  conversation_->Handle(WelcomeOf({{.epoch = 102, .dictionary_held = false},
                                   {.epoch = 103, .dictionary_held = true},
                                   {.epoch = 104, .dictionary_held = false}}));
  const std::vector<v1::CollectRequest> said = Say();
  std::vector<std::string> texts;
  for (const v1::CollectRequest& request : said) {
    texts.push_back(TextOf(request));
  }
  ASSERT_THAT(texts, ElementsAre("dictionary of 102", "dictionary of 104",
                                 "batch 102/1", "batch 103/1", "batch 104/1"));
  EXPECT_EQ(said[0].dictionary().definitions().instances(0).name(), "sda");
  EXPECT_EQ(said[0].dictionary().definitions().machines(0).name(), "box");
  EXPECT_FALSE(said[0].dictionary().more());
  EXPECT_EQ(said[1].dictionary().definitions().instances(0).name(), "sdc");
}

TEST_F(ConversationTest, SendsTheCatalogueOnRequest) {
  AddBatches(1);
  Hello();
  v1::CollectResponse welcome = WelcomeOf({{.epoch = kEpoch}});
  welcome.mutable_welcome()->set_catalogue_wanted(true);
  conversation_->Handle(welcome);
  EXPECT_THAT(Said(), ElementsAre("catalogue", "batch 101/1"));
}

TEST_F(ConversationTest, DropsAndReportsBatchesBeyondTheSizeLimit) {
  constexpr uint32_t kMaxBytes = 4000;  // less than 1000 values of 8 bytes
  v1::Limits payload;
  payload.set_max_payload_bytes(kMaxBytes);
  v1::Limits content;
  content.set_max_content_bytes(kMaxBytes);
  for (const v1::Limits& limits : {payload, content}) {
    StartInMemory();
    AddBatches(1);
    AddBatches(2, /*values=*/1000);
    AddBatches(1);
    Converse(limits);
    std::vector<v1::CollectRequest> said = Say();
    ASSERT_THAT(said, SizeIs(2));
    EXPECT_EQ(said[0].batch().sequence(), 1);
    EXPECT_EQ(said[1].batch().sequence(), 4);
    EXPECT_THAT(LossesIn(said[1]), IsEmpty());  // made before the loss
    AddBatches(1);
    said = Say();
    ASSERT_THAT(said, SizeIs(1));
    EXPECT_EQ(said[0].batch().sequence(), 5);
    EXPECT_THAT(LossesIn(said[0]), ElementsAre("LOSS_CAUSE_REJECTED 2"));
    // Dropped batches are not sent again, and are not in flight.
    Converse();
    EXPECT_THAT(Say(), SizeIs(3));
    Ack(epoch_, 5);
    EXPECT_TRUE(conversation_->is_settled());
    AddBatches(1);
    said = Say();
    ASSERT_THAT(said, SizeIs(1));
    EXPECT_THAT(LossesIn(said[0]), IsEmpty());
  }
}

TEST_F(ConversationTest, SendsBatchesAtTheSizeLimit) {
  AddBatches(1);
  Converse();
  const auto said = Say();
  ASSERT_THAT(said, SizeIs(1));
  v1::Limits limits;
  limits.set_max_payload_bytes(
      static_cast<uint32_t>(said[0].batch().payload().size()));
  limits.set_max_content_bytes(said[0].batch().content_size());
  Converse(limits);
  EXPECT_THAT(Say(), SizeIs(1));
}

TEST_F(ConversationTest, RemembersOversizedBatchesAcrossRestarts) {
  v1::Limits limits;
  limits.set_max_content_bytes(4000);
  StartWithDirectory();  // 102
  AddBatches(1);
  AddBatches(1, /*values=*/1000);
  StartWithDirectory();
  AddBatches(1, /*values=*/1000);
  Converse({{.epoch = 102}, {.epoch = 103}}, limits);
  EXPECT_THAT(Said(), ElementsAre("batch 102/1"));
  StartWithDirectory();
  Converse({{.epoch = 102}, {.epoch = 103}, {.epoch = 104}});
  const auto said = Say();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_EQ(TextOf(said[0]), "batch 102/1");
  EXPECT_EQ(TextOf(said[1]), "batch 103/2");  // made to report the loss
  EXPECT_THAT(LossesIn(said[1]), ElementsAre("LOSS_CAUSE_REJECTED 2"));
}

TEST_F(ConversationTest, NeverResendsARejectedBatch) {
  StartWithDirectory();  // 102
  AddBatches(3);
  Converse();
  EXPECT_THAT(Said(), SizeIs(3));
  Reject(102, 2);
  Converse();
  EXPECT_THAT(Said(), ElementsAre("batch 102/1", "batch 102/3"));
  StartWithDirectory();
  AddBatches(1);
  Converse({{.epoch = 102}, {.epoch = 103}});
  EXPECT_THAT(Said(), ElementsAre("batch 102/1", "batch 102/3", "batch 103/1"));
  // The same applies to batches of a former process.
  Reject(102, 3);
  Converse({{.epoch = 102}, {.epoch = 103}});
  EXPECT_THAT(Said(), ElementsAre("batch 102/1", "batch 103/1"));
  StartWithDirectory();
  Converse({{.epoch = 102}, {.epoch = 103}, {.epoch = 104}});
  const auto said = Say();
  ASSERT_THAT(said, SizeIs(2));
  // The aggregator has counted the loss; the agent does not count it again.
  for (const v1::CollectRequest& request : said) {
    EXPECT_THAT(LossesIn(request), IsEmpty());
  }
}

TEST_F(ConversationTest, SendsNoBatchWhileThrottled) {
  AddBatches(1);
  Converse();
  EXPECT_EQ(conversation_->pause_left(), absl::InfiniteDuration());
  Throttle(absl::Seconds(30));
  EXPECT_EQ(conversation_->pause_left(), absl::Seconds(30));
  EXPECT_THAT(Said(), IsEmpty());
  clock_.Advance(absl::Seconds(29));
  EXPECT_EQ(conversation_->pause_left(), absl::Seconds(1));
  EXPECT_THAT(Said(), IsEmpty());
  clock_.Step(absl::Hours(1));  // the wall clock does not matter
  EXPECT_THAT(Said(), IsEmpty());
  // Answers are still sent.
  v1::CollectRequest answer;
  answer.mutable_instance_list()->set_request_id(1);
  conversation_->Say(answer);
  EXPECT_THAT(Said(), ElementsAre("instances"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(conversation_->pause_left(), absl::InfiniteDuration());
  EXPECT_THAT(Said(), ElementsAre("batch 101/1"));
}

TEST_F(ConversationTest, TheLastThrottleAppliesToItsStreamOnly) {
  AddBatches(1);
  Converse();
  Throttle(absl::Hours(1));
  Throttle(absl::Seconds(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Said(), ElementsAre("batch 101/1"));
  Throttle(absl::Hours(1));
  Converse();
  EXPECT_EQ(conversation_->pause_left(), absl::InfiniteDuration());
  EXPECT_THAT(Said(), ElementsAre("batch 101/1"));
}

// Long-running work can be done on another thread.
TEST_F(ConversationTest, SendsResultsOfWorkBeforeBatches) {
  AddBatches(10);
  Hello();
  const auto own_plan =
      conversation_->Handle(WelcomeOf({{.epoch = kEpoch}}, Unacknowledged(2)));
  v1::CollectResponse plan;
  plan.mutable_plan()->set_version(9);
  const auto new_plan = conversation_->Handle(plan);
  v1::CollectResponse question;
  question.mutable_enumerate_instances()->set_request_id(5);
  question.mutable_enumerate_instances()->set_machine("db-1");
  question.mutable_enumerate_instances()->set_counterset(kGuid);
  const auto enumeration = conversation_->Handle(question);
  ASSERT_TRUE(own_plan && new_plan && enumeration);
  EXPECT_THAT(plans_, IsEmpty());
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(Said(), ElementsAre("batch 101/1", "batch 101/2"));
  Ack(kEpoch, 2);

  conversation_->Say(own_plan());
  conversation_->Say(new_plan());
  EXPECT_THAT(plans_, ElementsAre("its own", "9"));
  const v1::CollectRequest answer = enumeration();
  EXPECT_THAT(asked_, ElementsAre("db-1"));
  EXPECT_EQ(answer.instance_list().request_id(), 5);
  EXPECT_EQ(answer.instance_list().instances(0).name(), "sda");
  conversation_->Say(answer);
  EXPECT_THAT(Said(), ElementsAre("report of plan 0", "report of plan 9",
                                  "instances", "batch 101/3", "batch 101/4"));
}

// Disk reads may block, and answers arrive on gRPC's threads.
TEST_F(ConversationTest, HandlesAnswersWhileTheFileIsRead) {
  StartWithDirectory();  // 102
  AddBatches(2);
  StartWithDirectory();
  AddBatches(1);
  Converse({{.epoch = 102}, {.epoch = 103}});
  ASSERT_OK(delivery_->spool().AwaitSaved());
  EXPECT_EQ(TextOf(conversation_->Next().value()), "batch 102/1");
  std::optional<v1::CollectRequest> next;
  testing::ThreadAtGate reader(&gate_, [&] { next = conversation_->Next(); });
  ASSERT_TRUE(reader.has_stopped());
  EXPECT_TRUE(reader.LetsRun([&] {
    bool must_read = false;
    EXPECT_FALSE(conversation_->NextFromMemory(&must_read).has_value());
    EXPECT_TRUE(must_read);
    Ack(102, 1);
    Throttle(absl::Seconds(30));
    EXPECT_EQ(conversation_->pause_left(), absl::Seconds(30));
    EXPECT_TRUE(conversation_->got_through());
    EXPECT_FALSE(conversation_->is_settled());
    v1::CollectRequest answer;
    answer.mutable_instance_list()->set_request_id(1);
    conversation_->Say(answer);
    EXPECT_EQ(TextOf(conversation_->NextFromMemory(&must_read).value()),
              "instances");
    AddBatches(1);
  }));
  reader.Finish();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(TextOf(*next), "batch 102/2");
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(Said(), ElementsAre("batch 103/1", "batch 103/2"));
}

TEST_F(ConversationTest, AWelcomeWaitingForTheFileBlocksNoOtherCalls) {
  StartWithDirectory();  // 102
  AddBatches(1);
  StartWithDirectory();
  AddBatches(1);
  Hello();
  ASSERT_OK(delivery_->spool().AwaitSaved());
  testing::ThreadAtGate resumer(&gate_, [&] {
    conversation_->Handle(
        WelcomeOf({{.epoch = 102, .dictionary_held = false}, {.epoch = 103}}));
  });
  ASSERT_TRUE(resumer.has_stopped());
  EXPECT_TRUE(resumer.LetsRun([&] {
    Ack(103, 0);
    Throttle(absl::Seconds(30));
    EXPECT_EQ(conversation_->pause_left(), absl::Seconds(30));
    EXPECT_FALSE(conversation_->is_settled());
    EXPECT_FALSE(conversation_->must_reconnect());
    bool must_read = true;
    EXPECT_FALSE(conversation_->NextFromMemory(&must_read).has_value());
    EXPECT_FALSE(must_read);  // not before Welcome
    EXPECT_FALSE(conversation_->is_welcome());
    AddBatches(1);
  }));
  resumer.Finish();
  EXPECT_TRUE(conversation_->is_welcome());
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(Said(), ElementsAre("dictionary of 102", "batch 102/1",
                                  "batch 103/1", "batch 103/2"));
}

// Messages sent without waiting for the file, and the ones left to other
// threads.
TEST_F(ConversationTest, NeverReadsTheFileFromMemoryCalls) {
  StartWithDirectory();  // 102
  AddBatches(2);
  StartWithDirectory();
  AddBatches(2);
  Converse({{.epoch = 102}, {.epoch = 103}});
  bool must_read = false;
  EXPECT_FALSE(conversation_->NextFromMemory(&must_read).has_value());
  EXPECT_TRUE(must_read);
  EXPECT_EQ(TextOf(conversation_->Next().value()), "batch 102/1");
  EXPECT_EQ(TextOf(conversation_->Next().value()), "batch 102/2");
  EXPECT_EQ(TextOf(conversation_->NextFromMemory(&must_read).value()),
            "batch 103/1");
  EXPECT_EQ(TextOf(conversation_->NextFromMemory(&must_read).value()),
            "batch 103/2");
  EXPECT_FALSE(conversation_->NextFromMemory(&must_read).has_value());
  EXPECT_FALSE(must_read);
}

TEST_F(ConversationTest, AppliesThePlanInWelcome) {
  Hello();
  v1::CollectResponse welcome = WelcomeOf({{.epoch = kEpoch}});
  welcome.mutable_welcome()->mutable_plan()->set_version(4);
  const auto work = conversation_->Handle(welcome);
  ASSERT_TRUE(work);
  EXPECT_EQ(TextOf(work()), "report of plan 4");
  EXPECT_THAT(plans_, ElementsAre("4"));
}

TEST_F(ConversationTest, AnswersInvalidRequests) {
  Converse();
  v1::CollectResponse question;
  question.mutable_enumerate_instances()->set_request_id(6);
  question.mutable_enumerate_instances()->set_counterset("short");
  const v1::CollectRequest answer = conversation_->Handle(question)();
  EXPECT_EQ(answer.instance_list().request_id(), 6);
  EXPECT_THAT(answer.instance_list().error(), HasSubstr("not a GUID"));
  EXPECT_THAT(asked_, IsEmpty());
}

// The message would end the stream, and so would the one of the next stream.
TEST_F(ConversationTest, ListsNoMoreInstancesThanAMessageMayHave) {
  std::vector<perflib::InstanceName> present;
  agent_.enumerate_instances = [&](const std::string&, const perflib::Guid&)
      -> absl::StatusOr<std::vector<perflib::InstanceName>> { return present; };
  Converse();
  v1::CollectResponse question;
  question.mutable_enumerate_instances()->set_counterset(kGuid);
  const auto list = [&] {
    return conversation_->Handle(question)().instance_list();
  };
  present.assign(100'000, {"some name", 1});
  EXPECT_EQ(list().instances_size(), 100'000);
  present.push_back({"one more", 1});
  EXPECT_EQ(list().instances_size(), 0);
  EXPECT_THAT(list().error(), HasSubstr("cannot list 100001 instances"));
  present.assign(1025, {std::string(4096, 'x'), 1});
  EXPECT_EQ(list().instances_size(), 0);
  EXPECT_THAT(list().error(), HasSubstr("4198400 bytes of names"));
}

TEST_F(ConversationTest, IgnoresMessagesOfLaterVersions) {
  AddBatches(1);
  Converse();
  EXPECT_EQ(conversation_->Handle({}), nullptr);
  EXPECT_THAT(Said(), ElementsAre("batch 101/1"));
}

}  // namespace
}  // namespace fleetperf::agent
