#include "base/server/caller_quota.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf {
namespace {

// The interval of checks for cancellation, and for shares that are lent, while
// a caller waits.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(50);

// The largest part of a pool that is lent, as a multiple of its limit in all:
// what holders have in memory.
constexpr int64_t kMaxLent = 7;

}  // namespace

// A share whose holder waits for its caller from time to time.
struct CallerQuota::Loan {
  static constexpr int64_t kHeld = -1;
  static constexpr int64_t kLent = -2;  // to others

  Loan(std::string holder, int64_t of_share)
      : caller(std::move(holder)), amount(of_share) {}

  const std::string caller;
  const int64_t amount;
  // kHeld, kLent, or the Clock::Monotonic() of Lend in nanoseconds. Becomes
  // kLent, and ceases to be it, with the lock of the pool only.
  std::atomic<int64_t> since = kHeld;
};

// A call of Take or Resume.
struct CallerQuota::Waiting {
  explicit Waiting(const Clock* clock) : granted(clock) {}
  absl::Mutex mutex;
  Wakeup granted;
  bool is_granted ABSL_GUARDED_BY(mutex) = false;
  Share share ABSL_GUARDED_BY(mutex);
};

// A pool.
struct CallerQuota::State : std::enable_shared_from_this<State> {
  struct Use {
    int64_t held = 0;
    int64_t lent = 0;  // of `held`
    int64_t waiting = 0;
    uint64_t last_turn = 0;  // 0: none since it last was idle
  };
  struct Waiter {
    uint64_t number;
    std::string caller;
    Loan* loan;  // of a share that is lent; nullptr: a new share
    std::function<void(Share)> use;
  };

  State(const PoolLimits& given, const Clock* of_quota)
      : clock(*of_quota), limits(given) {}

