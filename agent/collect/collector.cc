#include "agent/collect/collector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::CountersetRegistration;

// Returns the value size that a type's size bits announce, for use until a
// value is seen.
uint32_t DefaultValueSize(uint32_t type) {
  constexpr uint32_t kSizeMask = 0x300;
  constexpr uint32_t kSizeDword = 0;
  return (type & kSizeMask) == kSizeDword ? 4 : 8;
}

// Returns whether a value of this dwDataSize is a number.
bool IsNumber(uint32_t size) { return size == 4 || size == 8; }

bool MatchesAny(const std::vector<perflib::Pattern>& patterns,
                absl::string_view name) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [&](const perflib::Pattern& pattern) { return pattern.Matches(name); });
}

bool Selects(const InstanceFilter& filter, absl::string_view name) {
  return (filter.instances.empty() || MatchesAny(filter.instances, name)) &&
         !MatchesAny(filter.except, name);
}

bool AnySelectsAll(const std::vector<InstanceFilter>& filters) {
  return std::any_of(filters.begin(), filters.end(),
                     [](const InstanceFilter& filter) {
                       return filter.instances.empty() && filter.except.empty();
                     });
}

bool AnySelects(const std::vector<InstanceFilter>& filters,
                absl::string_view utf16_name) {
  const std::string name = perflib::Utf8FromUtf16(utf16_name);
  return std::any_of(
      filters.begin(), filters.end(),
      [&](const InstanceFilter& filter) { return Selects(filter, name); });
}

std::optional<uint64_t> NumberIn(const Table& table,
                                 std::optional<size_t> column, size_t row) {
  if (!column.has_value() || !IsNumber(table.ValueSize(*column, row))) {
    return std::nullopt;
  }
  return table.Value(*column, row);
}

// The time that a handle may block the thread that takes all ticks: short
// enough that no other handle misses one.
absl::Duration PatienceOf(absl::Duration interval) {
  return std::min(interval / 4, absl::Seconds(1));
}

// Returns the counter with the clock that starts are relative to.
std::optional<uint32_t> ClockOfStart(const ResolvedQuery& query) {
  if (!query.start_counter_id.has_value()) return std::nullopt;
  const CountersetRegistration& registration = query.registration;
  const auto* start = registration.FindCounter(*query.start_counter_id);
  if (start == nullptr ||
      registration.FindCounter(start->perf_time_id) == nullptr) {
    return std::nullopt;
  }
  return start->perf_time_id;
}

}  // namespace

// A counterset's tracker and the registry that assigns ids to its lives.
struct MachineInstances::Followed : LifeRegistry {
  Followed(Dictionary* dictionary_of_epoch, uint32_t machine_id,
           uint32_t counterset_id)
      : dictionary(*dictionary_of_epoch),
        machine(machine_id),
        counterset(counterset_id),
        tracker(this) {}

  uint32_t BeginLife(absl::string_view utf16_name, uint32_t instance_id,
                     uint32_t occurrence, bool is_born) override {
    return dictionary.DefineInstance(machine, counterset,
                                     perflib::Utf8FromUtf16(utf16_name),
                                     instance_id, occurrence, is_born);
  }
  void EndLife(uint32_t definition) override {
    dictionary.RetireInstance(definition);
  }

  Dictionary& dictionary;
  const uint32_t machine;
  const uint32_t counterset;
  InstanceTracker tracker;
};

MachineInstances::MachineInstances(std::string machine, Dictionary* dictionary)
    : dictionary_(*dictionary), machine_(dictionary->DefineMachine(machine)) {}

MachineInstances::~MachineInstances() {
  for (auto& [counterset, followed] : followed_) followed->tracker.EndAll();
}

InstanceTracker& MachineInstances::Tracker(
    const CountersetRegistration& registration) {
  const uint32_t counterset = dictionary_.DefineCounterset(registration);
  std::unique_ptr<Followed>& followed = followed_[counterset];
  if (followed == nullptr) {
    followed = std::make_unique<Followed>(&dictionary_, machine_, counterset);
  }
  return followed->tracker;
}

