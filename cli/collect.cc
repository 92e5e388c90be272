#include "cli/collect.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/daemon/daemon.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
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

// Returns "collecting Thread on 2 machines for 60s; 1 machine is away".
std::string Describe(const v1::CollectMeanwhileResponse& response,
                     const std::string& duration) {
  std::string text =
      absl::StrCat("collecting ", absl::StrJoin(response.countersets(), ", "),
                   " on ", Machines(response.machines()), " for ", duration);
  if (response.away_machines() > 0) {
    absl::StrAppend(&text, "; ", Machines(response.away_machines()),
                    response.away_machines() == 1 ? " is away" : " are away");
  }
  return text;
}

}  // namespace

class Collecting::Stream {
 public:
  // `stop` may be null.
  Stream(const Connection& connection,
         const v1::CollectMeanwhileRequest& request, StopSignal* stop)
      : connection_(connection),
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

  absl::Status WaitUntilReady(const std::string& duration) {
    Progress progress("waiting for the first samples");
    v1::CollectMeanwhileResponse response;
    bool has_printed = false;
    while (reader_->Read(&response)) {
      if (!std::exchange(has_printed, true)) {
        progress.Print(absl::StrCat(
            "fleetperf: ", Printable(Describe(response, duration)), "\n"));
      }
      if (response.ready()) return absl::OkStatus();
    }
    RETURN_IF_ERROR(Finish());
    return absl::DeadlineExceededError(
        absl::StrCat("no samples arrived in ", duration,
                     "; see the agents' plans: fleetperf machines --verbose"));
  }

  absl::Status WaitForEnd() {
    Progress progress("collecting");
    v1::CollectMeanwhileResponse response;
    while (reader_->Read(&response)) {
    }
    return Finish();
  }

 private:
  absl::Status Finish() {
    finished_ = true;
    return connection_.Explain(reader_->Finish());
  }

  const Connection& connection_;
  StopSignal* const stop_;
  grpc::ClientContext context_;
  const std::unique_ptr<v1::PlanService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<v1::CollectMeanwhileResponse>>
      reader_;
  bool finished_ = false;
  std::thread stopper_;  // last, because it uses the other members
};

Collecting::Collecting(std::unique_ptr<Stream> stream)
    : stream_(std::move(stream)) {}

Collecting::~Collecting() = default;

absl::StatusOr<std::unique_ptr<Collecting>> Collecting::Begin(
    const Connection& connection, const Flags& flags, StopSignal* stop) {
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
      new Collecting(std::make_unique<Stream>(connection, request, stop)));
  RETURN_IF_ERROR(collecting->stream_->WaitUntilReady(flags.duration));
  return collecting;
}

absl::Status Collecting::WaitForEnd() { return stream_->WaitForEnd(); }

}  // namespace fleetperf::cli
