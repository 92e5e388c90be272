#include <windows.h>
#include <aclapi.h>
#include <sddl.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/setup.h"
#include "agent/source/windows/v1/provider_process.h"
#include "base/os/access_windows.h"
#include "base/os/event_log_windows.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
#include "base/os/service_account_windows.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

constexpr char kServiceName[] = "fleetperf-agent";
constexpr wchar_t kName[] = L"fleetperf-agent";
constexpr wchar_t kDisplayName[] = L"fleetperf agent";
constexpr wchar_t kDescription[] =
    L"Collects this machine's performance counters and streams them to an "
    L"aggregator.";
// A virtual account that Windows creates for this service alone. On the network
// it authenticates as the computer account.
constexpr wchar_t kAccount[] = L"NT SERVICE\\fleetperf-agent";
struct CloseService {
  void operator()(SC_HANDLE service) const { CloseServiceHandle(service); }
};
using Service = std::unique_ptr<std::remove_pointer_t<SC_HANDLE>, CloseService>;

absl::Status LastError(absl::string_view what) {
  return StatusFromWin32(GetLastError(), what);
}

// Reports the failure of an optional step, which does not stop the setup. Also
// to the event log: the standard error of an MSI's action is lost.
void Warn(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "warning: %s\n", std::string(status.message()).c_str());
  WriteEvent(kServiceName, EventType::kWarning, status.message());
}

absl::StatusOr<Service> OpenManager() {
  Service manager(OpenSCManagerW(nullptr, nullptr, SC_MANAGER_ALL_ACCESS));
  if (manager == nullptr) {
    return StatusFromWin32(GetLastError(),
                           "cannot open the service control manager; run this "
                           "as an administrator");
  }
  return manager;
}

absl::StatusOr<std::wstring> ExecutablePath() {
  wchar_t path[1024];
  const DWORD size = GetModuleFileNameW(nullptr, path, std::size(path));
  if (size == 0 || size == std::size(path)) {
    return LastError("cannot determine the path of this executable");
  }
  return std::wstring(path, size);
}

absl::StatusOr<std::wstring> CommandLine(const std::string& config_path) {
  ASSIGN_OR_RETURN(const std::wstring executable, ExecutablePath());
  std::wstring config = NativePath(config_path).make_preferred().wstring();
  return L"\"" + executable + L"\" service --config \"" + config + L"\"";
}

// Creates the service, or changes its command line if it exists. An account
// configured by an administrator is kept.
absl::StatusOr<Service> CreateOrChange(SC_HANDLE manager,
                                       const std::wstring& command) {
  Service service;
  // A removed service exists until its last open handle is closed.
  constexpr int kAttempts = 30;
  for (int i = 0; i < kAttempts; ++i) {
    service.reset(CreateServiceW(
        manager, kName, kDisplayName, SERVICE_ALL_ACCESS,
        SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START, SERVICE_ERROR_NORMAL,
        command.c_str(), nullptr, nullptr, nullptr, kAccount, nullptr));
    if (service != nullptr) return service;
    if (GetLastError() != ERROR_SERVICE_MARKED_FOR_DELETE) break;
    Sleep(1000);
  }
  if (GetLastError() != ERROR_SERVICE_EXISTS) {
    return LastError("cannot create the service fleetperf-agent");
  }
  service.reset(OpenServiceW(manager, kName, SERVICE_ALL_ACCESS));
  if (service == nullptr ||
      !ChangeServiceConfigW(service.get(), SERVICE_WIN32_OWN_PROCESS,
                            SERVICE_AUTO_START, SERVICE_ERROR_NORMAL,
                            command.c_str(), nullptr, nullptr, nullptr, nullptr,
                            nullptr, kDisplayName)) {
    return LastError("cannot change the service fleetperf-agent");
  }
  return service;
}

absl::Status Configure(SC_HANDLE service, DWORD level, void* value,
                       absl::string_view what) {
  return ChangeServiceConfig2W(service, level, value)
             ? absl::OkStatus()
             : LastError(absl::StrCat("cannot set the service's ", what));
}

