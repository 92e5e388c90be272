// A direct automount of this machine's kernel expires while its filesystem is
// collected.

#include <fcntl.h>
#include <linux/auto_fs.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/patience.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;

// Unmounts the filesystem when the kernel asks for it.
void AnswerExpiry(int requests, int autofs, const std::string& path) {
  autofs_v5_packet packet;
  while (read(requests, &packet, sizeof(packet)) == sizeof(packet)) {
    const bool is_done = packet.hdr.type == autofs_ptype_expire_direct &&
                         umount2(path.c_str(), 0) == 0;
    ioctl(autofs, is_done ? AUTOFS_IOC_READY : AUTOFS_IOC_FAIL,
          packet.wait_queue_token);
  }
}

// Mounts an automount at `path` and a filesystem on it, writes a byte to
// `ready`, and returns when it has expired, a second or more after its last
// use. Returns the error of a step that failed, or 0.
int RunAutomounter(const std::string& path, int ready) {
  setpgid(0, 0);  // what this group does is no use
  int requests[2];
  if (pipe2(requests, O_CLOEXEC) != 0) return errno;
  const std::string options = absl::StrCat(
      "fd=", requests[1], ",pgrp=", getpgrp(), ",minproto=5,maxproto=5,direct");
  if (mount("test", path.c_str(), "autofs", 0, options.c_str()) != 0) {
    return errno;
  }
  const int autofs = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  unsigned long seconds = 1;
  if (autofs < 0 || ioctl(autofs, AUTOFS_IOC_SETTIMEOUT, &seconds) != 0 ||
      mount("test", path.c_str(), "tmpfs", 0, "") != 0) {
    return errno;
  }
  const pid_t answers = fork();
  if (answers == 0) {
    AnswerExpiry(requests[0], autofs, path);
    _exit(0);
  }
  if (write(ready, "", 1) != 1) return errno;
  int how = 0;
  while (ioctl(autofs, AUTOFS_IOC_EXPIRE_MULTI, &how) != 0) {
    if (errno != EAGAIN) return errno;
    poll(nullptr, 0, /*timeout=*/100);
  }
  kill(answers, SIGKILL);
  return 0;
}

class AutomountLiveTest : public testing::LinuxFixture {
 protected:
  AutomountLiveTest() {
    std::filesystem::create_directories(PathOf("auto"));
    Write("proc/diskstats", "");
    Write("proc/self/mountinfo",
          "60 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
          "61 60 0:50 / /auto rw - autofs test rw,direct\n"
          "62 61 8:17 / /auto rw - ext4 /dev/sdb1 rw\n");
  }

  // Collects until the filesystem has expired. Sets why it cannot be mounted.
  // The mounts are those of the calling thread, and of those that it starts.
  void Collect() {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      skipped_ = absl::StrCat("no mount namespace: ", strerror(errno));
      return;
    }
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t automounter = fork();
    if (automounter == 0) _exit(RunAutomounter(PathOf("auto"), ready[1]));
    close(ready[1]);
    char byte;
    const bool is_mounted = read(ready[0], &byte, 1) == 1;
    const absl::Time deadline = absl::Now() + testing::kPatience;
    while (is_mounted && IsOpen(ready[0]) && absl::Now() < deadline) {
      last_ = Sample("LogicalDisk");
      clock_.Advance(absl::Seconds(2));
    }
    close(ready[0]);
    if (is_mounted) has_expired_ = absl::Now() < deadline;
    kill(-automounter, SIGKILL);
    int status = 0;
    waitpid(automounter, &status, 0);
    if (!is_mounted) {
      skipped_ = absl::StrCat("no automount: ", strerror(WEXITSTATUS(status)));
    }
  }

  std::string skipped_;
  bool has_expired_ = false;
  Reading last_;

 private:
  // Waits a moment for the end of the processes that have the other end.
  static bool IsOpen(int pipe) {
    pollfd end = {.fd = pipe, .events = POLLIN, .revents = 0};
    return poll(&end, 1, /*timeout=*/50) == 0;
  }
};

TEST_F(AutomountLiveTest, ExpiresWhileItIsCollected) {
  std::thread thread([this] { Collect(); });
  thread.join();
  if (!skipped_.empty()) GTEST_SKIP() << skipped_;
  EXPECT_TRUE(has_expired_);
  EXPECT_TRUE(last_.Get("/", "Free Megabytes").has_value());
  EXPECT_EQ(last_.Get("/auto", "Free Megabytes"), std::nullopt);
  EXPECT_EQ(last_.rows.count("/auto"), 1);
}

}  // namespace
}  // namespace fleetperf::agent
