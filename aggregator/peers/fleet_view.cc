#include "aggregator/peers/fleet_view.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "aggregator/peers/frame_join.h"
#include "aggregator/peers/peer_calls.h"
#include "aggregator/peers/places.h"
#include "aggregator/query/ordered_work.h"
#include "aggregator/query/question.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/stored_machine.h"
#include "aggregator/store/machine_epochs.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The time by which a machine's newest sample may be older than others that
// arrived before it, because its clock was set back.
constexpr absl::Duration kMaxSetBack = absl::Hours(1);
// The limit of joins at a time, each of which has many samples in memory. A
// join waits for reads, which end, and never for another join.
constexpr int kMaxJoins = 8;

// Whether `b` tells more of the present. Each aggregator measures the age of
// its newest sample by the clock that the machine has now, if its agent is
// connected, so that a clock which was wrong in the past does not matter. A
// sample in the future is of such a clock.
bool IsOlder(const MachineDescription& a, const MachineDescription& b) {
  const auto age = [](const MachineDescription& machine) {
    const auto& newest = machine.entry.newest_sample;
    if (!newest.has_value() || *newest > machine.now) {
      return absl::InfiniteDuration();
    }
    return machine.now - *newest;
  };
  const absl::Duration age_of_a = age(a);
  const absl::Duration age_of_b = age(b);
  if (age_of_a != age_of_b) return age_of_a > age_of_b;
  return a.entry.newest_sample < b.entry.newest_sample;
}

// Limits a request to the machines and countersets of paths.
void LimitTo(const PathSet& paths, v1::DescribeRequest* request) {
  for (std::string& text : paths.MachineTexts()) {
    request->add_machines(std::move(text));
  }
  for (std::string& text : paths.CountersetTexts()) {
    request->add_countersets(std::move(text));
  }
}

}  // namespace

// The descriptions of all stores.
struct FleetView::Found {
  std::map<std::string, std::vector<HeldMachine>> machines;
  std::set<std::string> counterset_names;
};

void FleetView::AddTo(PeerChannel* peer, Description description,
                      Found* found) {
  for (MachineDescription& machine : description.machines) {
    auto& held = found->machines[machine.name];
    held.emplace_back(peer, std::move(machine));
  }
  for (std::string& name : description.counterset_names) {
    found->counterset_names.insert(std::move(name));
  }
}

absl::StatusOr<std::unique_ptr<FleetView>> FleetView::Make(
    Options options, v1::DescribeRequest filter,
    const std::vector<std::string>& paths) {
  const auto parse = [&](const Directory& directory) {
    return ParseQuestions(paths, {}, directory);
  };
  v1::DescribeRequest limited = filter;
  const auto own = parse(options.own.directory());
  const bool is_limited = !paths.empty() && own.ok();
  if (is_limited) LimitTo(own->paths, &limited);
  auto view = std::unique_ptr<FleetView>(new FleetView(options));
  RETURN_IF_ERROR(view->Describe(limited));
  if (!is_limited) return view;
  // Names of other aggregators may change what a path means, and the error of a
  // path that selects nothing names the nearest ones of all.
  const auto parsed = parse(view->directory());
  std::vector<absl::Status> missed;
  if (parsed.ok()) {
    parsed->paths.Select(view->directory(), &missed, options.is_cancelled)
        .status()
        .IgnoreError();
  }
  if (parsed.ok() && missed.empty()) return view;
  view.reset(new FleetView(std::move(options)));
  RETURN_IF_ERROR(view->Describe(filter));
  return view;
}

absl::Status FleetView::Describe(const v1::DescribeRequest& request) {
  ASSIGN_OR_RETURN(Description own,
                   DescribeStore(options_.own, options_.now_of, request,
                                 options_.is_cancelled));
  // Schemas are compared by their addresses, also those of the own store.
  absl::Mutex mutex;
  Schemas schemas;  // guarded by mutex
  for (const MachineDescription& machine : own.machines) {
    for (const auto& ticks : machine.entry.ticks) {
      schemas[ticks->schema()->hash] = ticks->schema();
    }
  }
  const size_t peers = options_.peers.size();
  std::vector<absl::StatusOr<Description>> answers(peers);
  const auto describe = [&](size_t i, bool) -> absl::StatusOr<Description> {
    DescriptionReader reader(&schemas);
    const auto read = [&](const v1::DescribeResponse& response) {
      absl::MutexLock lock(&mutex);
      return reader.Add(response);
    };
    RETURN_IF_ERROR(
        DescribePeer(options_.parent, options_.peers[i].get(), request, read));
    return reader.Take();
  };
  OrderedWork<absl::StatusOr<Description>>(peers, peers, describe)
      .Run([&](size_t i, absl::StatusOr<Description> description) {
        answers[i] = std::move(description);
        return absl::OkStatus();
      })
      .IgnoreError();
  RETURN_IF_ERROR(CheckNotCancelled(options_.is_cancelled));
  std::set<std::string> stores = {own.store_id};
  Found found;
  AddTo(nullptr, std::move(own), &found);
  for (size_t i = 0; i < answers.size(); ++i) {
    PeerChannel* const peer = options_.peers[i].get();
    absl::StatusOr<Description>& description = answers[i];
    if (!description.ok()) {
      v1::UnreachablePeer& unreachable = unreachable_.emplace_back();
      unreachable.set_address(peer->address());
      unreachable.set_reason(std::string(description.status().message()));
      continue;
    }
    // All aggregators may have the same list, which then has their own address.
    if (!stores.insert(description->store_id).second) continue;
    for (const MachineDescription& machine : description->machines) {
      if (!machine.catalogue_hash.empty()) {
        catalogues_[machine.catalogue_hash] = peer;
      }
    }
    AddTo(peer, *std::move(description), &found);
  }
  for (auto& [name, descriptions] : found.machines) {
    Add(name, std::move(descriptions));
  }
  for (const std::string& name : found.counterset_names) {
    directory_.AddCountersetName(name);
  }
  return absl::OkStatus();
}

