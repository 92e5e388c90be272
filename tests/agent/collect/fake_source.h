// A source with countersets and blocks made by a test.

#ifndef FLEETPERF_TESTS_AGENT_COLLECT_FAKE_SOURCE_H_
#define FLEETPERF_TESTS_AGENT_COLLECT_FAKE_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/source.h"
#include "perflib/registration.h"
#include "tests/support/block_bytes.h"

namespace fleetperf::testing {

// Thread-safe.
class FakeSource : public agent::Source {
 public:
  struct Instance {
    std::string name;
    uint32_t id = 0;
    // PERF_COUNTER_DATA by counter id; absent: dwDataSize is 0.
    std::map<uint32_t, std::string> values;
  };

  // The behavior that a test can change. The functions may be empty.
  struct Script {
    std::map<perflib::Guid, std::vector<Instance>> instances;
    // Returns the status of an added identifier.
    std::function<uint32_t(const perflib::CounterIdentifier&)> add;
    // Replaces the result of an identifier.
    std::function<std::string(const perflib::CounterIdentifier&,
                              std::string result)>
        spoil;
    // Called after a block was made. May change the block, or fail.
    std::function<absl::Status(std::string* block)> end_block;
    // Returns results in the reverse of the order of adding.
    bool reverse = false;
    absl::Status open;
    absl::Status enumerate;
    std::set<perflib::Guid> hidden;  // not enumerated
    // Not enumerated, which is a problem, unless the plan names them.
    std::set<std::string> hidden_unless_wanted;
    // Added to each Index.
    uint32_t index_offset = 0;
    // Registration requests that fail.
    std::set<perflib::RegistrationRequest> refused_requests;
    // Countersets whose registration requests fail.
    std::map<perflib::Guid, absl::Status> refused_countersets;
    // Countersets whose provider ends every handle that asks for them.
    std::set<perflib::Guid> crashing;
    // Countersets that cannot be added to a handle: the call times out.
    std::set<perflib::Guid> not_added;
    absl::Status machine;  // of all queries of blocks
    // Precedes each name in the localized ones.
    std::string localized_prefix;
  };

  explicit FakeSource(
      std::vector<perflib::CountersetRegistration> registrations)
      : registrations_(std::move(registrations)) {}

  void Change(const std::function<void(Script& script)>& change) {
    absl::MutexLock lock(&mutex_);
    change(script_);
  }
  void SetInstances(const perflib::Guid& guid,
                    std::vector<Instance> instances) {
    absl::MutexLock lock(&mutex_);
    script_.instances[guid] = std::move(instances);
  }
  // Replaces a registration, as an update of its provider would.
  void Register(const perflib::CountersetRegistration& changed) {
    absl::MutexLock lock(&mutex_);
    for (auto& registration : registrations_) {
      if (registration.guid == changed.guid) registration = changed;
    }
  }
  int handles_opened() const {
    absl::MutexLock lock(&mutex_);
    return handles_opened_;
  }
  // The number of calls of QueryCounterData that asked for a counterset.
  int blocks_asked_of(const perflib::Guid& counterset) const {
    absl::MutexLock lock(&mutex_);
    const auto found = blocks_asked_.find(counterset);
    return found == blocks_asked_.end() ? 0 : found->second;
  }
  // The identifiers added to handles, in order.
  std::vector<perflib::CounterIdentifier> added() const {
    absl::MutexLock lock(&mutex_);
    return added_;
  }

  // The rules of the last plan.
  std::vector<InstanceRule> rules() const {
    absl::MutexLock lock(&mutex_);
    return rules_;
  }
  void SelectInstances(absl::Span<const PlannedQuery>,
                       absl::Span<const InstanceRule> rules) override {
    absl::MutexLock lock(&mutex_);
    rules_.assign(rules.begin(), rules.end());
  }

  void Want(const std::vector<std::string>& countersets) override {
    absl::MutexLock lock(&mutex_);
    for (const std::string& name : countersets) {
      script_.hidden_unless_wanted.erase(name);
    }
  }
  std::vector<std::string> Problems() override {
    absl::MutexLock lock(&mutex_);
    return {script_.hidden_unless_wanted.begin(),
            script_.hidden_unless_wanted.end()};
  }

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    absl::MutexLock lock(&mutex_);
    if (!script_.enumerate.ok()) return script_.enumerate;
    std::vector<perflib::Guid> guids;
    for (const auto& registration : registrations_) {
      if (script_.hidden.contains(registration.guid)) continue;
      if (script_.hidden_unless_wanted.contains(registration.name)) continue;
      guids.push_back(registration.guid);
    }
    return guids;
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, perflib::RegistrationRequest request,
      uint32_t) override {
    using perflib::RegistrationRequest;
    absl::MutexLock lock(&mutex_);
    if (script_.refused_requests.count(request) != 0) {
      return absl::NotFoundError("refused");
    }
    const auto refused = script_.refused_countersets.find(counterset);
    if (refused != script_.refused_countersets.end()) return refused->second;
    const auto& registration = Find(counterset);
    switch (request) {
      case RegistrationRequest::kCountersetName:
        return perflib::WriteString(script_.localized_prefix +
                                    registration.name);
      case RegistrationRequest::kCounterNames: {
        auto localized = registration;
        for (auto& counter : localized.counters) {
          if (counter.name.empty()) continue;
          counter.name.insert(0, script_.localized_prefix);
        }
        return Strings(localized, &perflib::CounterRegistration::name);
      }
      case RegistrationRequest::kCountersetStruct:
        return perflib::WriteCountersetStruct(registration);
      case RegistrationRequest::kCountersetEnglishName:
        return perflib::WriteString(registration.name);
      case RegistrationRequest::kCountersetHelp:
        return perflib::WriteString(registration.help);
      case RegistrationRequest::kProviderName:
        return perflib::WriteString(registration.provider_name);
      case RegistrationRequest::kCounterEnglishNames:
        return Strings(registration, &perflib::CounterRegistration::name);
      case RegistrationRequest::kCounterHelp:
        return Strings(registration, &perflib::CounterRegistration::help);
      default:
        return absl::InvalidArgumentError("not expected");
    }
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid&) override {
    return absl::UnimplementedError("not expected");
  }