Collector::Query::Query(ResolvedQuery resolved_query, std::vector<uint32_t> ids)
    : resolved(std::move(resolved_query)),
      counter_ids(std::move(ids)),
      table(counter_ids) {
  for (const ResolvedQuery::Counter& counter : resolved.counters) {
    const auto* registered = resolved.registration.FindCounter(counter.id);
    columns.push_back({.counter_id = counter.id,
                       .value_size = DefaultValueSize(registered->type),
                       .only_linked = counter.only_linked,
                       .wraps = resolved.wrap32});
  }
}

std::string FailureText(const CountersetRegistration& registration,
                        const QuerySamples& samples) {
  return absl::StrCat("counterset \"", registration.name,
                      "\" returns no samples: ",
                      samples.failure_status == perflib::kErrorSuccess
                          ? "its part of the block is unreadable"
                          : Win32ErrorName(samples.failure_status));
}

absl::StatusOr<std::unique_ptr<Collector>> Collector::Open(
    Source* source, uint32_t handle_number, std::vector<ResolvedQuery> queries,
    MachineInstances* instances, std::vector<std::string>* warnings,
    Capture* capture) {
  ASSIGN_OR_RETURN(std::unique_ptr<QueryHandle> handle,
                   source->OpenQueryHandle());
  std::unique_ptr<Collector> collector(
      new Collector(handle_number, std::move(handle), instances));
  for (ResolvedQuery& query : queries) {
    collector->interval_ = query.interval;
    // The columns to send come first. The start column and its clock may
    // follow.
    std::vector<uint32_t> ids;
    for (const auto& counter : query.counters) ids.push_back(counter.id);
    const auto column_of =
        [&](std::optional<uint32_t> id) -> std::optional<size_t> {
      if (!id.has_value()) return std::nullopt;
      auto found = std::find(ids.begin(), ids.end(), *id);
      if (found == ids.end()) found = ids.insert(ids.end(), *id);
      return found - ids.begin();
    };
    const std::optional<size_t> start_column =
        column_of(query.start_counter_id);
    const std::optional<size_t> clock_column = column_of(ClockOfStart(query));
    InstanceTracker& tracker = instances->Tracker(query.registration);
    collector->queries_.emplace_back(std::move(query), std::move(ids));
    collector->queries_.back().start_column = start_column;
    collector->queries_.back().clock_column = clock_column;
    collector->queries_.back().tracker = &tracker;
  }
  RETURN_IF_ERROR(collector->AddCounters(warnings));
  collector->handle_->SetPatience(PatienceOf(collector->interval_));
  ASSIGN_OR_RETURN(const std::vector<CounterIdentifier> identifiers,
                   collector->FindOwners());
  if (capture != nullptr) {
    const absl::Status begun = collector->BeginCapture(capture, identifiers);
    // A failing capture does not stop the collection.
    if (!begun.ok()) {
      warnings->push_back(
          absl::StrCat("the blocks are not captured: ", begun.message()));
    }
  }
  return collector;
}

Collector::~Collector() {
  if (capture_ != nullptr) capture_->End(capture_number_);
}

absl::Status Collector::AddCounters(std::vector<std::string>* warnings) {
  std::vector<CounterIdentifier> identifiers;
  for (const Query& query : queries_) {
    const CountersetRegistration& registration = query.resolved.registration;
    CounterIdentifier identifier{.counterset = registration.guid};
    if (registration.HasInstances()) {
      identifier.instance = perflib::kWildcardInstance;
    }
    if (query.counter_ids.size() == registration.counters.size()) {
      identifiers.push_back(identifier);
      continue;
    }
    for (const uint32_t id : query.counter_ids) {
      identifier.counter_id = id;
      identifiers.push_back(identifier);
    }
  }
  RETURN_IF_ERROR(handle_->AddCounters(&identifiers));
  for (const CounterIdentifier& identifier : identifiers) {
    if (identifier.status == perflib::kErrorSuccess) continue;
    warnings->push_back(absl::StrCat("the source refuses counter ",
                                     identifier.counter_id, " of ",
                                     identifier.counterset.ToString(), ": ",
                                     Win32ErrorName(identifier.status)));
  }
  return absl::OkStatus();
}

