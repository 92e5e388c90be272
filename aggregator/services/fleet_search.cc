#include "aggregator/services/fleet_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/fleet.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/selection.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"
#include "perflib/guid.h"
#include "perflib/path.h"
#include "values/unit.h"

namespace fleetperf::aggregator {
namespace {

using Found = v1::FindResponse::Found;

constexpr size_t kMaxWordBytes = 256;
constexpr uint32_t kDefaultResults = 20;
constexpr uint32_t kMaxResults = 1000;
// Limits of the work for instances.
constexpr size_t kMaxMachinesSearched = 1000;
constexpr size_t kMaxInstances = 200'000;
// The newest samples are those of this time before the newest one.
constexpr absl::Duration kNewest = absl::Minutes(1);
// The limit of a help text in a list of results.
constexpr size_t kMaxShownHelpBytes = 4 << 10;

bool HasNoWords(const v1::FindRequest& request) {
  return absl::StripAsciiWhitespace(request.words()).empty();
}

// What may be found.
class Search {
 public:
  Search(const v1::FindRequest& request, const MachineFilter& machines,
         const ReadScope& scope, const Caller& caller)
      : request_(request), machines_(machines), scope_(scope), caller_(caller) {
    for (std::string& machine : scope_.store.directory().Machines()) {
      if (machines_.Matches(machine)) names_.push_back(std::move(machine));
    }
  }

  void AddCounters() {
    const auto countersets = scope_.fleet.Countersets(
        [&](const std::string& machine) { return machines_.Matches(machine); },
        caller_.is_cancelled);
    for (const FleetCounterset& counterset : countersets) {
      const auto& registration = counterset.registration;
      for (const auto& counter : registration.counters) {
        if (IsShown(counter)) AddCounter(counterset, counter);
      }
    }
  }

  void AddMachines() {
    const Directory& directory = scope_.store.directory();
    for (const std::string& machine : names_) {
      const std::string labels = absl::StrJoin(directory.LabelsOf(machine), " ",
                                               absl::PairFormatter("="));
      const bool has_samples = directory.NewestSample(machine).has_value();
      Found found;
      found.set_kind(v1::FindResponse::KIND_MACHINE);
      found.set_name(machine);
      found.set_path(absl::StrCat("\\\\", perflib::EscapeName(machine)));
      found.set_collected(has_samples);
      found.set_help(labels);
      Add({machine, labels, has_samples}, std::move(found));
    }
  }

  // Adds the instances of one counterset, or of all.
  absl::Status AddInstances(const std::optional<perflib::Guid>& counterset) {
    std::map<InstanceKey, Instances> instances;
    const size_t count = std::min(names_.size(), kMaxMachinesSearched);
    for (size_t i = 0; i < count && instances.size() < kMaxInstances; ++i) {
      RETURN_IF_ERROR(CheckNotCancelled(caller_.is_cancelled));
      // A machine that cannot be read counts as left out.
      const auto read = ReadInstances(names_[i], counterset, &instances);
      if (read.ok()) ++machines_searched_;
    }
    for (const auto& [key, found] : instances) AddInstance(key, found);
    return absl::OkStatus();
  }

  void Answer(v1::FindResponse* response) {
    std::vector<size_t> order;
    if (HasNoWords(request_)) {
      for (size_t i = 0; i < things_.size(); ++i) order.push_back(i);
    } else {
      order = FindByWords(request_.words(), things_);
      if (order.empty()) {
        const std::string words = CorrectedWords(request_.words(), things_);
        order = FindByWords(words, things_);
        if (!order.empty()) response->set_corrected_words(words);
      }
    }
    const size_t limit = std::min(
        request_.max_results() == 0 ? kDefaultResults : request_.max_results(),
        kMaxResults);
    response->set_left_out(order.size() - std::min(order.size(), limit));
    if (order.size() > limit) order.resize(limit);
    for (const size_t i : order) {
      *response->add_found() = std::move(found_[i]);
    }
    response->set_machines_left_out(names_.size() - machines_searched_);
  }

 private:
  // The names of a counterset, and of a program or an instance.
  using InstanceKey = std::pair<std::string, std::string>;
  struct Instances {
    std::set<std::string> names;
    size_t machines = 0;
    std::string last_machine;
  };

  void Add(NamedThing thing, Found found) {
    things_.push_back(std::move(thing));
    found_.push_back(std::move(found));
  }

  // Returns the path with the machine of the request.
  std::string PathOf(absl::string_view path) const {
    return request_.machine().empty()
               ? std::string(path)
               : absl::StrCat("\\\\", request_.machine(), path);
  }

  void AddCounter(const FleetCounterset& counterset,
                  const perflib::CounterRegistration& counter) {
    const auto& registration = counterset.registration;
    const bool collected =
        counterset.collected_counters.contains(counter.counter_id);
    Found found;
    found.set_kind(v1::FindResponse::KIND_COUNTER);
    found.set_name(counter.name);
    // The asterisk would be escaped as a name.
    std::string path = perflib::FormatPath("", registration.name, std::nullopt,
                                           0, counter.name);
    if (registration.HasInstances()) {
      path.insert(1 + perflib::EscapeName(registration.name).size(), "(*)");
    }
    found.set_path(PathOf(path));
    found.set_collected(collected);
    found.set_unit(UnitOf(counter));
    found.set_help(std::string(Utf8Prefix(counter.help, kMaxShownHelpBytes)));
    Add({absl::StrCat("\\", registration.name, "\\", counter.name),
         absl::StrCat(registration.help, " ", counter.help), collected},
        std::move(found));
  }

