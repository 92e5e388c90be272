#include "aggregator/query/fleet.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {

using perflib::CountersetRegistration;

namespace {

// The limit of the stored size of cached catalogues. A cache that exceeds it is
// cleared.
constexpr size_t kMaxCatalogueBytes = 256 << 20;

// The agents' registrations of one counterset. Each agent has one vote for
// each, however many machines it collects from. So an agent with a different
// registration does not change the counterset of the others.
class Registrations {
 public:
  void Add(const CountersetRegistration& registration,
           const std::set<std::string>& agents) {
    Candidate& candidate = candidates_[registration.CanonicalBytes()];
    // Catalogues are added before definitions, which have no help texts.
    if (candidate.agents.empty()) candidate.registration = registration;
    candidate.agents.insert(agents.begin(), agents.end());
    agents_.insert(agents.begin(), agents.end());
  }

  // The number of agents that have the counterset.
  size_t agents() const { return agents_.size(); }

  // Returns the most common registration. At least one must have been added.
  CountersetRegistration Finish() && {
    return std::move(std::max_element(candidates_.begin(), candidates_.end(),
                                      [](const auto& a, const auto& b) {
                                        return a.second.agents.size() <
                                               b.second.agents.size();
                                      })
                         ->second.registration);
  }

 private:
  struct Candidate {
    CountersetRegistration registration;
    std::set<std::string> agents;
  };
  std::map<std::string, Candidate> candidates_;  // by CanonicalBytes
  std::set<std::string> agents_;
};

// A machine whose agent is unknown votes for itself.
std::string VoterOf(const std::string& agent, const std::string& machine) {
  return agent.empty() ? machine : agent;
}

}  // namespace

bool IsShown(const perflib::CounterRegistration& counter) {
  return !counter.name.empty() && !perflib::IsBaseType(counter.type) &&
         (counter.attrib & perflib::kAttribNoDisplayable) == 0;
}

std::shared_ptr<const Fleet::Schemas> Fleet::Catalogue(
    const std::string& hash) {
  absl::MutexLock lock(&mutex_);
  const auto known = catalogues_.find(hash);
  if (known != catalogues_.end()) return known->second;
  auto countersets = std::make_shared<Schemas>();
  const auto content = store_.GetCatalogue(hash);
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
  // Many machines share few catalogues, so usually all are cached.
  if (catalogue_bytes_ + content->size() > kMaxCatalogueBytes) {
    catalogues_.clear();
    catalogue_bytes_ = 0;
  }
  catalogue_bytes_ += content->size();
  catalogues_[hash] = countersets;
  return countersets;
}

std::vector<FleetCounterset> Fleet::Countersets(
    absl::FunctionRef<bool(const std::string& machine)> matches) {
  std::map<std::string, std::set<std::string>> machines_by_catalogue;
  std::map<std::string, std::set<std::string>> agents_by_catalogue;
  for (const Store::StoredMachine& stored : store_.GetMachines()) {
    const std::string& machine = stored.machine.name();
    if (!matches(machine)) continue;
    machines_by_catalogue[stored.catalogue_hash].insert(machine);
    agents_by_catalogue[stored.catalogue_hash].insert(
        VoterOf(stored.machine.agent(), machine));
  }
  std::map<perflib::Guid, FleetCounterset> by_guid;
  std::map<perflib::Guid, Registrations> registrations;
  for (const auto& [hash, machines] : machines_by_catalogue) {
    const auto catalogue = Catalogue(hash);
    for (const auto& schema : *catalogue) {
      const CountersetRegistration& registration = schema->registration;
      registrations[registration.guid].Add(registration,
                                           agents_by_catalogue[hash]);
      by_guid[registration.guid].machines.insert(machines.begin(),
                                                 machines.end());
    }
  }
  const Directory& directory = store_.directory();
  for (const std::string& machine : directory.Machines()) {
    if (!matches(machine)) continue;
    for (const auto& collected : directory.Countersets(machine)) {
      const CountersetRegistration& registration =
          collected->schema->registration;
      FleetCounterset& counterset = by_guid[registration.guid];
      // If the machine's catalogue lacks the counterset, its definition counts.
      if (counterset.machines.insert(machine).second) {
        registrations[registration.guid].Add(
            registration, {VoterOf(directory.AgentOf(machine), machine)});
      }
      std::set<uint32_t> collecting = directory.Collecting(machine, *collected);
      if (collecting.empty()) continue;
      counterset.collecting_machines.insert(machine);
      counterset.collected_counters.merge(collecting);
    }
  }
  std::vector<FleetCounterset> countersets;
  for (auto& [guid, counterset] : by_guid) {
    counterset.agents = registrations[guid].agents();
    counterset.registration = std::move(registrations[guid]).Finish();
    countersets.push_back(std::move(counterset));
  }
  std::sort(countersets.begin(), countersets.end(),
            [](const auto& a, const auto& b) {
              return std::tie(a.registration.name, a.registration.guid) <
                     std::tie(b.registration.name, b.registration.guid);
            });
  return countersets;
}

std::vector<std::string> Fleet::CountersetNames() {
  std::set<std::string> names;
  for (const std::string& name : store_.directory().CountersetNames()) {
    names.insert(name);
  }
  std::set<std::string> hashes;
  for (const Store::StoredMachine& stored : store_.GetMachines()) {
    hashes.insert(stored.catalogue_hash);
  }
  for (const std::string& hash : hashes) {
    const auto catalogue = Catalogue(hash);
    for (const auto& schema : *catalogue) {
      names.insert(schema->registration.name);
    }
  }
  return {names.begin(), names.end()};
}

Selected Fleet::Select(const PathSet& paths) {
  Selected selected;
  for (const Store::StoredMachine& stored : store_.GetMachines()) {
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
    const std::string& name, const MachineFilter& machines) {
  RETURN_IF_ERROR(machines.CheckMatches());
  const auto guid = perflib::ParseGuid(name);
  std::vector<FleetCounterset> countersets = Countersets(
      [&](const std::string& machine) { return machines.Matches(machine); });
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
