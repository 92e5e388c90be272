// Answers that contradict what the agent has sent, and requests to reconnect.
// An aggregator's mistake must cost no data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/deliver/batch_builder.h"
#include "agent/deliver/conversation.h"
#include "agent/deliver/spool/spool_files.h"
#include "fleetperf/v1/spool.pb.h"
#include "tests/agent/deliver/conversation_fixture.h"
#include "tests/support/gate.h"
#include "tests/support/log_capture.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AnswersTest : public ConversationTest {};

// The parameter selects the answer: an Ack, or a Reject.
class UnsentBatchTest : public ConversationTest,
                        public ::testing::WithParamInterface<bool> {
 protected:
  void Answer(uint64_t epoch, uint64_t sequence) {
    GetParam() ? Ack(epoch, sequence) : Reject(epoch, sequence);
  }
};

INSTANTIATE_TEST_SUITE_P(To, UnsentBatchTest, ::testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "Ack" : "Reject";
                         });

TEST_P(UnsentBatchTest, AnswerRemovesNothing) {
  StartWithDirectory();  // 102
  AddBatches(2);
  StartWithDirectory();
  AddBatches(3);
  Converse({{.epoch = 102}, {.epoch = 103}}, Unacknowledged(1));
  EXPECT_THAT(Said(), ElementsAre("batch 102/1"));
  const testing::LogCapture log;
  Answer(102, 2);     // held, but not sent
  Answer(102, 1000);  // never made
  Answer(103, 3);
  Answer(103, uint64_t{1} << 40);
  EXPECT_FALSE(conversation_->got_through());
  EXPECT_THAT(log.Lines(), ElementsAre(HasSubstr(
                               "answer to batch 2, which the agent has not "
                               "sent")));
  AddBatches(1);
  EXPECT_THAT(Said(), IsEmpty());
  for (const auto& [epoch, sequence, next] :
       std::vector<std::tuple<uint64_t, uint64_t, std::string>>{
           {102, 1, "batch 102/2"},
           {102, 2, "batch 103/1"},
           {103, 1, "batch 103/2"},
           {103, 2, "batch 103/3"},
           {103, 3, "batch 103/4"}}) {
    Answer(epoch, sequence);
    EXPECT_THAT(Said(), ElementsAre(next));
  }
  EXPECT_TRUE(conversation_->got_through());
}

// Welcome tells which batches of previous streams have arrived.
TEST_F(AnswersTest, IgnoresAnswersBeforeWelcome) {
  AddBatches(3);
  Converse();
  EXPECT_THAT(Said(), ElementsAre("batch 101/1", "batch 101/2", "batch 101/3"));
  Hello();
  const testing::LogCapture log;
  Ack(kEpoch, 2);
  Reject(kEpoch, 3);
  EXPECT_THAT(log.Lines(), IsEmpty());
  conversation_->Handle(WelcomeOf({{.epoch = kEpoch, .durable = 1}}));
  EXPECT_THAT(Said(), ElementsAre("batch 101/2", "batch 101/3"));
}

TEST_F(AnswersTest, ReconnectsIfWelcomeLacksAnEpoch) {
  StartWithDirectory();
  AddBatches(1);
  StartWithDirectory();
  AddBatches(1);
  const testing::LogCapture log;
  Converse();
  EXPECT_TRUE(conversation_->must_reconnect());
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("Welcome lacks epoch 102, which Hello")));
}

// A spool of 1001 former processes: one more than Hello names with the current
// one.
class UnnamedEpochTest : public ConversationTest {
 protected:
  void SetUp() override {
    WriteSpool();
    StartWithDirectory();
    ASSERT_OK(delivery_->spool().AwaitSaved());
  }

 private:
  void WriteSpool() {
    ASSERT_OK_AND_ASSIGN(const auto files,
                         SpoolFiles::Open({.directory = temp_.File("state")}));
    constexpr uint32_t kProcesses = 1001;
    v1::SpoolRecord state;
    state.set_version(kSpoolVersion);
    state.set_process(kProcesses);
    std::vector<HeldBatch> batches;
    for (uint32_t process = 1; process <= kProcesses; ++process) {
      v1::SpoolEpoch* epoch = state.add_epochs();
      epoch->set_number(process);
      epoch->set_epoch(10'000 + process);
      epoch->set_last_sequence(1);
      v1::BatchContent content;
      content.add_retired_instances(process);
      HeldBatch& batch = batches.emplace_back();
      batch.spooled.place = {.epoch = process, .sequence = 1};
      batch.spooled.ticks.ticks = 1;
      batch.SetBatch(PackBatch(content.SerializeAsString()));
      if (process == kProcesses) break;  // its definitions are in the log
      ASSERT_OK(files->WriteDefinitions(process, {v1::Definitions()}));
    }
    ASSERT_OK(files->BeginSegment({state}, kProcesses, &batches));
  }
};

TEST_F(UnnamedEpochTest, ReconnectRequestIsNotLostDuringARead) {
  std::vector<State> states;
  const v1::Hello hello = Hello();
  for (const v1::HeldEpoch& held : hello.held_epochs()) {
    states.push_back({.epoch = held.epoch()});
  }
  Converse(states);
  std::optional<v1::CollectRequest> last;
  for (uint64_t process = 1; process < 1000; ++process) {
    if (last.has_value()) Ack(last->batch().epoch(), 1);
    last = conversation_->Next();
    ASSERT_TRUE(last.has_value());
    ASSERT_EQ(TextOf(*last), absl::StrCat("batch ", 10'000 + process, "/1"));
    states[process - 1].durable = process < 999 ? 1 : 0;
  }
  // The next batch belongs to an epoch that Hello did not name.
  testing::ThreadAtGate reader(
      &gate_, [&] { EXPECT_FALSE(conversation_->Next().has_value()); });
  ASSERT_TRUE(reader.has_stopped());
  EXPECT_TRUE(reader.LetsRun([&] {
    states.back().durable = 5;  // of another process
    conversation_->Handle(WelcomeOf(states));
    EXPECT_TRUE(conversation_->must_reconnect());
  }));
  reader.Finish();
  EXPECT_TRUE(conversation_->must_reconnect());
}

}  // namespace
}  // namespace fleetperf::agent