// Results have the order reported by PerfQueryCounterInfo, which may differ
// from the order of PerfAddCounters.
absl::StatusOr<std::vector<CounterIdentifier>> Collector::FindOwners() {
  ASSIGN_OR_RETURN(const std::string bytes, handle_->QueryCounterInfo());
  ASSIGN_OR_RETURN(std::vector<CounterIdentifier> identifiers,
                   perflib::ReadCounterIdentifiers(bytes));
  owners_.assign(identifiers.size(), std::nullopt);
  for (const CounterIdentifier& identifier : identifiers) {
    if (identifier.index >= owners_.size()) {
      return absl::DataLossError(
          absl::StrCat("PerfQueryCounterInfo returned Index ", identifier.index,
                       " for ", owners_.size(), " queries"));
    }
    for (size_t i = 0; i < queries_.size(); ++i) {
      const Query& query = queries_[i];
      const bool matches =
          query.resolved.registration.guid == identifier.counterset &&
          (identifier.counter_id == perflib::kWildcardCounter ||
           std::count(query.counter_ids.begin(), query.counter_ids.end(),
                      identifier.counter_id) != 0);
      if (matches) {
        owners_[identifier.index] = Owner{i, identifier.counter_id};
        break;
      }
    }
  }
  return identifiers;
}

absl::Status Collector::BeginCapture(
    Capture* capture, const std::vector<CounterIdentifier>& identifiers) {
  std::vector<const ResolvedQuery*> queries;
  for (const Query& query : queries_) queries.push_back(&query.resolved);
  ASSIGN_OR_RETURN(capture_number_, capture->Begin(queries, identifiers));
  capture_ = capture;
  return absl::OkStatus();
}

absl::Status Collector::Collect(BlockSamples* samples,
                                std::vector<std::string>* problems) {
  RETURN_IF_ERROR(handle_->QueryCounterData(&bytes_));
  if (capture_ != nullptr) capture_->Add(capture_number_, bytes_);
  perflib::ReadBlock(bytes_, &block_);
  for (const perflib::Defect& defect : block_.defects) {
    problems->push_back(defect.ToString());
  }
  if (!block_.has_header) return absl::DataLossError(problems->back());
  DistributeResults(problems);
  samples->handle = handle_number_;
  samples->interval = interval_;
  samples->clocks = block_.clocks();
  samples->queries.resize(queries_.size());
  for (size_t i = 0; i < queries_.size(); ++i) {
    AddSamples(queries_[i], &samples->queries[i], problems);
  }
  return absl::OkStatus();
}

// A block with another number of results says nothing about which belong to
// which query.
void Collector::DistributeResults(std::vector<std::string>* problems) {
  for (Query& query : queries_) query.parts.clear();
  if (block_.header.num_counters != owners_.size()) {
    problems->push_back(absl::StrCat("dwNumCounters is ",
                                     block_.header.num_counters,
                                     ", but the handle has ", owners_.size(),
                                     " queries; their results are not used"));
    return;
  }
  const size_t count = std::min(block_.results.size(), owners_.size());
  for (size_t i = 0; i < count; ++i) {
    if (!owners_[i].has_value()) continue;
    if (std::string defect = TypeDefect(block_.results[i], *owners_[i]);
        !defect.empty()) {
      problems->push_back(std::move(defect));
      continue;
    }
    queries_[owners_[i]->query].parts.push_back(
        {.result = &block_.results[i], .counter_id = owners_[i]->counter_id});
  }
}

