#include "agent/source/provider_source.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/registration_info.h"
#include "base/logging.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "perflib/block_writer.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::HeaderType;
using perflib::RegistrationRequest;

// Maps a provider's error to the error code in a block.
uint32_t Win32Error(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return perflib::kErrorPathNotFound;
    case absl::StatusCode::kPermissionDenied:
      return perflib::kErrorAccessDenied;
    default:
      return perflib::kErrorNoData;
  }
}

// The sample of one provider, taken once per block for all its queries.
struct Sampled {
  Provider* provider = nullptr;
  ColumnSet needed = 0;
  absl::Status status;
  CountersetSample sample;
};

uint64_t CountValues(const Sampled& sampled) {
  uint64_t values = 0;
  for (size_t row = 0; row < sampled.sample.rows(); ++row) {
    values += static_cast<uint64_t>(
        std::popcount(sampled.sample.Present(row) & sampled.needed));
  }
  return values;
}

// The providers. Shared by all handles. Thread-safe.
class Providers {
 public:
  Providers(std::vector<std::unique_ptr<Provider>> providers,
            const Clock& clock, std::shared_ptr<ProviderCosts> costs)
      : clock_(clock),
        providers_(std::move(providers)),
        costs_(std::move(costs)) {}

  const std::vector<std::unique_ptr<Provider>>& all() const {
    return providers_;
  }

  Provider* Find(const Guid& guid) const {
    for (const auto& provider : providers_) {
      if (provider->registration().guid == guid) return provider.get();
    }
    return nullptr;
  }

  void SelectInstances(absl::Span<const PlannedQuery> queries,
                       absl::Span<const InstanceRule> rules) {
    absl::MutexLock lock(&mutex_);
    for (const auto& provider : providers_) {
      provider->Select(
          InstanceSelection(provider->registration(), queries, rules));
    }
  }

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) {
    absl::MutexLock lock(&mutex_);
    DefinedCounters all;
    for (const auto& provider : providers_) {
      DefinedCounters defined = provider->DefineCounters(queries);
      std::move(defined.changed.begin(), defined.changed.end(),
                std::back_inserter(all.changed));
      std::move(defined.problems.begin(), defined.problems.end(),
                std::back_inserter(all.problems));
    }
    return all;
  }

  // Fills the sample and status of each entry and returns the clocks of that
  // moment. Providers keep state between samples, so the lock serializes
  // callers. The clocks are read under the lock.
  perflib::Clocks Sample(std::vector<Sampled>* wanted) {
    absl::MutexLock lock(&mutex_);
    const perflib::Clocks clocks =
        perflib::LinuxClocks(clock_.Monotonic(), clock_.Now());
    for (Sampled& sampled : *wanted) {
      const absl::Duration start = clock_.Monotonic();
      sampled.sample.Reset(sampled.provider->registration().counters.size());
      sampled.status =
          sampled.provider->Sample(sampled.needed, clocks, &sampled.sample);
      if (costs_ != nullptr) AddCost(sampled, clock_.Monotonic() - start);
      TakeNotes(sampled);
    }
    return clocks;
  }

  std::vector<Limitation> Limitations() {
    absl::MutexLock lock(&mutex_);
    std::vector<Limitation> all;
    for (const auto& [counterset, reasons] : notes_) {
      for (const std::string& reason : reasons) {
        all.push_back({.counterset = counterset, .reason = reason});
      }
    }
    return all;
  }

 private:
  void AddCost(const Sampled& sampled, absl::Duration time) {
    ProviderCost& cost = (*costs_)[sampled.provider->registration().name];
    ++cost.collections;
    cost.time += time;
    cost.left_out = sampled.sample.left_out();
    if (sampled.status.ok()) {
      cost.values += CountValues(sampled);
    } else {
      ++cost.errors;
    }
  }

  // Countersets that read the same file have the same note, which is logged
  // once.
  void TakeNotes(const Sampled& sampled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::vector<std::string>& notes = sampled.sample.notes();
    const std::string& name = sampled.provider->registration().name;
    if (notes.empty()) {
      if (!notes_.empty()) notes_.erase(name);
      return;
    }
    notes_[name] = notes;
    for (const std::string& note : notes) log_.Warn(note, note);
  }

  const Clock& clock_;
  const std::vector<std::unique_ptr<Provider>> providers_;
  const std::shared_ptr<ProviderCosts> costs_;
  LogOncePerCause log_{absl::InfiniteDuration()};
  absl::Mutex mutex_;
  // Of the last sample of each counterset, by its name.
  std::map<std::string, std::vector<std::string>> notes_
      ABSL_GUARDED_BY(mutex_);
};

