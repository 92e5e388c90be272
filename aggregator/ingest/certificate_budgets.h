// Bounds the time and the space that the holder of one certificate can cost.
//
// The messages of an agent cost time on a thread that serves other agents, too,
// and parts of them are kept. All streams of a certificate share its budgets,
// whichever agents they name. docs/reference/delivery.md lists the budgets, and
// docs/design/decisions.md derives them.

#ifndef FLEETPERF_AGGREGATOR_INGEST_CERTIFICATE_BUDGETS_H_
#define FLEETPERF_AGGREGATOR_INGEST_CERTIFICATE_BUDGETS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/rate_budget.h"
#include "base/tls/credentials.h"

namespace fleetperf::aggregator {

// The unit of work is the reading of a byte of a batch, which takes about 2 ns.
// What costs more than its bytes counts as more of them.
inline constexpr double kMaxWorkPerSecond = 32 << 20;
inline constexpr double kMessageWork = 32 << 10;     // besides its bytes
inline constexpr double kRejectionWork = 192 << 10;  // besides the message
inline constexpr double kEpochWork = 32 << 10;       // to open it
inline constexpr double kNewEpochWork = 256 << 10;
// Each byte of a message that protobuf parses, of a definition, of a catalogue,
// and of a message that is refused or rejected.
inline constexpr double kParsedWork = 4;
// Elements that cost more than their bytes. An element may have two bytes, and
// compress to almost nothing.
inline constexpr double kBlockWork = 64;
inline constexpr double kQueryWork = 512;
inline constexpr double kColumnWork = 32;
inline constexpr double kRetiredWork = 64;
inline constexpr double kLossWork = 1024;
inline constexpr double kMinInstanceBytes = 60;  // of a definition
inline constexpr double kMaxCatalogueBytesPerHour = 128 << 20;
inline constexpr double kMaxNewEpochsPerHour = 4096;

// Thread-safe.
class CertificateBudgets {
 public:
  enum class Cost : uint8_t {
    kWork,
    kDefinitions,
    kCatalogues,
    kEpochs,
    kRetired,  // instances, of which there are no more than new series
  };

  // Full budgets. `now` is Clock::Monotonic(), as are all times here.
  CertificateBudgets(const IngestLimits& limits, absl::Duration now);

  // The samples and the new series of batches. An agent that exceeds them is
  // asked to pause, but its messages are read.
  RateBudget& samples() { return samples_; }
  RateBudget& series() { return series_; }

  // A budget that is used up. No message must be read until `pause` is over.
  struct Debt {
    absl::Duration pause;      // 0: no debt
    absl::string_view reason;  // names the limit in parentheses
  };
  // Charges `amount`, however large: bytes or, for kEpochs, epochs. Returns the
  // debt of this budget.
  Debt Charge(Cost cost, double amount, absl::Duration now);
  // Returns the largest debt.
  Debt debt(absl::Duration now);

  // Whether new budgets would be the same.
  bool IsFull(absl::Duration now) const;

 private:
  RateBudget& BudgetFor(Cost cost);

  RateBudget samples_;
  RateBudget series_;
  RateBudget work_;
  RateBudget definitions_;
  RateBudget catalogues_;
  RateBudget epochs_;
  RateBudget retired_;
};

// The budgets of the certificates that were used recently. Certificates that
// have the same role and names, e.g. one and its renewal, are the same. So the
// table has at most one entry for each set of names that the authority signed.
// Thread-safe.
class BudgetTable {
 public:
  explicit BudgetTable(const IngestLimits& limits) : limits_(limits) {}

  // Returns the budgets of the peer's certificate, and forgets those of
  // certificates that have no stream and whose budgets are full.
  std::shared_ptr<CertificateBudgets> Of(const PeerIdentity& peer,
                                         absl::Duration now);

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return budgets_.size();
  }

 private:
  const IngestLimits limits_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<CertificateBudgets>> budgets_
      ABSL_GUARDED_BY(mutex_);
  absl::Duration next_sweep_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_CERTIFICATE_BUDGETS_H_