  // A group of instances has the path of its program.
  void AddInstance(const InstanceKey& key, const Instances& instances) {
    const auto& [counterset, program] = key;
    const bool is_one = instances.names.size() == 1;
    const std::string& name = is_one ? *instances.names.begin() : program;
    const std::string instance =
        is_one ? perflib::EscapeInstanceName(name)
               : absl::StrCat(perflib::EscapeName(program), ":*");
    Found found;
    found.set_kind(v1::FindResponse::KIND_INSTANCE);
    found.set_name(name);
    found.set_path(PathOf(absl::StrCat("\\", perflib::EscapeName(counterset),
                                       "(", instance, ")\\*")));
    found.set_collected(true);
    found.set_help(absl::StrCat(
        counterset, ", ",
        is_one ? "" : absl::StrCat(instances.names.size(), " instances, "),
        instances.machines == 1
            ? instances.last_machine
            : absl::StrCat(instances.machines, " machines")));
    Add({name, counterset, true}, std::move(found));
  }

  // Returns the countersets that a machine collects and that have instances,
  // each with one of its counters.
  std::vector<SelectedCounterset> CountersetsOf(
      const std::string& machine,
      const std::optional<perflib::Guid>& counterset) const {
    std::vector<SelectedCounterset> selected;
    for (const auto& one : scope_.store.directory().Countersets(machine)) {
      const auto& registration = one->schema->registration;
      if (!registration.HasInstances() || one->counters.empty()) continue;
      if (counterset.has_value() && registration.guid != *counterset) continue;
      selected.push_back(
          {.schema = one->schema,
           .selections = {{.instance = perflib::Pattern(),
                           .counter_ids = {one->counters.begin()->first}}}});
    }
    return selected;
  }

  absl::Status ReadInstances(const std::string& machine,
                             const std::optional<perflib::Guid>& counterset,
                             std::map<InstanceKey, Instances>* instances) {
    const auto newest = scope_.store.directory().NewestSample(machine);
    const auto selected = CountersetsOf(machine, counterset);
    if (!newest.has_value() || selected.empty()) return absl::OkStatus();
    const auto is_selected = [&](const CollectedQuery& query) {
      return std::any_of(selected.begin(), selected.end(),
                         [&](const SelectedCounterset& one) {
                           return one.schema == query.schema;
                         });
    };
    // The names of instances do not need a column.
    const auto first_column = [](const CollectedQuery& query) {
      std::vector<bool> columns(query.columns.size());
      columns.front() = true;
      return columns;
    };
    return scope_.store.Read(
        {.machine = machine,
         .from = *newest - kNewest,
         .to = *newest,
         .filter = is_selected,
         .columns = first_column,
         .selected = &selected},
        [&](const Frame& frame) {
          const auto& name = frame.query->schema->registration.name;
          for (const Frame::Run& run : frame.runs) {
            Note(machine, name, run.instance->name, instances);
          }
          return CheckNotCancelled(caller_.is_cancelled);
        },
        [](const Loss&) {});
  }

  void Note(const std::string& machine, const std::string& counterset,
            const std::string& name,
            std::map<InstanceKey, Instances>* instances) const {
    Instances& found = (*instances)[{
        counterset, request_.counterset().empty() ? ProgramOf(name) : name}];
    found.names.insert(name);
    if (std::exchange(found.last_machine, machine) != machine) {
      ++found.machines;
    }
  }

  const v1::FindRequest& request_;
  const MachineFilter& machines_;
  const ReadScope& scope_;
  const Caller& caller_;
  std::vector<std::string> names_;  // of the matching machines
  size_t machines_searched_ = 0;
  std::vector<NamedThing> things_;
  std::vector<Found> found_;  // of the things
};

}  // namespace

absl::Status CheckFindRequest(const v1::FindRequest& request) {
  if (request.words().size() > kMaxWordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxWordBytes, " bytes of words to find"));
  }
  if (request.counterset().empty() && HasNoWords(request)) {
    return absl::InvalidArgumentError(
        "words to find are required, such as: cpu usage");
  }
  return absl::OkStatus();
}

absl::Status SearchFleet(const v1::FindRequest& request,
                         const MachineFilter& machines, const ReadScope& scope,
                         const Caller& caller, v1::FindResponse* response) {
  RETURN_IF_ERROR(machines.CheckMatches());
  Search search(request, machines, scope, caller);
  if (request.counterset().empty()) {
    search.AddCounters();
    search.AddMachines();
    RETURN_IF_ERROR(search.AddInstances(std::nullopt));
  } else {
    ASSIGN_OR_RETURN(const FleetCounterset counterset,
                     scope.fleet.FindCounterset(request.counterset(), {},
                                                caller.is_cancelled));
    RETURN_IF_ERROR(search.AddInstances(counterset.registration.guid));
  }
  search.Answer(response);
  return CheckNotCancelled(caller.is_cancelled);
}

}  // namespace fleetperf::aggregator
