#include "aggregator/ingest/certificate_budgets.h"

#include <utility>

namespace fleetperf::aggregator {
namespace {

using Cost = CertificateBudgets::Cost;

constexpr absl::Duration kBudgetSweepInterval = absl::Minutes(1);

// Ticks arrive in batches, so the sample rate is averaged over a minute.
constexpr int kSampleSeconds = 60;
// The definitions of a million instances, at an agent's start, are one burst.
constexpr int kWorkSeconds = 8;

absl::string_view ReasonOf(Cost cost) {
  switch (cost) {
    case Cost::kWork:
      return "more work than 32 MiB of batches per second "
             "(max_work_per_second)";
    case Cost::kDefinitions:
      return "more bytes of definitions per hour than one certificate may fill "
             "of the disk (max_definition_bytes_per_hour)";
    case Cost::kCatalogues:
      return "more than 128 MiB of catalogues per hour "
             "(max_catalogue_bytes_per_hour)";
    case Cost::kEpochs:
      return "more than 4096 new epochs per hour (max_new_epochs_per_hour)";
    case Cost::kRetired:
      return "more retired instances than new series are allowed per hour "
             "(max_new_series_per_hour)";
  }
  return "";
}

}  // namespace

CertificateBudgets::CertificateBudgets(const IngestLimits& limits,
                                       absl::Duration now)
    : samples_(
          static_cast<double>(limits.max_samples_per_second) * kSampleSeconds,
          absl::Seconds(kSampleSeconds), now),
      series_(static_cast<double>(limits.max_new_series_per_hour),
              absl::Hours(1), now),
      work_(kMaxWorkPerSecond * kWorkSeconds, absl::Seconds(kWorkSeconds), now),
      definitions_(limits.max_definition_bytes_per_hour, absl::Hours(1), now),
      catalogues_(kMaxCatalogueBytesPerHour, absl::Hours(1), now),
      epochs_(kMaxNewEpochsPerHour, absl::Hours(1), now),
      retired_(static_cast<double>(limits.max_new_series_per_hour),
               absl::Hours(1), now) {}

RateBudget& CertificateBudgets::BudgetFor(Cost cost) {
  switch (cost) {
    case Cost::kWork:
      return work_;
    case Cost::kDefinitions:
      return definitions_;
    case Cost::kCatalogues:
      return catalogues_;
    case Cost::kEpochs:
      return epochs_;
    case Cost::kRetired:
      return retired_;
  }
  return work_;
}

CertificateBudgets::Debt CertificateBudgets::Charge(Cost cost, double amount,
                                                    absl::Duration now) {
  return {.pause = BudgetFor(cost).Charge(amount, now),
          .reason = ReasonOf(cost)};
}

CertificateBudgets::Debt CertificateBudgets::debt(absl::Duration now) {
  Debt largest;
  for (const Cost cost : {Cost::kWork, Cost::kDefinitions, Cost::kCatalogues,
                          Cost::kEpochs, Cost::kRetired}) {
    const Debt debt = Charge(cost, 0, now);
    if (debt.pause > largest.pause) largest = debt;
  }
  return largest;
}

bool CertificateBudgets::IsFull(absl::Duration now) const {
  for (const RateBudget* budget : {&samples_, &series_, &work_, &definitions_,
                                   &catalogues_, &epochs_, &retired_}) {
    if (!budget->IsFull(now)) return false;
  }
  return true;
}

std::shared_ptr<CertificateBudgets> BudgetTable::Of(const PeerIdentity& peer,
                                                    absl::Duration now) {
  std::string key = peer.Key();
  absl::MutexLock lock(&mutex_);
  if (now >= next_sweep_) {
    next_sweep_ = now + kBudgetSweepInterval;
    absl::erase_if(budgets_, [&](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->IsFull(now);
    });
  }
  std::shared_ptr<CertificateBudgets>& budgets = budgets_[std::move(key)];
  if (budgets == nullptr) {
    budgets = std::make_shared<CertificateBudgets>(limits_, now);
  }
  return budgets;
}

}  // namespace fleetperf::aggregator