// The newest description of a machine decides, but all have its counters.
void FleetView::Add(const std::string& name,
                    std::vector<HeldMachine> descriptions) {
  std::stable_sort(descriptions.begin(), descriptions.end(),
                   [](const HeldMachine& a, const HeldMachine& b) {
                     return IsOlder(a.second, b.second);
                   });
  MachineDescription& newest = descriptions.back().second;
  Machine& machine = machines_[name];
  machine.catalogue_hash = newest.catalogue_hash;
  machine.now = newest.now;
  machine.newest = descriptions.back().first;
  Directory::Entry entry = std::move(newest.entry);
  const auto own_ticks = std::exchange(entry.ticks, {});
  for (HeldMachine& held : descriptions) {
    const bool is_newest = &held.second == &newest;
    const auto& ticks = is_newest ? own_ticks : held.second.entry.ticks;
    entry.ticks.insert(entry.ticks.end(), ticks.begin(), ticks.end());
    entry.is_registered =
        entry.is_registered || held.second.entry.is_registered;
    const auto sample =
        is_newest ? entry.newest_sample : held.second.entry.newest_sample;
    // An aggregator that was restarted may not know the time of the newest
    // sample.
    if (sample.has_value() || !ticks.empty()) {
      machine.holders.push_back(
          {held.first, sample.value_or(absl::InfiniteFuture())});
    }
  }
  directory_.Add(name, std::move(entry));
}

absl::Status FleetView::Read(
    const ReadRequest& request,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  const auto found = machines_.find(request.machine);
  if (found == machines_.end()) return absl::OkStatus();
  std::vector<Holder> holders = found->second.holders;
  std::erase_if(holders, [&](const Holder& holder) {
    return holder.newest_sample < request.from - kMaxSetBack;
  });
  if (holders.empty()) return absl::OkStatus();
  if (holders.size() > 1) return Join(request, holders, on_frame, on_loss);
  if (holders.front().peer == nullptr) {
    return options_.own_samples.Read(request, on_frame, on_loss);
  }
  return ReadFromPeer(options_.parent, holders.front().peer, request,
                      /*epochs=*/nullptr, on_frame, on_loss);
}

absl::Status FleetView::Join(
    const ReadRequest& request, const std::vector<Holder>& holders,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  static Places* const places = new Places(kMaxJoins);
  ASSIGN_OR_RETURN(const auto place, places->Take([&]() -> absl::Status {
    return request.on_chunk ? request.on_chunk() : absl::OkStatus();
  }));
  ReadRequest unfolded = request;
  unfolded.may_fold = nullptr;
  FrameJoin join;
  const auto add = [&](const Frame& frame) { return join.Add(frame); };
  for (const Holder& holder : holders) {
    std::map<uint32_t, uint64_t> epochs;
    join.BeginStore(&epochs);
    if (holder.peer == nullptr) {
      epochs = EpochsOfMachine(options_.own, request.machine);
      RETURN_IF_ERROR(options_.own_samples.Read(unfolded, add, on_loss));
    } else {
      RETURN_IF_ERROR(ReadFromPeer(options_.parent, holder.peer, unfolded,
                                   &epochs, add, on_loss));
    }
  }
  return join.Run(on_frame);
}

absl::StatusOr<std::string> FleetView::GetCatalogue(
    absl::string_view hash) const {
  auto own = options_.own.GetCatalogue(hash);
  if (own.ok()) return own;
  const auto known = catalogues_.find(std::string(hash));
  if (known == catalogues_.end()) return own;
  return GetCatalogueOfPeer(options_.parent, known->second, hash);
}

std::vector<StoredMachine> FleetView::GetMachines() const {
  std::vector<StoredMachine> machines;
  for (const auto& [name, machine] : machines_) {
    if (!directory_.HasMachine(name)) continue;
    StoredMachine& stored = machines.emplace_back();
    stored.machine.set_name(name);
    stored.machine.set_agent(directory_.AgentOf(name));
    stored.catalogue_hash = machine.catalogue_hash;
  }
  return machines;
}

PeerChannel* FleetView::HolderOf(const std::string& machine) const {
  const auto found = machines_.find(machine);
  return found != machines_.end() ? found->second.newest : nullptr;
}

absl::Time FleetView::NowOf(const std::string& machine) const {
  const auto found = machines_.find(machine);
  return found != machines_.end() ? found->second.now : Clock::Real().Now();
}

}  // namespace fleetperf::aggregator
