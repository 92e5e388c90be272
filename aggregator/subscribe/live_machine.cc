#include "aggregator/subscribe/live_machine.h"

#include <algorithm>

#include "aggregator/subscribe/feed_primer.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxQueuedBatches = 1024;
// The number of tasks before other machines have their turn.
constexpr int kTasksAtOnce = 16;

}  // namespace

void LiveMachine::Offer(std::shared_ptr<const ReceivedBatch> batch,
                        bool is_urgent) {
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
  Push({.batch = std::move(batch)}, is_urgent);
}

void LiveMachine::Attach(Watcher watcher) {
  Push({.joining = std::move(watcher)});
}

void LiveMachine::Detach(std::shared_ptr<const Subscription> subscription) {
  Push({.leaving = std::move(subscription)});
}

void LiveMachine::Push(Task task, bool is_urgent) {
  {
    absl::MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
    if (is_scheduled_ || is_waiting_) return;
    is_scheduled_ = true;
  }
  if (is_urgent) return context_.live.Schedule(shared_from_this());
  context_.live.ScheduleLater(shared_from_this());
}

bool LiveMachine::Work() {
  for (int i = 0; i < kTasksAtOnce; ++i) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      if (tasks_.empty()) return is_scheduled_ = false;
      if (tasks_.front().joining.has_value() && !has_stored_countersets_ &&
          !has_waited_) {
        is_scheduled_ = false;
        is_waiting_ = true;
        break;
      }
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
  WaitForCommits();
  return false;
}

void LiveMachine::WaitForCommits() {
  context_.after_commits([machine = shared_from_this()] {
    {
      absl::MutexLock lock(&machine->mutex_);
      machine->is_waiting_ = false;
      machine->has_waited_ = true;
      machine->is_scheduled_ = true;
    }
    machine->context_.live.Schedule(machine);
  });
}

void LiveMachine::Run(Task task) {
  if (task.batch != nullptr) return Evaluate(task.batch);
  if (task.leaving != nullptr) return Leave(task.leaving.get());
  if (!task.primed.empty()) return EndPriming(task.primed);
  Join(*std::move(task.joining));
}

void LiveMachine::Evaluate(const std::shared_ptr<const ReceivedBatch>& batch) {
  for (const Frame& frame : batch->decoded.frames) {
    if (frame.query->machine == machine_) AddCounterset(frame.query->schema);
  }
  ReportLagged();
  for (const auto& feed : feeds_) feed->Add(batch);
}

void LiveMachine::ReportLagged() {
  uint64_t lagged = 0;
  {
    absl::MutexLock lock(&mutex_);
    lagged = std::exchange(lagged_, 0);
  }
  if (lagged == 0) return;
  const auto update =
      std::make_shared<const FeedUpdate>(FeedUpdate{.lagged = lagged});
  for (const Watcher& watcher : watchers_) {
    watcher.subscription->outbox()->Add(update);
  }
}

void LiveMachine::AddCounterset(const std::shared_ptr<const Schema>& schema) {
  if (!known_schemas_.insert(schema).second) return;
  for (const Watcher& watcher : watchers_) {
    const auto feed = FindFeed(watcher, schema);
    if (feed == nullptr) continue;
    // If the subscription selects the machine again, these live values must
    // not come as history.
    if (watcher.claim != nullptr) watcher.claim->Begin();
    feed->JoinNew(*watcher.subscription);
  }
}

std::shared_ptr<SharedFeed> LiveMachine::FindFeed(
    const Watcher& watcher, const std::shared_ptr<const Schema>& schema) {
  const SubscriptionRequest& request = watcher.subscription->request();
  auto selected = request.paths.SelectFrom(machine_, schema);
  if (!selected.has_value()) return nullptr;
  const FeedForm form = {.interval = watcher.interval, .raw = request.form.raw};
  for (const auto& feed : feeds_) {
    if (feed->IsOf(*selected, form)) return feed;
  }
  return feeds_.emplace_back(std::make_shared<SharedFeed>(
      machine_, *std::move(selected), form, &context_));
}

void LiveMachine::Join(Watcher watcher) {
  const bool all_is_stored = !std::exchange(has_stored_countersets_, true);
  if (all_is_stored) {
    for (const auto& collected :
         context_.store->directory().Countersets(machine_)) {
      AddCounterset(collected->schema);
    }
  }
  Feeds made;
  for (const auto& schema : known_schemas_) {
    const auto feed = FindFeed(watcher, schema);
    if (feed == nullptr) continue;
    const bool is_new = !feed->HasListeners();
    if (is_new) {
      feed->BeginPriming();
      made.push_back(feed);
    }
    // A feed is primed once the batches accepted before its first listener are
    // stored. The first listener's history is complete then, too.
    feed->Join({.subscription = watcher.subscription,
                .history = watcher.history,
                .claim = watcher.claim,
                .joining = watcher.joining,
                .all_is_stored = is_new || all_is_stored});
  }
  watcher.joining = nullptr;
  watchers_.push_back(std::move(watcher));
  if (!made.empty()) Prime(std::move(made), all_is_stored);
}

void LiveMachine::Prime(Feeds feeds, bool all_is_stored) {
  const auto primer = std::make_shared<FeedPrimer>(
      machine_, std::move(feeds), &context_,
      [machine = shared_from_this()](Feeds primed) {
        machine->Push({.primed = std::move(primed)});
      });
  if (all_is_stored) return context_.joining.Schedule(primer);
  context_.after_commits(
      [&context = context_, primer] { context.joining.Schedule(primer); });
}

void LiveMachine::EndPriming(const Feeds& primed) {
  for (const auto& feed : primed) {
    // A feed without listeners is removed.
    if (std::count(feeds_.begin(), feeds_.end(), feed) > 0) feed->EndPriming();
  }
}

void LiveMachine::Leave(const Subscription* subscription) {
  std::erase_if(watchers_, [&](const Watcher& watcher) {
    return watcher.subscription.get() == subscription;
  });
  for (const auto& feed : feeds_) feed->Leave(subscription);
  std::erase_if(feeds_, [](const auto& feed) { return !feed->HasListeners(); });
}

}  // namespace fleetperf::aggregator
