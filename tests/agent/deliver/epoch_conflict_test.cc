// Conversations in which the aggregator and the agent disagree about an epoch:
// forks after a clone or a snapshot, and stores that were set back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/deliver/conversation.h"
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

using ::testing::AllOf;
using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ForkTest : public ConversationTest {
 protected:
  // Makes and sends four batches of epoch 102; two of them are acknowledged.
  void MakeFourAndAcknowledgeTwo() {
    StartWithDirectory();
    delivery_->dictionary().DefineMachine("box");
    AddBatches(4);
    Converse();
    const auto said = Say();
    ASSERT_THAT(said, SizeIs(4));
    third_fingerprint_ = Fingerprint(said[2].batch().payload());
    Ack(102, 2);
  }

  uint64_t third_fingerprint_ = 0;
};

// Another process sends under this epoch: a clone of the machine, or the same
// machine before it was set back.
class NeededForkTest : public ForkTest,
                       public ::testing::WithParamInterface<bool> {
 protected:
  // Reports batches of the other process.
  v1::CollectResponse Welcome() const {
    return GetParam() ? WelcomeOf({{.epoch = 102, .durable = 5}})
                      : WelcomeOf({{.epoch = 102,
                                    .durable = 3,
                                    .fingerprint = third_fingerprint_ + 1}});
  }
};

INSTANTIATE_TEST_SUITE_P(Conflicts, NeededForkTest, ::testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "HigherDurableSequence"
                                             : "DifferentFingerprint";
                         });

TEST_P(NeededForkTest, ResendsUnacknowledgedBatchesUnderANewEpoch) {
  MakeFourAndAcknowledgeTwo();
  Hello();
  conversation_->Handle(Welcome());
  EXPECT_TRUE(conversation_->must_reconnect());
  EXPECT_THAT(Said(), IsEmpty());

  const v1::Hello hello = Hello();
  EXPECT_FALSE(conversation_->must_reconnect());
  const uint64_t forked = hello.epoch();
  EXPECT_NE(forked, 102);
  EXPECT_THAT(HeldBy(hello),
              ElementsAre(absl::StrCat(forked, ": 3..4 from ", 102)));
  conversation_->Handle(
      WelcomeOf({{.epoch = forked, .dictionary_held = false}}));
  AddBatches(1);
  EXPECT_THAT(Said(), ElementsAre(absl::StrCat("dictionary of ", forked),
                                  absl::StrCat("batch ", forked, "/3"),
                                  absl::StrCat("batch ", forked, "/4"),
                                  absl::StrCat("batch ", forked, "/5")));
  Ack(102, 5);  // the other process's batch
  EXPECT_FALSE(conversation_->is_settled());
  Ack(forked, 5);
  EXPECT_TRUE(conversation_->is_settled());
  // From now on, the epoch is exclusive.
  Hello();
  conversation_->Handle(WelcomeOf({{.epoch = forked, .durable = 5}}));
  EXPECT_FALSE(conversation_->must_reconnect());
}

TEST_P(NeededForkTest, ReportsTheForkAfterARestart) {
  MakeFourAndAcknowledgeTwo();
  Hello();
  conversation_->Handle(Welcome());
  const uint64_t forked = Hello().epoch();
  StartWithDirectory();
  AddBatches(1);
  EXPECT_THAT(
      HeldBy(Hello()),
      ElementsAre(absl::StrCat(forked, ": 3..4 from 102"), "103: 1..1"));
  conversation_->Handle(WelcomeOf({{.epoch = forked}, {.epoch = 103}}));
  EXPECT_THAT(Said(),
              ElementsAre(absl::StrCat("batch ", forked, "/3"),
                          absl::StrCat("batch ", forked, "/4"), "batch 103/1"));
}

TEST_F(ForkTest, DoesNotForkForItsOwnBatches) {
  MakeFourAndAcknowledgeTwo();
  // Sent but not acknowledged before the stream broke; a store without
  // fingerprints; and a store that was set back.
  for (const State& state :
       {State{.epoch = 102, .durable = 3, .fingerprint = third_fingerprint_},
        State{.epoch = 102, .durable = 3},
        State{.epoch = 102, .durable = 1, .fingerprint = 1},
        State{.epoch = 102}}) {
    Hello();
    conversation_->Handle(WelcomeOf({state}));
    EXPECT_FALSE(conversation_->must_reconnect());
    EXPECT_THAT(Said(), ElementsAre("batch 102/4"));
  }
}

