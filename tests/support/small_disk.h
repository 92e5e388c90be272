// A file system that a test can fill.

#ifndef FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_
#define FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_

#include <cstdint>
#include <string>

namespace fleetperf::testing {

// Moves this process into a mount namespace of its own. Returns whether the
// process may mount file systems there. Must be called before any thread is
// started.
bool EnterMountNamespace();

// A file system in memory. Unmounted when the object is destroyed.
class SmallDisk {
 public:
  // Mounts a file system of `bytes` bytes at the directory `path`. Throws
  // std::runtime_error if that fails.
  SmallDisk(std::string path, uint64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::string& path() const { return path_; }

  // Writes a filler file until at most `left` bytes are free.
  void Fill(uint64_t left);
  // Removes the filler file.
  void Free();

 private:
  std::string FillerPath() const { return path_ + "/filler"; }

  const std::string path_;
};

// Shows a directory at another path, where nothing can be written. Removed when
// the object is destroyed.
class ReadOnlyMount {
 public:
  // Makes the directory `at`. Throws std::runtime_error if that fails.
  ReadOnlyMount(const std::string& directory, std::string at);
  ~ReadOnlyMount();
  ReadOnlyMount(const ReadOnlyMount&) = delete;
  ReadOnlyMount& operator=(const ReadOnlyMount&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SMALL_DISK_H_
