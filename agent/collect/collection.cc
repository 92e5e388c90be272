#include "agent/collect/collection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/collect/resolve.h"

namespace fleetperf::agent {
namespace {

using perflib::CountersetRegistration;

// The first and the longest interval between retries.
constexpr absl::Duration kFirstRetry = absl::Seconds(1);
constexpr absl::Duration kMaxRetry = absl::Minutes(1);
// A handle that was aborted before within this time is not retried at once.
constexpr absl::Duration kRareAbort = absl::Minutes(10);
// The first and the longest time until split groups are merged.
constexpr absl::Duration kFirstMerge = absl::Minutes(5);
constexpr absl::Duration kMaxMerge = absl::Hours(24);

// Each handle has one interval, countersets of one handle group of the source,
// and each counterset at most once. Those in `bad` have handles of their own.
std::vector<std::vector<ResolvedQuery>> GroupByHandle(
    std::vector<ResolvedQuery> queries, Source* source,
    const std::set<perflib::Guid>& bad) {
  std::vector<std::vector<ResolvedQuery>> handles;
  const auto group_of = [&](const ResolvedQuery& query) {
    return source->HandleGroup(query.registration.guid);
  };
  const auto is_bad = [&](const ResolvedQuery& query) {
    return bad.contains(query.registration.guid);
  };
  for (ResolvedQuery& query : queries) {
    const auto takes = [&](const std::vector<ResolvedQuery>& handle) {
      return handle.front().interval == query.interval && !is_bad(query) &&
             !is_bad(handle.front()) &&
             group_of(handle.front()) == group_of(query) &&
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

}  // namespace

Collection::Collection(Options options)
    : options_(std::move(options)),
      instances_(options_.machine, &options_.delivery->dictionary()),
      merge_backoff_(kFirstMerge, kMaxMerge),
      known_(KnownCountersets::Options{.machine = options_.machine,
                                       .source = options_.source,
                                       .clock = options_.clock,
                                       .stopping = &stopping_,
                                       .log = &log_}),
      thread_([this] { Run(); }) {}

Collection::~Collection() {
  Stop();
  CountFailing(0);
}

void Collection::BeginStop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  wakeup_.Notify();
}

void Collection::Stop() {
  BeginStop();
  if (thread_.joinable()) thread_.join();
}

void Collection::Apply(Plan plan) {
  std::vector<std::string> wanted;
  for (const PlannedQuery& query : plan.queries) {
    if (IsFor(query, options_.machine)) wanted.push_back(query.counterset);
  }
  options_.source->Want(wanted);
  absl::MutexLock lock(&mutex_);
  awaited_queries_.clear();
  for (size_t query = 0; query < plan.queries.size(); ++query) {
    if (IsFor(plan.queries[query], options_.machine)) {
      awaited_queries_.push_back(query);
    }
  }
  new_plan_ = std::move(plan);
  is_applied_ = false;
  wakeup_.Notify();
}

std::vector<QueryReport> Collection::Await(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  wakeup_.Await(&mutex_, timeout, [this] {
    mutex_.AssertHeld();
    return is_applied_ || stopping_;
  });
  if (is_applied_) return reports_;
  std::vector<QueryReport> reports;
  for (const size_t query : awaited_queries_) {
    reports.push_back(
        {.query = query,
         .error = absl::StrCat(options_.machine, " has not answered yet")});
  }
  return reports;
}

std::vector<CountersetRegistration> Collection::registrations() const {
  return known_.registrations();
}

void Collection::Run() {
  while (WaitForWork()) {
    if (known_.next_search() <= options_.clock->Monotonic()) {
      FindCountersets();
    }
    if (next_merge_ <= options_.clock->Monotonic()) MergeGroups();
    if (std::exchange(must_regroup_, false)) Regroup();
    TakeDueTicks();
  }
}

bool Collection::WaitForWork() {
  if (std::exchange(must_report_, false)) UpdateReports();
  absl::Duration due = must_regroup_
                           ? absl::ZeroDuration()
                           : std::min(known_.next_search(), next_merge_);
  for (const Group& group : groups_) due = std::min(due, group.schedule.due());
  absl::MutexLock lock(&mutex_);
  if (!must_regroup_ && !new_plan_.has_value()) {
    is_applied_ = true;  // the reports contain the results
    wakeup_.Notify();
  }
  wakeup_.AwaitUntil(&mutex_, due, [this] {
    mutex_.AssertHeld();
    return stopping_ || new_plan_.has_value();
  });
  if (new_plan_.has_value()) {
    must_regroup_ = must_regroup_ || *new_plan_ != plan_;
    plan_ = *std::exchange(new_plan_, std::nullopt);
    // Countersets that could not be read may be read for this plan.
    if (must_regroup_) known_.RetryIncompleteSearch();
  }
  return !stopping_;
}

void Collection::FindCountersets() {
  std::vector<const CountersetRegistration*> collected;
  for (const Group& group : groups_) {
    for (const ResolvedQuery& query : group.queries) {
      collected.push_back(&query.registration);
    }
  }
  if (known_.Search(collected)) must_regroup_ = true;
}

void Collection::Regroup() {
  // Schedules that continue keep their phase.
  std::map<absl::Duration, Schedule> schedules;
  for (const Group& group : groups_) {
    schedules.emplace(group.interval, group.schedule);
  }
  const auto add_group = [&](absl::Duration interval,
                             std::vector<ResolvedQuery> queries) {
    const Schedule begins_now(options_.clock->Monotonic(), interval);
    groups_.push_back(
        {.interval = interval,
         .queries = std::move(queries),
         .schedule = schedules.emplace(interval, begins_now).first->second,
         .backoff = Backoff(kFirstRetry, kMaxRetry)});
  };
  resolution_ = known_.Resolve(plan_);
  std::vector<ResolvedQuery> queries = resolution_.queries;
  RememberBadCountersets();
  RemoveChangedGroups(&queries);
  for (std::vector<ResolvedQuery>& handle :
       GroupByHandle(std::move(queries), options_.source, bad_)) {
    const absl::Duration interval = handle.front().interval;
    add_group(interval, std::move(handle));
    Open(groups_.back());
  }
  if (!known_.IsListed()) {
    std::set<absl::Duration> intervals;
    for (const PlannedQuery& query : plan_.queries) {
      if (IsFor(query, options_.machine)) intervals.insert(query.interval);
    }
    for (const absl::Duration interval : intervals) add_group(interval, {});
  }
  must_report_ = true;
}

// Also removes the queries of the unchanged groups from `queries`.
void Collection::RemoveChangedGroups(std::vector<ResolvedQuery>* queries) {
  std::erase_if(groups_, [&](const Group& group) {
    const auto is_planned = [&](const ResolvedQuery& query) {
      return std::count(queries->begin(), queries->end(), query) > 0;
    };
    if (group.collector == nullptr || group.is_merging ||
        !std::all_of(group.queries.begin(), group.queries.end(), is_planned)) {
      return true;
    }
    for (const ResolvedQuery& query : group.queries) {
      std::erase(*queries, query);
    }
    return false;
  });
}

void Collection::UpdateReports() {
  std::vector<QueryReport> reports;
  if (!known_.IsListed()) {
    for (size_t query = 0; query < plan_.queries.size(); ++query) {
      if (!IsFor(plan_.queries[query], options_.machine)) continue;
      reports.push_back(
          {.query = query, .error = std::string(known_.status().message())});
    }
  } else {
    const auto report_failure = [&](const ResolvedQuery& query,
                                    const std::string& error) {
      for (const size_t position : query.planned) {
        reports.push_back({.query = position, .error = error});
      }
    };
    for (const ResolvedQuery& query : resolution_.queries) {
      for (const size_t position : query.planned) {
        reports.push_back(
            {.query = position, .counterset = query.registration.name});
      }
    }
    for (const Resolution::Problem& problem : resolution_.problems) {
      reports.push_back({.query = problem.planned, .error = problem.message});
      const std::string text =
          absl::StrCat(plan_.NameOf(problem.planned), ": ", problem.message);
      log_.Warn(text, absl::StrCat(options_.machine, ": ", text),
                options_.machine);
    }
    for (const std::string& problem : resolution_.rule_problems) {
      log_.Warn(problem, absl::StrCat(options_.machine, ": ", problem),
                options_.machine);
    }
    for (const Group& group : groups_) {
      for (const std::string& problem : group.problems) {
        reports.push_back(
            {.query = group.queries.front().planned.front(), .error = problem});
      }
      if (!group.failure.ok()) {
        for (const ResolvedQuery& query : group.queries) {
          report_failure(query,
                         absl::StrCat("counterset \"", query.registration.name,
                                      "\": ", group.failure.message()));
        }
        continue;
      }
      for (const auto& [query, reason] : group.failing) {
        report_failure(group.queries[query], reason);
      }
    }
    AddMergedQueries(&reports);
  }
  CountFailing(static_cast<uint64_t>(std::count_if(
      reports.begin(), reports.end(),
      [](const QueryReport& report) { return !report.error.empty(); })));
  absl::MutexLock lock(&mutex_);
  reports_ = std::move(reports);
}

void Collection::CountFailing(uint64_t failing) {
  if (options_.counts == nullptr) return;
  options_.counts->failing_queries +=
      failing - std::exchange(failing_, failing);
}

// Reports success for queries whose counters are all collected by other
// queries.
void Collection::AddMergedQueries(std::vector<QueryReport>* reports) const {
  std::set<size_t> reported;
  for (const QueryReport& report : *reports) reported.insert(report.query);
  for (size_t query = 0; query < plan_.queries.size(); ++query) {
    if (!IsFor(plan_.queries[query], options_.machine)) continue;
    if (!reported.contains(query)) {
      reports->push_back(
          {.query = query, .counterset = plan_.queries[query].counterset});
    }
  }
}

// Keeps the present handle if no new one can be opened.
void Collection::Open(Group& group) {
  std::vector<std::string> problems;
  auto collector = Collector::Open(
      options_.source, options_.delivery->NewHandle(), group.queries,
      &instances_, &problems, options_.capture.get());
  if (collector.ok()) {
    group.collector = *std::move(collector);
  } else {
    problems.push_back(std::string(collector.status().message()));
  }
  for (const std::string& problem : problems) {
    log_.Warn(problem, absl::StrCat(options_.machine, ": ", problem),
              options_.machine);
  }
  must_report_ = must_report_ || problems != group.problems;
  group.problems = std::move(problems);
}

// The parts of a group that is split while its tick is taken come last in the
// same round, so that their queries lose no tick.
void Collection::TakeDueTicks() {
  for (Group& group : groups_) {
    if (stopping_) return;
    if (group.schedule.due() <= options_.clock->Monotonic()) TakeDueTick(group);
  }
  std::erase_if(groups_, [](const Group& group) { return group.is_split; });
}

void Collection::TakeDueTick(Group& group) {
  const bool may_retry = MayRetry(group);
  absl::Status status = TakeTick(group);
  if (absl::IsAborted(status) && may_retry && !group.collector->IsHanging()) {
    status = TakeTick(group);
  }
  if (absl::IsAborted(status)) SplitApart(group);
  if (group.is_split) return;
  if (!status.ok()) {
    ReportLoss(group, 1, LossCause::kSourceFailed);
    // A late block is still awaited.
    if (!absl::IsDeadlineExceeded(status)) SetHealth(group, false);
  }
  const int64_t missed = group.schedule.Advance(options_.clock->Monotonic());
  if (missed > 0) {
    ReportLoss(group, missed,
               status.ok() ? LossCause::kOverrun : LossCause::kSourceFailed);
  }
}

absl::Status Collection::TakeTick(Group& group) {
  if (group.reopening.has_value()) {
    if (*group.reopening > options_.clock->Monotonic()) {
      if (group.IsPaused()) return group.failure;
    } else {
      Reopen(group);
      if (group.is_split) return absl::OkStatus();
    }
  }
  if (group.collector == nullptr) {
    return absl::FailedPreconditionError("there is no handle");
  }
  BlockSamples samples;
  std::vector<std::string> problems;
  const absl::Status status = group.collector->Collect(&samples, &problems);
  for (const std::string& problem : problems) {
    log_.Warn(absl::StrCat("block ", problem),
              absl::StrCat("a block of ", options_.machine,
                           " is malformed: ", problem),
              options_.machine);
  }
  if (!status.ok()) {
    NoteFailure(group, status);
    return status;
  }
  SetFailing(group, samples);
  SetHealth(group, group.failing.empty());
  group.has_worked = group.has_worked || group.failing.empty();
  options_.delivery->Add(std::move(samples));
  return absl::OkStatus();
}

void Collection::NoteFailure(Group& group, const absl::Status& status) {
  const bool is_alone = group.queries.size() == 1;
  const std::string what =
      is_alone ? absl::StrCat("counterset \"",
                              group.queries.front().registration.name, "\"")
               : "counters";
  log_.Warn(is_alone ? what : "source",
            absl::StrCat("no ", what, " from ", options_.machine, ": ",
                         status.message()),
            options_.machine);
  if (absl::IsDeadlineExceeded(status)) return;
  must_report_ = must_report_ || status != group.failure;
  group.failure = status;
  if (!absl::IsAborted(status)) return;
  group.aborted = options_.clock->Monotonic();
  group.has_failed = true;
}

bool Collection::MayRetry(const Group& group) const {
  return group.aborted + kRareAbort < options_.clock->Monotonic();
}

// One query may be the reason why the whole handle fails: its provider hangs,
// or crashes the process that reads it.
void Collection::SplitApart(Group& group) {
  if (group.queries.size() < 2) return;
  std::vector<std::vector<ResolvedQuery>> singles;
  for (const ResolvedQuery& query : group.queries) singles.push_back({query});
  Split(group, std::move(singles));
}

void Collection::SplitOff(Group& group) {
  std::vector<ResolvedQuery> failing;
  std::vector<ResolvedQuery> others;
  for (size_t i = 0; i < group.queries.size(); ++i) {
    const bool fails = group.failing.contains(i);
    (fails ? failing : others).push_back(group.queries[i]);
  }
  Split(group, {std::move(failing), std::move(others)});
}

void Collection::Split(Group& group,
                       std::vector<std::vector<ResolvedQuery>> parts) {
  std::list<Group> split;
  for (std::vector<ResolvedQuery>& part : parts) {
    split.push_back({.interval = group.interval,
                     .queries = std::move(part),
                     .schedule = group.schedule,
                     .aborted = group.aborted,
                     .backoff = Backoff(kFirstRetry, kMaxRetry),
                     .is_apart = true});
    Open(split.back());
    if (split.back().collector == nullptr) return;
  }
  groups_.splice(groups_.end(), split);
  group.is_split = true;
  must_report_ = true;
  PlanMerge();
}

std::pair<absl::Duration, int> Collection::KindOf(const Group& group) const {
  return {group.interval, options_.source->HandleGroup(
                              group.queries.front().registration.guid)};
}

void Collection::PlanMerge() {
  if (next_merge_ != absl::InfiniteDuration()) return;
  const absl::Duration now = options_.clock->Monotonic();
  if (now - last_merge_ > kMaxMerge) merge_backoff_.Reset();
  next_merge_ = now + merge_backoff_.Next();
}

// Replaces handles that work only if there will be fewer of them.
void Collection::MergeGroups() {
  last_merge_ = std::exchange(next_merge_, absl::InfiniteDuration());
  RememberBadCountersets();
  const auto may_merge = [this](const Group& group) {
    return !group.queries.empty() && group.IsWell() &&
           !bad_.contains(group.queries.front().registration.guid);
  };
  struct Kind {
    int mergeable = 0;
    bool was_split = false;
  };
  std::map<std::pair<absl::Duration, int>, Kind> kinds;
  for (const Group& group : groups_) {
    if (!may_merge(group)) continue;
    Kind& kind = kinds[KindOf(group)];
    ++kind.mergeable;
    kind.was_split = kind.was_split || group.is_apart;
  }
  for (Group& group : groups_) {
    if (may_merge(group)) {
      const Kind& kind = kinds[KindOf(group)];
      group.is_merging = kind.was_split && kind.mergeable > 1;
      must_regroup_ = must_regroup_ || group.is_merging;
    } else if (group.is_apart && !group.IsWell()) {
      PlanMerge();
    }
  }
}

// If all of them failed, the reason may be the machine.
void Collection::RememberBadCountersets() {
  std::map<std::pair<absl::Duration, int>, std::set<perflib::Guid>> failed;
  std::set<std::pair<absl::Duration, int>> have_worked;
  for (const Group& group : groups_) {
    if (!group.is_apart || group.queries.size() != 1) continue;
    if (group.has_failed) {
      failed[KindOf(group)].insert(group.queries.front().registration.guid);
    } else if (group.has_worked) {
      have_worked.insert(KindOf(group));
    }
  }
  for (const auto& kind : have_worked) bad_.merge(failed[kind]);
}

void Collection::SetFailing(Group& group, const BlockSamples& samples) {
  must_report_ = must_report_ || !group.failure.ok();
  group.failure = absl::OkStatus();
  std::map<size_t, std::string> failing;
  for (size_t i = 0; i < samples.queries.size(); ++i) {
    if (!samples.queries[i].failed) continue;
    const std::string reason =
        FailureText(group.queries[i].registration, samples.queries[i]);
    log_.Warn(reason, absl::StrCat(options_.machine, ": ", reason),
              options_.machine);
    failing.emplace(i, reason);
  }
  must_report_ = must_report_ || failing != group.failing;
  group.failing = std::move(failing);
}

// A handle that fails, or that has a failing query, is reopened after a
// backoff.
void Collection::SetHealth(Group& group, bool is_well) {
  if (is_well) {
    group.reopening = std::nullopt;
    group.backoff.Reset();
  } else if (!group.reopening.has_value()) {
    group.reopening = options_.clock->Monotonic() + group.backoff.Next();
  }
}

void Collection::Reopen(Group& group) {
  group.reopening = std::nullopt;
  if (group.collector != nullptr && group.collector->IsHanging()) return;
  if (ReloadRegistrations(group)) {
    must_regroup_ = true;  // after this round of ticks
    return;
  }
  if (group.failing.size() == group.queries.size()) {
    SplitApart(group);
    if (group.is_split) return;
  } else if (!group.failing.empty()) {
    SplitOff(group);
    return;
  }
  if (!group.queries.empty()) Open(group);
}

bool Collection::ReloadRegistrations(const Group& group) {
  bool changed = false;
  for (size_t i = 0; i < group.queries.size() && !stopping_; ++i) {
    const bool fails = group.failing.empty() || group.failing.contains(i);
    if (fails && known_.Reload(group.queries[i].registration)) {
      changed = true;
    }
  }
  return changed;
}

void Collection::ReportLoss(const Group& group, int64_t ticks,
                            LossCause cause) {
  const absl::Time now = options_.clock->Now();
  options_.delivery->AddLoss(options_.machine,
                             {.ticks = static_cast<uint64_t>(ticks),
                              .start = now - ticks * group.interval,
                              .end = now},
                             cause);
}

}  // namespace fleetperf::agent
