#include "cli/viewers.h"

#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/os/clock.h"
#include "base/wakeup.h"
#include "cli/live_table.h"
#include "cli/missing.h"
#include "cli/pdh_csv_log.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The intervals between redraws of a table, which also mark stale rows.
constexpr absl::Duration kTerminalPause = absl::Milliseconds(200);
constexpr absl::Duration kPipePause = absl::Milliseconds(900);
constexpr absl::Duration kRedraw = absl::Seconds(1);

// The time between rows of pdh-csv without --interval, as that of typeperf.
constexpr absl::Duration kDefaultRowStep = absl::Seconds(1);

constexpr char kClearScreen[] = "\x1b[2J";
constexpr char kHome[] = "\x1b[H";
constexpr char kEndLine[] = "\x1b[K\n";
constexpr char kClearBelow[] = "\x1b[J";

// Reports values that the subscriber does not get.
void ReportDropped(const v1::SubscribeResponse& response) {
  if (response.lagged() > 0) {
    PrintNote(absl::StrCat(response.lagged(),
                           " values dropped: the output is read too slowly"));
  }
  if (response.live_machines().widened() > 0) {
    PrintNote(absl::StrCat(
        response.live_machines().widened(), " machines send values only every ",
        absl::FormatDuration(
            FromProto(response.live_machines().widened_interval())),
        ", because too many are watched; watch fewer to see every sample"));
  }
}

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
    ReportDropped(response);
    is_closed_ = !FinishOutput().ok() || HasOutputFailed();
  }

  bool IsClosed() override { return is_closed_; }

 private:
  const std::unique_ptr<RecordPrinter> printer_;
  std::map<uint32_t, v1::Series> series_;
  bool is_closed_ = false;
};

// Prints the CSV format of perfmon. Its rows are what --count counts.
class PdhCsvViewer : public Viewer {
 public:
  explicit PdhCsvViewer(const PdhCsvLog::Options& options) : log_(options) {}
  ~PdhCsvViewer() override { Print(log_.Finish()); }

  void Add(const v1::SubscribeResponse& response) override {
    Print(log_.Add(response, Clock::Real().Now()));
    ReportDropped(response);
    if (log_.without_column() > 0 && !std::exchange(told_, true)) {
      PrintNote(
          "series that begin now are not in the output, because pdh-csv has no "
          "place for more columns; use --format csv to see them");
    }
  }

  bool IsClosed() override { return is_closed_ || log_.is_full(); }

 private:
  void Print(const std::vector<std::string>& lines) {
    PutLines(lines, "\r\n");
    is_closed_ = !FinishOutput().ok() || HasOutputFailed();
  }

  PdhCsvLog log_;
  bool told_ = false;
  bool is_closed_ = false;
};

LiveTable::Look MakeLook(bool pivot) {
  LiveTable::Look look{.columns = TableWidth(), .pivot = pivot};
  if (IsTerminal()) look.trend = ShownCharacters();
  return look;
}

// Prints a table for each round of samples.
class RoundViewer : public Viewer {
 public:
  RoundViewer(LiveTable::Order order, bool pivot) : pivot_(pivot) {
    table_.SetOrder(order);
  }

  void Add(const v1::SubscribeResponse& response) override {
    table_.Add(response);
  }

  void OnRound() override {
    for (const std::string& line :
         table_.Lines(MakeLook(pivot_), Clock::Real().Now())) {
      Put(line);
      Put("\n");
    }
    Put("\n");
    is_closed_ = !FinishOutput().ok() || HasOutputFailed();
  }

  bool IsClosed() override { return is_closed_; }

 private:
  const bool pivot_;
  LiveTable table_;
  bool is_closed_ = false;
};

// Prints a table: redrawn on a terminal, repeated elsewhere.
class TableViewer : public Viewer {
 public:
  TableViewer(LiveTable::Order order, bool pivot, std::function<void()> quit)
      : pivot_(pivot), is_redrawn_(CanMoveCursor()), quit_(std::move(quit)) {
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
    LiveTable::Look look = MakeLook(pivot_);
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

  const bool pivot_;
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

LiveTable::Order OrderOf(const v1::SubscribeRequest& request) {
  return request.top() > 0      ? LiveTable::Order::kLargest
         : request.bottom() > 0 ? LiveTable::Order::kSmallest
                                : LiveTable::Order::kPath;
}

PdhCsvLog::Options LogOptions(const v1::SubscribeRequest& request,
                              uint32_t limit) {
  return {.paths = {request.paths().begin(), request.paths().end()},
          .step = request.has_interval() ? FromProto(request.interval())
                                         : kDefaultRowStep,
          .with_stored = request.has_start(),
          .limit = limit};
}

}  // namespace

std::unique_ptr<Viewer> MakeViewer(const v1::SubscribeRequest& request,
                                   ViewerOptions options) {
  switch (options.format) {
    case Format::kTable:
      if (options.limit > 0 && !CanMoveCursor()) {
        return std::make_unique<RoundViewer>(OrderOf(request), options.pivot);
      }
      return std::make_unique<TableViewer>(OrderOf(request), options.pivot,
                                           std::move(options.quit));
    case Format::kPdhCsv:
      return std::make_unique<PdhCsvViewer>(LogOptions(request, options.limit));
    default:
      return std::make_unique<LineViewer>(options.format);
  }
}

}  // namespace fleetperf::cli
