#include <windows.h>
#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/os/child_process.h"
#include "base/os/clock.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The part of a pipe's buffer that never blocks small writes, and the size of
// single reads.
constexpr DWORD kPipeBuffer = 64 << 10;

constexpr absl::Duration kLongestWait = absl::Hours(1);
// The time for the end of a process. One that is stuck in a driver does not
// end; Windows ends it once the driver's call returns.
constexpr DWORD kEndMilliseconds = 1000;

// Owns a handle.
class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle)
      : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  Handle(Handle&& other) : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (handle_ != nullptr) CloseHandle(handle_);
  }
  HANDLE get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  HANDLE handle_ = nullptr;
};

absl::Status LastError(absl::string_view what) {
  return StatusFromWin32(GetLastError(), what);
}

struct Pipe {
  Handle ours;
  Handle childs;  // inheritable
};

// A pipe whose own end is asynchronous, as reads with a timeout require.
// Anonymous pipes are synchronous, so the pipe has a name. It accepts only one
// connection, which is made here.
absl::StatusOr<Pipe> MakePipe(bool child_reads) {
  static std::atomic<uint32_t> pipes = 0;
  const std::wstring name = WideFromUtf8(
      absl::StrCat("\\\\.\\pipe\\fleetperf-", GetCurrentProcessId(), "-",
                   pipes.fetch_add(1), "-", GetTickCount64()));
  const DWORD direction =
      child_reads ? PIPE_ACCESS_OUTBOUND : PIPE_ACCESS_INBOUND;
  Pipe made;
  made.ours = Handle(CreateNamedPipeW(
      name.c_str(),
      direction | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
      PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, kPipeBuffer,
      kPipeBuffer, 0, nullptr));
  if (!made.ours) return LastError("CreateNamedPipe");
  SECURITY_ATTRIBUTES inheritable = {
      .nLength = sizeof(SECURITY_ATTRIBUTES),
      .lpSecurityDescriptor = nullptr,
      .bInheritHandle = TRUE,
  };
  made.childs = Handle(CreateFileW(name.c_str(),
                                   child_reads ? GENERIC_READ : GENERIC_WRITE,
                                   0, &inheritable, OPEN_EXISTING, 0, nullptr));
  if (!made.childs) return LastError("CreateFile of a pipe");
  return made;
}

// Quotes an argument by the rules of CommandLineToArgvW.
std::string Quoted(const std::string& argument) {
  std::string quoted = "\"";
  size_t backslashes = 0;
  for (const char c : argument) {
    if (c == '\\') {
      ++backslashes;
      continue;
    }
    quoted.append(c == '"' ? 2 * backslashes + 1 : backslashes, '\\');
    backslashes = 0;
    quoted += c;
  }
  quoted.append(2 * backslashes, '\\');
  return quoted + "\"";
}

// The attributes of a process that inherits only `handles`.
class Inherited {
 public:
  explicit Inherited(std::vector<HANDLE> handles)
      : handles_(std::move(handles)) {
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_.resize(size);
    if (InitializeProcThreadAttributeList(list(), 1, 0, &size)) {
      UpdateProcThreadAttribute(
          list(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(),
          handles_.size() * sizeof(HANDLE), nullptr, nullptr);
    }
  }
  ~Inherited() { DeleteProcThreadAttributeList(list()); }
  LPPROC_THREAD_ATTRIBUTE_LIST list() {
    return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
  }

 private:
  std::vector<HANDLE> handles_;
  std::vector<char> memory_;
};

// A job that ends its processes when this process ends, and without a dialog
// when they crash.
absl::StatusOr<Handle> MakeJob() {
  Handle job(CreateJobObjectW(nullptr, nullptr));
  if (!job) return LastError("CreateJobObject");
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {};
  limits.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
      JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
  if (!SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation,
                               &limits, sizeof limits)) {
    return LastError("SetInformationJobObject");
  }
  return job;
}

class WindowsChild : public ChildProcess {
 public:
  WindowsChild(Handle job, Handle process, Handle input, Handle output,
               Handle done)
      : job_(std::move(job)),
        process_(std::move(process)),
        input_(std::move(input)),
        output_(std::move(output)),
        done_(std::move(done)) {}

  ~WindowsChild() override {
    TerminateProcess(process_.get(), 1);
    WaitForSingleObject(process_.get(), kEndMilliseconds);
  }

  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      OVERLAPPED call = {};
      call.hEvent = done_.get();
      DWORD written = 0;
      if (!::WriteFile(input_.get(), bytes.data(),
                       static_cast<DWORD>(bytes.size()), nullptr, &call) &&
          GetLastError() != ERROR_IO_PENDING) {
        return Ended();
      }
      if (!GetOverlappedResult(input_.get(), &call, &written, TRUE)) {
        return Ended();
      }
      bytes.remove_prefix(written);
    }
    return absl::OkStatus();
  }

  absl::Status Read(char* bytes, size_t size, absl::Duration timeout) override {
    const Clock& clock = Clock::Real();
    const absl::Duration end = clock.Monotonic() + timeout;
    while (size > 0) {
      OVERLAPPED call = {};
      call.hEvent = done_.get();
      const DWORD most = size < kPipeBuffer ? DWORD(size) : kPipeBuffer;
      if (!::ReadFile(output_.get(), bytes, most, nullptr, &call) &&
          GetLastError() != ERROR_IO_PENDING) {
        return Ended();
      }
      const absl::Duration left = std::clamp(
          end - clock.Monotonic(), absl::ZeroDuration(), kLongestWait);
      const bool in_time =
          WaitForSingleObject(
              done_.get(),
              static_cast<DWORD>(absl::ToInt64Milliseconds(left))) ==
          WAIT_OBJECT_0;
      if (!in_time) CancelIoEx(output_.get(), &call);
      DWORD count = 0;
      const bool read = GetOverlappedResult(output_.get(), &call, &count, TRUE);
      if (!in_time && !read) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer within ", absl::FormatDuration(timeout)));
      }
      if (!read || count == 0) return Ended();
      bytes += count;
      size -= count;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Ended() {
    TerminateProcess(process_.get(), 1);  // if it only closed its output
    if (WaitForSingleObject(process_.get(), kEndMilliseconds) !=
        WAIT_OBJECT_0) {
      return absl::UnavailableError("the process does not end");
    }
    DWORD code = 0;
    GetExitCodeProcess(process_.get(), &code);
    return absl::UnavailableError(
        absl::StrFormat("the process ended with code 0x%08X", code));
  }

  const Handle job_;
  const Handle process_;
  const Handle input_;
  const Handle output_;
  const Handle done_;  // an event
};

