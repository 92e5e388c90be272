#include "agent/source/deadline_source.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/os/detached_thread.h"
#include "base/status_macros.h"
#include "base/wakeup.h"

namespace fleetperf::agent {
namespace {

// A call whose outstanding time exceeds this is taken for one that hangs.
constexpr absl::Duration kHangs = absl::Seconds(3);
// After so many answers in a row within half of its patience, a handle waits
// for answers again.
constexpr int kQuickAnswers = 10;

// A thread that makes calls, one at a time. It starts with the first Call, and
// ends after Stop. A hanging call keeps the worker, and therefore the source,
// alive after all other owners have released it.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  // A call that may outlive its caller's patience.
  struct Pending {
    const char* what;
    // Must own everything that it uses.
    std::function<absl::Status()> run;
    absl::Duration begun;  // Clock::Monotonic()
    absl::Duration done = absl::InfiniteDuration();
    absl::Status result = absl::OkStatus();
    bool is_overdue = false;  // a caller has timed out

    bool IsDone() const { return done != absl::InfiniteDuration(); }
  };

  Worker(std::string name, absl::Duration deadline, const Clock* clock)
      : name_(std::move(name)),
        deadline_(deadline),
        clock_(*clock),
        changed_(clock) {}

  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Notify();
  }

  const std::string& name() const { return name_; }
  const Clock& clock() const { return clock_; }

  // Returns whether no call is running or waiting.
  bool IsIdle() {
    absl::MutexLock lock(&mutex_);
    return running_ == nullptr && waiting_.empty();
  }

  // Begins a call, after a first Call has succeeded.
  std::shared_ptr<Pending> Begin(const char* what,
                                 std::function<absl::Status()> run) {
    auto pending = std::make_shared<Pending>(Pending{
        .what = what, .run = std::move(run), .begun = clock_.Monotonic()});
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(pending);
    changed_.Notify();
    return pending;
  }

  // Returns whether the call is done, after waiting for it for at most
  // `patience`.
  bool AwaitDone(const std::shared_ptr<Pending>& pending,
                 absl::Duration patience) {
    absl::MutexLock lock(&mutex_);
    return changed_.Await(&mutex_, patience, [&] {
      mutex_.AssertHeld();
      return pending->IsDone();
    });
  }

  // Makes a call and waits for it.
  absl::Status Call(const char* what, std::function<absl::Status()> run) {
    {
      absl::MutexLock lock(&mutex_);
      if (running_ != nullptr && running_->is_overdue) return StillHangs();
      if (!has_thread_) {
        RETURN_IF_ERROR(
            RunDetached([self = shared_from_this()] { self->Run(); }));
        has_thread_ = true;
      }
    }
    const auto pending = Begin(what, std::move(run));
    absl::MutexLock lock(&mutex_);
    const bool settled = changed_.Await(&mutex_, deadline_, [&] {
      mutex_.AssertHeld();
      return pending->IsDone() || (running_ != pending && running_ != nullptr &&
                                   running_->is_overdue);
    });
    if (pending->IsDone()) return pending->result;
    std::erase(waiting_, pending);
    if (settled) return StillHangs();
    // The overdue call may be another caller's. Either way, it may never
    // return.
    if (running_ != nullptr) running_->is_overdue = true;
    changed_.Notify();  // wakes callers waiting for their turn
    return absl::DeadlineExceededError(
        absl::StrCat(name_, " has not answered ", what, " within ",
                     absl::FormatDuration(deadline_)));
  }

 private:
  absl::Status StillHangs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::UnavailableError(
        absl::StrCat(name_, " still has not answered ",
                     running_ != nullptr ? running_->what : "a call"));
  }

  void Run() {
    while (const std::shared_ptr<Pending> call = AwaitCall()) {
      absl::Status result = call->run();
      call->run = nullptr;  // frees the results of an abandoned call
      absl::MutexLock lock(&mutex_);
      call->result = std::move(result);
      call->done = clock_.Monotonic();
      running_ = nullptr;
      changed_.Notify();
    }
  }

  // Blocks until there is a call, makes it the running one and returns it.
  // Returns null when the worker stops.
  std::shared_ptr<Pending> AwaitCall() {
    absl::MutexLock lock(&mutex_);
    changed_.Await(&mutex_, [this] {
      mutex_.AssertHeld();
      return stopping_ || !waiting_.empty();
    });
    if (waiting_.empty()) return nullptr;
    running_ = waiting_.front();
    waiting_.erase(waiting_.begin());
    return running_;
  }

  const std::string name_;
  const absl::Duration deadline_;
  const Clock& clock_;
  absl::Mutex mutex_;
  Wakeup changed_;
  std::vector<std::shared_ptr<Pending>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Pending> running_ ABSL_GUARDED_BY(mutex_);
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// Makes a call whose result may arrive after the caller has timed out.
template <typename T>
absl::StatusOr<T> Fetch(Worker& worker, const char* what,
                        std::function<absl::StatusOr<T>()> call) {
  auto answer = std::make_shared<T>();
  RETURN_IF_ERROR(worker.Call(what, [answer, call = std::move(call)] {
    auto result = call();
    if (result.ok()) *answer = *std::move(result);
    return result.status();
  }));
  return std::move(*answer);
}