// Batches that a store acknowledged but no longer has.
class SetBackTest : public ConversationTest {
 protected:
  // Starts a conversation with a store that has batches up to `durable`.
  void ConverseWith(const std::string& store, uint64_t durable) {
    Hello();
    v1::CollectResponse welcome =
        WelcomeOf({{.epoch = epoch_, .durable = durable}});
    welcome.mutable_welcome()->set_store_id(store);
    conversation_->Handle(welcome);
  }

  // Returns the losses in the next batch: "LOSS_CAUSE_REJECTED 1, 3..5", with
  // the seconds of the ticks.
  std::vector<std::string> NextLosses() {
    AddBatches(1);
    const auto said = Say();
    EXPECT_THAT(said, SizeIs(1));
    std::vector<std::string> texts;
    if (said.empty()) return texts;
    const v1::BatchContent content = ContentOf(said[0].batch());
    for (const v1::Loss& loss : content.losses()) {
      texts.push_back(absl::StrCat(
          v1::LossCause_Name(loss.cause()), " ", loss.ticks(), ", ",
          absl::ToInt64Seconds(FromProto(loss.start()) - start_), "..",
          absl::ToInt64Seconds(FromProto(loss.end()) - start_)));
    }
    return texts;
  }

  const absl::Time start_ = clock_.Now();
};

TEST_F(SetBackTest, ReportsLossesOnce) {
  ConverseWith("store", 0);
  AddBatches(5);
  EXPECT_THAT(Say(), SizeIs(5));
  Ack(kEpoch, 4);
  {
    const testing::LogCapture log;
    ConverseWith("store", 1);
    EXPECT_THAT(log.Lines(), ElementsAre(AllOf(HasSubstr("batches 2 to 4"),
                                               HasSubstr("damaged or set back"),
                                               HasSubstr("3 ticks"))));
  }
  // Unacknowledged batches are retained.
  EXPECT_THAT(Said(), ElementsAre("batch 101/5"));
  EXPECT_THAT(NextLosses(), ElementsAre("LOSS_CAUSE_STORE_DAMAGED 3, 2..4"));
  // The loss was reported, whether or not the report arrived.
  const testing::LogCapture log;
  ConverseWith("store", 1);
  EXPECT_THAT(Say(), SizeIs(2));
  Ack(kEpoch, 6);
  ConverseWith("store", 6);
  EXPECT_THAT(NextLosses(), IsEmpty());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST_F(SetBackTest, ResendsLossesReportedInALostBatch) {
  ConverseWith("store", 0);
  delivery_->spool().AddLoss("", LossCause::kOverrun,
                             {.ticks = 7, .start = start_, .end = start_});
  AddBatches(2);
  EXPECT_THAT(Say(), SizeIs(2));
  Ack(kEpoch, 2);
  ConverseWith("store", 0);
  EXPECT_THAT(NextLosses(), ElementsAre("LOSS_CAUSE_OVERRUN 7, 0..0",
                                        "LOSS_CAUSE_STORE_DAMAGED 2, 1..2"));
}

TEST_F(SetBackTest, TreatsAWelcomeAsAnAcknowledgment) {
  ConverseWith("store", 0);
  AddBatches(3);
  EXPECT_THAT(Say(), SizeIs(3));
  ConverseWith("store", 3);  // acknowledgments were in flight
  ConverseWith("store", 2);
  EXPECT_THAT(NextLosses(), ElementsAre("LOSS_CAUSE_STORE_DAMAGED 1, 3..3"));
}

// Exactly-once delivery holds per store: batches of another store are not lost.
TEST_F(SetBackTest, ReportsNoLossesToAnotherStore) {
  ConverseWith("store", 0);
  AddBatches(3);
  EXPECT_THAT(Say(), SizeIs(3));
  Ack(kEpoch, 3);
  const testing::LogCapture log;
  ConverseWith("another", 0);
  EXPECT_THAT(NextLosses(), IsEmpty());
  Ack(kEpoch, 4);
  ConverseWith("store", 3);
  EXPECT_THAT(NextLosses(), IsEmpty());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST_F(SetBackTest, ReportsTheRangeOfForgottenBatches) {
  ConverseWith("store", 0);
  for (int i = 1; i <= 1200; ++i) {
    AddBatches(1);
    EXPECT_THAT(Say(), SizeIs(1));
    Ack(kEpoch, i);
  }
  ConverseWith("store", 100);
  EXPECT_THAT(NextLosses(),
              ElementsAre("LOSS_CAUSE_STORE_DAMAGED 1000, 1..1200"));
}

}  // namespace
}  // namespace fleetperf::agent
