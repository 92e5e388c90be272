#include "aggregator/query/fleet.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/samples/stored_machine.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {

using perflib::CountersetRegistration;

namespace {

// The limit of the stored size of cached catalogues. A cache that exceeds it is
// cleared.
constexpr size_t kMaxCatalogueBytes = 256 << 20;

// A set of agents, which are numbered.
class Agents {
 public:
  void Add(size_t agent) {
    if (agent >= has_.size()) has_.resize(agent + 1);
    count_ += !has_[agent];
    has_[agent] = true;
  }
  size_t count() const { return count_; }

 private:
  std::vector<bool> has_;
  size_t count_ = 0;
};

// The agents' registrations of one counterset. Each agent has one vote for
// each, however many machines it collects from. So an agent with a different
// registration does not change the counterset of the others.
class Registrations {
 public:
  void Add(const std::shared_ptr<const Schema>& schema,
           const std::vector<size_t>& agents) {
    Candidate& candidate = candidates_[schema->hash];
    // Catalogues are added before definitions, which have no help texts.
    if (candidate.schema == nullptr) candidate.schema = schema;
    for (const size_t agent : agents) {
      candidate.agents.Add(agent);
      agents_.Add(agent);
    }
  }

  // The number of agents that have the counterset.
  size_t agents() const { return agents_.count(); }

  // Returns the most common registration. At least one must have been added.
  const CountersetRegistration& MostCommon() const {
    return std::max_element(candidates_.begin(), candidates_.end(),
                            [](const auto& a, const auto& b) {
                              return a.second.agents.count() <
                                     b.second.agents.count();
                            })
        ->second.schema->registration;
  }

 private:
  struct Candidate {
    std::shared_ptr<const Schema> schema;
    Agents agents;
  };
  std::map<std::string, Candidate> candidates_;  // by hash
  Agents agents_;
};

// Counts the machines and agents of all countersets. Catalogues must be added
// before machines.
class CountersetCounts {
 public:
  // Adds a catalogue, which is that of `machines` machines and has `guids`.
  void AddCatalogue(const std::vector<std::shared_ptr<const Schema>>& catalogue,
                    const std::set<perflib::Guid>& guids, size_t machines,
                    const std::vector<size_t>& agents) {
    for (const auto& schema : catalogue) {
      counts_[schema->registration.guid].registrations.Add(schema, agents);
    }
    for (const perflib::Guid& guid : guids) {
      counts_[guid].found.machines += machines;
    }
  }

  // Adds the countersets of a machine. `offered` has the machine's catalogue.
  void AddMachine(const Directory& directory, const std::string& machine,
                  const std::set<perflib::Guid>& offered, size_t agent) {
    ++machine_;
    for (const auto& counterset : directory.Countersets(machine)) {
      const perflib::Guid& guid = counterset->schema->registration.guid;
      Counts& counts = counts_[guid];
      // If the machine's catalogue lacks the counterset, its definition counts.
      if (!offered.contains(guid) &&
          std::exchange(counts.last_machine, machine_) != machine_) {
        ++counts.found.machines;
        counts.registrations.Add(counterset->schema, {agent});
      }
      std::set<uint32_t> counters = directory.Collecting(machine, *counterset);
      if (counters.empty()) continue;
      counts.found.collecting_machines +=
          std::exchange(counts.last_collecting, machine_) != machine_;
      counts.found.collected_counters.merge(counters);
    }
  }

  // Returns the countersets by name and GUID.
  std::vector<FleetCounterset> Finish() && {
    std::vector<FleetCounterset> countersets;
    for (auto& [guid, counts] : counts_) {
      counts.found.agents = counts.registrations.agents();
      counts.found.registration = counts.registrations.MostCommon();
      countersets.push_back(std::move(counts.found));
    }
    std::sort(countersets.begin(), countersets.end(),
              [](const auto& a, const auto& b) {
                return std::tie(a.registration.name, a.registration.guid) <
                       std::tie(b.registration.name, b.registration.guid);
              });
    return countersets;
  }

