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

constexpr uint64_t kEpoch = 101;  // of the first process; the next has 102
constexpr char kGuid[] = "0123456789abcdef";  // any 16 bytes

// The aggregator's state of an epoch.
struct State {
  uint64_t epoch;
  uint64_t durable = 0;
  uint64_t fingerprint = 0;
  bool dictionary_held = true;
};

v1::CollectResponse WelcomeOf(const std::vector<State>& states,
                              const v1::Limits& limits = {}) {
  v1::CollectResponse response;
  for (const State& state : states) {
    v1::EpochState* to = response.mutable_welcome()->add_epochs();
    to->set_epoch(state.epoch);
    to->set_durable_sequence(state.durable);
    to->set_durable_fingerprint(state.fingerprint);
    to->set_dictionary_held(state.dictionary_held);
  }
  *response.mutable_welcome()->mutable_limits() = limits;
  return response;
}

v1::Limits Unacknowledged(uint32_t batches) {
  v1::Limits limits;
  limits.set_max_unacknowledged_batches(batches);
  return limits;
}

// "hello", "dictionary of 101", "batch 101/3".
std::string TextOf(const v1::CollectRequest& request) {
  switch (request.message_case()) {
    case v1::CollectRequest::kHello:
      return "hello";
    case v1::CollectRequest::kBatch:
      return absl::StrCat("batch ", request.batch().epoch(), "/",
                          request.batch().sequence());
    case v1::CollectRequest::kDictionary:
      return absl::StrCat("dictionary of ", request.dictionary().epoch());
    case v1::CollectRequest::kCatalogue:
      return "catalogue";
    case v1::CollectRequest::kInstanceList:
      return "instances";
    case v1::CollectRequest::kPlanReport:
      return absl::StrCat("report of plan ", request.plan_report().version());
    case v1::CollectRequest::MESSAGE_NOT_SET:
      break;
  }
  return "nothing";
}

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() { StartInMemory(); }

  // Starts a process without a directory.
  void StartInMemory() {
    Start(std::make_unique<Spool>(
        Spool::Options{.epoch = ++epoch_, .clock = &clock_}));
  }
  // Starts a process with a directory. The next process continues its spool.
  void StartWithDirectory() {
    conversation_.reset();
    delivery_.reset();  // only one process uses the directory
    auto spool = Spool::Open({.epoch = ++epoch_,
                              .directory = temp_.File("state"),
                              .clock = &clock_,
                              .before_file_use = [this] { gate_.Pass(); }});
    ASSERT_OK(spool.status());
    Start(*std::move(spool));
  }
  void Start(std::unique_ptr<Spool> spool) {
    conversation_.reset();
    delivery_ = std::make_unique<Delivery>(
        Delivery::Options{.blocks_per_batch = 1, .clock = &clock_},
        std::move(spool));
    agent_.delivery = delivery_.get();
  }

  // Adds batches of one tick each, all different. More values make larger
  // batches.
  void AddBatches(int count, uint32_t values = 1) {
    for (int i = 0; i < count; ++i) {
      clock_.Advance(absl::Seconds(1));
      QuerySamples query = {.query = 1};
      for (uint32_t value = 1; value <= values; ++value) {
        query.instances.push_back(value);
        query.values.push_back(value * 0x9E3779B97F4A7C15);
      }
      delivery_->Add(
          {.handle = 1,
           .interval = absl::Seconds(1),
           .clocks = {.perf_time_100nsec =
                          perflib::PerfTime100NSecFromTime(clock_.Now())},
           .queries = {query}});
    }
  }

  // Starts a conversation.
  v1::Hello Hello() {
    conversation_ = std::make_unique<Conversation>(&agent_);
    const auto request = conversation_->Next();
    EXPECT_TRUE(request.has_value() && request->has_hello());
    return request.has_value() ? request->hello() : v1::Hello();
  }
  // Starts a conversation and answers with Welcome.
  void Converse(const std::vector<State>& states,
                const v1::Limits& limits = {}) {
    Hello();
    conversation_->Handle(WelcomeOf(states, limits));
  }
  void Converse(const v1::Limits& limits = {}) {
    Converse({{.epoch = epoch_}}, limits);
  }

  // Returns all messages ready to send, in order.
  std::vector<v1::CollectRequest> Say() {
    std::vector<v1::CollectRequest> requests;
    while (auto next = conversation_->Next()) {
      requests.push_back(*std::move(next));
    }
    return requests;
  }
  std::vector<std::string> Said() {
    std::vector<std::string> texts;
    for (const v1::CollectRequest& request : Say()) {
      texts.push_back(TextOf(request));
    }
    return texts;
  }

  void Ack(uint64_t epoch, uint64_t sequence) {
    v1::CollectResponse response;
    response.mutable_ack()->set_epoch(epoch);
    response.mutable_ack()->set_sequence(sequence);
    EXPECT_EQ(conversation_->Handle(response), nullptr);
  }
  void Reject(uint64_t epoch, uint64_t sequence) {
    v1::CollectResponse response;
    response.mutable_reject()->set_epoch(epoch);
    response.mutable_reject()->set_sequence(sequence);
    response.mutable_reject()->set_reason("not wanted");
    EXPECT_EQ(conversation_->Handle(response), nullptr);
  }
  void Throttle(absl::Duration pause) {
    v1::CollectResponse response;
    *response.mutable_throttle()->mutable_pause() = ToProto(pause);
    EXPECT_EQ(conversation_->Handle(response), nullptr);
  }

  // Returns the epochs in `hello`: "101: 3..5", "102: 1..0 from 101".
  static std::vector<std::string> HeldBy(const v1::Hello& hello) {
    std::vector<std::string> texts;
    for (const v1::HeldEpoch& held : hello.held_epochs()) {
      texts.push_back(absl::StrCat(held.epoch(), ": ", held.first_sequence(),
                                   "..", held.last_sequence()));
      if (held.forked_from() != 0) {
        absl::StrAppend(&texts.back(), " from ", held.forked_from());
      }
    }
    return texts;
  }
  // Returns the losses in a batch: "LOSS_CAUSE_REJECTED 1".
  static std::vector<std::string> LossesIn(const v1::CollectRequest& request) {
    std::vector<std::string> texts;
    const v1::BatchContent content = ContentOf(request.batch());
    for (const v1::Loss& loss : content.losses()) {
      texts.push_back(
          absl::StrCat(v1::LossCause_Name(loss.cause()), " ", loss.ticks()));
    }
    return texts;
  }

  testing::TempDirectory temp_;
  testing::SimulatedClock clock_;
  testing::Gate gate_;              // blocks the use of the spool's file
  uint64_t epoch_ = kEpoch - 1;     // this process's epoch, until it is forked
  std::vector<std::string> plans_;  // applied plans
  std::vector<std::string> asked_;  // machines asked for instances
  AgentDescription agent_ = {
      .agent = "box",
      .operating_system = "Linux 6.1",
      .labels = {{"rack", "7"}},
      .catalogue = [] { return HashedCatalogue{.hash = "hash"}; },
      .enumerate_instances = [this](const std::string& machine,
                                    const perflib::Guid&)
          -> absl::StatusOr<std::vector<perflib::InstanceName>> {
        asked_.push_back(machine);
        return {{{"sda", 8}}};
      },
      .apply_plan =
          [this](const v1::Plan* plan) {
            v1::PlanReport report;
            if (plan != nullptr) report.set_version(plan->version());
            plans_.push_back(plan != nullptr ? absl::StrCat(plan->version())
                                             : "its own");
            return report;
          },
      .clock = &clock_};
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<Conversation> conversation_;
};

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