class DeadlineQueryHandle : public QueryHandle {
 public:
  // `worker` makes the calls of this handle only. `source` must outlive the
  // handle.
  DeadlineQueryHandle(std::shared_ptr<Worker> worker,
                      std::shared_ptr<Source> source,
                      std::unique_ptr<QueryHandle> handle)
      : worker_(std::move(worker)), state_(std::make_shared<State>()) {
    state_->source = std::move(source);
    state_->handle = std::move(handle);
  }

  // Does not block: closing the handle may hang, too.
  ~DeadlineQueryHandle() override {
    worker_->Begin("PerfCloseQueryHandle", [state = std::move(state_)] {
      state->handle.reset();
      return absl::OkStatus();
    });
    worker_->Stop();
  }

  absl::Status AddCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) override {
    return Change("PerfAddCounters", &QueryHandle::AddCounters, identifiers);
  }
  absl::Status DeleteCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) override {
    return Change("PerfDeleteCounters", &QueryHandle::DeleteCounters,
                  identifiers);
  }
  absl::StatusOr<std::string> QueryCounterInfo() override {
    return Fetch<std::string>(
        *worker_, "PerfQueryCounterInfo",
        [state = state_] { return state->handle->QueryCounterInfo(); });
  }

  void SetPatience(absl::Duration patience) override { patience_ = patience; }
  bool IsHanging() const override { return call_ != nullptr; }

  // A handle whose answer was late returns the block of the call before, and
  // begins the next call, so that a slow provider is read at each tick, and one
  // that hangs blocks none.
  absl::Status QueryCounterData(std::string* block) override {
    if (call_ == nullptr) BeginQuery();
    if (!worker_->AwaitDone(call_,
                            is_late_ ? absl::ZeroDuration() : patience_)) {
      is_late_ = true;
      quick_answers_ = 0;
      return LateError();
    }
    const absl::Status status = call_->result;
    NoteDuration(call_->done - call_->begun);
    call_ = nullptr;
    if (!status.ok()) return status;
    block->swap(state_->block);  // reuses the memory of both
    if (is_late_) BeginQuery();
    return absl::OkStatus();
  }

 private:
  using Identifiers = std::vector<perflib::CounterIdentifier>;
  struct State {
    std::shared_ptr<Source> source;
    std::unique_ptr<QueryHandle> handle;
    std::string block;  // written by the worker during a call
  };

  void BeginQuery() {
    call_ = worker_->Begin("PerfQueryCounterData", [state = state_] {
      return state->handle->QueryCounterData(&state->block);
    });
  }

  void NoteDuration(absl::Duration duration) {
    if (!is_late_) return;
    quick_answers_ = duration <= patience_ / 2 ? quick_answers_ + 1 : 0;
    if (quick_answers_ == kQuickAnswers) is_late_ = false;
  }

  absl::Status LateError() const {
    // The text does not change while the call lasts.
    const absl::Duration age = worker_->clock().Monotonic() - call_->begun;
    const std::string text =
        absl::StrCat(worker_->name(), " has not answered PerfQueryCounterData");
    if (age < kHangs) return absl::DeadlineExceededError(text + " in time");
    return absl::AbortedError(
        absl::StrCat(text, " within ", absl::FormatDuration(kHangs)));
  }

  absl::Status Change(const char* what,
                      absl::Status (QueryHandle::*change)(Identifiers*),
                      Identifiers* identifiers) {
    ASSIGN_OR_RETURN(
        *identifiers,
        Fetch<Identifiers>(
            *worker_, what,
            [state = state_, change,
             changed = *identifiers]() -> absl::StatusOr<Identifiers> {
              Identifiers result = changed;
              RETURN_IF_ERROR((state->handle.get()->*change)(&result));
              return result;
            }));
    return absl::OkStatus();
  }

  const std::shared_ptr<Worker> worker_;
  std::shared_ptr<State> state_;
  absl::Duration patience_ = kHangs;
  std::shared_ptr<Worker::Pending> call_;  // not answered yet, or not taken
  bool is_late_ = false;
  int quick_answers_ = 0;
};

