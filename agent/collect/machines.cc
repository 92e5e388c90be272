#include "agent/collect/machines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

// How long a new plan's reports wait for machines that are slow.
constexpr absl::Duration kReportTime = absl::Seconds(10);

}  // namespace

Machines::Machines(Options options) : options_(std::move(options)) {
  absl::MutexLock lock(&mutex_);
  Add(options_.own, std::move(options_.own_source),
      std::move(options_.capture));
}

Machines::~Machines() = default;

void Machines::Add(const std::string& name, std::unique_ptr<Source> source,
                   std::unique_ptr<Capture> capture) {
  Machine& machine = machines_[name];
  machine.source = std::move(source);
  machine.collection = std::make_unique<Collection>(
      Collection::Options{.machine = name,
                          .source = machine.source.get(),
                          .delivery = options_.delivery,
                          .clock = options_.clock,
                          .capture = std::move(capture)});
}

std::vector<QueryReport> Machines::Apply(Plan plan) {
  for (PlannedQuery& query : plan.queries) {
    if (query.machines.empty()) query.machines = {options_.own};
    for (std::string& machine : query.machines) {
      if (absl::EqualsIgnoreCase(machine, options_.own)) machine = options_.own;
    }
  }
  std::vector<QueryReport> reports;
  absl::MutexLock lock(&mutex_);
  if (stopped_) return reports;
  AddAndRemove(plan, &reports);
  for (auto& [name, machine] : machines_) machine.collection->Apply(plan);
  const absl::Time deadline = absl::Now() + kReportTime;
  for (auto& [name, machine] : machines_) {
    for (QueryReport& report :
         machine.collection->Await(deadline - absl::Now())) {
      if (name != options_.own && !report.error.empty()) {
        report.error = absl::StrCat(name, ": ", report.error);
      }
      reports.push_back(std::move(report));
    }
  }
  std::stable_sort(
      reports.begin(), reports.end(),
      [](const auto& a, const auto& b) { return a.query < b.query; });
  return reports;
}

absl::StatusOr<std::unique_ptr<Source>> Machines::OpenRemote(
    const std::string& name) const {
  RETURN_IF_ERROR(options_.check_name(name));
  return options_.open_remote(name);
}

void Machines::AddAndRemove(const Plan& plan,
                            std::vector<QueryReport>* reports) {
  std::erase_if(machines_, [&](const auto& entry) {
    return entry.first != options_.own &&
           std::none_of(
               plan.queries.begin(), plan.queries.end(),
               [&](const auto& query) { return query.IsFor(entry.first); });
  });
  for (size_t i = 0; i < plan.queries.size(); ++i) {
    for (const std::string& name : plan.queries[i].machines) {
      if (machines_.contains(name)) continue;
      auto source = OpenRemote(name);
      if (source.ok()) {
        Add(name, *std::move(source), nullptr);
      } else {
        reports->push_back(
            {.query = i, .error = std::string(source.status().message())});
      }
    }
  }
}

absl::StatusOr<std::vector<perflib::InstanceName>> Machines::EnumerateInstances(
    const std::string& machine, const perflib::Guid& counterset) {
  absl::MutexLock lock(&mutex_);
  const auto found = machines_.find(machine.empty() ? options_.own : machine);
  if (found == machines_.end()) {
    return absl::NotFoundError(
        absl::StrCat("this agent does not collect from ", machine));
  }
  ASSIGN_OR_RETURN(
      const std::string bytes,
      found->second.source->EnumerateCounterSetInstances(counterset));
  return perflib::ReadInstanceList(bytes);
}

void Machines::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  for (auto& [name, machine] : machines_) machine.collection->Stop();
}

std::vector<perflib::CountersetRegistration> Machines::registrations() const {
  absl::MutexLock lock(&mutex_);
  return machines_.at(options_.own).collection->registrations();
}

}  // namespace fleetperf::agent
