#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/sparkline.h"
#include "aggregator/cli/terminal.h"
#include "aggregator/cli/values.h"
#include "base/daemon.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kTrendLength = 24;
// A row whose values stop coming is marked after so many of its intervals.
constexpr double kStaleIntervals = 3.5;
constexpr absl::Duration kTerminalPause = absl::Milliseconds(200);
constexpr absl::Duration kPipePause = absl::Milliseconds(900);

constexpr char kClearScreen[] = "\x1b[2J";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

// Takes what a subscription brings.
class Viewer {
 public:
  virtual ~Viewer() = default;
  virtual void AddSeries(const v1::Series& series) = 0;
  virtual void Add(const v1::Update& update) = 0;
  virtual void End(uint32_t series) = 0;
};

// One line of JSON or CSV for each value.
class LineViewer : public Viewer {
 public:
  explicit LineViewer(Format format) : printer_(MakePrinter(format)) {}

  void AddSeries(const v1::Series& series) override {
    series_[series.id()] = series;
  }
  void End(uint32_t series) override { series_.erase(series); }

  void Add(const v1::Update& update) override {
    for (const v1::Points& points : update.points()) {
      const v1::Series& series = series_[points.series()];
      ForEachValue(points, [&](const Value& value) {
        printer_->Print(ValueRecord(series, value, /*with_time=*/true));
      });
    }
    if (update.lagged() > 0) {
      std::fprintf(stderr,
                   "fleetperf: %llu values left out: the output is read too "
                   "slowly\n",
                   static_cast<unsigned long long>(update.lagged()));
    }
  }

 private:
  const std::unique_ptr<RecordPrinter> printer_;
  std::map<uint32_t, v1::Series> series_;
};

// A table of the newest values: redrawn on a terminal, printed again elsewhere.
class TableViewer : public Viewer {
 public:
  TableViewer() : is_terminal_(IsTerminal()) {
    if (is_terminal_) std::fputs(kClearScreen, stdout);
  }

  void AddSeries(const v1::Series& series) override {
    Row& row = rows_[series.id()];
    row.series = series;
  }
  void End(uint32_t series) override { rows_.erase(series); }

  void Add(const v1::Update& update) override {
    const absl::Time now = absl::Now();
    for (const v1::Points& points : update.points()) {
      Row& row = rows_[points.series()];
      ForEachValue(points, [&](const Value& value) {
        if (row.arrived != absl::InfinitePast()) {
          row.interval = value.time - row.newest.time;
        }
        row.newest = value;
        row.arrived = now;
        row.trend.push_back(value.ok() ? std::optional(value.value)
                                       : std::nullopt);
        if (row.trend.size() > kTrendLength) {
          row.trend.erase(row.trend.begin());
        }
      });
    }
    lagged_ += update.lagged();
    if (now - drawn_ < (is_terminal_ ? kTerminalPause : kPipePause)) return;
    drawn_ = now;
    Draw(now);
  }

 private:
  struct Row {
    v1::Series series;
    Value newest;
    absl::Time arrived = absl::InfinitePast();
    absl::Duration interval = absl::Seconds(1);
    std::vector<std::optional<double>> trend;
  };

  void Draw(absl::Time now) {
    std::vector<const Row*> rows;
    for (const auto& [id, row] : rows_) {
      if (row.arrived != absl::InfinitePast()) rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
      return std::forward_as_tuple(a->series.machine(), a->series.path()) <
             std::forward_as_tuple(b->series.machine(), b->series.path());
    });
    const Size size = TerminalSize();
    const size_t total = rows.size();
    constexpr size_t kOtherLines = 4;  // above and below the rows
    if (size.rows > kOtherLines && rows.size() > size.rows - kOtherLines) {
      rows.resize(size.rows - kOtherLines);
    }
    std::vector<Record> records;
    for (const Row* row : rows) records.push_back(RecordOf(*row, now));

    if (is_terminal_) std::fputs(kHome, stdout);
    PrintLine(absl::StrCat(
        absl::FormatTime("%H:%M:%S", now, absl::UTCTimeZone()), " UTC  ", total,
        " series",
        lagged_ > 0 ? absl::StrCat("  ", lagged_, " values left out") : "",
        is_terminal_ ? "  (Ctrl-C ends)" : ""));
    for (const std::string& line : FormatTable(records, size.columns)) {
      PrintLine(line);
    }
    if (rows.size() < total) {
      PrintLine(absl::StrCat("... and ", total - rows.size(), " more"));
    }
    std::fputs(is_terminal_ ? kClearBelow : "\n", stdout);
  }

  Record RecordOf(const Row& row, absl::Time now) const {
    const bool stale =
        now - row.arrived > row.interval * kStaleIntervals + absl::Seconds(1);
    Record record;
    record.push_back({.name = "machine", .value = row.series.machine()});
    record.push_back({.name = "path", .value = row.series.path()});
    const NumberText number = NumberOf(row.series, row.newest.value);
    Field value{.name = "value"};
    if (row.newest.ok()) {
      value.value = row.newest.value;
      value.text = number.number;
    } else {
      value.text = ValueText(row.series, row.newest);
    }
    record.push_back(value);
    record.push_back(
        {.name = "unit", .value = row.newest.ok() ? number.unit : ""});
    Field trend{.name = "trend", .detail = !is_terminal_};
    trend.value = stale
                      ? absl::StrCat("no value for ",
                                     absl::FormatDuration(absl::Trunc(
                                         now - row.arrived, absl::Seconds(1))))
                      : Sparkline(row.trend, kTrendLength, ShownCharacters());
    record.push_back(trend);
    return record;
  }

  void PrintLine(const std::string& line) const {
    std::fputs(line.c_str(), stdout);
    std::fputs(is_terminal_ ? kClearLine : "", stdout);
    std::fputs("\n", stdout);
  }

  const bool is_terminal_;
  std::map<uint32_t, Row> rows_;
  uint64_t lagged_ = 0;
  absl::Time drawn_ = absl::InfinitePast();
};

std::unique_ptr<Viewer> MakeViewer(Format format) {
  if (format == Format::kTable) return std::make_unique<TableViewer>();
  return std::make_unique<LineViewer>(format);
}

}  // namespace

absl::Status Watch(const Connection& connection, Format format,
                   const WatchFlags& flags, StopSignal* stop) {
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

  const std::unique_ptr<Viewer> viewer = MakeViewer(format);
  v1::SubscribeResponse response;
  RpcStage stage = RpcStage::kConnecting;
  bool told = false;  // the viewer, or the user that there is nothing to tell
  while (reader->Read(&response)) {
    stage = RpcStage::kAnswering;
    if (response.has_series()) {
      viewer->AddSeries(response.series());
      told = true;
    }
    // The first update comes when what is stored has been looked at.
    if (response.has_update() && !std::exchange(told, true)) {
      std::fprintf(stderr,
                   "fleetperf: nothing matches yet; waiting until something "
                   "does (Ctrl-C ends)\n");
    }
    if (response.has_update()) viewer->Add(response.update());
    if (response.has_end()) viewer->End(response.end().series());
    if (std::fflush(stdout) != 0) context.TryCancel();  // nobody reads it
  }
  const grpc::Status status = reader->Finish();
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::OkStatus();
  }
  return connection.Explain(status, stage);
}

}  // namespace fleetperf::cli
