// Tests that an aggregator ends cleanly while many operations are in flight.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rpc/channel.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/subscriber.h"

namespace fleetperf::testing {
namespace {

constexpr uint32_t kMachines = 300;
constexpr int kTicksPerBatch = 100;

std::string MachineName(uint32_t machine) {
  return absl::StrCat("box-", machine);
}

// Returns a batch with kTicksPerBatch ticks of "Number" of the machine "box"
// and of the kMachines machines that its agent queries.
v1::CollectRequest MakeFleetBatch(uint64_t epoch, uint64_t sequence) {
  constexpr uint32_t kFirstId = 1000;
  auto batch = MakeNumberBatch("box", epoch, sequence,
                               perflib::PerfTime100NSecFromTime(kStart));
  EditContent(
      [&](v1::BatchContent& content) {
        v1::BlockColumns& block = *content.mutable_blocks(0);
        // Ticks of later batches and of later epochs have later times.
        const int64_t ahead =
            static_cast<int64_t>(epoch * 1000 + sequence * kTicksPerBatch) *
            perflib::kLinuxPerfFreq;
        block.set_perf_time_100nsec(0, block.perf_time_100nsec(0) + ahead);
        block.set_perf_time_stamp(0, block.perf_time_stamp(0) + ahead);
        for (int i = 1; i < kTicksPerBatch; ++i) {
          block.add_perf_time_100nsec(perflib::kLinuxPerfFreq);
          block.add_perf_time_stamp(perflib::kLinuxPerfFreq);
          block.add_perf_freq(0);
          block.mutable_queries(0)->mutable_columns(0)->add_differences(1);
        }
        const v1::QueryColumns ticks = block.queries(0);
        for (uint32_t i = 0; i < kMachines; ++i) {
          const uint32_t id = kFirstId + 3 * i;
          if (sequence == 1) {
            v1::Definitions& definitions = *content.mutable_definitions();
            auto& machine = *definitions.add_machines();
            machine.set_id(id);
            machine.set_name(MachineName(i));
            auto& query = *definitions.add_queries();
            query = definitions.queries(0);
            query.set_id(id + 1);
            query.set_machine(id);
            auto& instance = *definitions.add_instances();
            instance = definitions.instances(0);
            instance.set_id(id + 2);
            instance.set_machine(id);
          }
          v1::QueryColumns& query = *block.add_queries();
          query = ticks;
          query.set_query(id + 1);
          query.set_instances(0, id + 2);
        }
      },
      &batch);
  return batch;
}

// Returns a subscription to all machines. Subscriptions of different intervals
// share neither feeds nor history.
v1::SubscribeRequest MakeRequest(int64_t interval) {
  v1::SubscribeRequest request;
  request.add_paths("\\\\*\\Numbers\\Number");
  request.mutable_interval()->set_seconds(interval);
  *request.mutable_start() = ToProto(kStart);
  return request;
}

TEST(Shutdown, CompletesWhileSubscribersJoinAndReadHistory) {
  constexpr int kRounds = 6;
  constexpr int kSubscribers = 8;
  Deployment deployment;
  std::vector<std::string> names = {"box"};
  for (uint32_t i = 0; i < kMachines; ++i) names.push_back(MachineName(i));
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto aggregator = deployment.StartAggregator();
    const TlsFiles reader = deployment.Issue("reader", {"carol"});
    const auto epoch = static_cast<uint64_t>(round) + 1;
    FakeAgent agent(deployment.address(), deployment.Issue("agent", names),
                    MakeHello("box", epoch, 1, 0));
    ASSERT_TRUE(agent.Receive()->has_welcome());
    ASSERT_TRUE(agent.Send(MakeFleetBatch(epoch, 1)));
    ASSERT_TRUE(agent.ReceiveAck(1));
    std::vector<std::unique_ptr<Subscriber>> subscribers;
    for (int i = 0; i < kSubscribers; ++i) {
      subscribers.push_back(std::make_unique<Subscriber>(
          deployment.address(), reader, MakeRequest(2 + i)));
    }
    // From round to round, the shutdown comes later relative to the reads and
    // the second batch.
    if (round > 0) {
      ASSERT_TRUE(subscribers.back()->Read());
    }
    ASSERT_TRUE(agent.Send(MakeFleetBatch(epoch, 2)));
    if (round > 3) {
      ASSERT_TRUE(agent.ReceiveAck(2));
    }
    aggregator->Signal(SIGTERM);
    EXPECT_EQ(aggregator->Wait(), 0) << aggregator->error();
  }
}

}  // namespace
}  // namespace fleetperf::testing
