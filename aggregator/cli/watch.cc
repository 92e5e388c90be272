#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

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
#include "aggregator/cli/live_table.h"
#include "aggregator/cli/query.h"
#include "aggregator/cli/raw_samples.h"
#include "aggregator/cli/terminal.h"
#include "aggregator/cli/values.h"
#include "base/clock.h"
#include "base/daemon.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "base/wakeup.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

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
  explicit TableViewer(std::function<void()> quit)
      : is_redrawn_(CanMoveCursor()), quit_(std::move(quit)) {
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
      const bool has_news = wakeup_.Await(
          &mutex_, is_redrawn_ ? kRedraw : absl::InfiniteDuration(), is_new);
      if (is_over_) return;
      if (has_news || is_redrawn_) Draw();
    }
  }

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    has_changed_ = false;
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
  if (!flags.interval.empty()) {
    const auto interval = ParseDuration(flags.interval);
    if (!interval.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--interval: ", interval.status().message()));
    }
    *request.mutable_interval() = ToProto(*interval);
  }
  if (!flags.since.empty()) {
    const auto since = ParseDuration(flags.since);
    if (!since.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--since: ", since.status().message()));
    }
    *request.mutable_start() = ToProto(Clock::Real().Now() - *since);
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

}  // namespace

absl::Status Watch(const Connection& connection, Format format,
                   const WatchFlags& flags, StopSignal* stop) {
  ASSIGN_OR_RETURN(const v1::SubscribeRequest request,
                   MakeRequest(flags, format));
  grpc::ClientContext context;
  const auto stub = v1::SubscriptionService::NewStub(connection.channel());
  const auto reader = stub->Subscribe(&context, request);
  std::thread stopper([&] {
    stop->Wait();
    context.TryCancel();
  });
  const absl::Cleanup join_stopper = [&] {
    stop->Raise();
    stopper.join();
  };

  std::unique_ptr<Viewer> viewer;
  v1::SubscribeResponse response;
  RpcStage stage = RpcStage::kConnecting;
  bool has_printed = false;  // data, or the waiting message
  while (reader->Read(&response)) {
    stage = RpcStage::kAnswering;
    if (viewer == nullptr && format == Format::kTable) {
      viewer = std::make_unique<TableViewer>([&] { context.TryCancel(); });
    } else if (viewer == nullptr) {
      viewer = std::make_unique<LineViewer>(format);
    }
    // The first response arrives after the stored values have been searched.
    if (response.series_size() == 0 && !std::exchange(has_printed, true)) {
      std::fprintf(stderr,
                   "fleetperf: nothing matches yet; waiting for a match "
                   "(Ctrl-C quits)\n");
    }
    has_printed = true;
    viewer->Add(response);
    if (viewer->IsClosed()) context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  viewer = nullptr;
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::OkStatus();
  }
  return connection.Explain(status, stage);
}

}  // namespace fleetperf::cli
