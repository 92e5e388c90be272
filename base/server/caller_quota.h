// What the holder of a certificate may have at a time of everything that the
// aggregator has a limited amount of: one table for all servers of the process.
//
// A caller is a PeerIdentity::Key: a role and names, however many connections,
// renewals or copies of the certificate there are. "" stands for all callers
// without a known certificate.
//
// Example: of 8 queries at a time, a caller may run 4. Its fifth call of Take
// waits until one of its four Shares is destroyed. A caller also never gets
// more than it leaves for others: beside a caller with 4, another one gets 2 of
// 8, a third 1, and one is left for a fourth. If calls of several callers wait,
// the caller with the fewest shares is next.
//
// A holder that waits for its caller lends its share: a query whose answer is
// not read still is one of its caller's four, but after 100 ms not one of the
// eight of all.

#ifndef FLEETPERF_BASE_SERVER_CALLER_QUOTA_H_
#define FLEETPERF_BASE_SERVER_CALLER_QUOTA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/os/clock.h"

namespace fleetperf {

enum class Pool : uint8_t {
  kConnections,      // to the port of agents and users
  kPageConnections,  // to the page's port
  kCalls,            // of gRPC, without streams
  kQueries,          // that run
  kLists,            // that run
  kSubscriptions,    // viewers of the page included
  kStarts,           // of subscriptions
  kPageRequests,     // from the head to the end of the answer
  kPageViewers,      // live answers of the page
  kPageStreams,      // different live answers of the page
  kUnreadBytes,      // of values that wait for subscribers, about
  kBatchBytes,       // of decoded batches that are not stored yet, about
};
inline constexpr size_t kPools = 12;

struct PoolLimits {
  absl::string_view name;  // for errors: "this certificate has 64 NAME"
  int64_t of_caller;
  int64_t in_all;
  // A caller with n shares gets another one only if this times n shares are
  // left for others.
  int64_t left_for_others = 1;
};

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The limits by Pool, unless SetLimits changes them.
// docs/reference/security.md has the same table.
inline constexpr std::array<PoolLimits, kPools> kDefaultLimits = {{
    {"connections", 256, kNoLimit},
    {"connections", 256, kNoLimit},
    // Of 256 threads. The others refuse calls: a burst needs many at once.
    // Ten callers with all that they get leave 16.
    {"calls in progress", 32, 160, 4},
    // Half, so that one caller whose calls stall leaves slots for others. Each
    // query may hold much memory until its answer is sent (QueryLimits::held).
    {"queries in progress", 4, 8},
    {"lists in progress", 4, 8},
    {"subscriptions", 500, kNoLimit},
    {"subscriptions that begin", 1, kNoLimit},
    {"requests in progress", 64, kNoLimit},
    // 20 sessions have browsers with six connections each.
    {"live answers", 128, kNoLimit},
    {"different live answers", 32, kNoLimit},
    {"bytes of unread values", int64_t{64} << 20, kNoLimit},
    {"bytes of batches that are not stored yet", int64_t{64} << 20, kNoLimit},
}};

// Thread-safe.
class CallerQuota {
 private:
  struct State;
  struct Loan;
  struct Waiting;

 public:
  // A part of a pool, which its destructor gives back. May outlive the quota.
  // Thread-compatible.
  class Share {
   public:
    Share() = default;  // of nothing
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share() { Release(); }

    explicit operator bool() const { return state_ != nullptr; }
    int64_t amount() const { return amount_; }
    // Changes the amount. Returns false, and changes nothing, if it grows
    // beyond a limit. A share of nothing has no limit.
    bool Resize(int64_t amount);
    // The same, whatever the limits.
    void Force(int64_t amount);
    // The holder waits for its caller from Lend until Resume. Calls of Take may
    // have the share after kLendAfter, unless holders lend seven times the
    // limit in all. Resume then waits for another one; it
    // returns false, and the share stays lent, if `is_cancelled` returns true
    // before. No-ops for a share of nothing.
    void Lend();
    bool Resume(const std::function<bool()>& is_cancelled);
    // What the caller's other shares of the pool have.
    int64_t others() const;
    int64_t limit() const;
    void Release();

   private:
    friend class CallerQuota;
    friend struct CallerQuota::State;
    Share(std::shared_ptr<State> state, std::string caller, int64_t amount)
        : state_(std::move(state)),
          caller_(std::move(caller)),
          amount_(amount) {}

    std::shared_ptr<State> state_;
    std::string caller_;
    int64_t amount_ = 0;
    std::shared_ptr<Loan> loan_;  // since the first Lend
  };

  static constexpr absl::Duration kLendAfter = absl::Milliseconds(100);

  // `clock` must outlive the object.
  explicit CallerQuota(const Clock* clock = &Clock::Real());
  CallerQuota(const CallerQuota&) = delete;
  CallerQuota& operator=(const CallerQuota&) = delete;

  // The quota of all servers of the process.
  static CallerQuota& OfProcess();

  // Replaces the limits of a pool. Shares that exist are kept.
  void SetLimits(Pool pool, int64_t of_caller, int64_t in_all = kNoLimit);

  // Returns a share of `amount`, or ResourceExhausted, which it counts.
  absl::StatusOr<Share> TryTake(Pool pool, const std::string& caller,
                                int64_t amount = 1);
  // Waits for a share of one. Returns a share of nothing if `is_cancelled`,
  // which it calls about every 50 ms, returns true before. An empty function
  // never does.
  Share Take(Pool pool, const std::string& caller,
             const std::function<bool()>& is_cancelled);
  // Calls `use` with a share of one, without a lock: at once, or on the thread
  // that gives back what it waits for.
  void TakeLater(Pool pool, const std::string& caller,
                 std::function<void(Share)> use);

  struct Counts {
    int64_t held = 0;      // by all callers, without what is lent
    uint64_t waiting = 0;  // calls of Take and TakeLater
    uint64_t refused = 0;  // calls of TryTake, since the start
  };
  Counts counts(Pool pool) const;

 private:
  const std::shared_ptr<State>& StateOf(Pool pool) const {
    return states_[static_cast<size_t>(pool)];
  }

  std::array<std::shared_ptr<State>, kPools> states_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CALLER_QUOTA_H_