 private:
  struct Counts {
    FleetCounterset found;
    Registrations registrations;
    // The numbers of the last machines that were counted.
    size_t last_machine = 0;
    size_t last_collecting = 0;
  };
  std::map<perflib::Guid, Counts> counts_;
  size_t machine_ = 0;  // the number of the machine, from 1
};

std::set<perflib::Guid> GuidsOf(
    const std::vector<std::shared_ptr<const Schema>>& catalogue) {
  std::set<perflib::Guid> guids;
  for (const auto& schema : catalogue) guids.insert(schema->registration.guid);
  return guids;
}

}  // namespace

bool IsShown(const perflib::CounterRegistration& counter) {
  return !counter.name.empty() && !perflib::IsBaseType(counter.type) &&
         (counter.attrib & perflib::kAttribNoDisplayable) == 0;
}

std::shared_ptr<const CatalogueCache::Schemas> CatalogueCache::Get(
    const std::string& hash, const ReadableStore& store) {
  {
    absl::MutexLock lock(&mutex_);
    const auto known = catalogues_.find(hash);
    if (known != catalogues_.end()) return known->second;
  }
  // Without the lock, because the store may be that of another aggregator.
  auto countersets = std::make_shared<Schemas>();
  const auto content = store.GetCatalogue(hash);
  v1::CatalogueContent parsed;
  if (!content.ok() || !parsed.ParseFromString(*content)) return countersets;
  for (const v1::CountersetRegistration& proto : parsed.countersets()) {
    auto registration = FromProto(proto);
    if (!registration.ok()) continue;
    std::string schema_hash = Sha256(registration->CanonicalBytes());
    countersets->push_back(std::make_shared<const Schema>(
        Schema{.hash = std::move(schema_hash),
               .registration = *std::move(registration)}));
  }
  absl::MutexLock lock(&mutex_);
  // Many machines share few catalogues, so usually all are cached.
  if (bytes_ + content->size() > kMaxCatalogueBytes) {
    catalogues_.clear();
    bytes_ = 0;
  }
  const auto [entry, is_new] = catalogues_.try_emplace(hash, countersets);
  if (is_new) bytes_ += content->size();
  return entry->second;
}

std::vector<FleetCounterset> Fleet::Countersets(
    absl::FunctionRef<bool(const std::string& machine)> matches,
    const IsCancelled& is_cancelled) {
  struct OfCatalogue {
    size_t machines = 0;
    std::vector<size_t> agents;
    std::set<perflib::Guid> guids;
  };
  std::map<std::string, OfCatalogue> catalogues;
  absl::flat_hash_map<std::string, const OfCatalogue*> catalogue_of;
  absl::flat_hash_map<std::string, size_t> agents;  // with their numbers
  // A machine whose agent is unknown votes for itself.
  const auto voter_of = [&](const std::string& agent,
                            const std::string& machine) {
    return agents.try_emplace(agent.empty() ? machine : agent, agents.size())
        .first->second;
  };
  for (const StoredMachine& stored : store_.GetMachines()) {
    const std::string& machine = stored.machine.name();
    if (!matches(machine)) continue;
    OfCatalogue& catalogue = catalogues[stored.catalogue_hash];
    ++catalogue.machines;
    catalogue.agents.push_back(voter_of(stored.machine.agent(), machine));
    catalogue_of[machine] = &catalogue;
  }
  CountersetCounts counts;
  for (auto& [hash, catalogue] : catalogues) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    const auto schemas = Catalogue(hash);
    catalogue.guids = GuidsOf(*schemas);
    counts.AddCatalogue(*schemas, catalogue.guids, catalogue.machines,
                        catalogue.agents);
  }
  const Directory& directory = store_.directory();
  const OfCatalogue none;
  for (const std::string& machine : directory.Machines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    if (!matches(machine)) continue;
    const auto found = catalogue_of.find(machine);
    const OfCatalogue& catalogue =
        found != catalogue_of.end() ? *found->second : none;
    counts.AddMachine(directory, machine, catalogue.guids,
                      voter_of(directory.AgentOf(machine), machine));
  }
  return std::move(counts).Finish();
}

