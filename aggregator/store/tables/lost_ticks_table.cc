#include "aggregator/store/tables/lost_ticks_table.h"

#include "aggregator/store/tables/keys.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

absl::Status LostTicksTable::Load(const Database& database,
                                  OnDamage on_damage) {
  absl::MutexLock lock(&mutex_);
  return database.ForEach(
      Family::kDefault, LostTicksPrefix(),
      [&](absl::string_view key, absl::string_view value) {
        mutex_.AssertHeld();
        std::pair<std::string, std::string> entry;
        v1::Machine machine;
        if (!ParseLostTicksKey(key, &entry.first, &entry.second) ||
            !machine.ParseFromArray(value.data(),
                                    static_cast<int>(value.size()))) {
          on_damage(DamagedRecord(key));
          return;
        }
        ByCause& lost = entries_[std::move(entry)];
        for (uint8_t cause = 0; cause <= static_cast<uint8_t>(kLastLossCause);
             ++cause) {
          const auto ticks = machine.lost_ticks().find(
              std::string(NameOf(static_cast<LossCause>(cause))));
          if (ticks == machine.lost_ticks().end()) continue;
          lost[static_cast<LossCause>(cause)] = ticks->second;
        }
      });
}

LostTicksTable::Map LostTicksTable::After(
    absl::Span<const BatchToCommit> batches) const {
  Map after;
  absl::MutexLock lock(&mutex_);
  for (const BatchToCommit& batch : batches) {
    for (const Loss& loss : batch.decoded->losses) {
      const std::pair<std::string, std::string> key = {std::string(batch.agent),
                                                       loss.machine};
      const auto [entry, is_new] = after.try_emplace(key);
      const auto known = entries_.find(key);
      if (is_new && known != entries_.end()) entry->second = known->second;
      entry->second[loss.cause] += loss.ticks;
    }
  }
  return after;
}

void LostTicksTable::Put(const Map& entries, Changes* changes) {
  for (const auto& [key, by_cause] : entries) {
    v1::Machine machine;
    for (const auto& [cause, ticks] : by_cause) {
      (*machine.mutable_lost_ticks())[std::string(NameOf(cause))] = ticks;
    }
    changes->Put(Family::kDefault, LostTicksKey(key.first, key.second),
                 machine.SerializeAsString());
  }
}

void LostTicksTable::Take(Map entries) {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, ticks] : entries) entries_[key] = std::move(ticks);
}

LostTicksTable::ByCause LostTicksTable::Of(const std::string& agent,
                                           const std::string& machine) const {
  ByCause sum;
  absl::MutexLock lock(&mutex_);
  for (const std::string& of : {std::string(), machine}) {
    const auto lost = entries_.find({agent, of});
    if (lost == entries_.end()) continue;
    for (const auto& [cause, ticks] : lost->second) sum[cause] += ticks;
  }
  return sum;
}

}  // namespace fleetperf::aggregator
