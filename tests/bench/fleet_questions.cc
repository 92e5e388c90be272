#include "tests/bench/fleet_questions.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {
namespace {

constexpr absl::Duration kPauseOfNear = absl::Seconds(1);

struct NamedQuestion {
  std::string name;
  std::function<absl::Status()> ask;
};

v1::QueryRangeRequest AboutTheLast(absl::Duration duration,
                                   const std::string& path) {
  v1::QueryRangeRequest request;
  request.add_paths(path);
  *request.mutable_since() = ToProto(duration);
  return request;
}

// Asks for the range that ends at `now`. DataLoss if the answer has fewer than
// `values` values.
absl::Status AskRange(v1::QueryService::Stub* stub,
                      v1::QueryRangeRequest request, absl::Time now,
                      int values) {
  *request.mutable_end_time() = ToProto(now);
  grpc::ClientContext context;
  const auto reader = stub->QueryRange(&context, request);
  int received = 0;
  for (v1::QueryRangeResponse response; reader->Read(&response);) {
    received += response.points().values_size();
  }
  RETURN_IF_ERROR(StatusFromRpc(reader->Finish(), "the aggregator"));
  return received >= values ? absl::OkStatus()
                            : absl::DataLossError("the answer lacks values");
}

}  // namespace

struct FleetQuestions::State {
  const FleetperfProcess& server;
  std::function<absl::Time()> now;
  absl::Duration pause;
  std::unique_ptr<v1::QueryService::Stub> stub;
  std::vector<NamedQuestion> questions;
  std::vector<FleetQuestionCost> costs;  // by question
  absl::Notification is_over;
  absl::Status status;
  std::thread thread;

  void AddRange(const std::string& name, const v1::QueryRangeRequest& request,
                int values) {
    questions.push_back({name, [this, request, values] {
                           return AskRange(stub.get(), request, now(), values);
                         }});
  }

  void AddNear() {
    auto top = AboutTheLast(absl::Minutes(1), R"(\Process(0,1)\Thread Count)");
    top.set_top(kTop);
    AddRange("top 10, the last minute", top, kTop);
    auto average = AboutTheLast(absl::Minutes(1),
                                R"(\Processor Information(0,1)\User Time)");
    average.set_aggregate(v1::AGGREGATE_FUNCTION_AVERAGE);
    AddRange("average, the last minute", average, 1);
    questions.push_back(
        {"fleetperf machines, JSON", [this] {
           return server.RunFleetperf({"machines", "--format", "json"});
         }});
    pause = kPauseOfNear;
  }

  void AddFar() {
    auto average = AboutTheLast(absl::Hours(1), R"(\Process(*)\Thread Count)");
    average.set_aggregate(v1::AGGREGATE_FUNCTION_AVERAGE);
    AddRange("average of all processes, all samples", average, 1);
  }

  absl::Status AskOne(size_t number) {
    const absl::Duration cpu = CpuTimeOf(server.pid());
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(questions[number].ask());
    costs[number].times.push_back(absl::Now() - begin);
    costs[number].cpu += CpuTimeOf(server.pid()) - cpu;
    return absl::OkStatus();
  }

  void AskByTurns() {
    for (size_t next = 0; status.ok(); ++next) {
      if (is_over.WaitForNotificationWithTimeout(pause)) return;
      status = AskOne(next % questions.size());
    }
  }

  std::vector<FleetQuestionCost> TakeCosts() {
    auto taken = std::exchange(costs, {});
    for (const NamedQuestion& question : questions) {
      costs.push_back({.name = question.name});
    }
    for (FleetQuestionCost& cost : taken) {
      std::sort(cost.times.begin(), cost.times.end());
      if (!cost.times.empty())
        cost.cpu /= static_cast<int64_t>(cost.times.size());
    }
    return taken;
  }
};

absl::StatusOr<std::unique_ptr<FleetQuestions>> FleetQuestions::Make(
    QuestionKind kind, const FleetperfProcess& server,
    std::function<absl::Time()> now) {
  ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(server.reader()));
  std::unique_ptr<State> state(
      new State{.server = server, .now = std::move(now)});
  state->stub =
      v1::QueryService::NewStub(MakeChannel(server.address(), credentials));
  if (kind == QuestionKind::kNear) {
    state->AddNear();
  } else {
    state->AddFar();
  }
  state->TakeCosts();
  return std::unique_ptr<FleetQuestions>(new FleetQuestions(std::move(state)));
}

FleetQuestions::FleetQuestions(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

FleetQuestions::~FleetQuestions() {
  if (!state_->thread.joinable()) return;
  state_->is_over.Notify();
  state_->thread.join();
}

absl::StatusOr<std::vector<FleetQuestionCost>> FleetQuestions::Ask(int times) {
  for (size_t number = 0; number < state_->questions.size(); ++number) {
    for (int i = 0; i < times; ++i) {
      RETURN_IF_ERROR(state_->AskOne(number));
    }
  }
  return state_->TakeCosts();
}

void FleetQuestions::Start() {
  state_->thread = std::thread([this] { state_->AskByTurns(); });
}

absl::StatusOr<std::vector<FleetQuestionCost>> FleetQuestions::Stop() {
  state_->is_over.Notify();
  state_->thread.join();
  RETURN_IF_ERROR(state_->status);
  return state_->TakeCosts();
}

}  // namespace fleetperf::bench