class ProviderQueryHandle : public QueryHandle {
 public:
  explicit ProviderQueryHandle(Providers* providers) : providers_(*providers) {}

  absl::Status AddCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    for (CounterIdentifier& identifier : *identifiers) {
      identifier.status = Add(identifier);
    }
    FindNeeded();
    return absl::OkStatus();
  }

  absl::Status DeleteCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    for (CounterIdentifier& identifier : *identifiers) {
      const auto found = FindQuery(identifier);
      identifier.status = found != queries_.end() ? perflib::kErrorSuccess
                                                  : perflib::kErrorPathNotFound;
      if (found != queries_.end()) queries_.erase(found);
    }
    FindNeeded();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> QueryCounterInfo() override {
    std::vector<CounterIdentifier> identifiers;
    for (const Query& query : queries_) {
      identifiers.push_back(query.identifier);
      identifiers.back().index = static_cast<uint32_t>(identifiers.size() - 1);
    }
    return perflib::WriteCounterIdentifiers(identifiers);
  }

  absl::Status QueryCounterData(std::string* block) override {
    perflib::BlockWriter writer(providers_.Sample(&samples_), block);
    for (const Query& query : queries_) WriteResult(query, &writer);
    writer.Finish();
    return absl::OkStatus();
  }

 private:
  struct Query {
    CounterIdentifier identifier;
    std::optional<perflib::Pattern>
        instance;  // set if the counterset has instances
    std::vector<size_t> columns;
    std::vector<uint32_t> counter_ids;  // of each column
  };

  std::vector<Query>::iterator FindQuery(const CounterIdentifier& identifier) {
    return std::find_if(
        queries_.begin(), queries_.end(), [&](const Query& query) {
          return query.identifier.counterset == identifier.counterset &&
                 query.identifier.counter_id == identifier.counter_id &&
                 query.identifier.instance == identifier.instance &&
                 query.identifier.instance_id == identifier.instance_id;
        });
  }

  uint32_t Add(const CounterIdentifier& identifier) {
    Provider* provider = providers_.Find(identifier.counterset);
    if (provider == nullptr) return perflib::kErrorGuidNotFound;
    const perflib::CountersetRegistration& registration =
        provider->registration();
    if (registration.HasInstances() == identifier.instance.empty()) {
      return perflib::kErrorInvalidParameter;
    }
    if (FindQuery(identifier) != queries_.end()) {
      return perflib::kErrorAlreadyExists;
    }
    Query query{.identifier = identifier};
    for (size_t i = 0; i < registration.counters.size(); ++i) {
      const uint32_t id = registration.counters[i].counter_id;
      if (identifier.counter_id == perflib::kWildcardCounter ||
          identifier.counter_id == id) {
        query.columns.push_back(i);
        query.counter_ids.push_back(id);
      }
    }
    if (query.columns.empty()) return perflib::kErrorItemIdNotFound;
    if (registration.HasInstances()) {
      query.instance = perflib::Pattern(identifier.instance);
    }
    query.identifier.status = perflib::kErrorSuccess;
    queries_.push_back(std::move(query));
    return perflib::kErrorSuccess;
  }

  Sampled& SampledOf(const Query& query) {
    Provider* provider = providers_.Find(query.identifier.counterset);
    for (Sampled& sampled : samples_) {
      if (sampled.provider == provider) return sampled;
    }
    samples_.push_back({.provider = provider});
    return samples_.back();
  }

  void FindNeeded() {
    samples_.clear();
    for (const Query& query : queries_) {
      Sampled& sampled = SampledOf(query);
      for (const size_t column : query.columns) sampled.needed |= Bit(column);
    }
  }

  void WriteResult(const Query& query, perflib::BlockWriter* writer) {
    const Sampled& sampled = SampledOf(query);
    const CountersetSample& sample = sampled.sample;
    if (!sampled.status.ok()) {
      return writer->AddErrorReturn(Win32Error(sampled.status));
    }
    const bool all_counters =
        query.identifier.counter_id == perflib::kWildcardCounter;
    if (query.instance.has_value() && query.instance->has_wildcards()) {
      writer->BeginResult(all_counters ? HeaderType::kCounterset
                                       : HeaderType::kMultipleInstances,
                          query.counter_ids);
      for (size_t row = 0; row < sample.rows(); ++row) {
        if (!Matches(query, sample, row)) continue;
        writer->BeginInstance(sample.Utf16Name(row), sample.InstanceId(row));
        WriteValues(query, sample, row, writer);
      }
      return writer->EndResult();
    }
    for (size_t row = 0; row < sample.rows(); ++row) {
      if (!Matches(query, sample, row)) continue;
      writer->BeginResult(all_counters ? HeaderType::kMultipleCounters
                                       : HeaderType::kSingleCounter,
                          query.counter_ids);
      WriteValues(query, sample, row, writer);
      return writer->EndResult();
    }
    writer->AddErrorReturn(perflib::kErrorNoData);  // no such instance
  }

  static bool Matches(const Query& query, const CountersetSample& sample,
                      size_t row) {
    if (!query.instance.has_value()) return true;
    if (query.identifier.instance_id != perflib::kWildcardInstanceId &&
        query.identifier.instance_id != sample.InstanceId(row)) {
      return false;
    }
    return query.identifier.instance == perflib::kWildcardInstance ||
           query.instance->Matches(
               perflib::Utf8FromUtf16(sample.Utf16Name(row)));
  }

  static void WriteValues(const Query& query, const CountersetSample& sample,
                          size_t row, perflib::BlockWriter* writer) {
    for (const size_t column : query.columns) {
      if (sample.HasValue(row, column)) {
        writer->AddValue64(sample.Value(row, column));
      } else {
        writer->AddValueBytes("");
      }
    }
  }

  Providers& providers_;
  std::vector<Query> queries_;
  std::vector<Sampled> samples_;
};