std::vector<std::string> Fleet::MachinesWith(
    const perflib::Guid& counterset,
    absl::FunctionRef<bool(const std::string& machine)> matches,
    const IsCancelled& is_cancelled) {
  std::set<std::string> machines;
  std::map<std::string, bool> offers;  // by catalogue
  for (const StoredMachine& stored : store_.GetMachines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    const std::string& machine = stored.machine.name();
    if (!matches(machine)) continue;
    const auto [entry, is_new] = offers.try_emplace(stored.catalogue_hash);
    if (is_new) {
      entry->second =
          GuidsOf(*Catalogue(stored.catalogue_hash)).contains(counterset);
    }
    if (entry->second) machines.insert(machines.end(), machine);
  }
  const Directory& directory = store_.directory();
  for (const std::string& machine : directory.Machines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    if (!matches(machine) || machines.contains(machine)) continue;
    const auto collected = directory.Countersets(machine);
    if (std::any_of(collected.begin(), collected.end(), [&](const auto& one) {
          return one->schema->registration.guid == counterset;
        })) {
      machines.insert(machine);
    }
  }
  return {machines.begin(), machines.end()};
}

std::vector<std::string> Fleet::CountersetNames(
    const IsCancelled& is_cancelled) {
  std::set<std::string> names;
  for (const std::string& name : store_.directory().CountersetNames()) {
    names.insert(name);
  }
  std::set<std::string> hashes;
  for (const StoredMachine& stored : store_.GetMachines()) {
    hashes.insert(stored.catalogue_hash);
  }
  for (const std::string& hash : hashes) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    const auto catalogue = Catalogue(hash);
    for (const auto& schema : *catalogue) {
      names.insert(schema->registration.name);
    }
  }
  return {names.begin(), names.end()};
}

Selected Fleet::Select(const PathSet& paths, const IsCancelled& is_cancelled) {
  Selected selected;
  for (const StoredMachine& stored : store_.GetMachines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    const std::string& machine = stored.machine.name();
    if (!paths.MatchesMachine(machine)) continue;
    const auto catalogue = Catalogue(stored.catalogue_hash);
    for (const auto& schema : *catalogue) {
      auto of_counterset = paths.SelectFrom(machine, schema);
      if (!of_counterset.has_value()) continue;
      for (Selection& selection : of_counterset->selections) {
        std::erase_if(selection.counter_ids, [&](uint32_t id) {
          return !IsShown(*schema->registration.FindCounter(id));
        });
      }
      std::erase_if(of_counterset->selections, [](const Selection& selection) {
        return selection.counter_ids.empty();
      });
      if (!of_counterset->selections.empty()) {
        selected[machine].push_back(*std::move(of_counterset));
      }
    }
  }
  return selected;
}

absl::StatusOr<FleetCounterset> Fleet::FindCounterset(
    const std::string& name, const MachineFilter& machines,
    const IsCancelled& is_cancelled) {
  RETURN_IF_ERROR(machines.CheckMatches());
  const auto guid = perflib::ParseGuid(name);
  std::vector<FleetCounterset> countersets = Countersets(
      [&](const std::string& machine) { return machines.Matches(machine); },
      is_cancelled);
  RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
  std::vector<std::string> names;
  // Several countersets may have a name. The same case counts first, then the
  // number of agents.
  FleetCounterset* found = nullptr;
  std::pair<bool, size_t> best;
  for (FleetCounterset& counterset : countersets) {
    const CountersetRegistration& registration = counterset.registration;
    names.push_back(registration.name);
    if (guid.has_value() && registration.guid == *guid) {
      found = &counterset;
      break;
    }
    if (!absl::EqualsIgnoreCase(registration.name, name)) continue;
    const std::pair<bool, size_t> rank = {registration.name == name,
                                          counterset.agents};
    if (found != nullptr && rank <= best) continue;
    best = rank;
    found = &counterset;
  }
  if (found != nullptr) return std::move(*found);
  return absl::NotFoundError(
      absl::StrCat("there is no counterset \"", Excerpt(name), "\"",
                   DidYouMeanOrSee(name, names, "fleetperf countersets")));
}

}  // namespace fleetperf::aggregator