  Use UseOf(const std::string& caller) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = callers.find(caller);
    return found == callers.end() ? Use() : found->second;
  }
  bool MayTake(const std::string& caller, int64_t amount) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (amount == 0) return true;  // others may have been forced
    const Use use = UseOf(caller);
    return amount <= limits.of_caller - use.held && IsLeft(use, amount);
  }
  // Nobody takes more than is left for the others.
  bool IsLeft(const Use& use, int64_t amount) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return amount <= limits.in_all - (held - lent) -
                         limits.left_for_others * (use.held - use.lent);
  }
  bool MayHave(const Waiter& waiter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return waiter.loan == nullptr
               ? MayTake(waiter.caller, 1)
               : IsLeft(UseOf(waiter.caller), waiter.loan->amount);
  }
  void Add(const std::string& caller, int64_t amount)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    held += amount;
    callers[caller].held += amount;
    ForgetIfIdle(caller);
  }
  void ForgetIfIdle(const std::string& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = callers.find(caller);
    if (found->second.held == 0 && found->second.waiting == 0) {
      callers.erase(found);
    }
  }

  // Returns the waiter whose turn it is; the end if none may have a share.
  std::list<Waiter>::iterator Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    auto next = waiters.end();
    std::pair<int64_t, uint64_t> least;
    for (auto waiter = waiters.begin(); waiter != waiters.end(); ++waiter) {
      if (!MayHave(*waiter)) continue;
      const Use& caller = callers[waiter->caller];
      const auto rank =
          std::make_pair(caller.held - caller.lent, caller.last_turn);
      if (next != waiters.end() && rank >= least) continue;
      next = waiter;
      least = rank;
    }
    return next;
  }

  // Takes shares for the waiters that may have one.
  std::vector<Waiter> Assign() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<Waiter> granted;
    while (!waiters.empty() && held - lent < limits.in_all) {
      const auto next = Next();
      if (next == waiters.end()) break;
      Use& caller = callers[next->caller];
      --caller.waiting;
      caller.last_turn = ++turns;
      if (next->loan == nullptr) {
        ++caller.held;
        ++held;
      } else {
        TakeBack(next->loan);
      }
      granted.push_back(std::move(*next));
      waiters.erase(next);
    }
    return granted;
  }
  // Gives the waiters their shares, without a lock.
  void Grant(std::vector<Waiter> granted) {
    for (Waiter& waiter : granted) {
      waiter.use(waiter.loan == nullptr
                     ? Share(shared_from_this(), std::move(waiter.caller), 1)
                     : Share());
    }
  }

  // Gives the waiters what holders lend that have waited for kLendAfter.
  void LendToWaiters() {
    const int64_t latest =
        absl::ToInt64Nanoseconds(clock.Monotonic() - kLendAfter);
    std::vector<Waiter> granted;
    {
      absl::MutexLock lock(&mutex);
      for (const std::shared_ptr<Loan>& loan : loans) {
        int64_t since = loan->since;
        if (since < 0 || since > latest) continue;
        if (lent + loan->amount > kMaxLent * limits.in_all) break;
        if (!loan->since.compare_exchange_strong(since, Loan::kLent)) continue;
        lent += loan->amount;
        callers[loan->caller].lent += loan->amount;
      }
      granted = Assign();
    }
    Grant(std::move(granted));
  }
  void TakeBack(Loan* loan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    lent -= loan->amount;
    callers[loan->caller].lent -= loan->amount;
    loan->since = Loan::kHeld;
  }
  // The share of the loan is given back.
  void Forget(const std::shared_ptr<Loan>& loan) {
    absl::MutexLock lock(&mutex);
    if (loan->since == Loan::kLent) TakeBack(loan.get());
    loans.erase(std::find(loans.begin(), loans.end(), loan));
  }

  // Returns the number of the waiter.
  uint64_t Wait(const std::string& caller, Loan* loan,
                std::function<void(Share)> use) {
    std::vector<Waiter> granted;
    uint64_t number = 0;
    {
      absl::MutexLock lock(&mutex);
      number = ++last_waiter;
      waiters.push_back({number, caller, loan, std::move(use)});
      ++callers[caller].waiting;
      granted = Assign();
    }
    Grant(std::move(granted));
    return number;
  }
  // Returns false if the waiter has, or is about to get, its share.
  bool Abandon(uint64_t number) {
    absl::MutexLock lock(&mutex);
    const auto found = std::find_if(
        waiters.begin(), waiters.end(),
        [&](const Waiter& waiter) { return waiter.number == number; });
    if (found == waiters.end()) return false;
    --callers[found->caller].waiting;
    ForgetIfIdle(found->caller);
    waiters.erase(found);
    return true;
  }

  // Waits until Wait's `use` was called. Returns std::nullopt if `is_cancelled`
  // returns true before.
  std::optional<Share> Await(const std::string& caller, Loan* loan,
                             const std::function<bool()>& is_cancelled) {
    const auto waiting = std::make_shared<Waiting>(&clock);
    const uint64_t number = Wait(caller, loan, [waiting](Share share) {
      absl::MutexLock lock(&waiting->mutex);
      waiting->share = std::move(share);
      waiting->is_granted = true;
      waiting->granted.Notify();
    });
    absl::MutexLock lock(&waiting->mutex);
    const auto is_granted = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                waiting->mutex) { return waiting->is_granted; };
    while (
        !waiting->granted.Await(&waiting->mutex, kCheckInterval, is_granted)) {
      if (is_cancelled && is_cancelled() && Abandon(number)) {
        return std::nullopt;
      }
      waiting->mutex.Unlock();
      LendToWaiters();
      waiting->mutex.Lock();
    }
    return std::move(waiting->share);
  }

  const Clock& clock;
  mutable absl::Mutex mutex;
  PoolLimits limits ABSL_GUARDED_BY(mutex);
  int64_t held ABSL_GUARDED_BY(mutex) = 0;
  int64_t lent ABSL_GUARDED_BY(mutex) = 0;
  std::vector<std::shared_ptr<Loan>> loans ABSL_GUARDED_BY(mutex);
  uint64_t refused ABSL_GUARDED_BY(mutex) = 0;
  uint64_t turns ABSL_GUARDED_BY(mutex) = 0;
  uint64_t last_waiter ABSL_GUARDED_BY(mutex) = 0;
  // Callers that hold something or wait.
  absl::flat_hash_map<std::string, Use> callers ABSL_GUARDED_BY(mutex);
  std::list<Waiter> waiters ABSL_GUARDED_BY(mutex);  // oldest first
};

CallerQuota::Share& CallerQuota::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  Release();
  state_ = std::move(other.state_);
  caller_ = std::move(other.caller_);
  amount_ = std::exchange(other.amount_, 0);
  loan_ = std::move(other.loan_);
  return *this;
}

bool CallerQuota::Share::Resize(int64_t amount) {
  if (state_ != nullptr && amount > amount_) {
    absl::MutexLock lock(&state_->mutex);
    if (!state_->MayTake(caller_, amount - amount_)) return false;
    state_->Add(caller_, amount - amount_);
    amount_ = amount;
    return true;
  }
  Force(amount);
  return true;
}