class WindowsParentPipe : public ParentPipe {
 public:
  WindowsParentPipe(HANDLE input, HANDLE output)
      : input_(input), output_(output) {}

  absl::Status Read(char* bytes, size_t size) override {
    while (size > 0) {
      const DWORD most = size < kPipeBuffer ? DWORD(size) : kPipeBuffer;
      DWORD count = 0;
      if (!::ReadFile(input_, bytes, most, &count, nullptr) || count == 0) {
        return absl::UnavailableError("the parent has ended");
      }
      bytes += count;
      size -= count;
    }
    return absl::OkStatus();
  }

  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const DWORD most =
          bytes.size() < kPipeBuffer ? DWORD(bytes.size()) : kPipeBuffer;
      DWORD count = 0;
      if (!::WriteFile(output_, bytes.data(), most, &count, nullptr)) {
        return LastError("standard output");
      }
      bytes.remove_prefix(count);
    }
    return absl::OkStatus();
  }

 private:
  const HANDLE input_;
  const HANDLE output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command) {
  ASSIGN_OR_RETURN(Pipe input, MakePipe(/*child_reads=*/true));
  ASSIGN_OR_RETURN(Pipe output, MakePipe(/*child_reads=*/false));
  ASSIGN_OR_RETURN(Handle job, MakeJob());
  Handle done(CreateEventW(nullptr, TRUE, FALSE, nullptr));
  if (!done) return LastError("CreateEvent");
  std::string line;
  for (const std::string& argument : command) {
    absl::StrAppend(&line, line.empty() ? "" : " ", Quoted(argument));
  }
  std::wstring command_line = WideFromUtf8(line);

  Inherited inherited({input.childs.get(), output.childs.get()});
  STARTUPINFOEXW startup = {};
  startup.StartupInfo.cb = sizeof startup;
  startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  startup.StartupInfo.hStdInput = input.childs.get();
  startup.StartupInfo.hStdOutput = output.childs.get();
  startup.lpAttributeList = inherited.list();
  PROCESS_INFORMATION started = {};
  if (!CreateProcessW(
          WideFromUtf8(command[0]).c_str(), command_line.data(), nullptr,
          nullptr, /*bInheritHandles=*/TRUE,
          CREATE_NO_WINDOW | CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT,
          nullptr, nullptr, &startup.StartupInfo, &started)) {
    return LastError(command[0]);
  }
  Handle process(started.hProcess);
  const Handle thread(started.hThread);
  // Without the job, a child that hangs would outlive this process.
  if (!AssignProcessToJobObject(job.get(), process.get())) {
    const absl::Status status = LastError("AssignProcessToJobObject");
    TerminateProcess(process.get(), 1);
    return status;
  }
  ResumeThread(thread.get());
  return std::make_unique<WindowsChild>(
      std::move(job), std::move(process), std::move(input.ours),
      std::move(output.ours), std::move(done));
}

absl::StatusOr<std::unique_ptr<ParentPipe>> ParentPipe::Open() {
  // A dialog that no user sees would hang the process.
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX |
               SEM_NOOPENFILEERRORBOX);
  const HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  const HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
  if (input == nullptr || input == INVALID_HANDLE_VALUE || output == nullptr ||
      output == INVALID_HANDLE_VALUE) {
    return absl::FailedPreconditionError(
        "standard input and output must be pipes: the agent starts this "
        "process itself");
  }
  HANDLE own = nullptr;
  if (!DuplicateHandle(GetCurrentProcess(), output, GetCurrentProcess(), &own,
                       0, /*bInheritHandle=*/FALSE, DUPLICATE_SAME_ACCESS)) {
    return LastError("DuplicateHandle");
  }
  // Closes `output`, which the C library has opened as standard output.
  const int nul = _open("NUL", _O_WRONLY);
  if (nul < 0 || _dup2(nul, _fileno(stdout)) != 0) {
    return absl::InternalError("cannot open NUL as standard output");
  }
  _close(nul);
  SetStdHandle(STD_OUTPUT_HANDLE,
               reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stdout))));
  return std::make_unique<WindowsParentPipe>(input, own);
}

absl::StatusOr<std::string> ExecutablePath() {
  std::wstring path(32'768, L'\0');
  const DWORD size =
      GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  if (size == 0 || size == path.size()) return LastError("GetModuleFileName");
  path.resize(size);
  return Utf8FromWide(path);
}

}  // namespace fleetperf
