#include "agent/source/windows/v1/performance_data.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/windows/advice.h"
#include "base/os/detached_thread.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

constexpr uint32_t kErrorMoreData = 234;
constexpr uint32_t kSmallestBuffer = 64 << 10;

std::u16string Utf16(const std::string& utf8) {
  const std::string bytes = perflib::Utf16FromUtf8(utf8);
  std::u16string units(bytes.size() / sizeof(char16_t), u'\0');
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(units.data()));
  return units;
}

class RegistryPerformanceData : public PerformanceData {
 public:
  RegistryPerformanceData(const RegistryFunctions& functions,
                          std::string machine)
      : functions_(functions), machine_(std::move(machine)) {}
  ~RegistryPerformanceData() override { Close(); }

  absl::Status Query(const std::string& value, std::string* bytes) override {
    RETURN_IF_ERROR(Connect());
    const absl::Status status = Fetch(Utf16(value), bytes);
    // The connection may be broken; the next query makes a new one.
    if (!status.ok() && !machine_.empty()) Close();
    return status;
  }

 private:
  absl::Status Connect() {
    if (functions_.query_value == nullptr || functions_.close_key == nullptr ||
        functions_.connect_registry == nullptr) {
      return absl::UnimplementedError(
          "RegQueryValueEx of HKEY_PERFORMANCE_DATA is not supported");
    }
    if (key_ != nullptr) return absl::OkStatus();
    if (machine_.empty()) {
      key_ = PerformanceDataKey();
      return absl::OkStatus();
    }
    const uint32_t error = functions_.connect_registry(
        Utf16(absl::StrCat("\\\\", machine_)).c_str(), PerformanceDataKey(),
        &key_);
    if (error == perflib::kErrorSuccess) return absl::OkStatus();
    key_ = nullptr;
    return PerfLibError(machine_, "RegConnectRegistry", error);
  }

  void Close() {
    if (key_ != nullptr) functions_.close_key(key_);
    key_ = nullptr;
  }

  // The required size is unknown, so the buffer grows until the value fits. It
  // begins with the capacity that the previous value left.
  absl::Status Fetch(const std::u16string& value, std::string* bytes) {
    uint32_t size = static_cast<uint32_t>(std::clamp<size_t>(
        bytes->capacity(), kSmallestBuffer, kMaxPerformanceData));
    for (;; size = std::min(2 * size, kMaxPerformanceData)) {
      bytes->resize(size);
      uint32_t actual = size;
      const uint32_t error = functions_.query_value(
          key_, value.c_str(), nullptr, nullptr, bytes->data(), &actual);
      if (error == perflib::kErrorSuccess && actual <= size) {
        bytes->resize(actual);
        return absl::OkStatus();
      }
      if (error == kErrorMoreData && size < kMaxPerformanceData) continue;
      bytes->clear();
      if (error == perflib::kErrorSuccess) {
        return absl::DataLossError(
            absl::StrCat("RegQueryValueEx reported ", actual,
                         " bytes in a buffer of ", size));
      }
      if (error == kErrorMoreData) {
        return absl::ResourceExhaustedError(
            absl::StrCat("RegQueryValueEx needs a buffer larger than ", size));
      }
      return PerfLibError(machine_, "RegQueryValueEx", error);
    }
  }

  const RegistryFunctions functions_;
  const std::string machine_;
  void* key_ = nullptr;
};

// A read that may outlive its caller.
class Read {
 public:
  Read(std::shared_ptr<PerformanceData> data, HangingReads hanging,
       const Clock* clock)
      : data_(std::move(data)), hanging_(std::move(hanging)), ended_(clock) {}

  void Run(const std::string& value) {
    std::string bytes;
    const absl::Status status = data_->Query(value, &bytes);
    absl::MutexLock lock(&mutex_);
    status_ = status;
    bytes_ = std::move(bytes);
    has_ended_ = true;
    if (is_abandoned_) --*hanging_;
    ended_.Notify();
  }

  // Returns false if the read hangs.
  bool Await(absl::Duration timeout, absl::Status* status, std::string* bytes) {
    absl::MutexLock lock(&mutex_);
    const bool in_time = ended_.Await(&mutex_, timeout, [this] {
      mutex_.AssertHeld();
      return has_ended_;
    });
    if (in_time) {
      *status = status_;
      *bytes = std::move(bytes_);
    } else {
      is_abandoned_ = true;
      ++*hanging_;
    }
    return in_time;
  }

 private:
  const std::shared_ptr<PerformanceData> data_;
  const HangingReads hanging_;
  absl::Mutex mutex_;
  Wakeup ended_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

class DeadlineData : public PerformanceData {
 public:
  DeadlineData(OpenPerformanceData open, absl::Duration timeout,
               HangingReads hanging, const Clock* clock)
      : open_(std::move(open)),
        timeout_(timeout),
        hanging_(std::move(hanging)),
        clock_(*clock) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    if (*hanging_ >= kMaxHangingReads) {
      return absl::UnavailableError(absl::StrCat(
          hanging_->load(), " reads of PerfLib V1 have not been answered yet"));
    }
    if (data_ == nullptr) data_ = open_();
    const auto read = std::make_shared<Read>(data_, hanging_, &clock_);
    RETURN_IF_ERROR(RunDetached([read, value] { read->Run(value); }));
    absl::Status status;
    if (read->Await(timeout_, &status, bytes)) return status;
    data_.reset();
    return absl::AbortedError(absl::StrCat("PerfLib V1, asked for \"", value,
                                           "\": no answer within ",
                                           absl::FormatDuration(timeout_)));
  }

 private:
  const OpenPerformanceData open_;
  const absl::Duration timeout_;
  const HangingReads hanging_;
  const Clock& clock_;
  std::shared_ptr<PerformanceData> data_;
};

}  // namespace

std::unique_ptr<PerformanceData> MakeRegistryPerformanceData(
    const RegistryFunctions& functions, const std::string& machine) {
  return std::make_unique<RegistryPerformanceData>(functions, machine);
}

std::unique_ptr<PerformanceData> MakeDeadlineData(OpenPerformanceData open,
                                                  absl::Duration timeout,
                                                  HangingReads hanging,
                                                  const Clock* clock) {
  return std::make_unique<DeadlineData>(std::move(open), timeout,
                                        std::move(hanging), clock);
}

}  // namespace fleetperf::agent