// Restarts the service after a crash, and also after an exit with an error,
// such as a missing configuration file.
void ConfigureRecovery(SC_HANDLE service) {
  constexpr DWORD kSecond = 1000;
  constexpr DWORD kDay = 24 * 60 * 60;
  SC_ACTION actions[] = {{SC_ACTION_RESTART, 5 * kSecond},
                         {SC_ACTION_RESTART, 60 * kSecond},
                         {SC_ACTION_RESTART, 300 * kSecond}};
  SERVICE_FAILURE_ACTIONSW recovery = {.dwResetPeriod = kDay,
                                       .cActions = std::size(actions),
                                       .lpsaActions = actions};
  Warn(Configure(service, SERVICE_CONFIG_FAILURE_ACTIONS, &recovery,
                 "recovery"));
  SERVICE_FAILURE_ACTIONS_FLAG also_errors = {
      .fFailureActionsOnNonCrashFailures = TRUE};
  Warn(Configure(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &also_errors,
                 "recovery after errors"));
}

void ConfigureDetails(SC_HANDLE service) {
  SERVICE_DESCRIPTIONW description = {const_cast<wchar_t*>(kDescription)};
  Warn(Configure(service, SERVICE_CONFIG_DESCRIPTION, &description,
                 "description"));
  ConfigureRecovery(service);
  SERVICE_DELAYED_AUTO_START_INFO delayed = {.fDelayedAutostart = TRUE};
  Warn(Configure(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed,
                 "delayed start"));
  SERVICE_SID_INFO sid = {.dwServiceSidType = SERVICE_SID_TYPE_UNRESTRICTED};
  Warn(Configure(service, SERVICE_CONFIG_SERVICE_SID_INFO, &sid,
                 "security identifier"));
  wchar_t privileges[] = L"SeChangeNotifyPrivilege\0";
  SERVICE_REQUIRED_PRIVILEGES_INFOW required = {.pmszRequiredPrivileges =
                                                    privileges};
  Warn(Configure(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &required,
                 "privileges"));
}

absl::StatusOr<std::wstring> AccountNameOf(SC_HANDLE service) {
  DWORD size = 0;
  QueryServiceConfigW(service, nullptr, 0, &size);
  std::vector<uint64_t> buffer(size / sizeof(uint64_t) + 1);
  auto* const config = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer.data());
  if (!QueryServiceConfigW(service, config, size, &size)) {
    return LastError("cannot read the service's account");
  }
  return config->lpServiceStartName != nullptr ? config->lpServiceStartName
                                               : L"";
}

absl::StatusOr<ServiceAccount> AccountOf(SC_HANDLE service) {
  ASSIGN_OR_RETURN(const std::wstring name, AccountNameOf(service));
  return FindServiceAccount(kServiceName, Utf8FromWide(name));
}

// Gives the service's account its rights, where setup can.
absl::Status PrepareAccount(SC_HANDLE service) {
  ASSIGN_OR_RETURN(ServiceAccount account, AccountOf(service));
  for (const absl::Status& failed : PrepareServiceAccount(&account)) {
    Warn(failed);
  }
  return absl::OkStatus();
}

// Checks that a trusted account owns `path`. Every user may create directories
// in ProgramData, and an owner can change the access list at any time. If
// `is_protected` is not null, it is set to whether the access list inherits no
// entries.
absl::Status CheckOwner(const std::filesystem::path& path,
                        bool* is_protected = nullptr) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  PSID owner = nullptr;
  std::wstring name = path.wstring();
  const DWORD error = GetNamedSecurityInfoW(
      name.data(), SE_FILE_OBJECT,
      OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, nullptr,
      nullptr, nullptr, &descriptor);
  if (error != ERROR_SUCCESS) {
    return StatusFromWin32(
        error, absl::StrCat("cannot read the owner of ", Utf8FromPath(path)));
  }
  SECURITY_DESCRIPTOR_CONTROL control = 0;
  DWORD revision;
  GetSecurityDescriptorControl(descriptor, &control, &revision);
  if (is_protected != nullptr) *is_protected = control & SE_DACL_PROTECTED;
  if (IsTrustedAccount(owner)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      Utf8FromPath(path),
      " is owned by neither administrators nor the system; inspect "
      "it, then remove it or change its owner"));
}

