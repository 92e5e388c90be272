// A fixture for tests of the uplink: an agent and a fake aggregator.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_UPLINK_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_UPLINK_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/deliver/catalogue.h"
#include "agent/deliver/uplink.h"
#include "tests/agent/deliver/fake_aggregator.h"
#include "tests/support/gate.h"
#include "tests/support/log_capture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {

inline constexpr uint64_t kEpoch = 42;
inline constexpr char kGuid[] = "0123456789abcdef";  // any 16 bytes

class UplinkTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> aggregators) {
    uplink_.emplace(Uplink::Options{
        .aggregators = std::move(aggregators),
        .credentials = grpc::InsecureChannelCredentials,
        .agent = {
            .agent = "box",
            .operating_system = "Linux 6.1",
            .delivery = &*delivery_,
            .catalogue = [] { return HashedCatalogue{.hash = "hash"}; },
            .enumerate_instances = [](const std::string& machine,
                                      const perflib::Guid&)
                -> absl::StatusOr<std::vector<perflib::InstanceName>> {
              if (!machine.empty()) {
                return absl::NotFoundError("not my machine");
              }
              return {{{"sda", 8}, {"sdb", 16}}};
            },
            .apply_plan =
                [this](const v1::Plan* plan) {
                  uplinks_thread_ = std::this_thread::get_id();
                  v1::PlanReport report;
                  if (plan != nullptr) report.set_version(plan->version());
                  return report;
                },
            .changed_report = [this]() -> std::optional<v1::PlanReport> {
              if (!report_has_changed_.exchange(false)) return std::nullopt;
              v1::PlanReport report;
              report.set_version(9);
              return report;
            },
            .on_disconnect = [this] { ++disconnects_; },
            .clock = clock_,
        },
        .counts = &counts_,
        .on_stuck = [this] { stuck_.Notify(); }});
  }

  // Starts the uplink and welcomes it. No batch is durable yet.
  testing::FakeStream& Connect(const v1::Limits& limits = {}) {
    Start({aggregator_->address()});
    testing::FakeStream& stream = aggregator_->Accept();
    EXPECT_TRUE(stream.Receive().has_hello());
    SendWelcome(stream, /*durable=*/0, limits);
    return stream;
  }

  static void SendWelcome(testing::FakeStream& stream, uint64_t durable,
                          const v1::Limits& limits = {},
                          bool dictionary_held = true) {
    v1::CollectResponse response;
    v1::EpochState* state = response.mutable_welcome()->add_epochs();
    state->set_epoch(kEpoch);
    state->set_durable_sequence(durable);
    state->set_dictionary_held(dictionary_held);
    *response.mutable_welcome()->mutable_limits() = limits;
    stream.Send(response);
  }
  static void SendAck(testing::FakeStream& stream, uint64_t sequence) {
    v1::CollectResponse response;
    response.mutable_ack()->set_epoch(kEpoch);
    response.mutable_ack()->set_sequence(sequence);
    stream.Send(response);
  }
  static void SendReject(testing::FakeStream& stream, uint64_t sequence,
                         const std::string& reason = "too large") {
    v1::CollectResponse response;
    response.mutable_reject()->set_epoch(kEpoch);
    response.mutable_reject()->set_sequence(sequence);
    response.mutable_reject()->set_reason(reason);
    stream.Send(response);
  }
  static void SendThrottle(testing::FakeStream& stream, int64_t nanoseconds) {
    v1::CollectResponse response;
    v1::Throttle* throttle = response.mutable_throttle();
    throttle->mutable_pause()->set_seconds(nanoseconds / 1'000'000'000);
    throttle->mutable_pause()->set_nanos(nanoseconds % 1'000'000'000);
    stream.Send(response);
  }

  // Requests the current instances and receives the answer.
  static v1::InstanceList Enumerate(testing::FakeStream& stream,
                                    const std::string& machine = "",
                                    const std::string& guid = kGuid) {
    v1::CollectResponse response;
    v1::EnumerateInstances* question = response.mutable_enumerate_instances();
    question->set_request_id(7);
    question->set_machine(machine);
    question->set_counterset(guid);
    stream.Send(response);
    const v1::CollectRequest answer = stream.Receive();
    EXPECT_TRUE(answer.has_instance_list()) << answer.DebugString();
    EXPECT_EQ(answer.instance_list().request_id(), 7);
    return answer.instance_list();
  }
  // Checks that the agent has handled all messages and sent no batch: no batch
  // precedes the answers to these requests.
  static void ExpectNoBatch(testing::FakeStream& stream) {
    Enumerate(stream);
    Enumerate(stream);
  }

  // Adds a batch of one block.
  void AddBatch() { delivery_->Add({.interval = absl::Seconds(1)}); }
  void AddBatches(int count) {
    for (int i = 0; i < count; ++i) AddBatch();
  }
  static std::vector<uint64_t> ReceiveBatches(testing::FakeStream& stream,
                                              int count) {
    std::vector<uint64_t> sequences;
    for (int i = 0; i < count; ++i) {
      const v1::CollectRequest request = stream.Receive();
      EXPECT_TRUE(request.has_batch()) << request.DebugString();
      EXPECT_EQ(request.batch().epoch(), kEpoch);
      sequences.push_back(request.batch().sequence());
    }
    return sequences;
  }
  bool AllIsSettled() {
    return delivery_->spool().AwaitAtMost(0, absl::Seconds(60));
  }

  static v1::Limits OneUnacknowledged() {
    v1::Limits limits;
    limits.set_max_unacknowledged_batches(1);
    return limits;
  }

  // Without an aggregator, an uplink ends without waiting for acknowledgments.
  std::optional<Delivery> delivery_{
      Delivery::Options{.epoch = kEpoch, .blocks_per_batch = 1}};
  std::atomic<std::thread::id> uplinks_thread_;
  std::atomic<int> disconnects_ = 0;
  std::atomic<bool> report_has_changed_ = false;
  const Clock* clock_ = &Clock::Real();
  UplinkCounts counts_;
  absl::Notification stuck_;
  std::optional<Uplink> uplink_;
  std::optional<testing::FakeAggregator> aggregator_{std::in_place};
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_UPLINK_FIXTURE_H_
