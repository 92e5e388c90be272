#include "driver/windows/loader/driver_service.h"

#include <windows.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"
#include "driver/windows/access/device_interface.h"
#include "driver/windows/loader/code_integrity.h"
#include "driver/windows/loader/start_error.h"

namespace fleetperf {
namespace {

constexpr const wchar_t* kName = pmu_device::kServiceName;
constexpr wchar_t kDisplayName[] = L"fleetperf hardware counters";

struct CloseService {
  void operator()(SC_HANDLE service) const { CloseServiceHandle(service); }
};
using Service = std::unique_ptr<std::remove_pointer_t<SC_HANDLE>, CloseService>;

absl::Status LastError(absl::string_view what) {
  return StatusFromWin32(GetLastError(), what);
}

absl::StatusOr<Service> OpenManager(DWORD rights) {
  Service manager(OpenSCManagerW(nullptr, nullptr, rights));
  if (manager == nullptr) {
    return LastError(
        "cannot open the service control manager; run this as an "
        "administrator");
  }
  return manager;
}

struct ServiceConfig {
  bool is_driver = false;
  std::string image;
};

absl::StatusOr<ServiceConfig> ReadConfig(SC_HANDLE service) {
  constexpr DWORD kMaxSize = 8192;  // as QueryServiceConfig documents
  alignas(QUERY_SERVICE_CONFIGW) BYTE buffer[kMaxSize];
  auto* const config = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer);
  DWORD size = 0;
  if (!QueryServiceConfigW(service, config, sizeof buffer, &size)) {
    return LastError("cannot read the configuration of fleetperf_pmu");
  }
  // The service control manager stores the paths of drivers as names of the
  // kernel.
  std::wstring_view image = config->lpBinaryPathName;
  constexpr std::wstring_view kKernelPrefix = L"\\??\\";
  if (image.starts_with(kKernelPrefix)) {
    image.remove_prefix(kKernelPrefix.size());
  }
  return ServiceConfig{config->dwServiceType == SERVICE_KERNEL_DRIVER,
                       Utf8FromWide(image)};
}

bool IsSamePath(const std::string& a, const std::string& b) {
  return CompareStringOrdinal(WideFromUtf8(a).c_str(), -1,
                              WideFromUtf8(b).c_str(), -1,
                              /*bIgnoreCase=*/TRUE) == CSTR_EQUAL;
}

absl::Status CheckOwn(SC_HANDLE service, const std::string& image) {
  ASSIGN_OR_RETURN(const ServiceConfig config, ReadConfig(service));
  if (config.is_driver && IsSamePath(config.image, image)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat(
      "the service fleetperf_pmu exists with another image, ", config.image,
      " instead of ", image,
      "; if that is another copy of the driver, name it with --image, or "
      "remove it first"));
}

// Opens the service and checks that it is ours. nullptr if there is none.
absl::StatusOr<Service> OpenOwn(SC_HANDLE manager, DWORD rights,
                                const std::string& image) {
  Service service(OpenServiceW(manager, kName, rights | SERVICE_QUERY_CONFIG));
  if (service == nullptr) {
    if (GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST) return service;
    return LastError(
        "cannot open the service fleetperf_pmu; run this as an administrator");
  }
  RETURN_IF_ERROR(CheckOwn(service.get(), image));
  return service;
}

absl::StatusOr<DWORD> QueryState(SC_HANDLE service) {
  SERVICE_STATUS status;
  if (!QueryServiceStatus(service, &status)) {
    return LastError("cannot query the service fleetperf_pmu");
  }
  return status.dwCurrentState;
}

// Stops the driver and waits until it has stopped.
absl::Status StopAndWait(SC_HANDLE service) {
  SERVICE_STATUS status;
  if (!ControlService(service, SERVICE_CONTROL_STOP, &status)) {
    if (GetLastError() == ERROR_SERVICE_NOT_ACTIVE) return absl::OkStatus();
    // A driver that is stopping accepts no controls.
    if (GetLastError() != ERROR_SERVICE_CANNOT_ACCEPT_CTRL &&
        GetLastError() != ERROR_INVALID_SERVICE_CONTROL) {
      return LastError("cannot stop the driver fleetperf_pmu");
    }
  }
  constexpr int kAttempts = 100;
  constexpr DWORD kPause = 100;
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(const DWORD state, QueryState(service));
    if (state == SERVICE_STOPPED) return absl::OkStatus();
    Sleep(kPause);
  }
  return absl::DeadlineExceededError(
      "the driver fleetperf_pmu is stopping, but a program has its device "
      "open; stop that program, e.g. the service fleetperf-agent");
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(NativePath(path), error);
  if (error) return path;
  // The kernel accepts no slashes.
  return Utf8FromWide(absolute.lexically_normal().make_preferred().wstring());
}

}  // namespace

