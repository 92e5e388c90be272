#include "agent/source/united_source.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "perflib/registration.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::RegistrationRequest;

constexpr int kV1Group = 1;

// A handle of the source of its first query.
class UnitedHandle : public QueryHandle {
 public:
  UnitedHandle(Source* v2, Source* united, Source* v1)
      : v2_(*v2), united_(*united), v1_(*v1) {}

  absl::Status AddCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    if (identifiers->empty()) return absl::OkStatus();
    const int group = united_.HandleGroup(identifiers->front().counterset);
    if (handle_ == nullptr) {
      ASSIGN_OR_RETURN(handle_,
                       (group == kV1Group ? v1_ : v2_).OpenQueryHandle());
      handle_->SetPatience(patience_);
    }
    return handle_->AddCounters(identifiers);
  }
  absl::Status DeleteCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    RETURN_IF_ERROR(Check());
    return handle_->DeleteCounters(identifiers);
  }
  absl::StatusOr<std::string> QueryCounterInfo() override {
    RETURN_IF_ERROR(Check());
    return handle_->QueryCounterInfo();
  }
  absl::Status QueryCounterData(std::string* block) override {
    RETURN_IF_ERROR(Check());
    return handle_->QueryCounterData(block);
  }
  void SetPatience(absl::Duration patience) override {
    patience_ = patience;
    if (handle_ != nullptr) handle_->SetPatience(patience);
  }
  bool IsHanging() const override {
    return handle_ != nullptr && handle_->IsHanging();
  }

 private:
  absl::Status Check() const {
    if (handle_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError("the handle has no queries");
  }

  Source& v2_;
  Source& united_;
  Source& v1_;
  std::unique_ptr<QueryHandle> handle_;
  absl::Duration patience_ = absl::InfiniteDuration();
};

class UnitedSource : public Source {
 public:
  UnitedSource(std::unique_ptr<Source> v2, std::unique_ptr<Source> v1)
      : v2_(std::move(v2)), v1_(std::move(v1)) {}

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override {
    return v2_->DefineCounters(queries);
  }

  void Want(const std::vector<std::string>& countersets) override {
    v1_->Want(countersets);
  }
  bool AwaitList(absl::Duration timeout) override {
    return v1_->AwaitList(timeout);
  }

  absl::StatusOr<std::vector<Guid>> EnumerateCounterSet() override {
    auto guids = v2_->EnumerateCounterSet();
    if (guids.ok()) TakeNames(*guids);
    auto more = v1_->EnumerateCounterSet();
    std::vector<std::string> problems;
    if (!more.ok() && !absl::IsUnimplemented(more.status())) {
      problems.push_back(std::string(more.status().message()));
    }
    if (!guids.ok()) {
      if (!more.ok() || more->empty()) return guids.status();
      problems.push_back(std::string(guids.status().message()));
      guids.emplace();
    }
    if (more.ok()) AddV1(*more, &*guids);
    for (Source* const source : {v2_.get(), v1_.get()}) {
      for (std::string& problem : source->Problems()) {
        problems.push_back(std::move(problem));
      }
    }
    absl::MutexLock lock(&mutex_);
    problems_ = std::move(problems);
    return guids;
  }

  std::vector<std::string> Problems() override {
    absl::MutexLock lock(&mutex_);
    return problems_;
  }

  int HandleGroup(const Guid& counterset) override {
    absl::MutexLock lock(&mutex_);
    return v1_countersets_.contains(counterset) ? kV1Group : 0;
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const Guid& counterset, RegistrationRequest request,
      uint32_t argument) override {
    return SourceOf(counterset)
        .QueryCounterSetRegistrationInfo(counterset, request, argument);
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const Guid& counterset) override {
    return SourceOf(counterset).EnumerateCounterSetInstances(counterset);
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<UnitedHandle>(v2_.get(), this, v1_.get());
  }

 private:
  Source& SourceOf(const Guid& counterset) {
    return HandleGroup(counterset) == kV1Group ? *v1_ : *v2_;
  }

  // Remembers the names of V2, for the times when it cannot be enumerated.
  void TakeNames(const std::vector<Guid>& v2) {
    absl::flat_hash_set<std::string> taken;
    for (const Guid& guid : v2) taken.insert(NameOf(*v2_, guid));
    absl::MutexLock lock(&mutex_);
    taken_ = std::move(taken);
  }

  bool IsTaken(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    return taken_.contains(name);
  }

  // Adds those of `v1` whose names V2 does not have.
  void AddV1(const std::vector<Guid>& v1, std::vector<Guid>* guids) {
    absl::flat_hash_set<Guid> added;
    for (const Guid& guid : v1) {
      if (!IsTaken(NameOf(*v1_, guid))) added.insert(guid);
    }
    guids->insert(guids->end(), added.begin(), added.end());
    absl::MutexLock lock(&mutex_);
    v1_countersets_ = std::move(added);
  }

  // Returns the English name in lower case; "" if it is not known. Names do not
  // change.
  std::string NameOf(Source& source, const Guid& guid) {
    {
      absl::MutexLock lock(&mutex_);
      const auto known = names_.find(guid);
      if (known != names_.end()) return known->second;
    }
    const auto bytes = source.QueryCounterSetRegistrationInfo(
        guid, RegistrationRequest::kCountersetEnglishName, 0);
    if (!bytes.ok()) return "";
    const std::string name =
        absl::AsciiStrToLower(perflib::ReadString(*bytes).value_or(""));
    absl::MutexLock lock(&mutex_);
    names_.emplace(guid, name);
    return name;
  }

  const std::unique_ptr<Source> v2_;
  const std::unique_ptr<Source> v1_;
  absl::Mutex mutex_;
  absl::flat_hash_map<Guid, std::string> names_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> taken_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Guid> v1_countersets_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> problems_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Source> UniteSources(std::unique_ptr<Source> v2,
                                     std::unique_ptr<Source> v1) {
  return std::make_unique<UnitedSource>(std::move(v2), std::move(v1));
}

}  // namespace fleetperf::agent
