#include "driver/windows/client/open_device.h"

#include <windows.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "driver/windows/access/device_interface.h"

namespace fleetperf::hardware {
namespace {

using pmu_device::DeviceReply;

// Of the largest reply: the description or the counts of all CPUs, including
// those that may be added.
size_t MaxReplySize() {
  const size_t num_cpus = GetMaximumProcessorCount(ALL_PROCESSOR_GROUPS);
  return sizeof(DeviceReply) + sizeof(pmu::Description) +
         std::min<size_t>(num_cpus, pmu::kMaxCpus) * sizeof(pmu::CpuCounts);
}

class WindowsDevice final : public Device {
 public:
  explicit WindowsDevice(HANDLE handle)
      : handle_(handle), buffer_(MaxReplySize(), '\0') {}
  ~WindowsDevice() override { CloseHandle(handle_); }
  WindowsDevice(const WindowsDevice&) = delete;
  WindowsDevice& operator=(const WindowsDevice&) = delete;

  absl::StatusOr<std::string> Call(pmu::Command command,
                                   absl::string_view request) override {
    DWORD size = 0;
    if (!DeviceIoControl(handle_, pmu_device::ControlCode(command),
                         const_cast<char*>(request.data()),
                         static_cast<DWORD>(request.size()), buffer_.data(),
                         static_cast<DWORD>(buffer_.size()), &size,
                         /*lpOverlapped=*/nullptr)) {
      return StatusFromWin32(GetLastError(),
                             "cannot send a request to the driver "
                             "fleetperf_pmu; see fleetperf-pmu status");
    }
    DeviceReply head;
    if (size < sizeof head) {
      return absl::DataLossError(
          absl::StrCat("the driver fleetperf_pmu replied ", size,
                       " bytes; install the "
                       "driver of the same version as this program"));
    }
    std::memcpy(&head, buffer_.data(), sizeof head);
    RETURN_IF_ERROR(ErrorOf(command, head.result));
    return buffer_.substr(sizeof head, size - sizeof head);
  }

 private:
  const HANDLE handle_;
  std::string buffer_;
};

absl::Status OpenError(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return absl::NotFoundError(
          "the driver fleetperf_pmu is not running; as an administrator, run: "
          "fleetperf-pmu install, then fleetperf-pmu start");
    case ERROR_ACCESS_DENIED:
      return absl::PermissionDeniedError(
          "only administrators and the service fleetperf-agent may use the "
          "driver fleetperf_pmu; run this as an administrator");
    default:
      return StatusFromWin32(error, "cannot open the driver fleetperf_pmu");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenDevice() {
  const HANDLE handle = CreateFileW(
      pmu_device::kDevicePath, GENERIC_READ | GENERIC_WRITE, /*dwShareMode=*/0,
      /*lpSecurityAttributes=*/nullptr, OPEN_EXISTING, /*dwFlags=*/0,
      /*hTemplateFile=*/nullptr);
  if (handle == INVALID_HANDLE_VALUE) return OpenError(GetLastError());
  return std::make_unique<WindowsDevice>(handle);
}

}  // namespace fleetperf::hardware
