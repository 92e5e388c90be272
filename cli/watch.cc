#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/backoff.h"
#include "base/daemon/daemon.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/wakeup.h"
#include "cli/aggregators.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "cli/query_request.h"
#include "cli/resumed_series.h"
#include "cli/sample_count.h"
#include "cli/times.h"
#include "cli/viewers.h"
#include "cli/watched_paths.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The waits before a lost connection is opened again.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(250);
constexpr absl::Duration kMaxRetry = absl::Seconds(5);

absl::StatusOr<v1::SubscribeRequest> MakeRequest(const WatchFlags& flags,
                                                 Format format) {
  v1::SubscribeRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  if (!flags.interval.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration interval,
                     ParseDurationFlag("--interval", flags.interval));
    *request.mutable_interval() = ToProto(interval);
  }
  if (!flags.since.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration since,
                     ParseDurationFlag("--since", flags.since));
    *request.mutable_start() = ToProto(Clock::Real().Now() - since);
  }
  if (!flags.where.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_where(), ParseCondition(flags.where));
  }
  if (flags.raw && (format == Format::kTable || format == Format::kPdhCsv)) {
    return absl::InvalidArgumentError(
        "--raw: raw samples are for programs; add --format json or csv");
  }
  if (flags.pivot && (flags.raw || format != Format::kTable)) {
    return absl::InvalidArgumentError(
        "--pivot shows values in a table; remove --raw and --format, or write "
        "columns to a file with --format pdh-csv");
  }
  request.set_raw(flags.raw);
  request.set_top(flags.top);
  request.set_bottom(flags.bottom);
  return request;
}

// Runs the subscription, and resumes it when the connection is lost.
// Thread-compatible, except for Quit.
class Watcher {
 public:
  // `length`: how long to watch. All other arguments must outlive the object.
  Watcher(const Connection& connection, Format format, const WatchFlags& flags,
          absl::Duration length, v1::SubscribeRequest request)
      : connection_(connection),
        format_(format),
        pivot_(flags.pivot),
        where_(flags.where),
        count_(flags.count),
        end_(Clock::Real().Monotonic() + length),
        request_(std::move(request)),
        paths_({request_.paths().begin(), request_.paths().end()}) {}

  // Makes Run return. Thread-safe.
  void Quit() {
    absl::MutexLock lock(&mutex_);
    quits_ = true;
    if (context_ != nullptr) context_->TryCancel();
    wakeup_.Notify();
  }

  // Returns a MissingError if no value met the condition, or if a path matched
  // nothing, which has been reported.
  absl::Status Run() {
    absl::Status status = RunStream(connection_);
    Backoff backoff(kFirstRetry, kMaxRetry);
    bool told = false;
    while (MayTryAgain(status) && !IsOver()) {
      if (is_connected_) {
        backoff.Reset();
        told = false;
      }
      if (!std::exchange(told, true)) {
        std::fprintf(stderr, "fleetperf: %s; connecting again\n",
                     Printable(status.message()).c_str());
      }
      if (WaitsForEnd(backoff.Next())) break;
      status = RunStream(connection_.Again());
    }
    viewer_ = nullptr;  // prints the last values
    const bool is_at_end = was_connected_ && absl::IsDeadlineExceeded(status);
    return is_at_end || IsOver() ? Missing() : status;
  }

 private:
  absl::Status Missing() {
    if (request_.has_where() && was_connected_ && !is_missing_ &&
        !had_series_) {
      return MissingError(absl::NotFoundError(absl::StrCat(
          "no value was ", where_,
          "; to see the values, repeat the command without --where")));
    }
    // A choice hides series that match.
    const bool chooses =
        request_.has_where() || request_.top() > 0 || request_.bottom() > 0;
    if (!chooses && was_connected_) {
      for (const std::string& path : paths_.unmatched()) {
        v1::Missing missing;
        missing.set_path(path);
        missing.set_reason("no values arrived");
        PrintMissing(missing, format_);
        is_missing_ = true;
      }
    }
    return is_missing_ ? MissingError(AlreadyReported()) : absl::OkStatus();
  }

  // After a restart, all clients connect at once, and may exceed a limit for a
  // moment. A stream that was admitted and then exceeds one, would again.
  bool MayTryAgain(const absl::Status& status) const {
    return was_connected_ &&
           (absl::IsUnavailable(status) ||
            (absl::IsResourceExhausted(status) && !is_connected_));
  }

  absl::Duration Left() const { return end_ - Clock::Real().Monotonic(); }

  bool IsOver() {
    absl::MutexLock lock(&mutex_);
    return quits_ || Left() <= absl::ZeroDuration();
  }