class ProviderSource : public Source {
 public:
  ProviderSource(std::vector<std::unique_ptr<Provider>> providers,
                 const Clock& clock, std::shared_ptr<ProviderCosts> costs)
      : providers_(std::move(providers), clock, std::move(costs)) {}

  void SelectInstances(absl::Span<const PlannedQuery> queries,
                       absl::Span<const InstanceRule> rules) override {
    providers_.SelectInstances(queries, rules);
  }

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override {
    return providers_.DefineCounters(queries);
  }

  std::vector<Limitation> Limitations() override {
    return providers_.Limitations();
  }

  absl::StatusOr<std::vector<Guid>> EnumerateCounterSet() override {
    std::vector<Guid> guids;
    for (const auto& provider : providers_.all()) {
      guids.push_back(provider->registration().guid);
    }
    return guids;
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const Guid& counterset, RegistrationRequest request,
      uint32_t argument) override {
    ASSIGN_OR_RETURN(const Provider* provider, Find(counterset));
    // All countersets share one provider GUID: that of the Windows processor
    // driver, which serves Processor Information there.
    return RegistrationInfo(
        provider->registration(),
        *perflib::ParseGuid("{383487a6-3676-4870-a4e7-d45b30c35629}"), request,
        argument);
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const Guid& counterset) override {
    ASSIGN_OR_RETURN(Provider * provider, Find(counterset));
    std::vector<perflib::InstanceName> instances;
    if (provider->registration().HasInstances()) {
      std::vector<Sampled> sampled(1);
      sampled[0].provider = provider;
      providers_.Sample(&sampled);
      RETURN_IF_ERROR(sampled[0].status);
      const CountersetSample& sample = sampled[0].sample;
      for (size_t row = 0; row < sample.rows(); ++row) {
        instances.push_back({perflib::Utf8FromUtf16(sample.Utf16Name(row)),
                             sample.InstanceId(row)});
      }
    }
    return perflib::WriteInstanceList(instances);
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<ProviderQueryHandle>(&providers_);
  }

 private:
  absl::StatusOr<Provider*> Find(const Guid& counterset) {
    Provider* provider = providers_.Find(counterset);
    if (provider == nullptr) {
      return StatusFromWin32(perflib::kErrorGuidNotFound,
                             counterset.ToString());
    }
    return provider;
  }

  Providers providers_;
};

}  // namespace

std::unique_ptr<Source> MakeProviderSource(
    std::vector<std::unique_ptr<Provider>> providers, const Clock& clock,
    std::shared_ptr<ProviderCosts> costs) {
  return std::make_unique<ProviderSource>(std::move(providers), clock,
                                          std::move(costs));
}

}  // namespace fleetperf::agent
