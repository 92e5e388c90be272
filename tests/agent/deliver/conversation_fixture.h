// A fixture for tests of conversations: an agent's delivery and spool, and the
// messages of an aggregator.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_CONVERSATION_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_CONVERSATION_FIXTURE_H_

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

// The epoch of the first process; the next one has 102.
inline constexpr uint64_t kEpoch = 101;
inline constexpr char kGuid[] = "0123456789abcdef";  // any 16 bytes

// The aggregator's state of an epoch.
struct State {
  uint64_t epoch;
  uint64_t durable = 0;
  uint64_t fingerprint = 0;
  bool dictionary_held = true;
};

inline v1::CollectResponse WelcomeOf(const std::vector<State>& states,
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

inline v1::Limits Unacknowledged(uint32_t batches) {
  v1::Limits limits;
  limits.set_max_unacknowledged_batches(batches);
  return limits;
}

// Returns a request as text: "hello", "dictionary of 101", "batch 101/3".
inline std::string TextOf(const v1::CollectRequest& request) {
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
    conversation_ = std::make_unique<Conversation>(&agent_, &log_);
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
    const v1::BatchContent content = testing::ContentOf(request.batch());
    for (const v1::Loss& loss : content.losses()) {
      texts.push_back(
          absl::StrCat(v1::LossCause_Name(loss.cause()), " ", loss.ticks()));
    }
    return texts;
  }

  testing::TempDirectory temp_;
  testing::SimulatedClock clock_;
  testing::Gate gate_;              // blocks the use of the spool's file
  uint64_t epoch_ = kEpoch - 1;     // this process's epoch before any fork
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
  LogOncePerCause log_;
  std::unique_ptr<Conversation> conversation_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_CONVERSATION_FIXTURE_H_
