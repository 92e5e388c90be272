#include "agent/collect/machines.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/os/detached_thread.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

// The time that reports wait for slow machines, and for the own machine.
constexpr absl::Duration kReportTime = absl::Seconds(2);
constexpr absl::Duration kOwnReportTime = absl::Seconds(10);

}  // namespace

Machines::Machines(Options options) : options_(std::move(options)) {
  absl::MutexLock lock(&mutex_);
  Add(options_.own, std::move(options_.own_source),
      std::move(options_.capture));
}

Machines::~Machines() = default;

void Machines::Add(const std::string& name, std::unique_ptr<Source> source,
                   std::unique_ptr<Capture> capture) {
  Machine machine = {.source = std::move(source)};
  machine.collection = std::make_shared<Collection>(
      Collection::Options{.machine = name,
                          .source = machine.source.get(),
                          .delivery = options_.delivery,
                          .clock = options_.clock,
                          .capture = std::move(capture),
                          .counts = options_.counts});
  machines_[name] = std::move(machine);
}

void Machines::Apply(Plan plan) {
  plan.NameMachines(options_.own);
  std::map<std::string, Machine> removed;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    removed = AddAndRemove(plan);
    for (auto& [name, machine] : machines_) machine.collection->Apply(plan);
  }
  for (auto& [name, machine] : removed) machine.collection->BeginStop();
  for (auto& [name, machine] : removed) machine.collection.reset();
}

std::vector<QueryReport> Machines::Reports() {
  std::vector<QueryReport> reports;
  std::map<std::string, Machine> machines;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return {};
    reports = refusals_;
    machines = machines_;
  }
  const absl::Duration start = options_.clock->Monotonic();
  for (auto& [name, machine] : machines) {
    const absl::Duration patience =
        name == options_.own ? kOwnReportTime : kReportTime;
    for (QueryReport& report : machine.collection->Await(
             start + patience - options_.clock->Monotonic())) {
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

absl::Status Machines::AddRemote(const std::string& name) {
  // Open first: without remote access, a certificate problem is irrelevant.
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, options_.open_remote(name));
  RETURN_IF_ERROR(options_.check_name(name));
  return StartThreads([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Add(name, std::move(source), nullptr);
  });
}

std::map<std::string, Machines::Machine> Machines::AddAndRemove(
    const Plan& plan) {
  std::map<std::string, Machine> removed;
  for (auto entry = machines_.begin(); entry != machines_.end();) {
    const auto next = std::next(entry);
    const bool is_named = entry->first == options_.own ||
                          std::any_of(plan.queries.begin(), plan.queries.end(),
                                      [&](const auto& query) {
                                        return IsFor(query, entry->first);
                                      });
    if (!is_named) removed.insert(machines_.extract(entry));
    entry = next;
  }
  refusals_.clear();
  for (size_t i = 0; i < plan.queries.size(); ++i) {
    for (const std::string& name : plan.queries[i].machines) {
      if (machines_.contains(name)) continue;
      const absl::Status added = AddRemote(name);
      if (added.ok()) continue;
      LogWarningOf(name, absl::StrCat(plan.NameOf(i), ": ", added.message()));
      refusals_.push_back({.query = i, .error = std::string(added.message())});
    }
  }
  return removed;
}

absl::StatusOr<std::vector<perflib::InstanceName>> Machines::EnumerateInstances(
    const std::string& machine, const perflib::Guid& counterset) {
  std::shared_ptr<Source> source;
  {
    absl::MutexLock lock(&mutex_);
    const std::string& name = machine.empty() ? options_.own : machine;
    // Names ignore case, and aggregators send them in lower case.
    const auto found = std::find_if(
        machines_.begin(), machines_.end(), [&](const auto& named) {
          return absl::EqualsIgnoreCase(named.first, name);
        });
    if (found == machines_.end()) {
      return absl::NotFoundError(
          absl::StrCat("this agent does not collect from ", machine));
    }
    source = found->second.source;
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   source->EnumerateCounterSetInstances(counterset));
  return perflib::ReadInstanceList(bytes);
}

void Machines::Stop() {
  std::map<std::string, Machine> machines;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    machines = machines_;
  }
  for (auto& [name, machine] : machines) machine.collection->BeginStop();
  for (auto& [name, machine] : machines) machine.collection->Stop();
}

std::vector<perflib::CountersetRegistration> Machines::registrations() const {
  absl::MutexLock lock(&mutex_);
  return machines_.at(options_.own).collection->registrations();
}

}  // namespace fleetperf::agent
