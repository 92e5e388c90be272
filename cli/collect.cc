#include "cli/collect.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/daemon/daemon.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "cli/aggregators.h"
#include "cli/connection.h"
#include "fleetperf/v1/plan.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

absl::Status SetDuration(const std::string& flag, const std::string& text,
                         google::protobuf::Duration* duration) {
  const auto parsed = ParseDuration(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", parsed.status().message()));
  }
  *duration = ToProto(*parsed);
  return absl::OkStatus();
}

std::string Machines(uint32_t count) {
  return absl::StrCat(count, count == 1 ? " machine" : " machines");
}

// Returns "collecting Thread on 2 machines for 60s; 1 machine is away". Of
// several aggregators, leaves out those that are away: a machine that has moved
// is away at one and connected to another.
std::string Describe(const std::vector<v1::CollectMeanwhileResponse>& responses,
                     const std::string& duration) {
  std::set<std::string> countersets;
  uint32_t machines = 0;
  for (const v1::CollectMeanwhileResponse& response : responses) {
    countersets.insert(response.countersets().begin(),
                       response.countersets().end());
    machines += response.machines();
  }
  std::string text =
      absl::StrCat("collecting ", absl::StrJoin(countersets, ", "), " on ",
                   Machines(machines), " for ", duration);
  const uint32_t away =
      responses.size() == 1 ? responses.front().away_machines() : 0;
  if (away > 0) {
    absl::StrAppend(&text, "; ", Machines(away),
                    away == 1 ? " is away" : " are away");
  }
  return text;
}

}  // namespace

class Collecting::Stream {
 public:
  // `stop` may be null.
  Stream(const Connection& connection,
         const v1::CollectMeanwhileRequest& request,
         const std::string& duration, StopSignal* stop)
      : connection_(connection),
        duration_(duration),
        stop_(stop),
        stub_(v1::PlanService::NewStub(connection.channel())),
        reader_(stub_->CollectMeanwhile(&context_, request)) {
    if (stop_ == nullptr) return;
    stopper_ = std::thread([this] {
      stop_->Wait();
      context_.TryCancel();
      stop_->Raise();  // wakes other waiters
    });
  }

  ~Stream() {
    if (stop_ != nullptr) {
      stop_->Raise();
      stopper_.join();
    }
    context_.TryCancel();
    if (!finished_) reader_->Finish();
  }

  // Blocks until the counters are being collected.
  absl::StatusOr<v1::CollectMeanwhileResponse> WaitForStart() {
    if (!reader_->Read(&response_)) return EndBeforeSamples();
    return response_;
  }

  uint32_t machines() const { return response_.machines(); }

  // Blocks until samples have arrived, after WaitForStart.
  absl::Status WaitUntilReady() {
    while (!finished_ && !response_.ready()) {
      if (!reader_->Read(&response_)) return EndBeforeSamples();
    }
    return result_;
  }

  absl::Status WaitForEnd() {
    while (!finished_ && reader_->Read(&response_)) {
    }
    return Finish();
  }

 private:
  absl::Status EndBeforeSamples() {
    if (Finish().ok()) {
      result_ = absl::DeadlineExceededError(absl::StrCat(
          "no samples arrived in ", duration_,
          "; see the agents' plans: fleetperf machines --verbose"));
    }
    return result_;
  }

  absl::Status Finish() {
    if (finished_) return result_;
    finished_ = true;
    result_ = connection_.Explain(reader_->Finish());
    return result_;
  }

  const Connection& connection_;
  const std::string duration_;  // as typed
  StopSignal* const stop_;
  grpc::ClientContext context_;
  const std::unique_ptr<v1::PlanService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<v1::CollectMeanwhileResponse>>
      reader_;
  v1::CollectMeanwhileResponse response_;  // the newest one
  bool finished_ = false;
  absl::Status result_;  // if finished_
  std::thread stopper_;  // last, because it uses the other members
};

Collecting::Collecting(const Aggregators& aggregators)
    : aggregators_(aggregators) {}

Collecting::~Collecting() = default;

absl::StatusOr<std::unique_ptr<Collecting>> Collecting::Begin(
    const Aggregators& aggregators, const Flags& flags, StopSignal* stop) {
  v1::CollectMeanwhileRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  RETURN_IF_ERROR(
      SetDuration("--collect", flags.duration, request.mutable_duration()));
  if (!flags.interval.empty()) {
    RETURN_IF_ERROR(
        SetDuration("--interval", flags.interval, request.mutable_interval()));
  }
  std::unique_ptr<Collecting> collecting(new Collecting(aggregators));
  for (const Connection& connection : aggregators.reached()) {
    collecting->streams_.push_back(
        std::make_unique<Stream>(connection, request, flags.duration, stop));
  }
  Progress progress("waiting for the first samples");
  std::vector<v1::CollectMeanwhileResponse> responses;
  RETURN_IF_ERROR(
      collecting->ForEachStream([&](Stream& stream) -> absl::Status {
        ASSIGN_OR_RETURN(auto response, stream.WaitForStart());
        responses.push_back(std::move(response));
        return absl::OkStatus();
      }));
  progress.Print(absl::StrCat(
      "fleetperf: ", Printable(Describe(responses, flags.duration)), "\n"));
  // A machine that has moved sends no samples to the aggregator that it left.
  const bool any =
      std::any_of(responses.begin(), responses.end(),
                  [](const auto& response) { return response.machines() > 0; });
  RETURN_IF_ERROR(collecting->ForEachStream([any](Stream& stream) {
    const bool waits = stream.machines() > 0 || !any;
    return waits ? stream.WaitUntilReady() : absl::OkStatus();
  }));
  return collecting;
}

absl::Status Collecting::WaitForEnd() {
  Progress progress("collecting");
  return ForEachStream([](Stream& stream) { return stream.WaitForEnd(); });
}

absl::Status Collecting::ForEachStream(
    absl::FunctionRef<absl::Status(Stream&)> wait) const {
  std::vector<absl::Status> results;
  for (const auto& stream : streams_) results.push_back(wait(*stream));
  return aggregators_.Combine(results);
}

}  // namespace fleetperf::cli