void CallerQuota::Share::Force(int64_t amount) {
  const int64_t change = amount - std::exchange(amount_, amount);
  if (state_ == nullptr || change == 0) return;
  std::vector<State::Waiter> granted;
  {
    absl::MutexLock lock(&state_->mutex);
    state_->Add(caller_, change);
    granted = state_->Assign();
  }
  state_->Grant(std::move(granted));
}

int64_t CallerQuota::Share::others() const {
  if (state_ == nullptr) return 0;
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->callers.find(caller_);
  return found == state_->callers.end() ? 0 : found->second.held - amount_;
}

int64_t CallerQuota::Share::limit() const {
  if (state_ == nullptr) return kNoLimit;
  absl::MutexLock lock(&state_->mutex);
  return state_->limits.of_caller;
}

void CallerQuota::Share::Lend() {
  if (state_ == nullptr) return;
  if (loan_ == nullptr) {
    loan_ = std::make_shared<Loan>(caller_, amount_);
    absl::MutexLock lock(&state_->mutex);
    state_->loans.push_back(loan_);
  }
  if (loan_->since == Loan::kLent) return;
  loan_->since = absl::ToInt64Nanoseconds(state_->clock.Monotonic());
}

bool CallerQuota::Share::Resume(const std::function<bool()>& is_cancelled) {
  if (loan_ == nullptr) return true;
  int64_t since = loan_->since;
  if (since != Loan::kLent &&
      loan_->since.compare_exchange_strong(since, Loan::kHeld)) {
    return true;
  }
  return state_->Await(caller_, loan_.get(), is_cancelled).has_value();
}

void CallerQuota::Share::Release() {
  if (state_ == nullptr) return;
  if (loan_ != nullptr) state_->Forget(loan_);
  loan_ = nullptr;
  Force(0);
  state_ = nullptr;
}

CallerQuota::CallerQuota(const Clock* clock) {
  for (size_t pool = 0; pool < kPools; ++pool) {
    states_[pool] = std::make_shared<State>(kDefaultLimits[pool], clock);
  }
}

CallerQuota& CallerQuota::OfProcess() {
  static CallerQuota* const quota = new CallerQuota;
  return *quota;
}

void CallerQuota::SetLimits(Pool pool, int64_t of_caller, int64_t in_all) {
  State& state = *StateOf(pool);
  std::vector<State::Waiter> granted;
  {
    absl::MutexLock lock(&state.mutex);
    state.limits.of_caller = of_caller;
    state.limits.in_all = in_all;
    granted = state.Assign();
  }
  state.Grant(std::move(granted));
}

absl::StatusOr<CallerQuota::Share> CallerQuota::TryTake(
    Pool pool, const std::string& caller, int64_t amount) {
  const std::shared_ptr<State>& state = StateOf(pool);
  absl::MutexLock lock(&state->mutex);
  if (state->MayTake(caller, amount)) {
    state->Add(caller, amount);
    return Share(state, caller, amount);
  }
  ++state->refused;
  const PoolLimits& limits = state->limits;
  const auto found = state->callers.find(caller);
  const int64_t held = found == state->callers.end() ? 0 : found->second.held;
  const bool is_own = amount > limits.of_caller - held;
  const bool is_full = amount > limits.in_all - (state->held - state->lent);
  if (!is_own && !is_full) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this certificate has ", held, " ", limits.name,
                     ", and the rest is left for others; try again later"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      is_own ? "this certificate has " : "all certificates together have ",
      is_own ? limits.of_caller : limits.in_all, " ", limits.name,
      ", the limit; try again later"));
}

CallerQuota::Share CallerQuota::Take(
    Pool pool, const std::string& caller,
    const std::function<bool()>& is_cancelled) {
  return StateOf(pool)->Await(caller, nullptr, is_cancelled).value_or(Share());
}

void CallerQuota::TakeLater(Pool pool, const std::string& caller,
                            std::function<void(Share)> use) {
  StateOf(pool)->Wait(caller, nullptr, std::move(use));
}

CallerQuota::Counts CallerQuota::counts(Pool pool) const {
  const State& state = *StateOf(pool);
  absl::MutexLock lock(&state.mutex);
  return {.held = state.held - state.lent,
          .waiting = state.waiters.size(),
          .refused = state.refused};
}

}  // namespace fleetperf
