#include "agent/source/combined_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "agent/source/provider.h"
#include "agent/source/provider_source.h"
#include "base/own_counterset.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::PerfDataHeader;

// Appends the results in `own`, a block of the agent's own counters, to
// `block`. A no-op if the size in the header of `block` is wrong.
void AppendResults(absl::string_view own, std::string* block) {
  PerfDataHeader to;
  PerfDataHeader from;
  if (block->size() < sizeof(to)) return;
  std::memcpy(&to, block->data(), sizeof(to));
  std::memcpy(&from, own.data(), sizeof(from));
  own.remove_prefix(sizeof(from));
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  if (to.total_size != block->size() || own.size() > kMax - to.total_size ||
      from.num_counters > kMax - to.num_counters) {
    return;
  }
  to.total_size += static_cast<uint32_t>(own.size());
  to.num_counters += from.num_counters;
  block->append(own.data(), own.size());
  std::memcpy(block->data(), &to, sizeof(to));
}

// Opens a handle of each source when its first query is added.
class CombinedHandle : public QueryHandle {
 public:
  CombinedHandle(Source* machines, Source* own,
                 absl::flat_hash_set<Guid> own_countersets)
      : machines_(*machines),
        own_(*own),
        own_countersets_(std::move(own_countersets)) {}

  absl::Status AddCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    return Split(identifiers, [](QueryHandle& handle, auto* part) {
      return handle.AddCounters(part);
    });
  }

  absl::Status DeleteCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    return Split(identifiers, [](QueryHandle& handle, auto* part) {
      return handle.DeleteCounters(part);
    });
  }

  absl::StatusOr<std::string> QueryCounterInfo() override {
    if (own_handle_ == nullptr) {
      ASSIGN_OR_RETURN(QueryHandle * handle,
                       Open(machines_, &machines_handle_));
      return handle->QueryCounterInfo();
    }
    ASSIGN_OR_RETURN(const std::string own, own_handle_->QueryCounterInfo());
    if (machines_handle_ == nullptr) return own;
    ASSIGN_OR_RETURN(const std::string bytes,
                     machines_handle_->QueryCounterInfo());
    ASSIGN_OR_RETURN(std::vector<CounterIdentifier> identifiers,
                     perflib::ReadCounterIdentifiers(bytes));
    ASSIGN_OR_RETURN(std::vector<CounterIdentifier> others,
                     perflib::ReadCounterIdentifiers(own));
    const auto results = static_cast<uint32_t>(identifiers.size());
    for (CounterIdentifier& other : others) {
      other.index += results;
      identifiers.push_back(std::move(other));
    }
    return perflib::WriteCounterIdentifiers(identifiers);
  }

  absl::Status QueryCounterData(std::string* block) override {
    if (machines_handle_ == nullptr && own_handle_ != nullptr) {
      return own_handle_->QueryCounterData(block);
    }
    ASSIGN_OR_RETURN(QueryHandle * handle, Open(machines_, &machines_handle_));
    RETURN_IF_ERROR(handle->QueryCounterData(block));
    if (own_handle_ == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(own_handle_->QueryCounterData(&own_block_));
    AppendResults(own_block_, block);
    return absl::OkStatus();
  }

  void SetPatience(absl::Duration patience) override {
    if (machines_handle_ != nullptr) machines_handle_->SetPatience(patience);
  }
  bool IsHanging() const override {
    return machines_handle_ != nullptr && machines_handle_->IsHanging();
  }

 private:
  static absl::StatusOr<QueryHandle*> Open(
      Source& source, std::unique_ptr<QueryHandle>* handle) {
    if (*handle == nullptr) {
      ASSIGN_OR_RETURN(*handle, source.OpenQueryHandle());
    }
    return handle->get();
  }

  // Passes each source its part of `identifiers` and copies the statuses back.
  template <typename Do>
  absl::Status Split(std::vector<CounterIdentifier>* identifiers, Do action) {
    const auto is_own = [&](const CounterIdentifier& identifier) {
      return own_countersets_.contains(identifier.counterset);
    };
    for (const bool of_own : {false, true}) {
      std::vector<CounterIdentifier> part;
      std::copy_if(identifiers->begin(), identifiers->end(),
                   std::back_inserter(part),
                   [&](const auto& one) { return is_own(one) == of_own; });
      if (part.empty()) continue;
      ASSIGN_OR_RETURN(QueryHandle * handle,
                       of_own ? Open(own_, &own_handle_)
                              : Open(machines_, &machines_handle_));
      RETURN_IF_ERROR(action(*handle, &part));
      auto done = part.begin();
      for (CounterIdentifier& identifier : *identifiers) {
        if (is_own(identifier) == of_own) identifier.status = (done++)->status;
      }
    }
    return absl::OkStatus();
  }

  Source& machines_;
  Source& own_;
  const absl::flat_hash_set<Guid> own_countersets_;
  std::unique_ptr<QueryHandle> machines_handle_;
  std::unique_ptr<QueryHandle> own_handle_;
  std::string own_block_;
};

