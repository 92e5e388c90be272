#include "agent/source/windows/v1/performance_data.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/source/windows/advice.h"
#include "base/status_macros.h"
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

}  // namespace

std::unique_ptr<PerformanceData> MakeRegistryPerformanceData(
    const RegistryFunctions& functions, const std::string& machine) {
  return std::make_unique<RegistryPerformanceData>(functions, machine);
}

}  // namespace fleetperf::agent
