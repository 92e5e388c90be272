#include "tests/faults/fail_once.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::testing {
namespace {

// The C library's function.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

constexpr size_t kMaxCalls = 256;
constexpr size_t kMaxName = 120;

// In memory that all processes share.
struct Shared {
  struct Call {
    char name[kMaxName];
    uint32_t count;
  };
  std::atomic_flag locked = ATOMIC_FLAG_INIT;
  size_t size;
  Call calls[kMaxCalls];
  bool has_occurred;
};

class SharedLock {
 public:
  explicit SharedLock(Shared* shared) : shared_(*shared) {
    while (shared_.locked.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SharedLock() { shared_.locked.clear(std::memory_order_release); }

 private:
  Shared& shared_;
};

// A file that this process has written.
struct WrittenFile {
  struct Range {
    off_t begin;
    off_t end;
  };
  off_t synced = 0;         // the size at the last sync
  std::vector<Range> lost;  // by failed syncs
};

struct Watch {
  std::string directory;  // with a slash at the end
  std::optional<Fault> fault;
  std::mutex mutex;
  std::map<std::string, WrittenFile> written;  // by path
};

// Never destroyed, because files may be used until the process ends.
Shared* shared = nullptr;
Watch* watch = nullptr;

// Shared during each call. The process ends while it is exclusive, so that the
// end comes between two calls: in the middle of one, the notes about it and the
// file differ.
std::shared_mutex& Calling() {
  static auto* const calling = new std::shared_mutex;
  return *calling;
}

class InCall {
 public:
  InCall() { Calling().lock_shared(); }
  ~InCall() { Calling().unlock_shared(); }
};

std::string PathOf(int file) {
  char path[4096];
  const std::string link = absl::StrCat("/proc/self/fd/", file);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "";
}

bool IsWatched(absl::string_view path) {
  return watch != nullptr && absl::StartsWith(path, watch->directory);
}

// Restores errno, which the wrapped functions set only on an error.
class KeepErrno {
 public:
  ~KeepErrno() { errno = before_; }

 private:
  const int before_ = errno;
};

std::string CallName(absl::string_view operation, absl::string_view path) {
  std::string name = absl::StrCat(operation, " ");
  for (const char letter : path.substr(watch->directory.size())) {
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) {
      name.push_back(letter);
    } else if (name.back() != '#') {
      name.push_back('#');
    }
  }
  return name;
}

// Counts a call. Returns the fault that it must have.
std::optional<FaultKind> Enter(absl::string_view operation,
                               const std::string& path) {
  if (!IsWatched(path)) return std::nullopt;
  const std::string name = CallName(operation, path);
  if (name.size() >= kMaxName) std::abort();
  const SharedLock lock(shared);
  Shared::Call* const end = shared->calls + shared->size;
  Shared::Call* call = std::find_if(
      shared->calls, end,
      [&](const Shared::Call& known) { return name == known.name; });
  if (call == end) {
    if (shared->size == kMaxCalls) std::abort();
    std::memcpy(call->name, name.c_str(), name.size() + 1);
    call->count = 0;
    ++shared->size;
  }
  ++call->count;
  const std::optional<Fault>& fault = watch->fault;
  if (!fault.has_value() || shared->has_occurred || fault->call != name ||
      fault->number != call->count) {
    return std::nullopt;
  }
  shared->has_occurred = true;
  return fault->kind;
}

std::optional<FaultKind> Enter(absl::string_view operation, int file) {
  if (watch == nullptr) return std::nullopt;
  const KeepErrno keep;
  return Enter(operation, PathOf(file));
}

int Fail(FaultKind kind) {
  errno = kind == FaultKind::kNoSpace ? ENOSPC : EIO;
  return -1;
}

off_t SizeOf(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? status.st_size : 0;
}

// Must be called before a file is written.
void NoteWrite(int file) {
  if (watch == nullptr) return;
  const KeepErrno keep;
  const std::string path = PathOf(file);
  if (!IsWatched(path)) return;
  const std::lock_guard lock(watch->mutex);
  watch->written.try_emplace(path, WrittenFile{.synced = SizeOf(file)});
}

void NoteSync(int file, bool has_failed) {
  if (watch == nullptr) return;
  const KeepErrno keep;
  const std::lock_guard lock(watch->mutex);
  const auto found = watch->written.find(PathOf(file));
  if (found == watch->written.end()) return;
  const off_t size = SizeOf(file);
  if (has_failed) {
    found->second.lost.push_back({.begin = found->second.synced, .end = size});
  } else {
    found->second.synced = size;
  }
}

void NoteRename(const std::string& from, const std::string& to) {
  if (watch == nullptr) return;
  const std::lock_guard lock(watch->mutex);
  watch->written.erase(to);
  // Directories, too.
  for (auto file = watch->written.begin(); file != watch->written.end();) {
    const absl::string_view path = file->first;
    if (path != from && !absl::StartsWith(path, from + "/")) {
      ++file;
      continue;
    }
    watch->written[absl::StrCat(to, path.substr(from.size()))] = file->second;
    file = watch->written.erase(file);
  }
}

void NoteLink(const std::string& from, const std::string& to) {
  if (watch == nullptr) return;
  const std::lock_guard lock(watch->mutex);
  const auto found = watch->written.find(from);
  if (found == watch->written.end()) return;
  const WrittenFile file = found->second;
  watch->written[to] = file;
}

void NoteRemoval(const std::string& path) {
  if (watch == nullptr) return;
  const std::lock_guard lock(watch->mutex);
  watch->written.erase(path);
}

void NoteTruncation(const std::string& path, off_t size) {
  if (watch == nullptr) return;
  const std::lock_guard lock(watch->mutex);
  const auto found = watch->written.find(path);
  if (found == watch->written.end()) return;
  found->second.synced = std::min(found->second.synced, size);
}

// Writes by `real(bytes, size)`, with a fault.
template <typename Write>
ssize_t WriteWith(FaultKind kind, const void* bytes, size_t size,
                  const Write& real) {
  std::string torn(static_cast<const char*>(bytes), size);
  switch (kind) {
    case FaultKind::kIoError:
    case FaultKind::kNoSpace:
      return Fail(kind);
    case FaultKind::kPartial:
      if (size > 1) real(bytes, size / 2);
      return Fail(kind);
    case FaultKind::kShort:
      return real(bytes, size - size / 2);
    case FaultKind::kTorn:
      std::fill(torn.begin() + static_cast<std::ptrdiff_t>(size / 2),
                torn.end(), '\0');
      return real(torn.data(), size);
  }
  std::abort();
}

int Sync(const char* operation, int file) {
  const InCall in_call;
  const auto kind = Enter(operation, file);
  const int result =
      kind.has_value() ? Fail(*kind) : Real<int(int)>(operation)(file);
  NoteSync(file, result != 0);
  return result;
}

FILE* OpenStream(const char* operation, const char* path, const char* mode) {
  const InCall in_call;
  if (const auto kind = Enter("fopen", std::string(path))) {
    Fail(*kind);
    return nullptr;
  }
  return Real<FILE*(const char*, const char*)>(operation)(path, mode);
}

const char* TextOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIoError:
      return "EIO";
    case FaultKind::kNoSpace:
      return "ENOSPC";
    case FaultKind::kPartial:
      return "EIO after half of the bytes";
    case FaultKind::kShort:
      return "half of the bytes";
    case FaultKind::kTorn:
      return "a torn write";
  }
  std::abort();
}

}  // namespace

