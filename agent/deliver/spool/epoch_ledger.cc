#include "agent/deliver/spool/epoch_ledger.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fleetperf::agent {
namespace {

constexpr size_t kMaxFingerprints = 100'000;

}  // namespace

EpochLedger::EpochLedger(uint64_t id)
    : current_({.number = kThisProcess, .id = id, .sent = 0}) {}

void EpochLedger::SetFormer(std::vector<SpoolEpoch> former) {
  former_ = std::move(former);
}

void EpochLedger::ForgetFormer(uint32_t number) {
  std::erase_if(former_, [&](const SpoolEpoch& epoch) {
    return epoch.number == number && &epoch != &former_.back();
  });
}

SpoolEpoch* EpochLedger::FindEpoch(uint32_t number) {
  if (number == kThisProcess) return &current_;
  const auto found = std::find_if(
      former_.begin(), former_.end(),
      [&](const SpoolEpoch& epoch) { return epoch.number == number; });
  return found != former_.end() ? &*found : nullptr;
}

const SpoolEpoch* EpochLedger::Find(uint32_t number) const {
  return const_cast<EpochLedger*>(this)->FindEpoch(number);
}

std::optional<uint32_t> EpochLedger::NumberOf(uint64_t id) const {
  if (id == current_.id) return kThisProcess;
  for (const SpoolEpoch& epoch : former_) {
    if (epoch.id == id) return epoch.number;
  }
  return std::nullopt;
}

void EpochLedger::AddSealed(uint64_t fingerprint) {
  fingerprints_[++current_.last_sequence] = fingerprint;
  if (fingerprints_.size() > kMaxFingerprints) {
    fingerprints_.erase(fingerprints_.begin());
  }
}

bool EpochLedger::Acknowledge(BatchPlace place) {
  SpoolEpoch* epoch = FindEpoch(place.epoch);
  if (epoch == nullptr || place.sequence <= epoch->acknowledged) return false;
  epoch->acknowledged = place.sequence;
  if (place.epoch == kThisProcess) {
    fingerprints_.erase(fingerprints_.begin(),
                        fingerprints_.lower_bound(place.sequence));
  }
  return true;
}

bool EpochLedger::MayHaveArrived(BatchPlace place) const {
  const SpoolEpoch* epoch = Find(place.epoch);
  return epoch != nullptr && place.sequence <= epoch->sent;
}

void EpochLedger::MarkSent(BatchPlace place) {
  SpoolEpoch* epoch = FindEpoch(place.epoch);
  if (epoch != nullptr) epoch->sent = std::max(epoch->sent, place.sequence);
}

void EpochLedger::Resume(BatchPlace last_arrived) {
  SpoolEpoch* epoch = FindEpoch(last_arrived.epoch);
  if (epoch != nullptr) epoch->sent = last_arrived.sequence;
}

bool EpochLedger::IsOfAnotherProcess(uint64_t sequence,
                                     uint64_t fingerprint) const {
  if (sequence > current_.last_sequence) return true;
  const auto made = fingerprints_.find(sequence);
  return made != fingerprints_.end() && fingerprint != 0 &&
         made->second != fingerprint;
}

void EpochLedger::Fork(uint64_t id) {
  current_.forked_from = current_.id;
  current_.id = id;
}

}  // namespace fleetperf::agent
