#include "agent/source/windows/v1/v1_source.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/registration_info.h"
#include "agent/source/windows/v1/performance_data.h"
#include "agent/source/windows/v1/v1_catalogue.h"
#include "agent/source/windows/v1/v1_query_handle.h"
#include "base/os/detached_thread.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::Guid;

constexpr absl::Duration kListInterval = absl::Minutes(10);
// After a list with problems.
constexpr absl::Duration kRetryInterval = absl::Minutes(1);

// Of a read of the list. Longer than that of a process of providers, which
// tells more.
constexpr absl::Duration kReadTimeout = absl::Seconds(15);

// Lists the countersets on a thread. The thread keeps the lister alive until a
// hanging read returns.
class Lister : public std::enable_shared_from_this<Lister> {
 public:
  Lister(OpenPerformanceData open, const Clock* clock, std::string language)
      : open_(std::move(open)),
        clock_(*clock),
        changed_(clock),
        catalogue_(std::make_shared<V1Catalogue>(std::move(language))) {}

  // Begins a new list if it is time, or if the last had problems and there are
  // new names. Returns the status of the last. The first call waits for the
  // first list, at most `patience`. If the system starts no thread, the next
  // call begins the list, and this one fails unless there is an earlier list.
  absl::Status Refresh(absl::Duration patience) {
    const bool has_problems = !catalogue_->problems().empty();
    absl::MutexLock lock(&mutex_);
    const bool is_due =
        next_list_ <= clock_.Monotonic() || (has_new_names_ && has_problems);
    if (!is_listing_ && is_due) {
      const absl::Status started =
          RunDetached([self = shared_from_this()] { self->List(); });
      is_listing_ = started.ok();
      if (started.ok()) has_new_names_ = false;
      if (!started.ok() && !has_listed_) return started;
    }
    if (!std::exchange(has_waited_, true)) {
      changed_.Await(&mutex_, patience, [this] {
        mutex_.AssertHeld();
        return has_listed_;
      });
    }
    if (has_listed_) return status_;
    return absl::DeadlineExceededError(
        "the countersets of PerfLib V1 are not listed yet");
  }

  void Want(const std::vector<std::string>& countersets) {
    if (!catalogue_->Want(countersets)) return;
    absl::MutexLock lock(&mutex_);
    has_new_names_ = true;
  }

  bool AwaitList(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    return changed_.Await(&mutex_, timeout, [this] {
      mutex_.AssertHeld();
      return !is_listing_;
    });
  }

  const std::shared_ptr<V1Catalogue>& catalogue() const { return catalogue_; }
  std::unique_ptr<PerformanceData> Open() const { return open_(); }

 private:
  void List() {
    const auto data =
        MakeDeadlineData(open_, kReadTimeout, hanging_reads_, &clock_);
    const absl::Status status = catalogue_->List(data.get());
    const bool is_well = status.ok() && catalogue_->problems().empty();
    absl::MutexLock lock(&mutex_);
    status_ = status;
    has_listed_ = true;
    is_listing_ = false;
    next_list_ =
        clock_.Monotonic() + (is_well ? kListInterval : kRetryInterval);
    changed_.Notify();
  }

  const OpenPerformanceData open_;
  const Clock& clock_;
  const HangingReads hanging_reads_ = std::make_shared<std::atomic<int>>(0);
  absl::Mutex mutex_;
  Wakeup changed_;
  const std::shared_ptr<V1Catalogue> catalogue_;
  bool is_listing_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_listed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_waited_ ABSL_GUARDED_BY(mutex_) = false;
  // Names were wanted after the last list began, which may have missed them.
  bool has_new_names_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_list_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

absl::StatusOr<std::string> InstancesOf(const V1Counterset& counterset,
                                        const perflib::ParsedV1Data& data,
                                        const perflib::V1Object& object) {
  std::vector<perflib::InstanceName> instances;
  if (!object.HasInstances()) return perflib::WriteInstanceList(instances);
  const perflib::V1Values values(data, object, counterset.registration);
  size_t room = V1ResultLimit(object);
  for (const perflib::V1Instance& instance : data.Instances(object)) {
    const uint32_t id = values.InstanceId(instance);
    std::string name = perflib::Utf8FromUtf16(
        V1InstanceName(counterset, data, object, instance, id));
    if (name.size() > room) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the names of the instances of ", counterset.registration.name,
          " have more than ", V1ResultLimit(object), " bytes"));
    }
    room -= name.size();
    instances.push_back({std::move(name), id});
  }
  return perflib::WriteInstanceList(instances);
}

class V1Source : public Source {
 public:
  V1Source(OpenPerformanceData open, absl::Duration patience,
           const Clock* clock, std::string language)
      : lister_(std::make_shared<Lister>(std::move(open), clock,
                                         std::move(language))),
        patience_(patience) {}

  void Want(const std::vector<std::string>& countersets) override {
    lister_->Want(countersets);
  }
  bool AwaitList(absl::Duration timeout) override {
    return lister_->AwaitList(timeout);
  }

  absl::StatusOr<std::vector<Guid>> EnumerateCounterSet() override {
    RETURN_IF_ERROR(lister_->Refresh(patience_));
    std::vector<Guid> guids;
    for (const auto& counterset : lister_->catalogue()->all()) {
      guids.push_back(counterset->registration.guid);
    }
    return guids;
  }

  std::vector<std::string> Problems() override {
    return lister_->catalogue()->problems();
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const Guid& guid, perflib::RegistrationRequest request,
      uint32_t argument) override {
    ASSIGN_OR_RETURN(const auto counterset, Find(guid));
    return RegistrationInfo(counterset->registration, Guid(), request,
                            argument);
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const Guid& guid) override {
    ASSIGN_OR_RETURN(const auto counterset, Find(guid));
    const auto source = lister_->Open();
    std::string bytes;
    RETURN_IF_ERROR(
        source->Query(absl::StrCat(counterset->shape.object_index), &bytes));
    perflib::ParsedV1Data data;
    perflib::ReadV1Data(bytes, &data);
    uint32_t error = perflib::kErrorNoData;
    const perflib::V1Object* object =
        FindSoundObject(data, *counterset, &error);
    if (object == nullptr && !data.defects.empty()) {
      return data.defects.front().ToStatus();
    }
    if (object != nullptr && !counterset->shape.Matches(data, *object)) {
      RETURN_IF_ERROR(
          lister_->catalogue()->Update(source.get(), data, *object));
      object = nullptr;
    }
    if (object == nullptr) {
      return StatusFromWin32(error, counterset->registration.name);
    }
    return InstancesOf(*counterset, data, *object);
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<V1QueryHandle>(lister_->catalogue(),
                                           lister_->Open());
  }

 private:
  absl::StatusOr<std::shared_ptr<const V1Counterset>> Find(
      const Guid& guid) const {
    auto counterset = lister_->catalogue()->Find(guid);
    if (counterset == nullptr) {
      return StatusFromWin32(perflib::kErrorGuidNotFound, guid.ToString());
    }
    return counterset;
  }

  const std::shared_ptr<Lister> lister_;
  const absl::Duration patience_;
};

}  // namespace

std::unique_ptr<Source> MakeV1Source(OpenPerformanceData open,
                                     absl::Duration patience,
                                     const Clock* clock, std::string language) {
  return std::make_unique<V1Source>(std::move(open), patience, clock,
                                    std::move(language));
}

}  // namespace fleetperf::agent
