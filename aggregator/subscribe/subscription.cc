#include "aggregator/subscribe/subscription.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/points.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/query/series.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/subscribe/stream_evaluator.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxQueuedBatches = 1024;
// Before other subscriptions have their turn.
constexpr int kBatchesAtOnce = 16;
constexpr size_t kMaxSeries = 200'000;
// Instances of one counterset that are remembered without asking which of them
// are gone.
constexpr size_t kFewInstances = 1000;
// Reading the newest samples of more machines would take too long.
constexpr size_t kMaxMachinesWithHistory = 200;

size_t CountValues(const ReceivedBatch& batch) {
  size_t values = 0;
  for (const Frame& frame : batch.decoded.frames) {
    for (const Frame::Run& run : frame.runs) {
      values += run.tick_count * frame.columns.size();
    }
  }
  return values;
}

}  // namespace

// The series of one counterset of one machine.
class Subscription::Feed : public SampleSink {
 public:
  Feed(Subscription* subscription, std::string machine,
       const SelectedCounterset& selected)
      : subscription_(*subscription),
        machine_(std::move(machine)),
        feed_(selected, this) {}

  void Add(const Frame& frame) {
    feed_.Add(frame);
    EndAbsent(frame);
    if (feed_.instances() > forget_above_) Forget();
  }

  size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                   std::vector<uint32_t> wanted_indexes) override {
    Series series{instance, formula.counter_id, std::move(wanted_indexes),
                  StreamEvaluator(formula, subscription_.interval_)};
    if (free_.empty()) {
      series_.push_back(std::move(series));
      return series_.size() - 1;
    }
    const size_t number = free_.back();
    free_.pop_back();
    series_[number] = std::move(series);
    return number;
  }

  void AddRun(size_t number, const SeriesRun& run) override {
    Series& series = series_[number];
    series.sampling_interval = run.interval();
    series.is_over = false;
    std::vector<Point> points;
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      if (auto point = series.evaluator.Add(run.Sample(tick), run.interval())) {
        points.push_back(*point);
      }
    }
    if (points.empty()) return;
    if (subscription_.reading_history_) {
      series.newest_of_history = points.back();
    } else if (Announce(series)) {
      *subscription_.update_.add_points() = ToProto(series.id, points);
    }
  }

  // Sends the newest value of each series that history had.
  void FinishHistory() {
    for (Series& series : series_) {
      if (!series.newest_of_history.has_value() || !Announce(series)) continue;
      *subscription_.update_.add_points() =
          ToProto(series.id, {*series.newest_of_history});
    }
  }

 private:
  struct Series {
    Instance instance;
    uint32_t counter_id;
    std::vector<uint32_t> wanted_indexes;
    StreamEvaluator evaluator;
    absl::Duration sampling_interval;
    std::optional<Point> newest_of_history;
    bool is_over = false;  // its instance was absent when it was last looked at
    // Which of the instances of its name it is; nothing before its first point
    // and after its end.
    std::optional<uint32_t> index;
    uint32_t id = 0;  // 0: the subscriber does not know it
  };

  // Tells the subscriber of the series if it does not know it. False if it is
  // not wanted.
  bool Announce(Series& series) {
    if (series.id != 0) return true;
    if (!series.index.has_value()) series.index = TakeIndex(series);
    const auto& wanted = series.wanted_indexes;
    if (!wanted.empty() &&
        std::count(wanted.begin(), wanted.end(), *series.index) == 0) {
      return false;
    }
    if (subscription_.live_series_ == kMaxSeries) {
      subscription_.outlet_->End(absl::ResourceExhaustedError(
          absl::StrCat("the subscription has more than ", kMaxSeries,
                       " series; select fewer")));
      return false;
    }
    series.id = subscription_.next_series_++;
    ++subscription_.live_series_;
    const Schema& schema = *feed_.schema();
    v1::SubscribeResponse response;
    *response.mutable_series() = DescribeSeries(
        machine_, schema, *schema.registration.FindCounter(series.counter_id),
        series.instance, *series.index);
    response.mutable_series()->set_id(series.id);
    subscription_.outlet_->Send(std::move(response));
    return true;
  }

  // Which indexes living series of one counter and name have: all below `end`
  // that are not free.
  struct Indexes {
    std::set<uint32_t> free;
    uint32_t end = 0;
  };
  // Names are compared as paths do.
  Indexes& IndexesOf(const Series& series) {
    return indexes_[{series.counter_id,
                     absl::AsciiStrToLower(series.instance.name)}];
  }

  // Takes the smallest that is free.
  uint32_t TakeIndex(const Series& series) {
    Indexes& indexes = IndexesOf(series);
    if (indexes.free.empty()) return indexes.end++;
    return indexes.free.extract(indexes.free.begin()).value();
  }

  void GiveIndexBack(Series& series) {
    if (!series.index.has_value()) return;
    IndexesOf(series).free.insert(*std::exchange(series.index, std::nullopt));
  }

  // Ends the series that are not in the frame's last tick.
  void EndAbsent(const Frame& frame) {
    if (frame.query->schema != feed_.schema() || frame.clocks->empty()) return;
    const uint32_t last = static_cast<uint32_t>(frame.clocks->size()) - 1;
    if (frame.HasFailed(last)) return;
    const absl::Time time = perflib::TimeFromPerfTime100NSec(
        frame.clocks->back().perf_time_100nsec);
    for (Series& series : series_) {
      if (series.is_over || series.sampling_interval != frame.query->interval ||
          !series.evaluator.newest().has_value() ||
          *series.evaluator.newest() >= time ||
          !Collects(*frame.query, series.counter_id)) {
        continue;
      }
      series.is_over = true;
      GiveIndexBack(series);
      series.newest_of_history.reset();
      if (series.id == 0) continue;
      --subscription_.live_series_;
      v1::SubscribeResponse response;
      response.mutable_end()->set_series(std::exchange(series.id, 0));
      // Its last points come first.
      if (subscription_.update_.points_size() > 0) subscription_.Flush();
      subscription_.outlet_->Send(std::move(response));
    }
  }

  // Makes room: processes come and go for as long as somebody watches.
  void Forget() {
    for (const size_t number : feed_.Forget(
             [this](size_t series) { return series_[series].is_over; })) {
      free_.push_back(number);
    }
    std::erase_if(indexes_, [](const auto& entry) {
      return entry.second.free.size() == entry.second.end;
    });
    forget_above_ = 2 * feed_.instances() + kFewInstances;
  }

  static bool Collects(const CollectedQuery& query, uint32_t counter_id) {
    return std::any_of(query.columns.begin(), query.columns.end(),
                       [&](const CollectedQuery::Column& column) {
                         return column.counter_id == counter_id &&
                                !column.only_linked;
                       });
  }

  Subscription& subscription_;
  const std::string machine_;
  SampleFeed feed_;
  std::vector<Series> series_;
  std::vector<size_t> free_;  // of those, what is forgotten
  // By counter and name.
  std::map<std::pair<uint32_t, std::string>, Indexes> indexes_;
  size_t forget_above_ = kFewInstances;
};

