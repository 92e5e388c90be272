// A directory for one test, removed with everything in it at the end.

#ifndef FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_
#define FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_

#include <filesystem>
#include <random>
#include <string>

namespace fleetperf::testing {

class TempDirectory {
 public:
  explicit TempDirectory(const std::filesystem::path& parent =
                             std::filesystem::temp_directory_path()) {
    std::random_device random;
    std::filesystem::path path;
    do {
      path = parent / ("fleetperf_test." + std::to_string(random()));
    } while (!std::filesystem::create_directory(path));
    path_ = path.generic_string();
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A parent for small files that tests write thousands of times, which takes a
// tenth of the time in memory.
inline std::filesystem::path MemoryDirectory() {
  std::error_code ignored;
  return std::filesystem::is_directory("/dev/shm", ignored)
             ? "/dev/shm"
             : std::filesystem::temp_directory_path();
}

// Returns a path in `directory` that is longer than 260 characters, which
// Windows takes in one form only, and has characters of several code pages.
inline std::string LongDirectoryIn(const std::string& directory) {
  const std::string part =
      "/z\xC3\xA4hler-\xE6\x95\xB0-\xD0\x96-" + std::string(90, 'x');
  return directory + part + part + part;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_
