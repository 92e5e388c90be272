#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/connection.h"
#include "aggregator/cli/live_table.h"
#include "aggregator/cli/missing.h"
#include "aggregator/cli/query.h"
#include "aggregator/cli/raw_samples.h"
#include "aggregator/cli/resumed_series.h"
#include "aggregator/cli/terminal.h"
#include "aggregator/cli/times.h"
#include "aggregator/cli/values.h"
#include "aggregator/cli/watched_paths.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/daemon.h"
#include "base/printable.h"
#include "base/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The waits before a lost connection is opened again.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(250);
constexpr absl::Duration kMaxRetry = absl::Seconds(5);

// The intervals between redraws of a table, which also mark stale rows.
constexpr absl::Duration kTerminalPause = absl::Milliseconds(200);
constexpr absl::Duration kPipePause = absl::Milliseconds(900);
constexpr absl::Duration kRedraw = absl::Seconds(1);

constexpr char kClearScreen[] = "\x1b[2J";
constexpr char kHome[] = "\x1b[H";
constexpr char kEndLine[] = "\x1b[K\n";
constexpr char kClearBelow[] = "\x1b[J";

// Displays the responses of a subscription.
class Viewer {
 public:
  virtual ~Viewer() = default;
  virtual void Add(const v1::SubscribeResponse& response) = 0;
  // Whether the reader has closed the output.
  virtual bool IsClosed() = 0;
};

// Prints one line of JSON or CSV per value.
class LineViewer : public Viewer {
 public:
  explicit LineViewer(Format format) : printer_(MakePrinter(format)) {}

  void Add(const v1::SubscribeResponse& response) override {
    for (const v1::Series& series : response.series()) {
      series_[series.id()] = series;
    }
    for (const v1::Points& points : response.points()) {
      const v1::Series& series = series_[points.series()];
      ForEachValue(points, [&](const Value& value) {
        printer_->Print(ValueRecord(series, value, /*with_time=*/true));
      });
    }
    for (const v1::RawSamples& raw : response.raw_samples()) {
      for (const v1::RawSample& sample : raw.samples()) {
        printer_->Print(RawRecord(series_[raw.series()], sample));
      }
    }
    for (const uint32_t id : response.ended()) series_.erase(id);
    if (response.lagged() > 0) {
      std::fprintf(stderr,
                   "fleetperf: %llu values dropped: the output is read too "
                   "slowly\n",
                   static_cast<unsigned long long>(response.lagged()));
    }
    if (response.live_machines().widened() > 0) {
      std::fprintf(
          stderr,
          "fleetperf: %u machines send values only every %s, because too many "
          "are watched; watch fewer to see every sample\n",
          response.live_machines().widened(),
          absl::FormatDuration(
              FromProto(response.live_machines().widened_interval()))
              .c_str());
    }
    is_closed_ = !FinishOutput().ok() || HasOutputFailed();
  }

  bool IsClosed() override { return is_closed_; }

 private:
  const std::unique_ptr<RecordPrinter> printer_;
  std::map<uint32_t, v1::Series> series_;
  bool is_closed_ = false;
};

// Prints a table: redrawn on a terminal, repeated elsewhere.
class TableViewer : public Viewer {
 public:
  TableViewer(LiveTable::Order order, std::function<void()> quit)
      : is_redrawn_(CanMoveCursor()), quit_(std::move(quit)) {
    table_.SetOrder(order);
    if (is_redrawn_) {
      Put(kClearScreen);
      keys_ = KeyReader::Start([this](char key) { OnKey(key); });
    }
    has_keys_ = keys_ != nullptr;
    painter_ = std::thread([this] { Paint(); });
  }

