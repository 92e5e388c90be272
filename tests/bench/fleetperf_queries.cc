#include "tests/bench/fleetperf_queries.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::bench {
namespace {

constexpr char kTimer[] = R"(\Processor Information(0,0)\User Time)";
constexpr char kGauge[] = R"(\Process(0,1)\Thread Count)";

std::string OfMachine(const std::string& machine, const std::string& path) {
  return absl::StrCat("\\\\", machine, path);
}

template <typename Request>
Request InScope(const std::string& path, absl::Time start, absl::Time end) {
  Request request;
  request.add_paths(path);
  *request.mutable_start_time() = ToProto(start);
  *request.mutable_end_time() = ToProto(end);
  return request;
}

// Reads all messages of an answer.
template <typename Response>
absl::StatusOr<std::vector<Response>> ReadAll(
    std::unique_ptr<grpc::ClientReader<Response>> reader) {
  std::vector<Response> responses(1);
  while (reader->Read(&responses.back())) responses.emplace_back();
  responses.pop_back();
  RETURN_IF_ERROR(StatusFromRpc(reader->Finish(), "the aggregator"));
  return responses;
}

}  // namespace

struct FleetperfQueries::Channel {
  std::unique_ptr<v1::QueryService::Stub> stub;

  absl::StatusOr<std::vector<v1::QueryRawResponse>> Raw(
      const v1::QueryRawRequest& request) {
    grpc::ClientContext context;
    return ReadAll(stub->QueryRaw(&context, request));
  }
  absl::StatusOr<std::vector<v1::QueryRangeResponse>> Range(
      const v1::QueryRangeRequest& request) {
    grpc::ClientContext context;
    return ReadAll(stub->QueryRange(&context, request));
  }

  absl::StatusOr<Answer> AskRawSeries(const Scope& scope) {
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(const auto responses, Raw(InScope<v1::QueryRawRequest>(
                                               OfMachine(scope.machine, kTimer),
                                               scope.start, scope.end)));
    Answer answer = {.took = absl::Now() - begin};
    for (const v1::QueryRawResponse& response : responses) {
      for (const v1::RawSample& sample : response.samples().samples()) {
        answer.values.push_back(static_cast<double>(sample.value()));
      }
    }
    return answer;
  }

  absl::StatusOr<Answer> AskRange(const v1::QueryRangeRequest& request) {
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(const auto responses, Range(request));
    Answer answer = {.took = absl::Now() - begin};
    for (const v1::QueryRangeResponse& response : responses) {
      if (response.has_series() && request.top() > 0) {
        answer.machines.push_back(response.series().machine());
      }
      answer.values.insert(answer.values.end(),
                           response.points().values().begin(),
                           response.points().values().end());
    }
    return answer;
  }
};

FleetperfQueries::FleetperfQueries(std::unique_ptr<Channel> channel)
    : channel_(std::move(channel)) {}

FleetperfQueries::~FleetperfQueries() = default;

absl::StatusOr<std::unique_ptr<FleetperfQueries>> FleetperfQueries::Connect(
    const std::string& address, const TlsFiles& tls) {
  ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
  auto channel = std::make_unique<Channel>();
  channel->stub = v1::QueryService::NewStub(MakeChannel(address, credentials));
  return std::unique_ptr<FleetperfQueries>(
      new FleetperfQueries(std::move(channel)));
}

absl::StatusOr<Answer> FleetperfQueries::Ask(Question question,
                                             const Scope& scope) {
  if (question == Question::kRawSeries) return channel_->AskRawSeries(scope);
  const bool is_rate = question == Question::kAverageRate;
  auto request = InScope<v1::QueryRangeRequest>(is_rate ? kTimer : kGauge,
                                                scope.start, scope.end);
  if (is_rate) {
    *request.mutable_step() = ToProto(scope.step);
    request.set_aggregate(v1::AGGREGATE_FUNCTION_AVERAGE);
  } else {
    request.set_top(kTop);
  }
  return channel_->AskRange(request);
}

absl::StatusOr<uint64_t> FleetperfQueries::CountSamples(
    const std::string& machine,
    const std::vector<WorkloadCounterset>& countersets, absl::Time start,
    absl::Time end) {
  uint64_t samples = 0;
  for (const WorkloadCounterset& counterset : countersets) {
    const bool has_instances = !counterset.instances.front().empty();
    const std::string path =
        absl::StrCat("\\", counterset.name, has_instances ? "(*)" : "", "\\*");
    grpc::ClientContext context;
    const auto reader = channel_->stub->QueryRaw(
        &context,
        InScope<v1::QueryRawRequest>(OfMachine(machine, path), start, end));
    for (v1::QueryRawResponse response; reader->Read(&response);) {
      for (const v1::RawSample& sample : response.samples().samples()) {
        samples += sample.has_value();
      }
    }
    RETURN_IF_ERROR(StatusFromRpc(reader->Finish(), "the aggregator"));
  }
  return samples;
}

std::vector<std::string> CommandLineOf(Question question, const Scope& scope) {
  std::vector<std::string> arguments = {
      "query",
      "--format",
      "json",
      "--from",
      absl::FormatTime(absl::RFC3339_full, scope.start, absl::UTCTimeZone()),
      "--to",
      absl::FormatTime(absl::RFC3339_full, scope.end, absl::UTCTimeZone())};
  switch (question) {
    case Question::kRawSeries:
      arguments.insert(arguments.end(),
                       {"--raw", OfMachine(scope.machine, kTimer)});
      break;
    case Question::kAverageRate:
      arguments.insert(
          arguments.end(),
          {"--step", absl::FormatDuration(scope.step), "--agg", "avg", kTimer});
      break;
    case Question::kTopMachines:
      arguments.insert(arguments.end(), {"--top", absl::StrCat(kTop), kGauge});
      break;
  }
  return arguments;
}

}  // namespace fleetperf::bench