// Checks that `directory` is meant for the service, which gets exclusive access
// to it.
absl::Status CheckDirectory(const std::filesystem::path& directory) {
  if (!absl::EqualsIgnoreCase(Utf8FromPath(directory.filename()),
                              "fleetperf")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the configuration must be in a directory called fleetperf, because "
        "setup gives the service exclusive access to it; ",
        Utf8FromPath(directory), " has another name"));
  }
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return absl::OkStatus();
  bool is_protected = false;
  RETURN_IF_ERROR(CheckOwner(directory, &is_protected));
  // An earlier setup protected the directory. Other users could not add files
  // since.
  if (is_protected) return absl::OkStatus();
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    RETURN_IF_ERROR(CheckOwner(entry.path()));
  }
  return absl::OkStatus();
}

// Gives administrators and the system full access, the service the access in
// `rights` (SDDL), and all other accounts none.
absl::Status ProtectDirectory(const std::string& path,
                              absl::string_view rights) {
  RETURN_IF_ERROR(MakeDirectories(path));
  const std::wstring sddl = WideFromUtf8(
      absl::StrCat("D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;", rights,
                   ";;;", ServiceSid("fleetperf-agent"), ")"));
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  PACL list = nullptr;
  BOOL present = FALSE;
  BOOL defaulted = FALSE;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
          sddl.c_str(), SDDL_REVISION_1, &descriptor, nullptr) ||
      !GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted)) {
    return LastError(absl::StrCat("cannot protect ", path));
  }
  std::wstring name = NativePath(path).make_preferred().wstring();
  return StatusFromWin32(
      SetNamedSecurityInfoW(
          name.data(), SE_FILE_OBJECT,
          DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
          nullptr, nullptr, list, nullptr),
      absl::StrCat("cannot protect ", path));
}

constexpr wchar_t kEventSource[] =
    L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\"
    L"fleetperf-agent";

// EventCreate.exe provides messages that consist of the event's strings only.
absl::Status RegisterEventSource() {
  constexpr wchar_t kMessages[] = L"%SystemRoot%\\System32\\EventCreate.exe";
  LSTATUS error =
      RegSetKeyValueW(HKEY_LOCAL_MACHINE, kEventSource, L"EventMessageFile",
                      REG_EXPAND_SZ, kMessages, sizeof kMessages);
  const DWORD types =
      EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
  if (error == ERROR_SUCCESS) {
    error = RegSetKeyValueW(HKEY_LOCAL_MACHINE, kEventSource, L"TypesSupported",
                            REG_DWORD, &types, sizeof types);
  }
  return StatusFromWin32(static_cast<uint32_t>(error),
                         "cannot register the event source fleetperf-agent");
}

