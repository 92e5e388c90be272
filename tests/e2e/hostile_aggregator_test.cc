// A real agent, and an aggregator that sends plans to take the agent's memory
// and time.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/os/files.h"
#include "base/tls/credentials.h"
#include "tests/agent/deliver/fake_aggregator.h"
#include "tests/e2e/deployment.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

// Of the agent's memory, at any time of the attack.
constexpr int64_t kMaxGrowthKib = 64 << 10;

// Returns a number of /proc/PID/status in KiB, such as "VmHWM".
int64_t StatusKib(pid_t pid, const std::string& name) {
  const auto status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  EXPECT_OK(status);
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    int64_t number = 0;
    if (absl::ConsumePrefix(&line, absl::StrCat(name, ":")) &&
        absl::SimpleAtoi(absl::StripSuffix(line, " kB"), &number)) {
      return number;
    }
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

v1::PlannedQuery Query(const std::string& counterset, int64_t seconds) {
  v1::PlannedQuery query;
  query.set_counterset(counterset);
  query.mutable_interval()->set_seconds(seconds);
  return query;
}

// The plans that an agent accepts, and that cost it most.
v1::Plan ManyQueries() {
  v1::Plan plan;
  for (int i = 0; i < 1000; ++i) {
    v1::PlannedQuery query = Query("*", 1 + i % 7);
    for (int name = 0; name < 7; ++name) {
      query.add_instances(absl::StrCat("*a*b", i, "*c", name, "*"));
    }
    *plan.add_queries() = query;
  }
  return plan;
}
v1::Plan AllCountersets() {
  v1::Plan plan;
  *plan.add_queries() = Query("*", 1);
  return plan;
}
v1::Plan LongNames() {
  v1::Plan plan;
  for (int i = 0; i < 170; ++i) {
    v1::PlannedQuery query = Query("System", 1);
    query.add_counters(absl::StrCat(i, "*", std::string(3000, '?')));
    *plan.add_queries() = query;
  }
  return plan;
}
// Plans that it rejects.
v1::Plan TooManyNames() {
  v1::Plan plan;
  v1::PlannedQuery query = Query("*", 1);
  for (int i = 0; i < 60'000; ++i) query.add_instances("*a*");
  *plan.add_queries() = query;
  return plan;
}
v1::Plan TinyInterval() {
  v1::Plan plan;
  *plan.add_queries() = Query("*", 0);
  plan.mutable_queries(0)->mutable_interval()->set_nanos(1);
  return plan;
}

// Sends each plan `times` times, one after the other.
void SendPlans(FakeStream& stream, int times) {
  static uint64_t version = 0;
  const std::vector<v1::Plan> plans = {ManyQueries(), TooManyNames(),
                                       AllCountersets(), TinyInterval(),
                                       LongNames()};
  for (int i = 0; i < times; ++i) {
    for (const v1::Plan& plan : plans) {
      v1::CollectResponse response;
      *response.mutable_plan() = plan;
      response.mutable_plan()->set_version(++version);
      response.mutable_plan()->set_includes_own(true);
      stream.Send(std::move(response));
    }
  }
}

class HostileAggregator : public ::testing::Test {
 protected:
  HostileAggregator() {
    StartAggregator("127.0.0.1:0");
    const std::string config = deployment_.File("box.yaml");
    Deployment::Write(
        config, absl::StrCat(
                    "name: box\naggregators: ['", aggregator_->address(),
                    "']\nstate_directory: state-box\n",
                    Deployment::TlsSection(deployment_.Issue("agent", {"box"})),
                    "queries: [{counterset: System}]\n"
                    "delivery: {batch_period: 1s}\n"));
    agent_ = std::make_unique<Process>(std::vector<std::string>{
        Deployment::Executable("fleetperf-agent"), "--config", config});
  }

  void StartAggregator(const std::string& address) {
    const auto credentials = ServerCredentials(
        TlsFiles{.authority = deployment_.File("authority.pem"),
                 .certificate = deployment_.File("aggregator-localhost.pem"),
                 .key = deployment_.File("aggregator-localhost.key")});
    EXPECT_OK(credentials);
    aggregator_ = std::make_unique<FakeAggregator>(address, *credentials);
  }

  // Welcomes the agent's next stream.
  FakeStream& Accept() {
    FakeStream& stream = aggregator_->Accept();
    const v1::CollectRequest request = stream.Receive();
    v1::CollectResponse response;
    v1::Welcome* welcome = response.mutable_welcome();
    for (const v1::HeldEpoch& held : request.hello().held_epochs()) {
      welcome->add_epochs()->set_epoch(held.epoch());
    }
    if (request.hello().held_epochs().empty()) {
      welcome->add_epochs()->set_epoch(request.hello().epoch());
    }
    for (v1::EpochState& epoch : *welcome->mutable_epochs()) {
      epoch.set_dictionary_held(true);
    }
    // The agent sends batches although the attack delays acknowledgments.
    welcome->mutable_limits()->set_max_unacknowledged_batches(64);
    stream.Send(std::move(response));
    return stream;
  }

  // Waits for batches, which the agent makes while it applies plans.
  static void AwaitBatches(FakeStream& stream, int count) {
    while (count > 0) {
      const v1::CollectRequest request = stream.Receive();
      ASSERT_NE(request.message_case(), v1::CollectRequest::MESSAGE_NOT_SET);
      if (request.has_batch()) --count;
    }
  }

  int64_t GrowthKib(int64_t idle) const {
    return StatusKib(agent_->pid(), "VmHWM") - idle;
  }

  Deployment deployment_;
  std::unique_ptr<FakeAggregator> aggregator_;
  std::unique_ptr<Process> agent_;
};

TEST_F(HostileAggregator, LeavesTheAgentItsMemoryAndItsSamples) {
  FakeStream& first = Accept();
  AwaitBatches(first, 3);
  const int64_t idle = StatusKib(agent_->pid(), "VmRSS");

  SendPlans(first, 30);
  AwaitBatches(first, 5);
  EXPECT_LT(GrowthKib(idle), kMaxGrowthKib);

  // Names without a byte, each of which takes 40 bytes of memory or more.
  const std::string address = aggregator_->address();
  aggregator_.reset();
  StartAggregator(address);
  for (int i = 0; i < 5; ++i) {
    FakeStream& stream = Accept();
    v1::CollectResponse response;
    v1::PlannedQuery* query = response.mutable_plan()->add_queries();
    for (int name = 0; name < 500'000; ++name) query->add_instances();
    stream.Send(std::move(response));
  }
  FakeStream& last = Accept();
  AwaitBatches(last, 3);
  EXPECT_LT(GrowthKib(idle), kMaxGrowthKib);

  SendPlans(last, 30);
  AwaitBatches(last, 1);
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait(), 0) << agent_->error();
}

}  // namespace
}  // namespace fleetperf::testing
