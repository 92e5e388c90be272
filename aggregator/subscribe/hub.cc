#include "aggregator/subscribe/hub.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limit of names of unwatched machines in memory.
constexpr size_t kMaxUnwatched = 100'000;

// The number of machines attached under one hold of the hub's lock, which
// ingest waits for.
constexpr size_t kSome = 64;

void ForSome(absl::Span<const std::string> names,
             absl::FunctionRef<void(absl::Span<const std::string>)> use) {
  for (; !names.empty(); names.remove_prefix(std::min(kSome, names.size()))) {
    use(names.first(std::min(kSome, names.size())));
  }
}

// Whether a subscription needs values sooner than agents send batches.
bool NeedsLive(const Subscription& subscription) {
  return subscription.request().form.interval < Hub::kWidenedInterval;
}

class Call : public HubTask {
 public:
  explicit Call(std::function<void()> call) : call_(std::move(call)) {}

  bool Work() override {
    call_();
    return false;
  }

 private:
  const std::function<void()> call_;
};

}  // namespace

Hub::Hub(Store* store, const HubLimits& limits, int threads)
    : limits_(limits), context_(store, limits.max_history_values, threads) {
  context_.after_commits = [](const std::function<void()>& task) { task(); };
}

Hub::~Hub() { Stop(); }

void Hub::Stop() {
  context_.is_stopping = true;
  context_.joining.Stop();
  context_.history.Stop();
  context_.live.Stop();
  SetLiveListener(nullptr);
}

void Hub::SetLiveListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  live_listener_ = std::move(listener);
}

void Hub::SetAfterCommits(
    std::function<void(std::function<void()>)> after_commits) {
  context_.after_commits = std::move(after_commits);
}

absl::Status Hub::Add(const std::shared_ptr<Subscription>& subscription,
                      std::vector<absl::Status>* missed,
                      const IsCancelled& is_cancelled) {
  std::vector<absl::Status> misses;
  ASSIGN_OR_RETURN(const Selected selected,
                   subscription->request().paths.Select(
                       context_.store->directory(), &misses, is_cancelled));
  if (selected.empty() && !misses.empty()) return misses.front();
  if (missed != nullptr) *missed = std::move(misses);
  // Machines that appear from now on are attached by OnBatch.
  std::vector<std::string> unwatched;
  ASSIGN_OR_RETURN(std::vector<std::string> names,
                   Enter(subscription, &unwatched));
  // Compared here, and not by the next batch of each machine: ingest would
  // wait.
  std::erase_if(unwatched, [&](const std::string& name) {
    return !subscription->IsWatching(name);
  });
  ForSome(unwatched,
          [&](absl::Span<const std::string> some) { ForgetUnwatched(some); });
  std::erase_if(names, [&](const std::string& name) {
    return selected.contains(name) || !subscription->IsWatching(name);
  });
  for (const auto& [name, countersets] : selected) names.push_back(name);
  std::sort(names.begin(), names.end());
  ForSome(names, [&](absl::Span<const std::string> some) {
    AttachSome(subscription.get(), some);
  });
  // Destroyed without the lock, because the destruction may notify the
  // subscriber.
  std::shared_ptr<void> joining;
  {
    absl::MutexLock lock(&mutex_);
    const auto entered = subscriptions_.find(subscription.get());
    if (entered != subscriptions_.end()) {
      joining = std::exchange(entered->second->joining, nullptr);
    }
  }
  NotifyLiveListener();
  return absl::OkStatus();
}

std::unique_ptr<Hub::Entry> Hub::MakeEntry(
    const std::shared_ptr<Subscription>& subscription) {
  auto entry = std::make_unique<Entry>(Entry{.subscription = subscription});
  subscription->outbox()->SetLiveMachines(entry->machines);
  entry->joining = std::shared_ptr<void>(
      nullptr, [outbox = subscription->outbox()](void*) { outbox->Begin(); });
  const SubscriptionRequest& request = subscription->request();
  if (!request.start.has_value()) return entry;
  entry->history = std::make_shared<HistoryReader>(&context_, *request.start,
                                                   subscription->outbox());
  subscription->outbox()->SetDrainedListener(
      [weak = std::weak_ptr<HistoryReader>(entry->history)] {
        if (const auto waiting = weak.lock()) waiting->Continue();
      });
  return entry;
}

