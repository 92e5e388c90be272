// A file system that can be filled.

#ifndef FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_
#define FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_

#include <cstdint>
#include <string>

namespace fleetperf::testing {

// Whether this process may mount file systems, from now on in a namespace of
// its own. Called before any thread is started.
bool EnterMountNamespace();

// In memory, until it is destroyed.
class SmallDisk {
 public:
  // Mounts it at `path`, a directory.
  SmallDisk(std::string path, uint64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::string& path() const { return path_; }

  // Leaves so many bytes free, or some fewer.
  void Fill(uint64_t left);
  void Free();

 private:
  std::string FillerPath() const { return path_ + "/filler"; }

  const std::string path_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_
