#include "aggregator/store/tables/name_migration.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/store/tables/keys.h"
#include "base/status_macros.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::string_view kCanonicalNames = "1";
// The size of the hash before a machine in its record.
constexpr size_t kCatalogueHashSize = 32;

// Returns the sequence of the epoch's last durable batch; 0 if it has none.
uint64_t DurableSequence(const Database& database, uint32_t epoch_number) {
  const auto record = database.Get(Family::kDefault, DurableKey(epoch_number));
  if (!record.ok()) return 0;
  absl::string_view rest = *record;
  uint64_t sequence = 0;
  return GetBigEndian(&rest, &sequence) ? sequence : 0;
}

// Converts the records of one prefix. For each key, in order, `convert` returns
// the key to use instead, or "" to leave the record unchanged. `merge` returns
// the value for that key, given the values of the record and of the one that
// already has the key, or "".
template <typename Convert, typename Merge>
absl::Status ConvertRecords(const Database& database, const std::string& prefix,
                            const Convert& convert, const Merge& merge,
                            Changes* changes) {
  std::map<std::string, std::string> converted;
  absl::Status status;
  RETURN_IF_ERROR(database.ForEach(
      Family::kDefault, prefix,
      [&](absl::string_view key, absl::string_view value) {
        const std::string to = convert(key, value);
        if (to.empty()) return;
        const auto [entry, is_first] = converted.try_emplace(to);
        if (is_first && to != key) {
          auto existing = database.Get(Family::kDefault, to);
          if (existing.ok()) {
            entry->second = *std::move(existing);
          } else if (!absl::IsNotFound(existing.status())) {
            status.Update(existing.status());
          }
        }
        entry->second = merge(entry->second, value);
        if (to != key) changes->Delete(Family::kDefault, key);
      }));
  RETURN_IF_ERROR(status);
  for (const auto& [key, value] : converted) {
    changes->Put(Family::kDefault, key, value);
  }
  return absl::OkStatus();
}

absl::Status ConvertEpochs(const Database& database, Changes* changes) {
  const auto convert = [](absl::string_view key, absl::string_view) {
    std::string agent;
    if (!ParseEpochKey(key, &agent)) return std::string();
    const std::string name = CanonicalName(agent);
    if (name == agent) return std::string();
    absl::string_view epoch = key.substr(key.size() - sizeof(uint64_t));
    uint64_t id = 0;
    GetBigEndian(&epoch, &id);
    return EpochKey(name, id);
  };
  // An agent whose spelling changed sent the rest of its batches under the new
  // one.
  const auto merge = [&](absl::string_view existing, absl::string_view value) {
    absl::string_view a = existing;
    absl::string_view b = value;
    uint32_t known = 0;
    uint32_t other = 0;
    if (!GetBigEndian(&a, &known) || !GetBigEndian(&b, &other)) {
      return std::string(existing.empty() ? value : existing);
    }
    return std::string(DurableSequence(database, other) >
                               DurableSequence(database, known)
                           ? value
                           : existing);
  };
  return ConvertRecords(database, EpochPrefix(), convert, merge, changes);
}

// A record of a machine.
struct MachineRecord {
  std::string catalogue_hash;
  v1::Machine machine;
};

bool ParseMachineRecord(absl::string_view record, MachineRecord* parsed) {
  parsed->catalogue_hash = std::string(record.substr(0, kCatalogueHashSize));
  record.remove_prefix(parsed->catalogue_hash.size());
  return parsed->machine.ParseFromArray(record.data(),
                                        static_cast<int>(record.size()));
}

absl::Status ConvertMachines(const Database& database, Changes* changes) {
  const std::string prefix = MachineKey("");
  const auto convert = [&](absl::string_view key, absl::string_view value) {
    const absl::string_view name = key.substr(prefix.size());
    MachineRecord record;
    if (!ParseMachineRecord(value, &record)) return std::string();
    if (CanonicalName(name) == name &&
        CanonicalName(record.machine.agent()) == record.machine.agent()) {
      return std::string();
    }
    return MachineKey(CanonicalName(name));
  };
  const auto merge = [](absl::string_view existing, absl::string_view value) {
    MachineRecord one;
    MachineRecord other;
    ParseMachineRecord(value, &one);
    ParseMachineRecord(existing, &other);
    const std::string name = CanonicalName(one.machine.name());
    const bool is_own = CanonicalName(one.machine.agent()) == name;
    const bool other_is_own = CanonicalName(other.machine.agent()) ==
                              CanonicalName(other.machine.name());
    MachineRecord& chosen =
        existing.empty() || (is_own && !other_is_own) ? one : other;
    chosen.machine.set_name(name);
    chosen.machine.set_agent(CanonicalName(chosen.machine.agent()));
    return absl::StrCat(chosen.catalogue_hash,
                        chosen.machine.SerializeAsString());
  };
  return ConvertRecords(database, prefix, convert, merge, changes);
}

absl::Status ConvertLostTicks(const Database& database, Changes* changes) {
  const auto convert = [](absl::string_view key, absl::string_view value) {
    std::string agent;
    std::string machine;
    v1::Machine ticks;
    if (!ParseLostTicksKey(key, &agent, &machine) ||
        !ticks.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        (CanonicalName(agent) == agent && CanonicalName(machine) == machine)) {
      return std::string();
    }
    return LostTicksKey(CanonicalName(agent), CanonicalName(machine));
  };
  const auto merge = [](absl::string_view existing, absl::string_view value) {
    v1::Machine sum;
    v1::Machine added;
    sum.ParseFromArray(existing.data(), static_cast<int>(existing.size()));
    added.ParseFromArray(value.data(), static_cast<int>(value.size()));
    for (const auto& [cause, ticks] : added.lost_ticks()) {
      (*sum.mutable_lost_ticks())[cause] += ticks;
    }
    return sum.SerializeAsString();
  };
  return ConvertRecords(database, LostTicksPrefix(), convert, merge, changes);
}

}  // namespace

absl::Status MigrateNames(Database* database) {
  const auto names = database->Get(Family::kDefault, NamesKey());
  if (names.ok() && *names == kCanonicalNames) return absl::OkStatus();
  Changes changes(database);
  RETURN_IF_ERROR(ConvertEpochs(*database, &changes));
  RETURN_IF_ERROR(ConvertMachines(*database, &changes));
  RETURN_IF_ERROR(ConvertLostTicks(*database, &changes));
  const bool has_converted = changes.size() > 0;
  changes.Put(Family::kDefault, NamesKey(), kCanonicalNames);
  const absl::Status written =
      database->Write(&changes, Database::Durability::kPowerCut);
  // Without the note, the next start searches again.
  return has_converted ? written : absl::OkStatus();
}

}  // namespace fleetperf::aggregator