absl::StatusOr<std::vector<std::string>> Hub::Enter(
    const std::shared_ptr<Subscription>& subscription,
    std::vector<std::string>* unwatched) {
  auto entry = MakeEntry(subscription);
  std::vector<std::string> names;
  absl::MutexLock lock(&mutex_);
  if (std::ssize(subscriptions_) >= limits_.max_subscribers) {
    CountRefused();
    return absl::ResourceExhaustedError(
        absl::StrCat("the limit of ", limits_.max_subscribers,
                     " subscribers is reached; try again later"));
  }
  subscriptions_[subscription.get()] = std::move(entry);
  unwatched->assign(unwatched_.begin(), unwatched_.end());
  names.reserve(machines_.size());
  for (const auto& [name, machine] : machines_) names.push_back(name);
  return names;
}

void Hub::ForgetUnwatched(absl::Span<const std::string> names) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) unwatched_.erase(name);
}

void Hub::AttachSome(Subscription* subscription,
                     absl::Span<const std::string> names) {
  absl::MutexLock lock(&mutex_);
  const auto entered = subscriptions_.find(subscription);
  if (entered == subscriptions_.end()) return;
  for (const std::string& name : names) {
    // The labels may have changed since the caller selected the machine.
    if (subscription->request().paths.uses_labels() &&
        !subscription->IsWatching(name)) {
      continue;
    }
    const auto known = machines_.find(name);
    if (known == machines_.end()) {
      EnterMachine(name, LabelsOf(name));
    } else {
      Attach(name, &known->second, entered->second.get());
    }
  }
}

Hub::Machine* Hub::EnterMachine(const std::string& name, const Labels& labels) {
  Machine& machine = machines_[name];
  machine.machine = std::make_shared<LiveMachine>(name, &context_);
  for (const auto& [subscription, entry] : subscriptions_) {
    if (subscription->IsWatching(name, labels)) {
      Attach(name, &machine, entry.get());
    }
  }
  if (!machine.watchers.empty()) return &machine;
  // The labels have changed since the caller selected the machine.
  RemoveIfUnwatched(name);
  return nullptr;
}

void Hub::AddWatcher(Subscription* subscription, Machine* machine) {
  machine->watchers.insert(subscription);
  if (!NeedsLive(*subscription) || ++machine->live_watchers > 1) return;
  machine->is_live = live_machines_ < limits_.max_live_machines;
  live_machines_ += machine->is_live;
}

void Hub::RemoveWatcher(Subscription* subscription, Machine* machine) {
  machine->watchers.erase(subscription);
  if (!NeedsLive(*subscription) || --machine->live_watchers > 0) return;
  live_machines_ -= std::exchange(machine->is_live, false);
}

void Hub::Attach(const std::string& name, Machine* machine, Entry* entry) {
  Subscription& subscription = *entry->subscription;
  if (machine->watchers.contains(&subscription)) return;
  AddWatcher(&subscription, machine);
  std::shared_ptr<HistoryClaim>& claim = entry->watched[name];
  if (entry->history != nullptr && !entry->had_history.contains(name)) {
    claim = std::make_shared<HistoryClaim>();
  }
  absl::Duration interval = subscription.request().form.interval;
  if (NeedsLive(subscription)) {
    if (machine->is_live) {
      entry->machines.set_live(entry->machines.live() + 1);
    } else {
      interval = kWidenedInterval;
      entry->machines.set_widened(entry->machines.widened() + 1);
      *entry->machines.mutable_widened_interval() =
          fleetperf::ToProto(interval);
    }
    subscription.outbox()->SetLiveMachines(entry->machines);
  }
  machine->machine->Attach(
      {.subscription = entry->subscription,
       .history = claim != nullptr ? entry->history : nullptr,
       .claim = claim,
       .interval = interval,
       .joining = entry->joining});
}

void Hub::Detach(const std::string& name, Machine* machine, Entry* entry) {
  const bool was_live = machine->is_live;
  RemoveWatcher(entry->subscription.get(), machine);
  const auto watched = entry->watched.extract(name);
  if (watched.mapped() != nullptr && watched.mapped()->End()) {
    entry->had_history.insert(name);
  }
  machine->machine->Detach(entry->subscription);
  if (!NeedsLive(*entry->subscription)) return;
  v1::LiveMachines& machines = entry->machines;
  if (was_live) {
    machines.set_live(machines.live() - 1);
  } else {
    machines.set_widened(machines.widened() - 1);
    if (machines.widened() == 0) machines.clear_widened_interval();
  }
  entry->subscription->outbox()->SetLiveMachines(machines);
}

void Hub::SelectAgain(std::vector<std::string> machines) {
  if (machines.empty()) return;
  {
    absl::MutexLock lock(&changed_mutex_);
    const bool is_posted = !changed_.empty();
    for (std::string& name : machines) changed_.insert(std::move(name));
    if (is_posted) return;
  }
  Post([this] { SelectChangedAgain(); });
}

