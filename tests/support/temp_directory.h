// A directory for one test, removed with everything in it at the end.

#ifndef FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_
#define FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace fleetperf::testing {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "fleetperf_test.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make " + pattern);
    }
    path_ = pattern;
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

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_TEMP_DIRECTORY_H_
