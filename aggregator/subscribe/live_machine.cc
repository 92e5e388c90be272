#include "aggregator/subscribe/live_machine.h"

#include <algorithm>
#include <optional>

#include "aggregator/formula/piece.h"
#include "aggregator/query/series_reader.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxQueuedBatches = 1024;
// Before other machines have their turn.
constexpr int kTasksAtOnce = 16;

bool IsSame(const SelectedCounterset& a, const SelectedCounterset& b) {
  const auto is_same = [](const Selection& x, const Selection& y) {
    return x.instance == y.instance && x.instance_index == y.instance_index &&
           x.counter_ids == y.counter_ids;
  };
  return a.schema == b.schema &&
         std::equal(a.selections.begin(), a.selections.end(),
                    b.selections.begin(), b.selections.end(), is_same);
}

void EncodeValues(FeedUpdate* update) {
  v1::SubscribeResponse response;
  for (const SeriesValues& values : update->values) {
    if (values.points.values_size() > 0) {
      *response.add_points() = values.points;
    } else {
      *response.add_raw_samples() = values.raw;
    }
  }
  update->encoded_values =
      std::make_shared<const std::string>(response.SerializeAsString());
}

uint64_t CountValues(const ReceivedBatch& batch, const std::string& machine) {
  uint64_t values = 0;
  for (const Frame& frame : batch.decoded.frames) {
    if (frame.query->machine != machine) continue;
    for (const Frame::Run& run : frame.runs) {
      values += uint64_t{run.tick_count} * frame.columns.size();
    }
  }
  return values;
}

}  // namespace

void LiveMachine::Offer(std::shared_ptr<const ReceivedBatch> batch) {
  {
    absl::MutexLock lock(&mutex_);
    if (queued_batches_ == kMaxQueuedBatches) {
      const auto oldest =
          std::find_if(tasks_.begin(), tasks_.end(),
                       [](const Task& task) { return task.batch != nullptr; });
      lagged_ += CountValues(*oldest->batch, machine_);
      tasks_.erase(oldest);
      --queued_batches_;
    }
    ++queued_batches_;
  }
  Push({.batch = std::move(batch)});
}

void LiveMachine::Attach(Watcher watcher) {
  Push({.joining = std::move(watcher)});
}

void LiveMachine::Detach(std::shared_ptr<const Subscription> subscription) {
  Push({.leaving = std::move(subscription)});
}

void LiveMachine::Push(Task task) {
  {
    absl::MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
    if (is_scheduled_ || is_waiting_) return;
    is_scheduled_ = true;
  }
  context_.schedule(shared_from_this());
}

bool LiveMachine::Work() {
  for (int i = 0; i < kTasksAtOnce; ++i) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      if (tasks_.empty()) return is_scheduled_ = false;
      if (tasks_.front().joining.has_value() && !has_waited_) {
        is_scheduled_ = false;
        is_waiting_ = true;
        break;
      }
      has_waited_ = false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      queued_batches_ -= task.batch != nullptr;
    }
    Run(std::move(task));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (!is_waiting_) return true;
  }
  context_.after_commits([machine = shared_from_this()] {
    {
      absl::MutexLock lock(&machine->mutex_);
      machine->is_waiting_ = false;
      machine->has_waited_ = true;
      machine->is_scheduled_ = true;
    }
    machine->context_.schedule(machine);
  });
  return false;
}

void LiveMachine::Run(Task task) {
  if (task.batch != nullptr) return Evaluate(*task.batch);
  if (task.leaving != nullptr) return Leave(task.leaving.get());
  Join(*std::move(task.joining));
}

void LiveMachine::Evaluate(const ReceivedBatch& batch) {
  for (const Frame& frame : batch.decoded.frames) {
    if (frame.query->machine != machine_) continue;
    Meet(frame.query->schema);
    for (const auto& shared : feeds_) shared->feed.Add(frame);
  }
  uint64_t lagged = 0;
  {
    absl::MutexLock lock(&mutex_);
    lagged = std::exchange(lagged_, 0);
  }
  if (lagged > 0) {
    const auto told =
        std::make_shared<const FeedUpdate>(FeedUpdate{.lagged = lagged});
    for (const Watcher& watcher : watchers_) {
      watcher.subscription->outbox()->Add(told);
    }
  }
  for (const auto& shared : feeds_) {
    FeedUpdate update = shared->feed.TakeUpdate();
    if (update.empty()) continue;
    if (shared->listeners.size() > 1) EncodeValues(&update);
    const auto told = std::make_shared<const FeedUpdate>(std::move(update));
    for (const auto& [subscription, listener] : shared->listeners) {
      listener->Deliver(told);
    }
  }
}

