#include "agent/source/windows/perflib_source.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/source/windows/advice.h"
#include "base/status_macros.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::kErrorNotEnoughMemory;
using perflib::kErrorSuccess;

constexpr uint32_t kFirstSize = 4096;
// Far above the size of any valid answer.
constexpr uint32_t kMaxSize = 64 << 20;
constexpr uint32_t kMaxCountersets = 65'536;
// The most that PerflibV2EnumerateCounterSet of [MS-PCQ] can return.
constexpr uint32_t kMaxRemoteCountersets = 256;
// The required size may have grown by the next call.
constexpr int kMaxAttempts = 16;

// Calls the functions for one machine and converts their errors to statuses.
class Caller {
 public:
  Caller(const PerfLibFunctions& functions, std::string machine)
      : functions_(functions), machine_(std::move(machine)) {
    const std::string utf16 = perflib::Utf16FromUtf8(machine_);
    utf16_machine_.resize(utf16.size() / sizeof(char16_t));
    std::copy(utf16.begin(), utf16.end(),
              reinterpret_cast<char*>(utf16_machine_.data()));
  }

  const PerfLibFunctions& functions() const { return functions_; }
  const char16_t* machine() const {
    return machine_.empty() ? nullptr : utf16_machine_.c_str();
  }

  absl::Status Check(const char* name, uint32_t error) const {
    return error == kErrorSuccess ? absl::OkStatus()
                                  : PerfLibError(machine_, name, error);
  }

  template <typename... Arguments>
  absl::Status Call(const char* name, uint32_t (*function)(Arguments...),
                    std::type_identity_t<Arguments>... arguments) const {
    RETURN_IF_ERROR(CheckPresent(name, function != nullptr));
    return Check(name, function(arguments...));
  }

  // Calls `function(data, size, &actual)` with growing buffers, up to
  // `max_size`, until the answer fits. Sizes count elements of `buffer`.
  // Returns OutOfRange only if the answer is longer than `max_size`.
  template <typename Buffer, typename Function>
  absl::Status Fetch(const char* name, bool present, uint32_t max_size,
                     Buffer* buffer, const Function& function) const {
    RETURN_IF_ERROR(CheckPresent(name, present));
    // The first attempt uses the capacity left by the previous answer.
    buffer->resize(
        std::min<size_t>(std::max<size_t>(buffer->capacity(),
                                          kFirstSize / sizeof(*buffer->data())),
                         max_size));
    int fitting = 0;  // refusals of a buffer of the required size
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      const uint32_t size =
          static_cast<uint32_t>(std::min<size_t>(buffer->size(), max_size));
      uint32_t actual = 0;
      const uint32_t error = function(buffer->data(), size, &actual);
      if (error == kErrorSuccess && actual <= size) {
        buffer->resize(actual);
        return absl::OkStatus();
      }
      buffer->clear();
      if (error == kErrorSuccess) {
        return absl::DataLossError(absl::StrCat(
            name, " reported ", actual, " elements in a buffer of ", size));
      }
      if (error != kErrorNotEnoughMemory) return Check(name, error);
      // The answer may have grown since `actual` was determined, but only once:
      // otherwise, Windows or the provider is short of memory.
      if (actual <= size && ++fitting > 1) return Check(name, error);
      if (actual > max_size) {
        buffer->clear();
        return absl::OutOfRangeError(absl::StrCat(
            name, " needs a buffer for ", actual, ", more than ", max_size));
      }
      buffer->resize(std::min<size_t>(
          std::max<size_t>(size_t{actual} + actual / 8, size), max_size));
    }
    buffer->clear();
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " needs more at each call"));
  }

 private:
  static absl::Status CheckPresent(const char* name, bool present) {
    if (present) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(name,
                     " is not supported by this Windows: counters of "
                     "PerfLib V2 need Windows 10 or Server 2016"));
  }

  const PerfLibFunctions functions_;
  const std::string machine_;
  std::u16string utf16_machine_;
};

class PerfLibQueryHandle : public QueryHandle {
 public:
  PerfLibQueryHandle(const Caller* caller, void* handle)
      : caller_(*caller), handle_(handle) {}
  ~PerfLibQueryHandle() override {
    caller_
        .Call("PerfCloseQueryHandle", functions().close_query_handle, handle_)
        .IgnoreError();
  }