class DeadlineSource : public Source {
 public:
  DeadlineSource(std::unique_ptr<Source> source, std::string name,
                 absl::Duration deadline, const Clock* clock)
      : source_(std::move(source)),
        name_(std::move(name)),
        deadline_(deadline),
        clock_(clock),
        worker_(MakeWorker()) {}
  ~DeadlineSource() override { worker_->Stop(); }

  void SelectInstances(absl::Span<const PlannedQuery> queries,
                       absl::Span<const InstanceRule> rules) override {
    source_->SelectInstances(queries, rules);
  }

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override {
    return source_->DefineCounters(queries);
  }
  void Want(const std::vector<std::string>& countersets) override {
    source_->Want(countersets);
  }
  bool AwaitList(absl::Duration timeout) override {
    return source_->AwaitList(timeout);
  }
  std::vector<std::string> Problems() override { return source_->Problems(); }
  int HandleGroup(const perflib::Guid& counterset) override {
    return source_->HandleGroup(counterset);
  }

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    return Fetch<std::vector<perflib::Guid>>(
        *worker_, "PerfEnumerateCounterSet",
        [source = source_] { return source->EnumerateCounterSet(); });
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) override {
    return Fetch<std::string>(
        *worker_, "PerfQueryCounterSetRegistrationInfo",
        [source = source_, counterset, request, argument] {
          return source->QueryCounterSetRegistrationInfo(counterset, request,
                                                         argument);
        });
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid& counterset) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<Worker> worker, Enter(counterset));
    auto instances = Fetch<std::string>(
        *worker, "PerfEnumerateCounterSetInstances",
        [source = source_, counterset] {
          return source->EnumerateCounterSetInstances(counterset);
        });
    Leave(counterset);
    return instances;
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    const std::shared_ptr<Worker> worker = MakeWorker();
    auto handle = Fetch<std::unique_ptr<QueryHandle>>(
        *worker, "PerfOpenQueryHandle",
        [source = source_] { return source->OpenQueryHandle(); });
    if (!handle.ok()) {
      worker->Stop();
      return handle.status();
    }
    return std::make_unique<DeadlineQueryHandle>(worker, source_,
                                                 *std::move(handle));
  }

 private:
  // The worker that lists the instances of a counterset, and the callers that
  // use it. Without callers it has been stopped, and exists because its call
  // hangs.
  struct InstanceList {
    std::shared_ptr<Worker> worker;
    int callers = 0;
  };

  absl::StatusOr<std::shared_ptr<Worker>> Enter(
      const perflib::Guid& counterset) {
    absl::MutexLock lock(&mutex_);
    InstanceList& list = instance_lists_[counterset];
    if (list.callers == 0) {
      if (list.worker != nullptr && !list.worker->IsIdle()) {
        return absl::UnavailableError(absl::StrCat(
            name_, " still has not answered PerfEnumerateCounterSetInstances"));
      }
      list.worker = MakeWorker();
    }
    ++list.callers;
    return list.worker;
  }

  void Leave(const perflib::Guid& counterset) {
    absl::MutexLock lock(&mutex_);
    const auto list = instance_lists_.find(counterset);
    if (--list->second.callers > 0) return;
    list->second.worker->Stop();
    if (list->second.worker->IsIdle()) instance_lists_.erase(list);
  }

  std::shared_ptr<Worker> MakeWorker() const {
    return std::make_shared<Worker>(name_, deadline_, clock_);
  }

  const std::shared_ptr<Source> source_;
  const std::string name_;
  const absl::Duration deadline_;
  const Clock* const clock_;
  const std::shared_ptr<Worker> worker_;  // of all other calls
  absl::Mutex mutex_;
  std::map<perflib::Guid, InstanceList> instance_lists_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Source> MakeDeadlineSource(std::unique_ptr<Source> source,
                                           std::string name,
                                           absl::Duration deadline,
                                           const Clock* clock) {
  return std::make_unique<DeadlineSource>(std::move(source), std::move(name),
                                          deadline, clock);
}

}  // namespace fleetperf::agent