void LiveMachine::Meet(const std::shared_ptr<const Schema>& schema) {
  if (!met_.insert(schema).second) return;
  for (const Watcher& watcher : watchers_) {
    SharedFeed* shared = FindFeed(watcher, schema);
    if (shared == nullptr) continue;
    shared->listeners.emplace_back(
        watcher.subscription.get(),
        std::make_shared<Listener>(watcher.subscription->outbox(),
                                   /*reads_history=*/false));
  }
}

LiveMachine::SharedFeed* LiveMachine::FindFeed(
    const Watcher& watcher, const std::shared_ptr<const Schema>& schema) {
  const SubscriptionRequest& request = watcher.subscription->request();
  auto selected = request.paths.SelectFrom(machine_, schema);
  if (!selected.has_value()) return nullptr;
  const FeedForm form = {.interval = watcher.interval, .raw = request.form.raw};
  for (const auto& shared : feeds_) {
    if (shared->form == form && IsSame(shared->selected, *selected)) {
      return shared.get();
    }
  }
  auto names =
      std::make_shared<SeriesNames>(machine_, schema, &context_.next_series_id);
  feeds_.push_back(std::make_unique<SharedFeed>(*std::move(selected), form,
                                                std::move(names)));
  return feeds_.back().get();
}

void LiveMachine::Join(Watcher watcher) {
  for (const auto& collected :
       context_.store->directory().Countersets(machine_)) {
    met_.insert(collected->schema);
  }
  std::vector<SharedFeed*> all;
  std::vector<SharedFeed*> made;
  for (const auto& schema : met_) {
    SharedFeed* shared = FindFeed(watcher, schema);
    if (shared == nullptr) continue;
    all.push_back(shared);
    if (shared->listeners.empty()) made.push_back(shared);
  }
  if (!made.empty()) Prime(made);
  for (SharedFeed* shared : all) {
    auto listener = std::make_shared<Listener>(watcher.subscription->outbox(),
                                               watcher.history != nullptr);
    shared->listeners.emplace_back(watcher.subscription.get(), listener);
    if (watcher.history != nullptr) {
      watcher.history->Add({.machine = machine_,
                            .selected = shared->selected,
                            .form = shared->form,
                            .names = shared->names,
                            .listener = std::move(listener),
                            .joining = watcher.joining});
    } else {
      listener->Deliver(
          std::make_shared<const FeedUpdate>(shared->feed.Newest()));
    }
  }
  watcher.joining = nullptr;
  watchers_.push_back(std::move(watcher));
}

void LiveMachine::Prime(const std::vector<SharedFeed*>& feeds) {
  const Directory& directory = context_.store->directory();
  const auto newest = directory.NewestSample(machine_);
  if (!newest.has_value()) return;
  absl::Duration longest;
  for (const SharedFeed* shared : feeds) {
    longest =
        std::max({longest, shared->form.interval,
                  LongestInterval(directory, machine_, {shared->selected})});
  }
  context_.store
      ->Read(
          {.machine = machine_,
           .from = *newest - longest * kMaxIntervalsApart,
           .to = absl::InfiniteFuture(),
           .filter =
               [&](const CollectedQuery& query) {
                 return std::any_of(
                     feeds.begin(), feeds.end(), [&](const SharedFeed* shared) {
                       return shared->selected.schema == query.schema;
                     });
               }},
          [&](const Frame& frame) {
            for (SharedFeed* shared : feeds) shared->feed.Add(frame);
            return absl::OkStatus();
          },
          [](const Loss&) {})
      .IgnoreError();  // what comes follows all the same
  for (SharedFeed* shared : feeds) shared->feed.TakeUpdate();
}

void LiveMachine::Leave(const Subscription* subscription) {
  std::erase_if(watchers_, [&](const Watcher& watcher) {
    return watcher.subscription.get() == subscription;
  });
  for (const auto& shared : feeds_) {
    std::erase_if(shared->listeners, [&](const auto& listener) {
      return listener.first == subscription;
    });
  }
  std::erase_if(feeds_,
                [](const auto& shared) { return shared->listeners.empty(); });
}

}  // namespace fleetperf::aggregator