std::string Collector::TypeDefect(const perflib::QueryResult& result,
                                  const Owner& owner) const {
  if (result.type == perflib::HeaderType::kErrorReturn) return "";
  const CountersetRegistration& registration =
      queries_[owner.query].resolved.registration;
  const bool all = owner.counter_id == perflib::kWildcardCounter;
  if (HasCounterIds(result.type) == all &&
      HasInstances(result.type) == registration.HasInstances()) {
    return "";
  }
  return absl::StrCat(
      "counterset \"", registration.name, "\": dwType is ",
      static_cast<uint32_t>(result.type), " in the result of a query of ",
      all ? "all counters" : absl::StrCat("counter ", owner.counter_id),
      registration.HasInstances() ? " of all instances" : "");
}

void Collector::AddSamples(Query& query, QuerySamples* samples,
                           std::vector<std::string>* problems) {
  const Table& table = query.table;
  samples->failed = !query.table.Assemble(block_, query.parts);
  samples->failure_status = samples->failed ? table.failure_status() : 0;
  samples->instances.clear();
  samples->values.clear();
  samples->present.clear();
  if (!samples->failed) {
    FindKeptRows(query, problems);
    query.observed.clear();
    for (size_t row = 0; row < table.rows(); ++row) {
      InstanceTracker::Instance& instance = query.observed.emplace_back();
      instance.utf16_name = table.Utf16Name(row);
      instance.instance_id = table.InstanceId(row);
      instance.wanted = false;
      instance.start = NumberIn(table, query.start_column, row);
      instance.clock = NumberIn(table, query.clock_column, row);
    }
    for (const size_t row : query.kept_rows) query.observed[row].wanted = true;
    query.tracker->Observe(query.observed, table.complete(), &query.last_clock,
                           &query.observed_definitions);
  }
  DefineQuery(query);
  samples->query = query.definition;
  if (samples->failed) return;

  const std::vector<size_t>& rows = query.kept_rows;
  bool all_present = true;
  for (const size_t row : rows) {
    samples->instances.push_back(query.observed_definitions[row]);
  }
  for (size_t column = 0; column < query.columns.size(); ++column) {
    for (const size_t row : rows) {
      const bool present =
          table.ValueSize(column, row) == query.columns[column].value_size;
      samples->values.push_back(present ? table.Value(column, row) : 0);
      samples->present.push_back(present);
      all_present = all_present && present;
    }
  }
  if (all_present) samples->present.clear();
}

// Finds the rows whose instances the plan wants. An invalid name is reported as
// a problem of its instance only.
void Collector::FindKeptRows(Query& query,
                             std::vector<std::string>* problems) const {
  const auto& filters = query.resolved.filters;
  const InstanceSelection& selection = query.resolved.selection;
  const bool selects_all = AnySelectsAll(filters);
  query.kept_rows.clear();
  for (size_t row = 0; row < query.table.rows(); ++row) {
    const absl::string_view utf16_name = query.table.Utf16Name(row);
    const size_t length = utf16_name.size() / sizeof(char16_t);
    if (length >= perflib::kMaxInstanceName) {
      problems->push_back(absl::StrCat(
          "counterset \"", query.resolved.registration.name,
          "\": an instance's name has ", length,
          " characters, as many as PERF_MAX_INSTANCE_NAME or more"));
      continue;
    }
    if (!selection.ContainsAll() &&
        !selection.Contains(perflib::Utf8FromUtf16(utf16_name))) {
      continue;
    }
    if (selects_all || AnySelects(filters, utf16_name)) {
      query.kept_rows.push_back(row);
    }
  }
}

// Redefines the query if the size of a column's values changes. The first value
// with a size counts.
void Collector::DefineQuery(Query& query) {
  bool changed = query.definition == 0;
  for (size_t column = 0; column < query.columns.size(); ++column) {
    for (size_t row = 0; row < query.table.rows(); ++row) {
      const uint32_t size = query.table.ValueSize(column, row);
      if (!IsNumber(size)) continue;
      changed = changed || query.columns[column].value_size != size;
      query.columns[column].value_size = size;
      break;
    }
  }
  if (!changed) return;
  Dictionary& dictionary = instances_.dictionary();
  query.definition = dictionary.DefineQuery(
      instances_.machine_definition(),
      dictionary.DefineCounterset(query.resolved.registration), interval_,
      query.columns);
}

}  // namespace fleetperf::agent