void Hub::SelectChangedAgain() {
  absl::flat_hash_set<std::string> changed;
  {
    absl::MutexLock lock(&changed_mutex_);
    changed = std::exchange(changed_, {});
  }
  bool has_changed = false;
  for (const std::string& name : changed) {
    if (context_.is_stopping) return;
    has_changed |= SelectOneAgain(name);
  }
  if (has_changed) NotifyLiveListener();
}

bool Hub::UsesLabels() const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [](const auto& entered) {
                       return entered.first->request().paths.uses_labels();
                     });
}

Labels Hub::LabelsOf(const std::string& machine) const {
  return UsesLabels() ? context_.store->directory().LabelsOf(machine)
                      : Labels();
}

bool Hub::SelectOneAgain(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  if (!UsesLabels()) return false;
  unwatched_.erase(name);
  const size_t watched = machines_.size();
  Machine* const machine = Find(name);
  if (machine == nullptr) return false;
  bool has_changed = machines_.size() != watched;
  // Taken with the lock: a thread with older labels must not come last.
  const Labels labels = LabelsOf(name);
  for (const auto& [subscription, entry] : subscriptions_) {
    const bool watches = machine->watchers.contains(subscription);
    if (!subscription->request().paths.uses_labels() ||
        watches == subscription->IsWatching(name, labels)) {
      continue;
    }
    has_changed = true;
    if (watches) {
      Detach(name, machine, entry.get());
    } else {
      Attach(name, machine, entry.get());
    }
  }
  RemoveIfUnwatched(name);
  return has_changed;
}

void Hub::Remove(const std::shared_ptr<Subscription>& subscription) {
  std::unique_ptr<Entry> entry;
  {
    absl::MutexLock lock(&mutex_);
    const auto entered = subscriptions_.find(subscription.get());
    if (entered == subscriptions_.end()) return;
    entry = std::move(entered->second);
    subscriptions_.erase(entered);
    if (subscriptions_.empty()) unwatched_.clear();
  }
  subscription->outbox()->End(
      absl::CancelledError("the subscription has ended"));
  std::vector<std::string> watched;
  watched.reserve(entry->watched.size());
  for (const auto& [name, claim] : entry->watched) watched.push_back(name);
  ForSome(watched, [&](absl::Span<const std::string> some) {
    DetachSome(subscription, some);
  });
  NotifyLiveListener();
}

void Hub::DetachSome(const std::shared_ptr<Subscription>& subscription,
                     absl::Span<const std::string> names) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    Machine& machine = machines_.at(name);
    RemoveWatcher(subscription.get(), &machine);
    machine.machine->Detach(subscription);
    RemoveIfUnwatched(name);
  }
}

void Hub::RemoveIfUnwatched(const std::string& name) {
  const auto known = machines_.find(name);
  if (known->second.watchers.empty()) machines_.erase(known);
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
  const Labels labels = LabelsOf(machine);
  if (std::any_of(subscriptions_.begin(), subscriptions_.end(),
                  [&](const auto& entered) {
                    return entered.first->IsWatching(machine, labels);
                  })) {
    return EnterMachine(machine, labels);
  }
  // Bounded, because agents choose the names.
  if (unwatched_.size() >= kMaxUnwatched) unwatched_.clear();
  unwatched_.insert(machine);
  return nullptr;
}

void Hub::OnBatch(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  if (subscriptions_.empty()) return;
  // Most batches have one machine.
  std::vector<LiveMachine*> offered;
  for (const Frame& frame : batch->decoded.frames) {
    Machine* machine = Find(frame.query->machine);
    if (machine == nullptr ||
        std::count(offered.begin(), offered.end(), machine->machine.get())) {
      continue;
    }
    offered.push_back(machine->machine.get());
    machine->machine->Offer(batch, machine->is_live);
  }
}

Hub::Counts Hub::counts() const {
  absl::MutexLock lock(&mutex_);
  return {.subscribers = subscriptions_.size(),
          .watched_machines = machines_.size(),
          .live_machines = static_cast<uint64_t>(live_machines_),
          .lagged_values = lagged_values_,
          .refused_subscribers = refused_subscribers_};
}

bool Hub::IsWatched(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  const Machine* watched = Find(machine);
  return watched != nullptr && watched->is_live;
}

void Hub::Post(std::function<void()> task) {
  context_.joining.Schedule(std::make_shared<Call>(std::move(task)));
}

bool Hub::WorkOnce() {
  const bool joined = context_.joining.WorkOnce();
  const bool delivered = context_.live.WorkOnce();
  const bool read = context_.history.WorkOnce();
  return joined || delivered || read;
}

}  // namespace fleetperf::aggregator