Subscription::Subscription(PathSet paths, absl::Duration interval, Store* store,
                           std::shared_ptr<SubscriptionOutlet> outlet)
    : paths_(std::move(paths)),
      interval_(interval),
      store_(*store),
      outlet_(std::move(outlet)) {}

Subscription::~Subscription() = default;

bool Subscription::Offer(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  if (queue_.size() >= kMaxQueuedBatches) {
    lagged_ += CountValues(*queue_.front());
    queue_.pop_front();
  }
  queue_.push_back(std::move(batch));
  return !std::exchange(has_work_, true);
}

bool Subscription::Work() {
  if (reading_history_) {
    if (!std::exchange(found_history_, true)) FindHistory();
    if (history_.empty()) {
      FinishHistory();
    } else {
      ReadHistory(history_.begin()->first);
      history_.erase(history_.begin());
    }
    return true;
  }
  for (int i = 0; i < kBatchesAtOnce; ++i) {
    std::shared_ptr<const ReceivedBatch> batch;
    {
      absl::MutexLock lock(&mutex_);
      if (queue_.empty()) return has_work_ = false;
      batch = std::move(queue_.front());
      queue_.pop_front();
      update_.set_lagged(update_.lagged() + std::exchange(lagged_, 0));
    }
    for (const Frame& frame : batch->decoded.frames) AddFrame(frame);
    if (update_.points_size() > 0) Flush();
  }
  return true;
}

void Subscription::FindHistory() {
  auto selected = paths_.Select(store_.directory());
  if (!selected.ok()) return;
  history_ = *std::move(selected);
  while (history_.size() > kMaxMachinesWithHistory) {
    history_.erase(std::prev(history_.end()));
  }
}

void Subscription::ReadHistory(const std::string& machine) {
  const Directory& directory = store_.directory();
  const auto newest = directory.NewestSample(machine);
  if (!newest.has_value()) return;
  const absl::Duration longest = std::max(
      interval_, LongestInterval(directory, machine, history_.at(machine)));
  store_
      .Read(
          {.machine = machine,
           .from = *newest - longest * kMaxIntervalsApart,
           .to = *newest},
          [this](const Frame& frame) {
            AddFrame(frame);
            return absl::OkStatus();
          },
          [](const Loss&) {})
      .IgnoreError();  // live samples follow all the same
}

// The first update is sent even if nothing is in it: it says that history is
// done.
void Subscription::FinishHistory() {
  reading_history_ = false;
  for (const auto& [key, feed] : feeds_) {
    if (feed != nullptr) feed->FinishHistory();
  }
  Flush();
}

void Subscription::AddFrame(const Frame& frame) {
  const std::shared_ptr<const Schema>& schema = frame.query->schema;
  const auto [entry, is_new] =
      feeds_.try_emplace({frame.query->machine, schema->hash});
  if (is_new) {
    if (auto selected = paths_.SelectFrom(frame.query->machine, schema)) {
      entry->second =
          std::make_unique<Feed>(this, frame.query->machine, *selected);
    }
  }
  if (entry->second != nullptr) entry->second->Add(frame);
}

void Subscription::Flush() {
  v1::SubscribeResponse response;
  response.mutable_update()->Swap(&update_);
  update_.Clear();
  outlet_->Send(std::move(response));
}

}  // namespace fleetperf::aggregator
