#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/backoff.h"
#include "base/daemon/daemon.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "cli/aggregators.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/live_ranking.h"
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
          v1::SubscribeRequest request)
      : aggregators_(aggregators),
        format_(format),
        pivot_(flags.pivot),
        where_(flags.where),
        end_(Clock::Real().Monotonic() + length),
        request_(std::move(request)),
        undecided_(aggregators.reached().size()),
        count_(flags.count),
        paths_({request_.paths().begin(), request_.paths().end()}) {
    for (const auto* all : {&aggregators.reached(), &aggregators.unreached()}) {
      for (const Connection& connection : *all) {
        sources_.push_back(
            std::make_unique<Source>(connection, sources_.size()));
      }
    }
    const bool ranks = request_.top() > 0 || request_.bottom() > 0;
    if (ranks && sources_.size() > 1) {
      ranking_.emplace(request_.top(), request_.bottom());
    }
  }

  // Makes Run return. Thread-safe.
  void Quit() {
    absl::MutexLock lock(&mutex_);
    quits_ = true;
    for (const auto& source : sources_) {
      if (source->context != nullptr) source->context->TryCancel();
    }
    wakeup_.Notify();
  }

  // Returns a MissingError if no value met the condition, or if a path matched
  // nothing, which has been reported.
  absl::Status Run() {
    std::vector<std::thread> threads;
    for (size_t i = 1; i < sources_.size(); ++i) {
      threads.emplace_back([this, i] { RunSource(sources_[i].get()); });
    }
    RunSource(sources_.front().get());
    for (std::thread& thread : threads) thread.join();
    absl::MutexLock lock(&show_mutex_);
    viewer_ = nullptr;  // prints the last values
    std::vector<absl::Status> results;
    for (size_t i = 0; i < aggregators_.reached().size(); ++i) {
      results.push_back(sources_[i]->result);
    }
    ReportLost();
    const absl::Status status = aggregators_.Combine(results);
    return status.ok() ? Missing() : status;
  }

 private:
  // The subscription at one aggregator.
  struct Source {
    Source(const Connection& to, size_t position)
        : connection(to), number(position) {}

    const Connection& connection;
    const size_t number;
    // Of its thread.
    absl::Status result;
    // Guarded by show_mutex_.
    bool is_connected = false;  // the current stream has answered
    bool was_connected = false;
    bool has_sent_history = false;
    v1::LiveMachines live_machines;
    grpc::ClientContext* context = nullptr;  // guarded by mutex_
  };

  void RunSource(Source* source) {
    const bool is_reached = source->number < aggregators_.reached().size();
    absl::Status status = is_reached ? RunStream(source, source->connection)
                                     : absl::UnavailableError(absl::StrCat(
                                           "cannot reach the aggregator at ",
                                           source->connection.address()));
    if (is_reached) Decide(source);
    Backoff backoff(kFirstRetry, kMaxRetry);
    bool told = false;
    while (MayTryAgain(*source, status) && !IsOver()) {
      if (IsConnected(*source)) {
        backoff.Reset();
        told = false;
      }
      if (!IsMissing(status) && !std::exchange(told, true)) {
        PrintNote(absl::StrCat(status.message(), "; connecting again"));
      }
      if (WaitsForEnd(backoff.Next())) break;
      status = RunStream(source, source->connection.Again());
    }
    absl::MutexLock lock(&show_mutex_);
    const bool is_at_end =
        source->was_connected && absl::IsDeadlineExceeded(status);
    source->result = is_at_end || IsOver() ? absl::OkStatus() : status;
  }

  // Of several aggregators, names those that cannot be reached at the end.
  void ReportLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    for (const auto& source : sources_) {
      if (sources_.size() == 1 || !source->was_connected) continue;
      if (source->is_connected) {
        aggregators_.RemoveFailure(source->connection);
      } else {
        aggregators_.AddFailure(
            source->connection,
            absl::UnavailableError(
                "lost the connection, and cannot be reached"));
      }
    }
  }

  absl::Status Missing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
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

  // Notes the first result of an aggregator, unless its stream has answered.
  void Decide(Source* source) {
    absl::MutexLock lock(&show_mutex_);
    if (source->was_connected) return;
    CountDecided();
    v1::SubscribeResponse none;
    if (was_connected_ && viewer_ != nullptr) ShowAll(&none);
  }

  void CountDecided() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    --undecided_;
    decided_.Notify();
    if (undecided_ > 0 || !was_connected_) return;
    for (const auto& [path, missing] : missing_) {
      if (missing.second < answers_) continue;  // another one has it
      PrintMissing(missing.first, format_);
      paths_.Remove(path);
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
  bool MayTryAgain(const Source& source, const absl::Status& status) {
    absl::MutexLock lock(&show_mutex_);
    const bool may =
        absl::IsUnavailable(status) ||
        (absl::IsResourceExhausted(status) && !source.is_connected) ||
        (IsMissing(status) && sources_.size() > 1);
    if (!may) return false;
    decided_.Await(&show_mutex_,
                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
                     return was_connected_ || undecided_ == 0;
                   });
    return was_connected_;
  }

  bool IsConnected(const Source& source) {
    absl::MutexLock lock(&show_mutex_);
    return source.is_connected;
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

  absl::Status RunStream(Source* source, const Connection& connection) {
    grpc::ClientContext context;
    if (Left() < absl::InfiniteDuration()) {
      context.set_deadline(RpcDeadline(Left()));
    }
    {
      absl::MutexLock lock(&mutex_);
      if (quits_) return absl::OkStatus();
      source->context = &context;
    }
    v1::SubscribeRequest request = request_;
    {
      absl::MutexLock lock(&show_mutex_);
      if (const auto start = series_.NextStart()) {
        *request.mutable_start() = ToProto(*start);
      }
      series_.BeginStream(source->number);
      source->is_connected = false;
    }
    const auto stub = v1::SubscriptionService::NewStub(connection.channel());
    const auto reader = stub->Subscribe(&context, request);
    v1::SubscribeResponse response;
    while (reader->Read(&response)) Show(source, &response);
    grpc::Status status = reader->Finish();
    {
      absl::MutexLock lock(&mutex_);
      source->context = nullptr;
    }
    // An aggregator that stops may cancel its calls.
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
      status = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                            "the aggregator ended the call");
    }
    return connection.Explain(status, IsConnected(*source)
                                          ? RpcStage::kAnswering
                                          : RpcStage::kConnecting);
  }

  void Show(Source* source, v1::SubscribeResponse* response) {
    absl::MutexLock lock(&show_mutex_);
    source->is_connected = true;
    was_connected_ = true;
    had_series_ |= response->series_size() > 0;
    for (const v1::Series& series : response->series()) paths_.Add(series);
    if (viewer_ == nullptr) {
      viewer_ = MakeViewer(request_, {.format = format_,
                                      .pivot = pivot_,
                                      .limit = count_.limit(),
                                      .quit = [this] { Quit(); }});
    }
    // The first response arrives after the stored values have been searched.
    if (!std::exchange(source->was_connected, true)) {
      ++answers_;
      for (const v1::Missing& missing : response->missing()) {
        auto& [first, count] = missing_[missing.path()];
        if (++count == 1) first = missing;
      }
      if (source->number < aggregators_.reached().size()) CountDecided();
    }
    series_.Translate(source->number, response);
    if (ranking_.has_value()) ranking_->Apply(response);
    source->has_sent_history |= response->history_sent();
    if (response->has_live_machines()) {
      source->live_machines = response->live_machines();
      *response->mutable_live_machines() = AllLiveMachines();
    }
    ShowAll(response);
  }

  v1::LiveMachines AllLiveMachines() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    v1::LiveMachines all;
    for (const auto& source : sources_) {
      const v1::LiveMachines& of = source->live_machines;
      all.set_live(all.live() + of.live());
      all.set_widened(all.widened() + of.widened());
      if (of.has_widened_interval()) {
        *all.mutable_widened_interval() = of.widened_interval();
      }
    }
    return all;
  }

  // Whether all aggregators that answered have sent what is stored.
  bool HasHistory() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(show_mutex_) {
    return undecided_ == 0 && std::all_of(sources_.begin(), sources_.end(),
                                          [](const auto& source) {
                                            return source->has_sent_history ||
                                                   !source->was_connected;
                                          });
  }

  // Shows a joined message.
  void ShowAll(v1::SubscribeResponse* response)
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
  std::vector<std::unique_ptr<Source>> sources_;  // the reached ones first

  absl::Mutex show_mutex_;  // precedes mutex_
  Wakeup decided_;
  // The reached aggregators whose streams have neither answered nor failed.
  size_t undecided_ ABSL_GUARDED_BY(show_mutex_);
  size_t answers_ ABSL_GUARDED_BY(show_mutex_) = 0;
  bool was_connected_ ABSL_GUARDED_BY(show_mutex_) = false;  // any was
  bool had_series_ ABSL_GUARDED_BY(show_mutex_) = false;     // any has arrived
  bool is_missing_ ABSL_GUARDED_BY(show_mutex_) = false;     // a path is
  // By path: the first report, and how many aggregators have none of it.
  std::map<std::string, std::pair<v1::Missing, size_t>> missing_
      ABSL_GUARDED_BY(show_mutex_);
  // With the limit 0: none.
  SampleCount count_ ABSL_GUARDED_BY(show_mutex_);
  LiveSeries series_ ABSL_GUARDED_BY(show_mutex_);
  std::optional<LiveRanking> ranking_ ABSL_GUARDED_BY(show_mutex_);
  WatchedPaths paths_ ABSL_GUARDED_BY(show_mutex_);
  std::unique_ptr<Viewer> viewer_ ABSL_GUARDED_BY(show_mutex_);
  uint32_t rounds_ ABSL_GUARDED_BY(show_mutex_) = 0;  // that were shown
  bool has_shown_history_ ABSL_GUARDED_BY(show_mutex_) = false;

  absl::Mutex mutex_;
  Wakeup wakeup_;
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
  Watcher watcher(aggregators, format, flags, length, std::move(request));
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
