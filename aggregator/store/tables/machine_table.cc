#include "aggregator/store/tables/machine_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Returns the catalogue's hash from a machine's record.
std::string HashOf(absl::string_view record) {
  std::string hash(record.substr(0, kHashSize));
  hash.resize(kHashSize);
  return hash;
}

std::string Serialize(const StoredMachine& stored) {
  v1::Machine machine = stored.machine;
  machine.set_certificate(stored.certificate);
  return absl::StrCat(HashOf(stored.catalogue_hash),
                      machine.SerializeAsString());
}

StoredMachine Parse(const std::string& name, absl::string_view record) {
  StoredMachine stored;
  stored.catalogue_hash = std::string(record.substr(0, kHashSize));
  record.remove_prefix(stored.catalogue_hash.size());
  stored.machine.ParseFromArray(record.data(), static_cast<int>(record.size()));
  stored.machine.set_name(name);
  stored.certificate = std::move(*stored.machine.mutable_certificate());
  stored.machine.clear_certificate();
  return stored;
}

}  // namespace

absl::Status MachineTable::Load() {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(LoadMachines());
  RETURN_IF_ERROR(LoadForgotten());
  return RemoveUnusedCatalogues();
}

absl::Status MachineTable::LoadMachines() {
  return database_.ForEach(
      Family::kDefault, MachineKey(""),
      [this](absl::string_view key, absl::string_view value) {
        const std::string name(key.substr(MachineKey("").size()));
        mutex_.AssertHeld();
        machines_[name] = std::string(value);
        ++catalogues_[HashOf(value)];
        const StoredMachine stored = Parse(name, value);
        of_agent_[stored.machine.agent()].insert(name);
        directory_.AddMachine(stored);
      });
}

// Hides the forgotten machines. The repair of a damaged store may bring back
// the record of one that was described again.
absl::Status MachineTable::LoadForgotten() {
  Changes changes(&database_);
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, ForgottenKey(""),
      [&](absl::string_view key, absl::string_view) {
        const std::string name(key.substr(ForgottenKey("").size()));
        mutex_.AssertHeld();
        if (machines_.contains(name)) {
          return changes.Delete(Family::kDefault, key);
        }
        forgotten_.insert(name);
        directory_.HideMachine(name);
      }));
  // If the disk is full, the records are found again at the next start.
  Write(&changes).IgnoreError();
  return absl::OkStatus();
}

// A crash may leave a catalogue that its machine no longer has.
absl::Status MachineTable::RemoveUnusedCatalogues() {
  Changes changes(&database_);
  const std::string prefix = CatalogueKey("");
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, prefix, [&](absl::string_view key, absl::string_view) {
        mutex_.AssertHeld();
        if (!catalogues_.contains(key.substr(prefix.size()))) {
          changes.Delete(Family::kDefault, key);
        }
      }));
  // Unused catalogues only take space. If the disk is full, they stay.
  Write(&changes).IgnoreError();
  return absl::OkStatus();
}

bool MachineTable::HasCatalogue(absl::string_view hash) const {
  return database_.Get(Family::kDefault, CatalogueKey(hash)).ok();
}

absl::Status MachineTable::PutCatalogue(absl::string_view hash,
                                        absl::string_view content) {
  Changes changes(&database_);
  changes.Put(Family::kDefault, CatalogueKey(hash), content);
  return Write(&changes);
}

absl::StatusOr<std::string> MachineTable::GetCatalogue(
    absl::string_view hash) const {
  auto content = database_.Get(Family::kDefault, CatalogueKey(hash));
  if (absl::IsNotFound(content.status())) {
    return absl::NotFoundError("no such catalogue");
  }
  return content;
}

absl::Status MachineTable::Put(const StoredMachine& stored) {
  const v1::Machine& machine = stored.machine;
  std::string record = Serialize(stored);
  const std::string hash = HashOf(record);
  absl::MutexLock lock(&mutex_);
  const auto known = machines_.find(machine.name());
  if (known != machines_.end() && known->second == record) {
    return absl::OkStatus();
  }
  Changes changes(&database_);
  changes.Put(Family::kDefault, MachineKey(machine.name()), record);
  const auto forgotten = forgotten_.find(machine.name());
  if (forgotten != forgotten_.end()) {
    changes.Delete(Family::kDefault, ForgottenKey(machine.name()));
  }
  std::string former;  // the catalogue that becomes unused
  if (known != machines_.end()) {
    former = HashOf(known->second);
    if (former == hash || catalogues_[former] > 1) former.clear();
  }
  if (!former.empty()) {
    changes.Delete(Family::kDefault, CatalogueKey(former));
  }
  RETURN_IF_ERROR(Write(&changes));
  if (known != machines_.end()) Release(HashOf(known->second));
  if (forgotten != forgotten_.end()) forgotten_.erase(forgotten);
  ++catalogues_[hash];
  machines_[machine.name()] = std::move(record);
  of_agent_[machine.agent()].insert(machine.name());
  directory_.AddMachine(stored);
  return absl::OkStatus();
}

absl::Status MachineTable::Forget(const std::set<std::string>& names) {
  absl::MutexLock lock(&mutex_);
  Changes changes(&database_);
  for (const std::string& name : names) {
    if (!machines_.contains(name)) {
      return absl::NotFoundError(
          absl::StrCat("there is no machine \"", name, "\""));
    }
    changes.Delete(Family::kDefault, MachineKey(name));
    changes.Put(Family::kDefault, ForgottenKey(name), "");
  }
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kPowerCut));
  Changes unused(&database_);
  for (const std::string& name : names) {
    const auto found = machines_.find(name);
    const std::string hash = HashOf(found->second);
    if (Release(hash)) unused.Delete(Family::kDefault, CatalogueKey(hash));
    of_agent_[Parse(name, found->second).machine.agent()].erase(name);
    machines_.erase(found);
    forgotten_.insert(name);
    directory_.HideMachine(name);
  }
  // The catalogues that remain are removed by the next Load.
  Write(&unused).IgnoreError();
  return absl::OkStatus();
}

std::optional<StoredMachine> MachineTable::Find(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = machines_.find(name);
  if (found == machines_.end()) return std::nullopt;
  return Parse(found->first, found->second);
}

std::vector<StoredMachine> MachineTable::Get(const std::string& after,
                                             size_t max) const {
  std::vector<StoredMachine> machines;
  absl::MutexLock lock(&mutex_);
  for (auto next = machines_.upper_bound(after);
       next != machines_.end() && machines.size() < max; ++next) {
    machines.push_back(Parse(next->first, next->second));
  }
  return machines;
}

void MachineTable::ForEachOf(
    const std::string& agent,
    absl::FunctionRef<void(const std::string&)> use) const {
  absl::MutexLock lock(&mutex_);
  const auto found = of_agent_.find(agent);
  if (found == of_agent_.end()) return;
  for (const std::string& machine : found->second) use(machine);
}

bool MachineTable::Release(const std::string& catalogue_hash) {
  const auto catalogue = catalogues_.find(catalogue_hash);
  if (--catalogue->second > 0) return false;
  catalogues_.erase(catalogue);
  return true;
}

}  // namespace fleetperf::aggregator
