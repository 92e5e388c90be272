#include "tests/support/small_disk.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace fleetperf::testing {
namespace {

void WriteMapping(const char* path, uid_t id) {
  std::ofstream(path) << "0 " << id << " 1";
}

}  // namespace

bool EnterMountNamespace() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (user != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    WriteMapping("/proc/self/uid_map", user);
    WriteMapping("/proc/self/gid_map", group);
  } else if (unshare(CLONE_NEWNS) != 0) {
    return false;
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

SmallDisk::SmallDisk(std::string path, uint64_t bytes)
    : path_(std::move(path)) {
  const std::string size = "size=" + std::to_string(bytes);
  if (mount("tmpfs", path_.c_str(), "tmpfs", 0, size.c_str()) != 0) {
    throw std::runtime_error("cannot mount a file system at " + path_);
  }
}

SmallDisk::~SmallDisk() { umount2(path_.c_str(), MNT_DETACH); }

void SmallDisk::Fill(uint64_t left) {
  std::ofstream filler(FillerPath(), std::ios::binary | std::ios::app);
  const std::string block(4096, 'x');
  while (
      std::filesystem::space(path_).available > left &&
      filler.write(block.data(), static_cast<std::streamsize>(block.size()))) {
    filler.flush();
  }
}

ReadOnlyMount::ReadOnlyMount(const std::string& directory, std::string at)
    : path_(std::move(at)) {
  std::filesystem::create_directory(path_);
  if (mount(directory.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY,
            nullptr) != 0) {
    throw std::runtime_error("cannot mount a directory at " + path_);
  }
}

ReadOnlyMount::~ReadOnlyMount() { umount2(path_.c_str(), MNT_DETACH); }

void SmallDisk::Free() { std::filesystem::remove(FillerPath()); }

}  // namespace fleetperf::testing