std::string NameOf(const Fault& fault) {
  return absl::StrCat(TextOf(fault.kind), " at call ", fault.number, " of ",
                      fault.call);
}

std::vector<FaultKind> KindsOf(const std::string& call) {
  const std::string operation = call.substr(0, call.find(' '));
  if (operation == "write" || operation == "pwrite") {
    return {FaultKind::kIoError, FaultKind::kNoSpace, FaultKind::kPartial,
            FaultKind::kShort, FaultKind::kTorn};
  }
  if (operation == "read" || operation == "pread") {
    return {FaultKind::kIoError, FaultKind::kShort};
  }
  if (operation == "fsync" || operation == "fdatasync" ||
      operation == "rename" || operation == "fallocate") {
    return {FaultKind::kIoError, FaultKind::kNoSpace};
  }
  return {FaultKind::kIoError};
}

void WatchFiles(const std::string& directory,
                const std::optional<Fault>& fault) {
  if (shared == nullptr) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared = static_cast<Shared*>(memory);
  }
  shared->locked.clear();
  shared->size = 0;
  shared->has_occurred = false;
  StopWatchingFiles();
  watch = new Watch{.directory = directory + "/", .fault = fault};
}

void StopWatchingFiles() { delete std::exchange(watch, nullptr); }

bool FaultHasOccurred() { return shared->has_occurred; }

std::map<std::string, uint32_t> Calls() {
  const SharedLock lock(shared);
  std::map<std::string, uint32_t> calls;
  for (size_t i = 0; i < shared->size; ++i) {
    calls[shared->calls[i].name] = shared->calls[i].count;
  }
  return calls;
}

void EndByKill() {
  Calling().lock();
  _exit(0);
}