// An aggregator that rejects a stream would reject it again.
TEST_F(ConversationTest, GetsThroughWithAnAnswerToABatchOnly) {
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
  // Batches sent on the previous stream can be acknowledged on this one.
  Converse(Unacknowledged(2));
  EXPECT_THAT(Said(), ElementsAre("batch 101/5", "batch 101/6"));
  Ack(kEpoch, 7);
  EXPECT_THAT(Said(), ElementsAre("batch 101/8", "batch 101/9"));
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

class ForkTest : public ConversationTest {
 protected:
  // Four batches of epoch 102, all of which were sent.
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

INSTANTIATE_TEST_SUITE_P(Because, NeededForkTest, ::testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "ThereIsMore"
                                             : "TheFingerprintIsAnothers";
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
  // Nor batches of a former process.
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

TEST_F(SetBackTest, TreatsAWelcomeAsAnAcknowledgement) {
  ConverseWith("store", 0);
  AddBatches(3);
  EXPECT_THAT(Say(), SizeIs(3));
  ConverseWith("store", 3);  // acknowledgements were in flight
  ConverseWith("store", 2);
  EXPECT_THAT(NextLosses(), ElementsAre("LOSS_CAUSE_STORE_DAMAGED 1, 3..3"));
}

// Exactly-once delivery holds per store: batches of another store are not lost.
TEST_F(SetBackTest, ExpectsNothingOfAnotherStore) {
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

TEST_F(ConversationTest, IgnoresMessagesOfLaterVersions) {
  AddBatches(1);
  Converse();
  EXPECT_EQ(conversation_->Handle({}), nullptr);
  EXPECT_THAT(Said(), ElementsAre("batch 101/1"));
}

}  // namespace
}  // namespace fleetperf::agent
