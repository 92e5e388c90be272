#include "aggregator/samples/directory.h"

#include <algorithm>
#include <utility>

#include "aggregator/formula/window.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {
namespace {

// The limit of a machine's QueryTicks. Beyond it, the oldest is dropped.
constexpr size_t kMaxQueries = 1024;

std::set<uint32_t> CountersOf(const CollectedQuery& query) {
  std::set<uint32_t> counters;
  for (const CollectedQuery::Column& column : query.columns) {
    if (!column.only_linked) counters.insert(column.counter_id);
  }
  return counters;
}

}  // namespace

QueryTicks::QueryTicks(const CollectedQuery& query)
    : schema_(query.schema),
      interval_(query.interval),
      counters_(CountersOf(query)) {}

void QueryTicks::Note(absl::Time tick) {
  const int64_t nanos = absl::ToUnixNanos(tick);
  if (oldest_ == kNone) oldest_ = nanos;
  newest_ = nanos;
}

std::optional<absl::Time> QueryTicks::TimeOf(int64_t unix_nanos) {
  if (unix_nanos == kNone) return std::nullopt;
  return absl::FromUnixNanos(unix_nanos);
}

bool QueryTicks::IsOf(const CollectedQuery& query) const {
  return query.schema->hash == schema_->hash && query.interval == interval_ &&
         CountersOf(query) == counters_;
}

bool QueryTicks::Has(const Schema& schema) const {
  return &schema == schema_.get() || schema.hash == schema_->hash;
}

bool QueryTicks::Has(const Schema& schema, uint32_t counter_id) const {
  return Has(schema) && counters_.contains(counter_id);
}

void Directory::AddMachine(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  bool& is_entered = machines_[machine].is_entered;
  entered_ += !is_entered;
  is_entered = true;
}

void Directory::AddMachine(const v1::Machine& machine) {
  AddMachine(machine.name());
  absl::MutexLock lock(&mutex_);
  Machine& entry = machines_[machine.name()];
  entry.agent = machine.agent();
  entry.labels = {machine.labels().begin(), machine.labels().end()};
}

std::shared_ptr<QueryTicks> Directory::AddQuery(const CollectedQuery& query) {
  absl::MutexLock lock(&mutex_);
  Machine& machine = machines_[query.machine];
  auto& countersets = machine.countersets;
  auto& counterset = countersets[query.schema->hash];
  CollectedCounterset changed;
  if (counterset != nullptr) changed = *counterset;
  changed.schema = query.schema;
  for (const CollectedQuery::Column& column : query.columns) {
    if (!column.only_linked) {
      changed.counters[column.counter_id] = query.interval;
    }
  }
  counterset = std::make_shared<const CollectedCounterset>(std::move(changed));
  counterset_names_.insert(query.schema->registration.name);
  auto& all = machine.ticks;
  const auto known =
      std::find_if(all.begin(), all.end(),
                   [&](const auto& ticks) { return ticks->IsOf(query); });
  if (known != all.end()) return *known;
  if (all.size() == kMaxQueries) {
    all.erase(std::min_element(all.begin(), all.end(),
                               [](const auto& a, const auto& b) {
                                 return a->newest() < b->newest();
                               }));
  }
  return all.emplace_back(std::make_shared<QueryTicks>(query));
}

void Directory::SetNewestSample(const std::string& machine, absl::Time time) {
  absl::MutexLock lock(&mutex_);
  machines_[machine].newest_sample = time;
}

std::vector<std::string> Directory::Machines() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [name, machine] : machines_) names.push_back(name);
  return names;
}

bool Directory::HasMachine(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  return found != machines_.end() && found->second.is_entered;
}

bool Directory::HasMachines() const {
  absl::ReaderMutexLock lock(&mutex_);
  return entered_ > 0;
}

size_t Directory::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return machines_.size();
}

std::optional<absl::Time> Directory::NewestSample(
    const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return std::nullopt;
  return found->second.newest_sample;
}

std::vector<std::string> Directory::CountersetNames() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {counterset_names_.begin(), counterset_names_.end()};
}

std::vector<std::shared_ptr<const CollectedCounterset>> Directory::Countersets(
    const std::string& machine) const {
  std::vector<std::shared_ptr<const CollectedCounterset>> countersets;
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto found = machines_.find(machine);
    if (found == machines_.end()) return countersets;
    for (const auto& [hash, counterset] : found->second.countersets) {
      countersets.push_back(counterset);
    }
  }
  std::sort(
      countersets.begin(), countersets.end(), [](const auto& a, const auto& b) {
        return a->schema->registration.name < b->schema->registration.name;
      });
  return countersets;
}

std::string Directory::AgentOf(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  return found == machines_.end() ? std::string() : found->second.agent;
}

Directory::Labels Directory::LabelsOf(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return {};
  const auto agent = machines_.find(found->second.agent);
  return agent == machines_.end() ? Labels() : agent->second.labels;
}

std::set<uint32_t> Directory::Collecting(
    const std::string& machine, const CollectedCounterset& counterset) const {
  std::set<uint32_t> collecting;
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return collecting;
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time newest = absl::InfinitePast();
  std::vector<const QueryTicks*> of_counterset;
  for (const auto& ticks : found->second.ticks) {
    oldest = std::min(oldest, ticks->oldest().value_or(oldest));
    newest = std::max(newest, ticks->newest().value_or(newest));
    if (ticks->newest().has_value() && ticks->Has(*counterset.schema)) {
      of_counterset.push_back(ticks.get());
    }
  }
  for (const auto& [id, interval] : counterset.counters) {
    // A counter without a tick is collected if its first one may be to come.
    bool is_known = false;
    bool is_recent = false;
    for (const QueryTicks* const ticks : of_counterset) {
      if (!ticks->Has(*counterset.schema, id)) continue;
      is_known = true;
      is_recent = is_recent || newest - *ticks->newest() <=
                                   ticks->interval() * kMaxIntervalsApart;
    }
    if (is_known ? is_recent
                 : newest < oldest ||
                       newest - oldest <= interval * kMaxIntervalsApart) {
      collecting.insert(collecting.end(), id);
    }
  }
  return collecting;
}

std::optional<absl::Time> Directory::NewestTick(const std::string& machine,
                                                const Schema& schema,
                                                uint32_t counter_id) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return std::nullopt;
  std::optional<absl::Time> newest;
  for (const auto& ticks : found->second.ticks) {
    if (ticks->Has(schema, counter_id)) {
      newest = std::max(newest, ticks->newest());
    }
  }
  return newest;
}

absl::Duration Directory::LongestInterval(const std::string& machine,
                                          const Schema& schema,
                                          absl::Time from) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return absl::ZeroDuration();
  absl::Duration longest;
  for (const auto& ticks : found->second.ticks) {
    const auto newest = ticks->newest();
    const absl::Duration interval = ticks->interval();
    if (newest.has_value() && ticks->Has(schema) &&
        *newest >= from - interval * kMaxIntervalsBefore) {
      longest = std::max(longest, interval);
    }
  }
  return longest;
}

}  // namespace fleetperf::aggregator