const char* Name(DriverState state) {
  switch (state) {
    case DriverState::kNotInstalled:
      return "not installed";
    case DriverState::kStopped:
      return "stopped";
    case DriverState::kStarting:
      return "starting";
    case DriverState::kRunning:
      return "running";
    case DriverState::kStopping:
      return "stopping";
  }
  return "unknown";
}

DriverService::DriverService(const std::string& image)
    : image_(AbsolutePath(image)) {}

absl::Status DriverService::Install() const {
  if (!FileExists(image_)) {
    return absl::NotFoundError(absl::StrCat(
        image_, " does not exist; name the driver's image with --image"));
  }
  ASSIGN_OR_RETURN(const Service manager,
                   OpenManager(SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE));
  const Service service(CreateServiceW(
      manager.get(), kName, kDisplayName, /*dwDesiredAccess=*/0,
      SERVICE_KERNEL_DRIVER, SERVICE_DEMAND_START, SERVICE_ERROR_NORMAL,
      WideFromUtf8(image_).c_str(), /*lpLoadOrderGroup=*/nullptr,
      /*lpdwTagId=*/nullptr, /*lpDependencies=*/nullptr,
      /*lpServiceStartName=*/nullptr, /*lpPassword=*/nullptr));
  if (service != nullptr) return absl::OkStatus();
  switch (GetLastError()) {
    case ERROR_SERVICE_EXISTS:
      return OpenOwn(manager.get(), 0, image_).status();
    case ERROR_SERVICE_MARKED_FOR_DELETE:
      return LastError(
          "an earlier service fleetperf_pmu is being removed; close the "
          "programs that show services, or restart Windows");
    default:
      return LastError("cannot create the service fleetperf_pmu");
  }
}

absl::Status DriverService::Start() const {
  ASSIGN_OR_RETURN(const Service manager, OpenManager(SC_MANAGER_CONNECT));
  ASSIGN_OR_RETURN(const Service service,
                   OpenOwn(manager.get(), SERVICE_START, image_));
  if (service == nullptr) {
    return absl::NotFoundError(
        "the driver fleetperf_pmu is not installed; run: fleetperf-pmu "
        "install");
  }
  if (StartServiceW(service.get(), 0, nullptr) ||
      GetLastError() == ERROR_SERVICE_ALREADY_RUNNING) {
    return absl::OkStatus();
  }
  const DWORD error = GetLastError();
  return StartError(error, QueryCodeIntegrity());
}

absl::StatusOr<DriverState> DriverService::State() const {
  ASSIGN_OR_RETURN(const Service manager, OpenManager(SC_MANAGER_CONNECT));
  ASSIGN_OR_RETURN(const Service service,
                   OpenOwn(manager.get(), SERVICE_QUERY_STATUS, image_));
  if (service == nullptr) return DriverState::kNotInstalled;
  ASSIGN_OR_RETURN(const DWORD state, QueryState(service.get()));
  switch (state) {
    case SERVICE_START_PENDING:
      return DriverState::kStarting;
    case SERVICE_RUNNING:
      return DriverState::kRunning;
    case SERVICE_STOP_PENDING:
      return DriverState::kStopping;
    default:
      return DriverState::kStopped;
  }
}

absl::Status DriverService::Stop() const {
  ASSIGN_OR_RETURN(const Service manager, OpenManager(SC_MANAGER_CONNECT));
  ASSIGN_OR_RETURN(
      const Service service,
      OpenOwn(manager.get(), SERVICE_STOP | SERVICE_QUERY_STATUS, image_));
  return service == nullptr ? absl::OkStatus() : StopAndWait(service.get());
}

absl::Status DriverService::Remove() const {
  ASSIGN_OR_RETURN(const Service manager, OpenManager(SC_MANAGER_CONNECT));
  ASSIGN_OR_RETURN(
      const Service service,
      OpenOwn(manager.get(), DELETE | SERVICE_STOP | SERVICE_QUERY_STATUS,
              image_));
  if (service == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(StopAndWait(service.get()));
  if (DeleteService(service.get()) ||
      GetLastError() == ERROR_SERVICE_MARKED_FOR_DELETE) {
    return absl::OkStatus();
  }
  return LastError("cannot remove the service fleetperf_pmu");
}

}  // namespace fleetperf
