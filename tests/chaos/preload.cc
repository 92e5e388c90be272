// Simulates faults of a machine in a single process. Tests load this library
// into fleetperf's processes (LD_PRELOAD).
//
//   FLEETPERF_CLOCK_OFFSET=FILE
//       Shifts the wall clock that the executable's own code reads by the 8
//       bytes in FILE, a number of nanoseconds that may change at any time.
//       Libraries read the real clock, because they pass its time to the kernel
//       for waits.
//   FLEETPERF_NO_THREADS=FILE
//       Refuses to start threads while FILE exists, as the system does at a
//       limit of processes.
//   FLEETPERF_SYNC_LOG=FILE
//       Appends a line "INODE SIZE" to FILE for each synced file: the size that
//       the file would have after a power cut.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

const volatile int64_t* clock_offset = nullptr;
const char* no_threads = nullptr;
int sync_log = -1;
uintptr_t code_begin, code_end;  // of the executable

int FindExecutable(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    code_begin = info->dlpi_addr + segment.p_vaddr;
    code_end = code_begin + segment.p_memsz;
  }
  return 1;  // the first object is the executable
}

__attribute__((constructor)) void Start() {
  dl_iterate_phdr(FindExecutable, nullptr);
  if (const char* path = std::getenv("FLEETPERF_CLOCK_OFFSET")) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void* memory =
        mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) clock_offset = static_cast<int64_t*>(memory);
    close(file);
  }
  no_threads = std::getenv("FLEETPERF_NO_THREADS");
  if (const char* path = std::getenv("FLEETPERF_SYNC_LOG")) {
    sync_log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
}

// A sanitizer's interceptor in the executable calls the functions below for all
// of the process: not it, but its caller counts.
struct InterceptedCall {
  uintptr_t interceptor;
  bool is_found = false;
  uintptr_t caller = 0;
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* argument) {
  auto* const call = static_cast<InterceptedCall*>(argument);
  call->caller = _Unwind_GetIP(context);
  if (call->is_found) return _URC_NORMAL_STOP;
  call->is_found = _Unwind_GetRegionStart(context) == call->interceptor;
  return _URC_NO_REASON;
}

bool IsInExecutable(uintptr_t caller) {
  static void* const interceptor =
      dlsym(RTLD_DEFAULT, "__interceptor_clock_gettime");
  if (interceptor != nullptr) {
    InterceptedCall call = {reinterpret_cast<uintptr_t>(interceptor)};
    _Unwind_Backtrace(VisitFrame, &call);
    caller = call.caller;
  }
  return caller >= code_begin && caller < code_end;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int SyncAndLog(int (*real)(int), int file) {
  // Data written during the sync may not be on the disk, so that the size
  // before the sync counts.
  struct stat before;
  const bool known = sync_log >= 0 && fstat(file, &before) == 0;
  const int result = real(file);
  if (known && result == 0 && S_ISREG(before.st_mode)) {
    char line[64];
    const int length = std::snprintf(line, sizeof line, "%ju %jd\n",
                                     static_cast<uintmax_t>(before.st_ino),
                                     static_cast<intmax_t>(before.st_size));
    if (write(sync_log, line, static_cast<size_t>(length)) != length) {
      std::abort();
    }
  }
  return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* time) noexcept {
  static auto* const real = Real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(id, time);
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (result != 0 || id != CLOCK_REALTIME || clock_offset == nullptr ||
      !IsInExecutable(caller)) {
    return result;
  }
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t nanoseconds =
      time->tv_sec * kSecond + time->tv_nsec + *clock_offset;
  time->tv_sec = nanoseconds / kSecond;
  time->tv_nsec = nanoseconds % kSecond;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*body)(void*), void* argument) noexcept {
  static auto* const real =
      Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
          "pthread_create");
  if (no_threads != nullptr && access(no_threads, F_OK) == 0) return EAGAIN;
  return real(thread, attributes, body, argument);
}

int fdatasync(int file) {
  static auto* const real = Real<int(int)>("fdatasync");
  return SyncAndLog(real, file);
}

int fsync(int file) {
  static auto* const real = Real<int(int)>("fsync");
  return SyncAndLog(real, file);
}

}  // extern "C"
