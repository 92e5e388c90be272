#include "aggregator/subscribe/hub.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {

Hub::Hub(Store* store, const HubLimits& limits, int threads) : limits_(limits) {
  context_.store = store;
  context_.max_history_values = limits.max_history_values;
  context_.schedule = [this](std::shared_ptr<HubTask> task) {
    Schedule(std::move(task));
  };
  context_.after_commits = [](const std::function<void()>& task) { task(); };
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Hub::~Hub() {
  {
    absl::MutexLock lock(&ready_mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void Hub::SetLiveListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  live_listener_ = std::move(listener);
}

void Hub::SetAfterCommits(
    std::function<void(std::function<void()>)> after_commits) {
  context_.after_commits = std::move(after_commits);
}

absl::Status Hub::Add(const std::shared_ptr<Subscription>& subscription) {
  const PathSet& paths = subscription->request().paths;
  ASSIGN_OR_RETURN(const Selected selected,
                   paths.Select(context_.store->directory()));
  std::shared_ptr<void> joining;
  {
    absl::MutexLock lock(&mutex_);
    if (std::ssize(subscriptions_) >= limits_.max_subscribers) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", limits_.max_subscribers,
                       " subscribers, as many as there may be"));
    }
    // Lets the subscriber know when the last who has a share of it lets it go.
    joining = std::shared_ptr<void>(
        nullptr, [outbox = subscription->outbox()](void*) { outbox->Begin(); });
    auto entry = std::make_unique<Entry>(Entry{.subscription = subscription});
    if (subscription->request().start.has_value()) {
      entry->history = std::make_shared<HistoryReader>(
          &context_, *subscription->request().start, subscription->outbox());
      subscription->outbox()->SetDrainedListener(
          [history = std::weak_ptr<HistoryReader>(entry->history)] {
            if (const auto reader = history.lock()) reader->GoOn();
          });
    }
    std::set<std::string> names;
    for (const auto& [name, countersets] : selected) names.insert(name);
    for (const auto& [name, machine] : machines_) {
      if (subscription->IsWatching(name)) names.insert(name);
    }
    for (const std::string& name : names) Attach(name, entry.get(), joining);
    subscriptions_[subscription.get()] = std::move(entry);
    unwatched_.clear();
  }
  NotifyLiveListener();
  return absl::OkStatus();
}

void Hub::Attach(const std::string& name, Entry* entry,
                 std::shared_ptr<void> joining) {
  Machine& machine = machines_[name];
  if (machine.machine == nullptr) {
    machine.machine = std::make_shared<LiveMachine>(name, &context_);
    machine.is_live = live_machines_ < limits_.max_live_machines;
    live_machines_ += machine.is_live;
  }
  Subscription& subscription = *entry->subscription;
  if (!machine.watchers.insert(&subscription).second) return;
  absl::Duration interval = subscription.request().form.interval;
  if (machine.is_live) {
    entry->machines.set_live(entry->machines.live() + 1);
  } else {
    interval = std::max(interval, kWidenedInterval);
    entry->machines.set_widened(entry->machines.widened() + 1);
    *entry->machines.mutable_widened_interval() = ToProto(interval);
  }
  subscription.outbox()->SetLiveMachines(entry->machines);
  machine.machine->Attach({.subscription = entry->subscription,
                           .history = entry->history,
                           .interval = interval,
                           .joining = std::move(joining)});
}

void Hub::Remove(const std::shared_ptr<Subscription>& subscription) {
  {
    absl::MutexLock lock(&mutex_);
    if (subscriptions_.erase(subscription.get()) == 0) return;
    subscription->outbox()->End(absl::CancelledError("nobody reads it"));
    absl::erase_if(machines_,
                   [&](auto& named) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                     Machine& machine = named.second;
                     if (machine.watchers.erase(subscription.get()) == 0)
                       return false;
                     machine.machine->Detach(subscription);
                     if (!machine.watchers.empty()) return false;
                     live_machines_ -= machine.is_live;
                     return true;
                   });
  }
  NotifyLiveListener();
}

void Hub::NotifyLiveListener() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = live_listener_;
  }
  if (listener) listener();
}

Hub::Machine* Hub::Find(const std::string& machine) {
  const auto known = machines_.find(machine);
  if (known != machines_.end()) return &known->second;
  if (subscriptions_.empty() || unwatched_.contains(machine)) return nullptr;
  for (const auto& [subscription, entry] : subscriptions_) {
    if (subscription->IsWatching(machine)) {
      Attach(machine, entry.get(), nullptr);
    }
  }
  const auto entered = machines_.find(machine);
  if (entered != machines_.end()) return &entered->second;
  unwatched_.insert(machine);
  return nullptr;
}

void Hub::OnBatch(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  if (subscriptions_.empty()) return;
  // Mostly there is one.
  std::vector<LiveMachine*> offered;
  for (const Frame& frame : batch->decoded.frames) {
    Machine* machine = Find(frame.query->machine);
    if (machine == nullptr ||
        std::count(offered.begin(), offered.end(), machine->machine.get())) {
      continue;
    }
    offered.push_back(machine->machine.get());
    machine->machine->Offer(batch);
  }
}

bool Hub::IsWatched(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  const Machine* watched = Find(machine);
  return watched != nullptr && watched->is_live;
}

void Hub::Schedule(std::shared_ptr<HubTask> task) {
  absl::MutexLock lock(&ready_mutex_);
  ready_.push_back(std::move(task));
}

bool Hub::WorkOnce() {
  std::shared_ptr<HubTask> task;
  {
    absl::MutexLock lock(&ready_mutex_);
    if (ready_.empty()) return false;
    task = std::move(ready_.front());
    ready_.pop_front();
  }
  DoOne(std::move(task));
  return true;
}

void Hub::DoOne(std::shared_ptr<HubTask> task) {
  if (task->Work()) Schedule(std::move(task));
}

void Hub::Run() {
  for (;;) {
    std::shared_ptr<HubTask> task;
    {
      absl::MutexLock lock(&ready_mutex_);
      const auto has_work = [this]()
                                ABSL_EXCLUSIVE_LOCKS_REQUIRED(ready_mutex_) {
                                  return stopping_ || !ready_.empty();
                                };
      ready_mutex_.Await(absl::Condition(&has_work));
      if (stopping_) return;
      task = std::move(ready_.front());
      ready_.pop_front();
    }
    DoOne(std::move(task));
  }
}

}  // namespace fleetperf::aggregator
