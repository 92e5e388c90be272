#include "agent/collect/collection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/collect/resolve.h"

namespace fleetperf::agent {
namespace {

std::vector<QueryReport> ReportsOf(const Resolution& resolution) {
  std::vector<QueryReport> reports;
  for (const ResolvedQuery& query : resolution.queries) {
    reports.push_back(
        {.query = query.planned, .counterset = query.registration.name});
  }
  for (const Resolution::Problem& problem : resolution.problems) {
    reports.push_back({.query = problem.planned, .error = problem.message});
  }
  return reports;
}

}  // namespace

Collection::Collection(Options options)
    : options_(std::move(options)),
      instances_(options_.machine, &options_.delivery->dictionary()),
      thread_([this] { Run(); }) {}

Collection::~Collection() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  wakeup_.Notify();
  thread_.join();
}

std::vector<QueryReport> Collection::Apply(const Plan& plan) {
  Application application{.plan = &plan};
  absl::MutexLock lock(&mutex_);
  const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return application_ == nullptr;
  };
  mutex_.Await(absl::Condition(&is_free));
  application_ = &application;
  wakeup_.Notify();
  mutex_.Await(absl::Condition(&application.done));
  return std::move(application.reports);
}

void Collection::Run() {
  while (WaitForWork()) TakeDueTicks();
}

bool Collection::WaitForWork() {
  absl::Duration wait = absl::InfiniteDuration();
  for (const Group& group : groups_) {
    wait = std::min(wait, group.schedule.due() - options_.clock->Monotonic());
  }
  absl::MutexLock lock(&mutex_);
  const auto has_news = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || application_ != nullptr;
  };
  wakeup_.Await(&mutex_, wait, has_news);
  if (application_ != nullptr) {
    Application* application = std::exchange(application_, nullptr);
    ApplyNow(application);
    application->done = true;
  }
  return !stopping_;
}

void Collection::ApplyNow(Application* application) {
  Resolution resolution =
      ResolvePlan(*application->plan, options_.registrations);
  application->reports = ReportsOf(resolution);
  // A schedule that goes on keeps its phase.
  std::map<absl::Duration, Schedule> schedules;
  for (const Group& group : groups_) {
    schedules.emplace(group.collector->interval(), group.schedule);
  }
  std::vector<Group> groups;
  for (std::vector<ResolvedQuery>& queries :
       GroupByHandle(std::move(resolution.queries))) {
    const absl::Duration interval = queries.front().interval;
    const size_t planned = queries.front().planned;
    std::vector<std::string> warnings;
    auto collector =
        Collector::Open(options_.source, next_handle_++, std::move(queries),
                        &instances_, &warnings, options_.capture.get());
    for (std::string& warning : warnings) {
      application->reports.push_back(
          {.query = planned, .error = std::move(warning)});
    }
    if (!collector.ok()) {
      application->reports.push_back(
          {.query = planned,
           .error = std::string(collector.status().message())});
      continue;
    }
    const Schedule schedule =
        schedules
            .emplace(interval, Schedule(options_.clock->Monotonic(), interval))
            .first->second;
    groups.push_back({*std::move(collector), schedule});
  }
  groups_ = std::move(groups);
}

// A handle has one interval and each counterset once.
std::vector<std::vector<ResolvedQuery>> Collection::GroupByHandle(
    std::vector<ResolvedQuery> queries) const {
  std::vector<std::vector<ResolvedQuery>> handles;
  for (ResolvedQuery& query : queries) {
    const auto takes = [&](const std::vector<ResolvedQuery>& handle) {
      return handle.front().interval == query.interval &&
             std::none_of(handle.begin(), handle.end(), [&](const auto& other) {
               return other.registration.guid == query.registration.guid;
             });
    };
    const auto found = std::find_if(handles.begin(), handles.end(), takes);
    if (found != handles.end()) {
      found->push_back(std::move(query));
    } else {
      handles.emplace_back().push_back(std::move(query));
    }
  }
  return handles;
}

void Collection::TakeDueTicks() {
  for (Group& group : groups_) {
    if (group.schedule.due() > options_.clock->Monotonic()) continue;
    TakeTick(group);
    const int64_t missed = group.schedule.Advance(options_.clock->Monotonic());
    if (missed > 0) ReportLoss(group, missed, LossCause::kOverrun);
  }
}

void Collection::TakeTick(Group& group) {
  BlockSamples samples;
  std::vector<std::string> problems;
  const absl::Status status = group.collector->Collect(&samples, &problems);
  for (const std::string& problem : problems) {
    log_.Warn(absl::StrCat("block ", problem),
              absl::StrCat("a block of ", options_.machine,
                           " is malformed: ", problem));
  }
  if (status.ok()) {
    options_.delivery->Add(std::move(samples));
  } else {
    log_.Warn("source", absl::StrCat("no counters from ", options_.machine,
                                     ": ", status.message()));
    ReportLoss(group, 1, LossCause::kSourceFailed);
  }
}

void Collection::ReportLoss(const Group& group, int64_t ticks,
                            LossCause cause) {
  const absl::Time now = options_.clock->Now();
  options_.delivery->AddLoss(
      options_.machine,
      {.ticks = static_cast<uint64_t>(ticks),
       .start = now - ticks * group.collector->interval(),
       .end = now},
      cause);
}

}  // namespace fleetperf::agent