  ~TableViewer() override {
    keys_ = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
      wakeup_.Notify();
    }
    painter_.join();
  }

  void Add(const v1::SubscribeResponse& response) override {
    absl::MutexLock lock(&mutex_);
    table_.Add(response);
    has_changed_ |= response.points_size() > 0 || response.ended_size() > 0;
    if (has_changed_) wakeup_.Notify();
  }

  bool IsClosed() override {
    absl::MutexLock lock(&mutex_);
    return is_closed_;
  }

 private:
  void OnKey(char key) {
    if (key == 'q') return quit_();
    absl::MutexLock lock(&mutex_);
    switch (key) {
      case 's': {
        const auto next = (static_cast<int>(table_.order()) + 1) % 3;
        table_.SetOrder(static_cast<LiveTable::Order>(next));
        break;
      }
      case ' ':
      case 'n':
        table_.TurnPage(1);
        break;
      case 'b':
      case 'p':
        table_.TurnPage(-1);
        break;
      default:
        return;
    }
    has_key_ = true;
    wakeup_.Notify();
  }

  void Paint() {
    const absl::Duration pause = is_redrawn_ ? kTerminalPause : kPipePause;
    absl::MutexLock lock(&mutex_);
    for (;;) {
      // Keys take effect at once; values are drawn together.
      const auto is_awake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_over_ || has_key_;
      };
      const auto is_new = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_over_ || has_key_ || has_changed_;
      };
      wakeup_.Await(&mutex_, pause, is_awake);
      const bool has_news = wakeup_.Await(&mutex_, kRedraw, is_new);
      if (is_over_ && !has_changed_) return;
      if (has_news || is_redrawn_ || HasNewLateRows()) Draw();
    }
  }

  // Whether values that do not arrive changed the table.
  bool HasNewLateRows() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return table_.CountLate(Clock::Real().Now()) > late_rows_;
  }

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    has_changed_ = false;
    late_rows_ = table_.CountLate(Clock::Real().Now());
    has_key_ = false;
    LiveTable::Look look{.columns = TableWidth()};
    if (IsTerminal()) look.trend = ShownCharacters();
    if (is_redrawn_) {
      look.rows = TerminalSize().rows;
      look.has_keys = has_keys_;
      Put(kHome);
    }
    const char* const line_end = is_redrawn_ ? kEndLine : "\n";
    for (const std::string& line : table_.Lines(look, Clock::Real().Now())) {
      Put(line);
      Put(line_end);
    }
    Put(is_redrawn_ ? kClearBelow : "\n");
    const bool failed = !FinishOutput().ok() || HasOutputFailed();
    if (failed && !std::exchange(is_closed_, true)) quit_();
  }

  const bool is_redrawn_;
  const std::function<void()> quit_;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  LiveTable table_ ABSL_GUARDED_BY(mutex_);
  bool has_changed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t late_rows_ ABSL_GUARDED_BY(mutex_) = 0;  // in the last table
  bool has_key_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<KeyReader> keys_;
  bool has_keys_ = false;
  std::thread painter_;
};

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
  if (flags.raw && format == Format::kTable) {
    return absl::InvalidArgumentError(
        "--raw: raw samples are for programs; add --format json or csv");
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
  Watcher(const Connection& connection, Format format, uint32_t count,
          absl::Duration length, v1::SubscribeRequest request)
      : connection_(connection),
        format_(format),
        count_(count),
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

  // Returns AlreadyReported, as a MissingError, if a path matched nothing.
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
    viewer_ = nullptr;  // draws the last values
    const bool is_at_end = was_connected_ && absl::IsDeadlineExceeded(status);
    return is_at_end || IsOver() ? Missing() : status;
  }

 private:
  absl::Status Missing() {
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
    return is_missing_ || has_unreachable_ ? MissingError(AlreadyReported())
                                           : absl::OkStatus();
  }

  // After a restart, all clients connect at once, and may exceed a limit for a
  // moment. A stream that was admitted and then exceeds one, would again.
  bool MayTryAgain(const absl::Status& status) const {
    return was_connected_ &&
           (absl::IsUnavailable(status) ||
            (absl::IsResourceExhausted(status) && !is_connected_));
  }

  LiveTable::Order Order() const {
    return request_.top() > 0      ? LiveTable::Order::kLargest
           : request_.bottom() > 0 ? LiveTable::Order::kSmallest
                                   : LiveTable::Order::kPath;
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
    has_unreachable_ = false;  // the first message says otherwise
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
    if (response->has_unreachable()) {
      has_unreachable_ = response->unreachable().peers_size() > 0;
      for (const v1::UnreachablePeer& peer : response->unreachable().peers()) {
        PrintUnreachable(peer, format_);
      }
    }
    for (const v1::Series& series : response->series()) paths_.Add(series);
    if (viewer_ == nullptr && format_ == Format::kTable) {
      viewer_ = std::make_unique<TableViewer>(Order(), [this] { Quit(); });
    } else if (viewer_ == nullptr) {
      viewer_ = std::make_unique<LineViewer>(format_);
    }
    // The first response arrives after the stored values have been searched.
    if (response->series_size() == 0 && !std::exchange(told_, true)) {
      std::fprintf(stderr,
                   "fleetperf: nothing matches yet; waiting for a match "
                   "(Ctrl-C quits)\n");
    }
    told_ = true;
    if (count_ > 0 && messages_ == count_) return;
    const bool has_values =
        response->points_size() > 0 || response->raw_samples_size() > 0;
    series_.Translate(response);
    viewer_->Add(*response);
    if (has_values) ++messages_;
    if (viewer_->IsClosed() || (count_ > 0 && messages_ == count_)) Quit();
  }

  const Connection& connection_;
  const Format format_;
  const uint32_t count_;      // 0: no limit
  const absl::Duration end_;  // Clock::Monotonic()
  v1::SubscribeRequest request_;
  ResumedSeries series_;
  WatchedPaths paths_;
  bool is_told_missing_ = false;  // whether the first response was shown
  bool is_missing_ = false;       // whether a path is
  bool has_unreachable_ =
      false;  // whether machines of an aggregator are missing
  std::unique_ptr<Viewer> viewer_;
  uint32_t messages_ = 0;      // with values
  bool told_ = false;          // whether data or the waiting message was shown
  bool is_connected_ = false;  // the current stream has answered
  bool was_connected_ = false;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool quits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status Watch(const Connection& connection, Format format,
                   const WatchFlags& flags, StopSignal* stop) {
  ASSIGN_OR_RETURN(v1::SubscribeRequest request, MakeRequest(flags, format));
  absl::Duration length = absl::InfiniteDuration();
  if (!flags.duration.empty()) {
    ASSIGN_OR_RETURN(length, ParseDurationFlag("--for", flags.duration));
  }
  Watcher watcher(connection, format, flags.count, length, std::move(request));
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
