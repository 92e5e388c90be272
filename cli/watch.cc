#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/backoff.h"
#include "base/daemon/daemon.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "cli/aggregators.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/live_series.h"
#include "cli/missing.h"
#include "cli/query_request.h"
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

// Runs a subscription at each aggregator, and resumes it when the connection is
// lost. Thread-compatible, except for Quit.
class Watcher {
 public:
  // `length`: how long to watch. All other arguments must outlive the object.
  Watcher(const Aggregators& aggregators, Format format,
          const WatchFlags& flags, absl::Duration length,
          const v1::SubscribeRequest& request)
      : aggregators_(aggregators),
        format_(format),
        pivot_(flags.pivot),
        where_(flags.where),
        end_(Clock::Real().Monotonic() + length),
        request_(request),
        sources_(aggregators.all().size()),
        count_(flags.count),
        // A single aggregator ranks for all.
        series_(aggregators.are_several() ? request.top() : 0,
                aggregators.are_several() ? request.bottom() : 0),
        paths_({request_.paths().begin(), request_.paths().end()}) {}

  // Makes Run return. Thread-safe.
  void Quit() {
    absl::MutexLock lock(&mutex_);
    quits_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    wakeup_.Notify();
  }

  // Returns a MissingError if no value met the condition, or if a path matched
  // nothing, which has been reported.
  absl::Status Run() {
    std::vector<absl::Status> results(aggregators_.all().size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([this, i, &results] { results[i] = RunSource(i); });
    }
    for (std::thread& thread : threads) thread.join();
    absl::MutexLock lock(&show_mutex_);
    viewer_ = nullptr;  // prints the last values
    results.resize(aggregators_.reached().size());
    const absl::Status status = aggregators_.Combine(results);
    return status.ok() ? Missing() : status;
  }

 private:
  // The subscription at one aggregator.
  struct Source {
    bool is_connected = false;  // the current stream has answered
    bool was_connected = false;
    bool has_failed = false;  // before it was connected
    bool has_sent_history = false;
    std::vector<v1::Missing> missing;
    v1::LiveMachines live_machines;
  };

  absl::Status RunSource(size_t number) {
    const Connection& connection = aggregators_.all()[number];
    absl::Status status = RunStream(number, connection);
    Backoff backoff(kFirstRetry, kMaxRetry);
    bool told = false;
    while (MayTryAgain(number, status) && !IsOver()) {
      if (IsConnected(number)) {
        backoff.Reset();
        told = false;
      }
      if (!IsMissing(status) && !std::exchange(told, true)) {
        PrintNote(absl::StrCat(status.message(), "; connecting again"));
      }
      if (WaitsForEnd(backoff.Next())) break;
      status = RunStream(number, connection.Again());
    }
    absl::MutexLock lock(&show_mutex_);
    const Source& source = sources_[number];
    const bool is_at_end =
        source.was_connected && absl::IsDeadlineExceeded(status);
    if (!is_at_end && !IsOver()) return status;
    // One of several may be unreachable at the end.
    const bool is_away = source.was_connected && !source.is_connected;
    return is_away && aggregators_.are_several() ? status : absl::OkStatus();
  }

  absl::Status Missing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    const bool was_connected = Any(&Source::was_connected);
    if (request_.has_where() && was_connected && !is_missing_ && !had_series_) {
      return MissingError(absl::NotFoundError(absl::StrCat(
          "no value was ", where_,
          "; to see the values, repeat the command without --where")));
    }
    // A choice hides series that match.
    const bool chooses =
        request_.has_where() || request_.top() > 0 || request_.bottom() > 0;
    if (!chooses && was_connected) {
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

  bool Any(bool Source::*property) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    return std::any_of(sources_.begin(), sources_.end(), std::mem_fn(property));
  }

