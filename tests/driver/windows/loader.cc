#include "tests/driver/windows/loader.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

struct CloseService {
  void operator()(SC_HANDLE service) const { CloseServiceHandle(service); }
};
using Service = std::unique_ptr<std::remove_pointer_t<SC_HANDLE>, CloseService>;

constexpr wchar_t kService[] = L"fleetperf_pmu";

Service OpenAnyService() {
  const Service manager(OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CONNECT));
  return Service(OpenServiceW(manager.get(), kService, SERVICE_ALL_ACCESS));
}

DWORD StateOf(SC_HANDLE service) {
  SERVICE_STATUS status = {};
  QueryServiceStatus(service, &status);
  return status.dwCurrentState;
}

std::string TemporaryFile() {
  wchar_t directory[MAX_PATH];
  wchar_t name[MAX_PATH];
  GetTempPathW(MAX_PATH, directory);
  GetTempFileNameW(directory, L"pmu", 0, name);
  return Utf8FromWide(name);
}

}  // namespace

ChildProcess::ChildProcess(const std::string& executable,
                           const std::string& arguments, HANDLE output) {
  std::wstring command =
      WideFromUtf8(absl::StrCat("\"", executable, "\" ", arguments));
  STARTUPINFOW startup = {.cb = sizeof startup};
  if (output != INVALID_HANDLE_VALUE) {
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdOutput = output;
    startup.hStdError = output;
  }
  CreateProcessW(nullptr, command.data(), nullptr, nullptr,
                 /*bInheritHandles=*/TRUE, 0, nullptr, nullptr, &startup,
                 &process_);
}

ChildProcess::~ChildProcess() {
  Kill();
  CloseHandle(process_.hThread);
  CloseHandle(process_.hProcess);
}

int ChildProcess::Wait() {
  DWORD status = 0;
  if (WaitForSingleObject(process_.hProcess, INFINITE) != WAIT_OBJECT_0 ||
      !GetExitCodeProcess(process_.hProcess, &status)) {
    return -1;
  }
  return static_cast<int>(status);
}

void ChildProcess::Kill() {
  TerminateProcess(process_.hProcess, 1);
  WaitForSingleObject(process_.hProcess, INFINITE);
}

// The output goes to a file: a driver's host inherits the handle, so that a
// pipe would never end.
LoaderOutput RunProgram(const std::string& executable,
                        const std::string& arguments) {
  const std::string path = TemporaryFile();
  SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited,
                                   .bInheritHandle = TRUE};
  const HANDLE file =
      CreateFileW(WideFromUtf8(path).c_str(), GENERIC_WRITE, FILE_SHARE_READ,
                  &inherited, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  LoaderOutput output;
  output.status = ChildProcess(executable, arguments, file).Wait();
  CloseHandle(file);
  output.text = ReadFile(path).value_or("");
  DeleteFileW(WideFromUtf8(path).c_str());
  return output;
}

LoaderOutput RunLoader(const std::string& arguments) {
  return RunProgram(FLEETPERF_LOADER, arguments);
}

LoaderOutput RunLoader(const std::string& command, const std::string& image) {
  return RunLoader(absl::StrCat(command, " --image \"", image, "\""));
}

bool CreateForeignService(const std::string& image) {
  const Service manager(
      OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CREATE_SERVICE));
  const Service service(CreateServiceW(
      manager.get(), kService, kService, 0, SERVICE_KERNEL_DRIVER,
      SERVICE_DEMAND_START, SERVICE_ERROR_NORMAL, WideFromUtf8(image).c_str(),
      nullptr, nullptr, nullptr, nullptr, nullptr));
  return service != nullptr;
}

std::string ServiceState() {
  const Service service = OpenAnyService();
  if (service == nullptr) return "";
  alignas(QUERY_SERVICE_CONFIGW) BYTE buffer[8192];
  auto* const config = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer);
  DWORD size = 0;
  if (!QueryServiceConfigW(service.get(), config, sizeof buffer, &size)) {
    return "unknown";
  }
  return absl::StrCat(
      Utf8FromWide(config->lpBinaryPathName), ", ",
      StateOf(service.get()) == SERVICE_STOPPED ? "stopped" : "running");
}

// A stop that the service manager's limit interrupts is asked for again, and a
// deleted service stays until the last handle to it is closed.
void RemoveAnyService() {
  while (true) {
    const Service service = OpenAnyService();
    if (service == nullptr) return;
    SERVICE_STATUS status;
    if (StateOf(service.get()) != SERVICE_STOPPED) {
      ControlService(service.get(), SERVICE_CONTROL_STOP, &status);
      SwitchToThread();
      continue;
    }
    DeleteService(service.get());
  }
}

}  // namespace fleetperf