  absl::Status AddCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    return Change("PerfAddCounters", functions().add_counters, identifiers);
  }

  absl::Status DeleteCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    return Change("PerfDeleteCounters", functions().delete_counters,
                  identifiers);
  }

  absl::StatusOr<std::string> QueryCounterInfo() override {
    std::string bytes;
    RETURN_IF_ERROR(
        Fetch("PerfQueryCounterInfo", functions().query_counter_info, &bytes));
    return bytes;
  }

  absl::Status QueryCounterData(std::string* block) override {
    return Fetch("PerfQueryCounterData", functions().query_counter_data, block);
  }

 private:
  const PerfLibFunctions& functions() const { return caller_.functions(); }

  using ChangeFunction = uint32_t (*)(void*, void*, uint32_t);
  absl::Status Change(const char* name, ChangeFunction function,
                      std::vector<CounterIdentifier>* identifiers) {
    std::string bytes = perflib::WriteCounterIdentifiers(*identifiers);
    RETURN_IF_ERROR(caller_.Call(name, function, handle_, bytes.data(),
                                 static_cast<uint32_t>(bytes.size())));
    ASSIGN_OR_RETURN(const std::vector<CounterIdentifier> changed,
                     perflib::ReadCounterIdentifiers(bytes));
    if (changed.size() != identifiers->size()) {
      return absl::DataLossError(
          absl::StrCat(name, " changed the number of identifiers"));
    }
    for (size_t i = 0; i < changed.size(); ++i) {
      (*identifiers)[i].status = changed[i].status;
    }
    return absl::OkStatus();
  }

  using FetchFunction = uint32_t (*)(void*, void*, uint32_t, uint32_t*);
  absl::Status Fetch(const char* name, FetchFunction function,
                     std::string* bytes) {
    return caller_.Fetch(name, function != nullptr, kMaxSize, bytes,
                         [&](char* data, uint32_t size, uint32_t* actual) {
                           return function(handle_, data, size, actual);
                         });
  }

  const Caller& caller_;
  void* const handle_;
};

class PerfLibSource : public Source {
 public:
  PerfLibSource(const PerfLibFunctions& functions, const std::string& machine)
      : caller_(functions, machine) {}

  absl::StatusOr<std::vector<Guid>> EnumerateCounterSet() override {
    auto guids = Enumerate(caller_.machine());
    const bool is_too_long =
        caller_.machine() != nullptr && absl::IsOutOfRange(guids.status());
    has_more_than_listed_ = is_too_long;
    if (!is_too_long) return guids;
    // The machine has more than it can list. It refuses those of this machine
    // that it does not have, when their registrations are requested.
    return Enumerate(nullptr);
  }

  std::vector<std::string> Problems() override {
    if (!has_more_than_listed_) return {};
    return {absl::StrCat(
        "the machine has more than ", kMaxRemoteCountersets,
        " countersets, which its Remote Registry cannot list: only those that "
        "the agent's own machine has, too, are found; run an agent there for "
        "the others")};
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) override {
    const auto function =
        caller_.functions().query_counter_set_registration_info;
    std::string bytes;
    RETURN_IF_ERROR(caller_.Fetch(
        "PerfQueryCounterSetRegistrationInfo", function != nullptr, kMaxSize,
        &bytes, [&](char* data, uint32_t size, uint32_t* actual) {
          return function(caller_.machine(), &counterset,
                          static_cast<uint32_t>(request), argument, data, size,
                          actual);
        }));
    return bytes;
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const Guid& counterset) override {
    const auto function = caller_.functions().enumerate_counter_set_instances;
    std::string bytes;
    RETURN_IF_ERROR(caller_.Fetch(
        "PerfEnumerateCounterSetInstances", function != nullptr, kMaxSize,
        &bytes, [&](char* data, uint32_t size, uint32_t* actual) {
          return function(caller_.machine(), &counterset, data, size, actual);
        }));
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    void* handle = nullptr;
    RETURN_IF_ERROR(caller_.Call("PerfOpenQueryHandle",
                                 caller_.functions().open_query_handle,
                                 caller_.machine(), &handle));
    return std::make_unique<PerfLibQueryHandle>(&caller_, handle);
  }

 private:
  // Null is this machine.
  absl::StatusOr<std::vector<Guid>> Enumerate(const char16_t* machine) const {
    const auto function = caller_.functions().enumerate_counter_set;
    std::vector<Guid> guids;
    RETURN_IF_ERROR(caller_.Fetch(
        "PerfEnumerateCounterSet", function != nullptr,
        machine == nullptr ? kMaxCountersets : kMaxRemoteCountersets, &guids,
        [&](Guid* data, uint32_t count, uint32_t* actual) {
          return function(machine, data, count, actual);
        }));
    return guids;
  }

  const Caller caller_;
  std::atomic<bool> has_more_than_listed_ = false;
};

}  // namespace

std::unique_ptr<Source> MakePerfLibSource(const PerfLibFunctions& functions,
                                          const std::string& machine) {
  return std::make_unique<PerfLibSource>(functions, machine);
}

}  // namespace fleetperf::agent