  // Whether all aggregators that were reached have answered, or failed.
  bool AreDecided() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    const auto reached =
        absl::MakeSpan(sources_).first(aggregators_.reached().size());
    return std::all_of(reached.begin(), reached.end(),
                       [](const Source& source) {
                         return source.was_connected || source.has_failed;
                       });
  }

  // Reports once what none of them has.
  void ReportMissing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    if (!AreDecided() || !Any(&Source::was_connected)) return;
    if (std::exchange(has_reported_, true)) return;
    std::vector<std::vector<v1::Missing>> of_each;
    for (const Source& source : sources_) {
      if (source.was_connected) of_each.push_back(source.missing);
    }
    for (const v1::Missing& missing : MissingInAll(of_each)) {
      PrintMissing(missing, format_);
      paths_.Remove(missing.path());
      is_missing_ = true;
    }
    if (had_series_) return;
    const std::string what = request_.has_where()
                                 ? absl::StrCat("no value is ", where_)
                                 : "nothing matches";
    PrintNote(absl::StrCat(what, " yet; waiting for a match (Ctrl-C quits)"));
  }

  // After a restart, all clients connect at once, and may exceed a limit for a
  // moment. A stream that was admitted and then exceeds one, would again. An
  // aggregator to which nothing that matches is connected may get it from
  // another one.
  bool MayTryAgain(size_t number, const absl::Status& status) {
    absl::MutexLock lock(&show_mutex_);
    Source& source = sources_[number];
    if (!source.was_connected && !std::exchange(source.has_failed, true)) {
      ReportMissing();
      v1::SubscribeResponse none;
      if (viewer_ != nullptr) ShowJoined(&none);  // the history may be complete
    }
    const bool may =
        absl::IsUnavailable(status) ||
        (absl::IsResourceExhausted(status) && !source.is_connected) ||
        (IsMissing(status) && aggregators_.are_several());
    return may && (!AreDecided() || Any(&Source::was_connected));
  }

  bool IsConnected(size_t number) {
    absl::MutexLock lock(&show_mutex_);
    return sources_[number].is_connected;
  }

  absl::Duration Left() const { return end_ - Clock::Real().Monotonic(); }

  bool IsOver() { return WaitsForEnd(absl::ZeroDuration()); }

  // Waits for the end. Returns whether it was reached within `wait`.
  bool WaitsForEnd(absl::Duration wait) {
    absl::MutexLock lock(&mutex_);
    wakeup_.Await(&mutex_, std::min(wait, Left()),
                  [this]()
                      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return quits_; });
    return quits_ || Left() <= absl::ZeroDuration();
  }

  absl::Status RunStream(size_t number, const Connection& connection) {
    grpc::ClientContext context;
    if (Left() < absl::InfiniteDuration()) {
      context.set_deadline(RpcDeadline(Left()));
    }
    {
      absl::MutexLock lock(&mutex_);
      if (quits_) return absl::OkStatus();
      contexts_.insert(&context);
    }
    v1::SubscribeRequest request = request_;
    {
      absl::MutexLock lock(&show_mutex_);
      if (const auto start = series_.NextStart()) {
        *request.mutable_start() = ToProto(*start);
      }
      series_.BeginStream(number);
      sources_[number].is_connected = false;
    }
    const auto stub = v1::SubscriptionService::NewStub(connection.channel());
    const auto reader = stub->Subscribe(&context, request);
    v1::SubscribeResponse response;
    while (reader->Read(&response)) Show(number, &response);
    grpc::Status status = reader->Finish();
    {
      absl::MutexLock lock(&mutex_);
      contexts_.erase(&context);
    }
    // An aggregator that stops may cancel its calls.
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
      status = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                            "the aggregator ended the call");
    }
    return connection.Explain(status, IsConnected(number)
                                          ? RpcStage::kAnswering
                                          : RpcStage::kConnecting);
  }

  void Show(size_t number, v1::SubscribeResponse* response) {
    absl::MutexLock lock(&show_mutex_);
    Source& source = sources_[number];
    had_series_ |= response->series_size() > 0;
    for (const v1::Series& series : response->series()) paths_.Add(series);
    if (viewer_ == nullptr) {
      viewer_ = MakeViewer(request_, {.format = format_,
                                      .pivot = pivot_,
                                      .limit = count_.limit(),
                                      .quit = [this] { Quit(); }});
    }
    source.is_connected = true;
    // The first response arrives after the stored values have been searched.
    if (!std::exchange(source.was_connected, true)) {
      source.missing.assign(response->missing().begin(),
                            response->missing().end());
      ReportMissing();
    }
    series_.Translate(number, response);
    source.has_sent_history |= response->history_sent();
    if (response->has_live_machines()) {
      source.live_machines = response->live_machines();
      *response->mutable_live_machines() = AllLiveMachines();
    }
    ShowJoined(response);
  }

  v1::LiveMachines AllLiveMachines() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    v1::LiveMachines all;
    for (const Source& source : sources_) {
      const v1::LiveMachines& of = source.live_machines;
      all.set_widened(all.widened() + of.widened());
      if (of.has_widened_interval()) {
        *all.mutable_widened_interval() = of.widened_interval();
      }
    }
    return all;
  }

  // Whether all aggregators that answered have sent what is stored.
  bool HasHistory() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    return AreDecided() && std::all_of(sources_.begin(), sources_.end(),
                                       [](const Source& source) {
                                         return source.has_sent_history ||
                                                !source.was_connected;
                                       });
  }

  // Shows a joined message.
  void ShowJoined(v1::SubscribeResponse* response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    response->set_history_sent(!has_shown_history_ && HasHistory());
    has_shown_history_ |= response->history_sent();
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
  bool HasRounds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    return count_.limit() > 0 && format_ != Format::kPdhCsv;
  }

  // Shows a part of a message with at most one sample of each series.
  void ShowPart(v1::SubscribeResponse* part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    if (rounds_ == count_.limit()) return;
    const absl::Time now = Clock::Real().Now();
    count_.Add(part, now);
    viewer_->Add(*part);
    const uint32_t rounds = count_.CompleteRounds(now);
    if (std::exchange(rounds_, rounds) < rounds) viewer_->OnRound();
  }

  const Aggregators& aggregators_;
  const Format format_;
  const bool pivot_;
  const std::string where_;
  const absl::Duration end_;  // Clock::Monotonic()
  const v1::SubscribeRequest request_;

  absl::Mutex show_mutex_;  // precedes mutex_
  // Of Aggregators::all().
  std::vector<Source> sources_ ABSL_GUARDED_BY(show_mutex_);
  bool has_reported_ ABSL_GUARDED_BY(show_mutex_) = false;
  bool had_series_ ABSL_GUARDED_BY(show_mutex_) = false;  // any has arrived
  bool is_missing_ ABSL_GUARDED_BY(show_mutex_) = false;  // a path is
  // With the limit 0: none.
  SampleCount count_ ABSL_GUARDED_BY(show_mutex_);
  LiveSeries series_ ABSL_GUARDED_BY(show_mutex_);
  WatchedPaths paths_ ABSL_GUARDED_BY(show_mutex_);
  std::unique_ptr<Viewer> viewer_ ABSL_GUARDED_BY(show_mutex_);
  uint32_t rounds_ ABSL_GUARDED_BY(show_mutex_) = 0;  // that were shown
  bool has_shown_history_ ABSL_GUARDED_BY(show_mutex_) = false;

  absl::Mutex mutex_;
  Wakeup wakeup_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool quits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status Watch(const Aggregators& aggregators, Format format,
                   const WatchFlags& flags, StopSignal* stop) {
  ASSIGN_OR_RETURN(const v1::SubscribeRequest request,
                   MakeRequest(flags, format));
  absl::Duration length = absl::InfiniteDuration();
  if (!flags.duration.empty()) {
    ASSIGN_OR_RETURN(length, ParseDurationFlag("--for", flags.duration));
  }
  Watcher watcher(aggregators, format, flags, length, request);
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