absl::Status Setup(const std::string& config_path) {
  const std::string directory = Utf8FromPath(
      std::filesystem::absolute(NativePath(config_path)).parent_path());
  RETURN_IF_ERROR(CheckDirectory(NativePath(directory)));
  ASSIGN_OR_RETURN(const Service manager, OpenManager());
  ASSIGN_OR_RETURN(const std::wstring command,
                   CommandLine(Utf8FromPath(
                       std::filesystem::absolute(NativePath(config_path)))));
  ASSIGN_OR_RETURN(const std::wstring executable, ExecutablePath());
  ASSIGN_OR_RETURN(ServiceAccount own_account,
                   FindServiceAccount(kServiceName, ""));
  RETURN_IF_ERROR(
      CheckServiceCanRun(Utf8FromWide(executable), own_account.psid()));
  ASSIGN_OR_RETURN(const Service service,
                   CreateOrChange(manager.get(), command));
  Warn(RegisterEventSource());
  ConfigureDetails(service.get());
  Warn(PrepareAccount(service.get()));
  constexpr absl::string_view kRead = "FRFX";
  constexpr absl::string_view kChange = "0x1301bf";
  RETURN_IF_ERROR(ProtectDirectory(directory, kRead));
  RETURN_IF_ERROR(ProtectDirectory(ResolvePath(directory, "state"), kChange));
  RETURN_IF_ERROR(ProtectDirectory(ResolvePath(directory, "log"), kChange));
  std::printf("The service fleetperf-agent is ready; it runs with %s.\n",
              config_path.c_str());
  if (!FileExists(config_path)) {
    std::printf(
        "Write that file, then start it: sc.exe start "
        "fleetperf-agent\n");
  }
  return absl::OkStatus();
}

// An MSI says only that setup failed; the event log says why.
absl::Status SetupWithEvent(const std::string& config_path) {
  const absl::Status status = Setup(config_path);
  if (!status.ok()) {
    WriteEvent(kServiceName, EventType::kError,
               absl::StrCat("setup failed: ", status.message()));
  }
  return status;
}

// Stops the service and waits until it has stopped.
void StopService(SC_HANDLE service) {
  SERVICE_STATUS status;
  if (!ControlService(service, SERVICE_CONTROL_STOP, &status)) return;
  constexpr int kAttempts = 300;
  constexpr DWORD kPause = 100;
  for (int i = 0; i < kAttempts; ++i) {
    if (!QueryServiceStatus(service, &status) ||
        status.dwCurrentState == SERVICE_STOPPED) {
      return;
    }
    Sleep(kPause);
  }
}

absl::Status RemoveService(SC_HANDLE manager) {
  const Service service(OpenServiceW(manager, kName, SERVICE_ALL_ACCESS));
  if (service == nullptr) {
    if (GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST) return absl::OkStatus();
    return LastError("cannot open the service fleetperf-agent");
  }
  auto account = AccountOf(service.get());
  Warn(account.ok() ? RevokeCounterRights(&*account) : account.status());
  StopService(service.get());
  if (DeleteService(service.get()) ||
      GetLastError() == ERROR_SERVICE_MARKED_FOR_DELETE) {
    return absl::OkStatus();
  }
  return LastError("cannot remove the service fleetperf-agent");
}

absl::Status Remove() {
  ASSIGN_OR_RETURN(const Service manager, OpenManager());
  RETURN_IF_ERROR(RemoveService(manager.get()));
  RegDeleteTreeW(HKEY_LOCAL_MACHINE, kEventSource);
  std::printf(
      "The service fleetperf-agent is removed; its configuration is kept.\n");
  return absl::OkStatus();
}

// The argument of the command that ServeProviders is.
std::string provider_dll;

absl::Status ServeProviders() {
  ASSIGN_OR_RETURN(const auto parent, ParentPipe::Open());
  ASSIGN_OR_RETURN(const RegistryFunctions functions,
                   LoadRegistryFunctions(provider_dll));
  const auto data = MakeRegistryPerformanceData(functions, "");
  return ServePerformanceData(data.get(), parent.get());
}

}  // namespace

std::vector<DaemonCommand> SetupCommands() {
  return {{.name = "setup",
           .help = "Make this a service that runs with this configuration",
           .run = SetupWithEvent},
          {.name = "remove",
           .help = "Stop the service and remove it",
           .run = [](const std::string&) { return Remove(); },
           .needs_config = false},
          {.name = kProviderProcessCommand,
           .help = "Read counters of PerfLib V1; used by the agent itself",
           .run = [](const std::string&) { return ServeProviders(); },
           .needs_config = false,
           .arguments = {{"DLL", "The DLL in place of Windows' advapi32.dll",
                          &provider_dll}}}};
}

}  // namespace fleetperf::agent