  // Waits for the end. Returns whether it was reached within `wait`.
  bool WaitsForEnd(absl::Duration wait) {
    absl::MutexLock lock(&mutex_);
    wakeup_.Await(&mutex_, std::min(wait, Left()),
                  [this]()
                      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return quits_; });
    return quits_ || Left() <= absl::ZeroDuration();
  }

  absl::Status RunStream(const Connection& connection) {
    grpc::ClientContext context;
    if (Left() < absl::InfiniteDuration()) {
      context.set_deadline(RpcDeadline(Left()));
    }
    {
      absl::MutexLock lock(&mutex_);
      if (quits_) return absl::OkStatus();
      context_ = &context;
    }
    if (const auto start = series_.NextStart()) {
      *request_.mutable_start() = ToProto(*start);
    }
    series_.BeginStream();
    is_connected_ = false;
    const auto stub = v1::SubscriptionService::NewStub(connection.channel());
    const auto reader = stub->Subscribe(&context, request_);
    v1::SubscribeResponse response;
    while (reader->Read(&response)) Show(&response);
    grpc::Status status = reader->Finish();
    {
      absl::MutexLock lock(&mutex_);
      context_ = nullptr;
    }
    // An aggregator that stops may cancel its calls.
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
      status = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                            "the aggregator ended the call");
    }
    return connection.Explain(
        status, is_connected_ ? RpcStage::kAnswering : RpcStage::kConnecting);
  }

  void Show(v1::SubscribeResponse* response) {
    is_connected_ = true;
    was_connected_ = true;
    for (const v1::Missing& missing : response->missing()) {
      if (is_told_missing_) break;
      PrintMissing(missing, format_);
      paths_.Remove(missing.path());
      is_missing_ = true;
    }
    is_told_missing_ = true;
    for (const v1::Series& series : response->series()) paths_.Add(series);
    had_series_ |= response->series_size() > 0;
    if (viewer_ == nullptr) {
      viewer_ = MakeViewer(request_, {.format = format_,
                                      .pivot = pivot_,
                                      .limit = count_.limit(),
                                      .quit = [this] { Quit(); }});
    }
    // The first response arrives after the stored values have been searched.
    if (response->series_size() == 0 && !std::exchange(told_, true)) {
      const std::string what = request_.has_where()
                                   ? absl::StrCat("no value is ", where_)
                                   : "nothing matches";
      std::fprintf(stderr,
                   "fleetperf: %s yet; waiting for a match (Ctrl-C quits)\n",
                   Printable(what).c_str());
    }
    told_ = true;
    series_.Translate(response);
    if (HasRounds()) {
      for (auto& part : SplitBySample(*response)) ShowPart(&part);
    } else if (!viewer_->IsClosed()) {
      viewer_->Add(*response);
    }
    if (viewer_->IsClosed() || (HasRounds() && rounds_ == count_.limit())) {
      Quit();
    }
  }

  // The rows of pdh-csv are counted by its viewer.
  bool HasRounds() const {
    return count_.limit() > 0 && format_ != Format::kPdhCsv;
  }

  // Shows a part of a message with at most one sample of each series.
  void ShowPart(v1::SubscribeResponse* part) {
    if (rounds_ == count_.limit()) return;
    const absl::Time now = Clock::Real().Now();
    count_.Add(part, now);
    viewer_->Add(*part);
    const uint32_t rounds = count_.CompleteRounds(now);
    if (std::exchange(rounds_, rounds) < rounds) viewer_->OnRound();
  }

  const Connection& connection_;
  const Format format_;
  const bool pivot_;
  const std::string where_;
  SampleCount count_;         // with the limit 0: none
  const absl::Duration end_;  // Clock::Monotonic()
  v1::SubscribeRequest request_;
  ResumedSeries series_;
  WatchedPaths paths_;
  bool is_told_missing_ = false;  // whether the first response was shown
  bool is_missing_ = false;       // whether a path is
  bool had_series_ = false;       // whether any has arrived
  std::unique_ptr<Viewer> viewer_;
  uint32_t rounds_ = 0;        // that were shown
  bool told_ = false;          // whether data or the waiting message was shown
  bool is_connected_ = false;  // the current stream has answered
  bool was_connected_ = false;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool quits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status Watch(const Aggregators& aggregators, Format format,
                   const WatchFlags& flags, StopSignal* stop) {
  ASSIGN_OR_RETURN(v1::SubscribeRequest request, MakeRequest(flags, format));
  absl::Duration length = absl::InfiniteDuration();
  if (!flags.duration.empty()) {
    ASSIGN_OR_RETURN(length, ParseDurationFlag("--for", flags.duration));
  }
  Watcher watcher(aggregators.reached().front(), format, flags, length,
                  std::move(request));
  std::thread stopper([&] {
    stop->Wait();
    watcher.Quit();
  });
  const absl::Cleanup join_stopper = [&] {
    stop->Raise();
    stopper.join();
  };
  return watcher.Run();
}

}  // namespace fleetperf::cli