void EndByPowerCut() {
  Calling().lock();
  const auto real_open = Real<int(const char*, int, ...)>("open");
  const auto real_write =
      Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const auto real_truncate = Real<int(int, off_t)>("ftruncate");
  for (const auto& [path, state] : watch->written) {
    const int file = real_open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) continue;  // removed with its directory
    const off_t size = SizeOf(file);
    for (const WrittenFile::Range& lost : state.lost) {
      const off_t end = std::min(lost.end, size);
      const std::string zeros(
          static_cast<size_t>(std::max<off_t>(end - lost.begin, 0)), '\0');
      if (real_write(file, zeros.data(), zeros.size(), lost.begin) < 0) {
        std::abort();
      }
    }
    if (size > state.synced && real_truncate(file, state.synced) != 0) {
      std::abort();
    }
    close(file);
  }
  _exit(0);
}

}  // namespace fleetperf::testing

// The names of the parameters are those of the manual pages.
extern "C" {

using namespace fleetperf::testing;

int open(const char* path, int flags, ...) {
  const InCall in_call;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode =
      (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  if (const auto kind = Enter("open", std::string(path))) return Fail(*kind);
  static auto* const real = Real<int(const char*, int, ...)>("open");
  if ((flags & O_TRUNC) != 0) NoteTruncation(path, 0);
  return real(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  return OpenStream("fopen", path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return OpenStream("fopen64", path, mode);
}

ssize_t read(int file, void* bytes, size_t size) {
  const InCall in_call;
  const auto kind = Enter("read", file);
  if (kind == FaultKind::kIoError) return Fail(*kind);
  static auto* const real = Real<ssize_t(int, void*, size_t)>("read");
  return real(file, bytes, kind.has_value() ? size - size / 2 : size);
}

ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  const InCall in_call;
  const auto kind = Enter("pread", file);
  if (kind == FaultKind::kIoError) return Fail(*kind);
  static auto* const real = Real<ssize_t(int, void*, size_t, off_t)>("pread");
  return real(file, bytes, kind.has_value() ? size - size / 2 : size, offset);
}

size_t fread_unlocked(void* bytes, size_t size, size_t count, FILE* stream) {
  const InCall in_call;
  if (const auto kind = Enter("fread", fileno(stream))) {
    Fail(*kind);
    return 0;
  }
  static auto* const real =
      Real<size_t(void*, size_t, size_t, FILE*)>("fread_unlocked");
  return real(bytes, size, count, stream);
}

ssize_t write(int file, const void* bytes, size_t size) {
  const InCall in_call;
  NoteWrite(file);
  static auto* const real = Real<ssize_t(int, const void*, size_t)>("write");
  const auto kind = Enter("write", file);
  if (!kind.has_value()) return real(file, bytes, size);
  return WriteWith(*kind, bytes, size, [&](const void* part, size_t length) {
    return real(file, part, length);
  });
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  const InCall in_call;
  NoteWrite(file);
  static auto* const real =
      Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const auto kind = Enter("pwrite", file);
  if (!kind.has_value()) return real(file, bytes, size, offset);
  return WriteWith(*kind, bytes, size, [&](const void* part, size_t length) {
    return real(file, part, length, offset);
  });
}

int fsync(int file) { return Sync("fsync", file); }
int fdatasync(int file) { return Sync("fdatasync", file); }

int ftruncate(int file, off_t size) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("ftruncate", file)) return Fail(*kind);
  if (watch != nullptr) NoteTruncation(PathOf(file), size);
  static auto* const real = Real<int(int, off_t)>("ftruncate");
  return real(file, size);
}

int truncate(const char* path, off_t size) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("truncate", std::string(path))) {
    return Fail(*kind);
  }
  NoteTruncation(path, size);
  static auto* const real = Real<int(const char*, off_t)>("truncate");
  return real(path, size);
}

int fallocate(int file, int mode, off_t offset, off_t size) {
  const InCall in_call;
  if (const auto kind = Enter("fallocate", file)) return Fail(*kind);
  static auto* const real = Real<int(int, int, off_t, off_t)>("fallocate");
  return real(file, mode, offset, size);
}

int rename(const char* from, const char* to) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("rename", std::string(to))) return Fail(*kind);
  static auto* const real = Real<int(const char*, const char*)>("rename");
  const int result = real(from, to);
  if (result == 0) NoteRename(from, to);
  return result;
}

int link(const char* from, const char* to) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("link", std::string(to))) return Fail(*kind);
  static auto* const real = Real<int(const char*, const char*)>("link");
  const int result = real(from, to);
  if (result == 0) NoteLink(from, to);
  return result;
}

int unlink(const char* path) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("unlink", std::string(path))) return Fail(*kind);
  static auto* const real = Real<int(const char*)>("unlink");
  const int result = real(path);
  if (result == 0) NoteRemoval(path);
  return result;
}

int mkdir(const char* path, mode_t mode) noexcept {
  const InCall in_call;
  if (const auto kind = Enter("mkdir", std::string(path))) return Fail(*kind);
  static auto* const real = Real<int(const char*, mode_t)>("mkdir");
  return real(path, mode);
}

}  // extern "C"
