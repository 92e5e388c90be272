#include "cli/collect.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <set>
#include <thread>

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

struct Collecting::Stream {
  Stream(const Connection& to, const v1::CollectMeanwhileRequest& request)
      : connection(to),
        stub(to.channel()),
        reader(stub.CollectMeanwhile(&context, request)) {}

  ~Stream() {
    context.TryCancel();
    if (!is_finished) reader->Finish();
  }

  // Reads until a response for which `is_last` is true, or until the end.
  absl::Status ReadUntil(
      absl::FunctionRef<bool(const v1::CollectMeanwhileResponse&)> is_last) {
    while (!is_finished) {
      if (!reader->Read(&response)) {
        is_finished = true;
        result = connection.Explain(reader->Finish());
      } else if (is_last(response)) {
        break;
      }
    }
    return result;
  }

  const Connection& connection;
  grpc::ClientContext context;
  v1::PlanService::Stub stub;
  const std::unique_ptr<grpc::ClientReader<v1::CollectMeanwhileResponse>>
      reader;
  v1::CollectMeanwhileResponse response;  // the newest one
  bool is_finished = false;
  absl::Status result;  // if is_finished
};

Collecting::Collecting(const Aggregators& aggregators,
                       const v1::CollectMeanwhileRequest& request,
                       StopSignal* stop)
    : aggregators_(aggregators), stop_(stop) {
  for (const Connection& connection : aggregators.reached()) {
    streams_.push_back(std::make_unique<Stream>(connection, request));
  }
  if (stop_ == nullptr) return;
  stopper_ = std::thread([this] {
    stop_->Wait();
    for (const auto& stream : streams_) stream->context.TryCancel();
    stop_->Raise();  // wakes other waiters
  });
}

Collecting::~Collecting() {
  if (stop_ == nullptr) return;
  stop_->Raise();
  stopper_.join();
}

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
  std::unique_ptr<Collecting> collecting(
      new Collecting(aggregators, request, stop));
  RETURN_IF_ERROR(collecting->AwaitSamples(flags.duration));
  return collecting;
}

absl::Status Collecting::AwaitSamples(const std::string& duration) {
  Progress progress("waiting for the first samples");
  const auto read_until = [&](Stream& stream, auto is_last) -> absl::Status {
    RETURN_IF_ERROR(stream.ReadUntil(is_last));
    if (!stream.is_finished) return absl::OkStatus();
    return absl::DeadlineExceededError(
        absl::StrCat("no samples arrived in ", duration,
                     "; see the agents' plans: fleetperf machines --verbose"));
  };
  std::vector<v1::CollectMeanwhileResponse> responses;
  uint32_t machines = 0;
  const absl::Status status =
      ForEachStream([&](Stream& stream) -> absl::Status {
        RETURN_IF_ERROR(read_until(stream, [](const auto&) { return true; }));
        responses.push_back(stream.response);
        machines += stream.response.machines();
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(status);
  progress.Print(absl::StrCat(
      "fleetperf: ", Printable(Describe(responses, duration)), "\n"));
  return ForEachStream([&](Stream& stream) {
    // A machine that has moved sends no samples to the one that it left.
    const bool is_idle = machines > 0 && stream.response.machines() == 0;
    if (is_idle || stream.response.ready()) return stream.result;
    return read_until(stream, [](const auto& of) { return of.ready(); });
  });
}

absl::Status Collecting::WaitForEnd() {
  Progress progress("collecting");
  return ForEachStream([](Stream& stream) {
    return stream.ReadUntil([](const auto&) { return false; });
  });
}

absl::Status Collecting::ForEachStream(
    absl::FunctionRef<absl::Status(Stream&)> wait) const {
  std::vector<absl::Status> results;
  for (const auto& stream : streams_) results.push_back(wait(*stream));
  return aggregators_.Combine(results);
}

}  // namespace fleetperf::cli
