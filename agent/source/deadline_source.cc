#include "agent/source/deadline_source.h"

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "base/wakeup.h"

namespace fleetperf::agent {
namespace {

// The thread that makes the calls, one at a time. A hanging call keeps the
// worker, and therefore the source, alive after all other owners have released
// it.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(std::unique_ptr<Source> source, std::string name,
         absl::Duration deadline, const Clock* clock)
      : source_(std::move(source)),
        name_(std::move(name)),
        deadline_(deadline),
        changed_(clock) {}

  void Start() {
    std::thread([self = shared_from_this()] { self->Run(); }).detach();
  }

  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Notify();
  }

  // Runs `call` on the worker's thread. `call` may continue after Call() has
  // returned, so it must own everything it uses.
  absl::Status Call(const char* what,
                    std::function<absl::Status(Source& source)> call) {
    auto pending = std::make_shared<Pending>(
        Pending{.what = what, .run = std::move(call)});
    absl::MutexLock lock(&mutex_);
    if (running_ != nullptr && running_->is_overdue) return StillHangs();
    waiting_.push_back(pending);
    changed_.Notify();
    const bool settled = changed_.Await(&mutex_, deadline_, [&] {
      mutex_.AssertHeld();
      return pending->is_done || (running_ != pending && running_ != nullptr &&
                                  running_->is_overdue);
    });
    if (pending->is_done) return pending->result;
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

  // Releases a handle without blocking: closing it may hang, too.
  void Release(std::shared_ptr<void> handle) {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::make_shared<Pending>(
        Pending{.what = "PerfCloseQueryHandle",
                .run = [handle = std::move(handle)](Source&) {
                  return absl::OkStatus();
                }}));
    changed_.Notify();
  }

 private:
  struct Pending {
    const char* what;
    std::function<absl::Status(Source&)> run;
    absl::Status result = absl::OkStatus();
    bool is_done = false;
    bool is_overdue = false;  // a caller has timed out
  };

  absl::Status StillHangs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::UnavailableError(
        absl::StrCat(name_, " still has not answered ",
                     running_ != nullptr ? running_->what : "a call"));
  }

  void Run() {
    while (const std::shared_ptr<Pending> call = AwaitCall()) {
      absl::Status result = call->run(*source_);
      call->run = nullptr;  // frees the results of an abandoned call
      absl::MutexLock lock(&mutex_);
      call->result = std::move(result);
      call->is_done = true;
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

  const std::unique_ptr<Source> source_;
  const std::string name_;
  const absl::Duration deadline_;
  absl::Mutex mutex_;
  Wakeup changed_;
  std::vector<std::shared_ptr<Pending>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Pending> running_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// Makes a call whose result may arrive after the caller has timed out.
template <typename T>
absl::StatusOr<T> Fetch(Worker& worker, const char* what,
                        std::function<absl::StatusOr<T>(Source& source)> call) {
  auto answer = std::make_shared<T>();
  RETURN_IF_ERROR(
      worker.Call(what, [answer, call = std::move(call)](Source& source) {
        auto result = call(source);
        if (result.ok()) *answer = *std::move(result);
        return result.status();
      }));
  return std::move(*answer);
}

class DeadlineQueryHandle : public QueryHandle {
 public:
  DeadlineQueryHandle(std::shared_ptr<Worker> worker,
                      std::unique_ptr<QueryHandle> handle)
      : worker_(std::move(worker)), state_(std::make_shared<State>()) {
    state_->handle = std::move(handle);
  }
  ~DeadlineQueryHandle() override { worker_->Release(std::move(state_)); }

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
    return Fetch<std::string>(*worker_, "PerfQueryCounterInfo",
                              [state = state_](Source&) {
                                return state->handle->QueryCounterInfo();
                              });
  }
  absl::Status QueryCounterData(std::string* block) override {
    RETURN_IF_ERROR(
        worker_->Call("PerfQueryCounterData", [state = state_](Source&) {
          return state->handle->QueryCounterData(&state->block);
        }));
    block->swap(state_->block);  // reuses the memory of both
    return absl::OkStatus();
  }

 private:
  using Identifiers = std::vector<perflib::CounterIdentifier>;
  struct State {
    std::unique_ptr<QueryHandle> handle;
    std::string block;  // written by the worker during a call
  };

  absl::Status Change(const char* what,
                      absl::Status (QueryHandle::*change)(Identifiers*),
                      Identifiers* identifiers) {
    ASSIGN_OR_RETURN(
        *identifiers,
        Fetch<Identifiers>(
            *worker_, what,
            [state = state_, change,
             changed = *identifiers](Source&) -> absl::StatusOr<Identifiers> {
              Identifiers result = changed;
              RETURN_IF_ERROR((state->handle.get()->*change)(&result));
              return result;
            }));
    return absl::OkStatus();
  }

  const std::shared_ptr<Worker> worker_;
  std::shared_ptr<State> state_;
};

class DeadlineSource : public Source {
 public:
  explicit DeadlineSource(std::shared_ptr<Worker> worker)
      : worker_(std::move(worker)) {
    worker_->Start();
  }
  ~DeadlineSource() override { worker_->Stop(); }

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    return Fetch<std::vector<perflib::Guid>>(
        *worker_, "PerfEnumerateCounterSet",
        [](Source& source) { return source.EnumerateCounterSet(); });
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) override {
    return Fetch<std::string>(*worker_, "PerfQueryCounterSetRegistrationInfo",
                              [=](Source& source) {
                                return source.QueryCounterSetRegistrationInfo(
                                    counterset, request, argument);
                              });
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid& counterset) override {
    return Fetch<std::string>(
        *worker_, "PerfEnumerateCounterSetInstances", [=](Source& source) {
          return source.EnumerateCounterSetInstances(counterset);
        });
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    ASSIGN_OR_RETURN(auto handle,
                     Fetch<std::unique_ptr<QueryHandle>>(
                         *worker_, "PerfOpenQueryHandle", [](Source& source) {
                           return source.OpenQueryHandle();
                         }));
    return std::make_unique<DeadlineQueryHandle>(worker_, std::move(handle));
  }

 private:
  const std::shared_ptr<Worker> worker_;
};

}  // namespace

std::unique_ptr<Source> MakeDeadlineSource(std::unique_ptr<Source> source,
                                           std::string name,
                                           absl::Duration deadline,
                                           const Clock* clock) {
  return std::make_unique<DeadlineSource>(std::make_shared<Worker>(
      std::move(source), std::move(name), deadline, clock));
}

}  // namespace fleetperf::agent
