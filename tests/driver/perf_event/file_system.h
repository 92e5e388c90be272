// A System that has only files, which a test writes.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_FILE_SYSTEM_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_FILE_SYSTEM_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event::testing {

// All system calls fail with ENOSYS. A directory exists if a file is below it.
class FileSystem : public System {
 public:
  using Files = std::map<std::string, std::string>;

  FileSystem() = default;
  explicit FileSystem(Files files) : files_(std::move(files)) {}

  void Write(const std::string& path, const std::string& text) {
    files_[path] = text;
  }
  // Makes reading the files and directories at and below `path` fail.
  void Forbid(const std::string& path) { forbidden_.insert(path); }

  int Open(Attributes*, int, int, int, unsigned long) override {
    return -ENOSYS;
  }
  int Close(int) override { return -ENOSYS; }
  int Ioctl(int, unsigned long, unsigned long) override { return -ENOSYS; }
  int64_t Read(int, void*, size_t) override { return -ENOSYS; }
  int Map(int, size_t, uint64_t, bool, void**) override { return -ENOSYS; }
  void Unmap(void*, size_t) override {}
  int Poll(int, short, int, short*) override { return -ENOSYS; }
  bool has_rdpmc() const override { return false; }
  uint64_t ReadPmc(uint32_t) override { return 0; }
  uint64_t ReadTimestampCounter() override { return 0; }
  size_t page_size() const override { return 4096; }

  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    if (IsForbidden(path)) return absl::PermissionDeniedError(path);
    const auto file = files_.find(path);
    if (file == files_.end()) return absl::NotFoundError(path);
    return file->second;
  }

  absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) override {
    if (IsForbidden(path)) return absl::PermissionDeniedError(path);
    const std::string prefix = path + "/";
    std::set<std::string> names;
    for (const auto& [file, text] : files_) {
      if (!absl::StartsWith(file, prefix)) continue;
      const std::string rest = file.substr(prefix.size());
      names.insert(rest.substr(0, rest.find('/')));
    }
    if (names.empty()) return absl::NotFoundError(path);
    return std::vector<std::string>(names.begin(), names.end());
  }

 private:
  bool IsForbidden(const std::string& path) const {
    for (const std::string& forbidden : forbidden_) {
      if (path == forbidden || absl::StartsWith(path, forbidden + "/")) {
        return true;
      }
    }
    return false;
  }

  Files files_;
  std::set<std::string> forbidden_;
};

}  // namespace fleetperf::perf_event::testing

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_FILE_SYSTEM_H_