class CombinedSource : public Source {
 public:
  CombinedSource(std::unique_ptr<Source> machines, std::unique_ptr<Source> own)
      : machines_(std::move(machines)), own_(std::move(own)) {
    const auto guids = own_->EnumerateCounterSet();
    if (guids.ok()) own_countersets_.insert(guids->begin(), guids->end());
  }

  void SelectInstances(absl::Span<const PlannedQuery> queries,
                       absl::Span<const InstanceRule> rules) override {
    machines_->SelectInstances(queries, rules);
  }

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override {
    DefinedCounters defined = machines_->DefineCounters(queries);
    DefinedCounters own = own_->DefineCounters(queries);
    std::move(own.changed.begin(), own.changed.end(),
              std::back_inserter(defined.changed));
    std::move(own.problems.begin(), own.problems.end(),
              std::back_inserter(defined.problems));
    return defined;
  }

  void Want(const std::vector<std::string>& countersets) override {
    machines_->Want(countersets);
  }
  bool AwaitList(absl::Duration timeout) override {
    return machines_->AwaitList(timeout);
  }

  absl::StatusOr<std::vector<Guid>> EnumerateCounterSet() override {
    ASSIGN_OR_RETURN(std::vector<Guid> guids, machines_->EnumerateCounterSet());
    std::erase_if(guids, [&](const Guid& guid) {
      return own_countersets_.contains(guid);
    });
    guids.insert(guids.end(), own_countersets_.begin(), own_countersets_.end());
    return guids;
  }

  std::vector<std::string> Problems() override { return machines_->Problems(); }

  std::vector<Limitation> Limitations() override {
    return machines_->Limitations();
  }

  int HandleGroup(const Guid& counterset) override {
    return own_countersets_.contains(counterset)
               ? 0
               : machines_->HandleGroup(counterset);
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) override {
    return SourceOf(counterset)
        .QueryCounterSetRegistrationInfo(counterset, request, argument);
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const Guid& counterset) override {
    return SourceOf(counterset).EnumerateCounterSetInstances(counterset);
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<CombinedHandle>(machines_.get(), own_.get(),
                                            own_countersets_);
  }

 private:
  Source& SourceOf(const Guid& counterset) {
    return own_countersets_.contains(counterset) ? *own_ : *machines_;
  }

  const std::unique_ptr<Source> machines_;
  const std::unique_ptr<Source> own_;
  absl::flat_hash_set<Guid> own_countersets_;
};

class OwnProvider : public Provider {
 public:
  explicit OwnProvider(const OwnCounterset* counterset)
      : Provider(counterset->registration()), counterset_(*counterset) {}

  absl::Status Sample(ColumnSet, const perflib::Clocks&,
                      CountersetSample* sample) override {
    sample->AddInstance("", 0);
    const OwnCounterset::Values values = counterset_.Read();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].has_value()) sample->Set(i, *values[i]);
    }
    return absl::OkStatus();
  }

 private:
  const OwnCounterset& counterset_;
};

}  // namespace

std::unique_ptr<Source> CombineSources(std::unique_ptr<Source> machines,
                                       std::unique_ptr<Source> own) {
  return std::make_unique<CombinedSource>(std::move(machines), std::move(own));
}

std::unique_ptr<Source> MakeOwnSource(const OwnCounterset* counterset,
                                      const Clock& clock) {
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<OwnProvider>(counterset));
  return MakeProviderSource(std::move(providers), clock);
}

}  // namespace fleetperf::agent
