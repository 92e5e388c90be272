#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {
namespace {

// Calls `call` until a signal does not interrupt it. Returns its result, or the
// negated errno.
template <typename Call>
auto Restarted(Call call) -> decltype(call()) {
  while (true) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

class Linux final : public System {
 public:
  int Open(Attributes* attributes, int pid, int cpu, int group,
           unsigned long flags) override {
    return static_cast<int>(Restarted([&] {
      return syscall(SYS_perf_event_open, attributes, pid, cpu, group, flags);
    }));
  }

  // Linux closes the descriptor even if close() reports EINTR.
  int Close(int descriptor) override {
    return close(descriptor) < 0 ? -errno : 0;
  }

  int Ioctl(int descriptor, unsigned long request,
            unsigned long argument) override {
    return Restarted([&] { return ioctl(descriptor, request, argument); });
  }

  int64_t Read(int descriptor, void* buffer, size_t size) override {
    return Restarted([&] { return read(descriptor, buffer, size); });
  }

  int Map(int descriptor, size_t size, uint64_t offset, bool writable,
          void** address) override {
    void* const mapped =
        mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return -errno;
    *address = mapped;
    return 0;
  }

  void Unmap(void* address, size_t size) override { munmap(address, size); }

  int Poll(int descriptor, short events, int timeout_milliseconds,
           short* occurred) override {
    pollfd entry = {.fd = descriptor, .events = events, .revents = 0};
    const int ready = poll(&entry, 1, timeout_milliseconds);
    *occurred = entry.revents;
    return ready < 0 ? -errno : ready;
  }

#if defined(__x86_64__) || defined(__i386__)
  bool has_rdpmc() const override { return true; }
  uint64_t ReadPmc(uint32_t index) override {
    return static_cast<uint64_t>(__rdpmc(static_cast<int>(index)));
  }
  uint64_t ReadTimestampCounter() override { return __rdtsc(); }
#elif defined(__aarch64__)
  bool has_rdpmc() const override { return false; }
  uint64_t ReadPmc(uint32_t) override { return 0; }
  uint64_t ReadTimestampCounter() override {
    uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
  }
#else
  bool has_rdpmc() const override { return false; }
  uint64_t ReadPmc(uint32_t) override { return 0; }
  uint64_t ReadTimestampCounter() override { return 0; }
#endif

  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const int file =
        Restarted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
    if (file < 0) return absl::ErrnoToStatus(-file, path);
    std::string text;
    char buffer[4096];
    int64_t size;
    while ((size = Read(file, buffer, sizeof(buffer))) > 0) {
      text.append(buffer, static_cast<size_t>(size));
    }
    Close(file);
    if (size < 0) return absl::ErrnoToStatus(static_cast<int>(-size), path);
    return text;
  }

  absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) override {
    DIR* const directory = opendir(path.c_str());
    if (directory == nullptr) return absl::ErrnoToStatus(errno, path);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  size_t page_size() const override { return page_size_; }

 private:
  const size_t page_size_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
};

}  // namespace

System& LinuxSystem() {
  static Linux* const system = new Linux;
  return *system;
}

}  // namespace fleetperf::perf_event