  absl::StatusOr<std::unique_ptr<agent::QueryHandle>> OpenQueryHandle()
      override {
    absl::MutexLock lock(&mutex_);
    if (!script_.open.ok()) return script_.open;
    ++handles_opened_;
    return std::make_unique<Handle>(this);
  }

 private:
  class Handle : public agent::QueryHandle {
   public:
    explicit Handle(FakeSource* source) : source_(*source) {}

    absl::Status AddCounters(
        std::vector<perflib::CounterIdentifier>* identifiers) override {
      absl::MutexLock lock(&source_.mutex_);
      for (const perflib::CounterIdentifier& identifier : *identifiers) {
        if (source_.script_.not_added.contains(identifier.counterset)) {
          return absl::DeadlineExceededError("no answer");
        }
      }
      for (perflib::CounterIdentifier& identifier : *identifiers) {
        source_.added_.push_back(identifier);
        if (source_.script_.add) {
          identifier.status = source_.script_.add(identifier);
        }
        if (identifier.status == 0) in_force_.push_back(identifier);
      }
      return absl::OkStatus();
    }
    absl::Status DeleteCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::UnimplementedError("not expected");
    }
    absl::StatusOr<std::string> QueryCounterInfo() override {
      absl::MutexLock lock(&source_.mutex_);
      auto identifiers = in_force_;
      for (size_t i = 0; i < identifiers.size(); ++i) {
        const size_t index =
            source_.script_.reverse ? identifiers.size() - 1 - i : i;
        identifiers[i].index =
            static_cast<uint32_t>(index) + source_.script_.index_offset;
      }
      return perflib::WriteCounterIdentifiers(identifiers);
    }
    absl::Status QueryCounterData(std::string* block) override {
      std::function<absl::Status(std::string*)> end_block;
      {
        absl::MutexLock lock(&source_.mutex_);
        std::vector<std::string> results;
        for (const auto& identifier : in_force_) {
          ++source_.blocks_asked_[identifier.counterset];
        }
        if (!source_.script_.machine.ok()) return source_.script_.machine;
        for (const auto& identifier : in_force_) {
          if (source_.script_.crashing.contains(identifier.counterset)) {
            return absl::AbortedError("crashed");
          }
          results.push_back(source_.ResultOf(identifier));
        }
        if (source_.script_.reverse) {
          std::reverse(results.begin(), results.end());
        }
        *block = Block(results);
        end_block = source_.script_.end_block;
      }
      return end_block ? end_block(block) : absl::OkStatus();
    }

   private:
    FakeSource& source_;
    std::vector<perflib::CounterIdentifier> in_force_;
  };

  const perflib::CountersetRegistration& Find(const perflib::Guid& guid) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& registration : registrations_) {
      if (registration.guid == guid) return registration;
    }
    throw std::invalid_argument("no counterset " + guid.ToString());
  }

  static std::string Strings(
      const perflib::CountersetRegistration& registration,
      std::string perflib::CounterRegistration::*text) {
    std::vector<perflib::CounterString> strings;
    for (const auto& counter : registration.counters) {
      strings.push_back({counter.counter_id, counter.*text});
    }
    return perflib::WriteStringBuffer(strings);
  }

  std::string ResultOf(const perflib::CounterIdentifier& identifier)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto& registration = Find(identifier.counterset);
    const bool all = identifier.counter_id == perflib::kWildcardCounter;
    std::vector<uint32_t> ids = {identifier.counter_id};
    if (all) {
      ids.clear();
      for (const auto& counter : registration.counters) {
        ids.push_back(counter.counter_id);
      }
    }
    std::string body;
    uint32_t count = 0;
    for (const Instance& instance : script_.instances[identifier.counterset]) {
      ++count;
      if (registration.HasInstances()) {
        body += testing::Instance(instance.name, instance.id);
      }
      for (const uint32_t id : ids) {
        const auto value = instance.values.find(id);
        body += value != instance.values.end() ? value->second : Value("");
      }
    }
    uint32_t type = all ? kCounters : kSingle;
    if (registration.HasInstances()) {
      type = all ? kSet : kInstances;
      body = InstanceList(count, body);
    }
    if (all) body = CounterIds(ids) + body;
    std::string result = Result(type, body);
    return script_.spoil ? script_.spoil(identifier, std::move(result))
                         : result;
  }

  mutable absl::Mutex mutex_;
  std::vector<perflib::CountersetRegistration> registrations_
      ABSL_GUARDED_BY(mutex_);
  int handles_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<perflib::Guid, int> blocks_asked_ ABSL_GUARDED_BY(mutex_);
  std::vector<InstanceRule> rules_ ABSL_GUARDED_BY(mutex_);
  Script script_ ABSL_GUARDED_BY(mutex_);
  std::vector<perflib::CounterIdentifier> added_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_COLLECT_FAKE_SOURCE_H_
