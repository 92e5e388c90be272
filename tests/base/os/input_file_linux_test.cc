// Kinds and modes of Linux files.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/os/files.h"
#include "base/os/input_file.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class InputFileOnLinuxTest : public ::testing::Test {
 protected:
  void ExpectRefused(const std::string& path, const std::string& kind) const {
    for (const auto& contents : {ReadInputFile(path), ReadSecretFile(path)}) {
      EXPECT_THAT(contents,
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr(path + " is " + kind +
                                     "; name a regular file, or a link to "
                                     "one")));
    }
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
  const std::string link_ = directory_.File("link");
};

// Nobody writes to the FIFO, so that a read of it would never end.
TEST_F(InputFileOnLinuxTest, RefusesOtherKindsOfFiles) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused(path_, "a FIFO");
  ASSERT_EQ(symlink(path_.c_str(), link_.c_str()), 0);
  ExpectRefused(link_, "a FIFO");
  ExpectRefused("/dev/zero", "a device");
  ExpectRefused("/dev/null", "a device");
  ExpectRefused(directory_.path(), "a directory");
}

TEST_F(InputFileOnLinuxTest, RefusesSockets) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path_.size(), sizeof address.sun_path);
  std::copy(path_.begin(), path_.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ExpectRefused(path_, "a socket");
  close(fd);
}

TEST_F(InputFileOnLinuxTest, FollowsLinks) {
  ASSERT_OK(WriteFile(path_, "contents", FileAccess::kOwnerOnly));
  ASSERT_EQ(symlink(path_.c_str(), link_.c_str()), 0);
  EXPECT_EQ(ReadInputFile(link_).value(), "contents");
  EXPECT_EQ(ReadSecretFile(link_).value(), "contents");
}

TEST_F(InputFileOnLinuxTest, RefusesLargeFilesByTheirSize) {
  ASSERT_OK(WriteFile(path_, ""));
  ASSERT_OK(TruncateFile(path_, uint64_t{1} << 40));  // has no blocks
  EXPECT_THAT(ReadInputFile(path_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(path_)));
}

TEST_F(InputFileOnLinuxTest, ReadsFilesWithoutASize) {
  EXPECT_THAT(ReadInputFile("/proc/self/status").value(), HasSubstr("Threads"));
}

TEST_F(InputFileOnLinuxTest, ReadsIfTheSystemStartsNoThread) {
  ASSERT_OK(WriteFile(path_, "contents"));
  const testing::NoNewThreads no_new_threads;
  EXPECT_EQ(ReadInputFile(path_).value(), "contents");
}

TEST_F(InputFileOnLinuxTest, RefusesSecretsThatOthersMayAccess) {
  ASSERT_OK(WriteFile(path_, "secret", FileAccess::kOwnerOnly));
  ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
  EXPECT_EQ(ReadSecretFile(path_).value(), "secret");
  for (const mode_t mode : {0640, 0620, 0604, 0610, 0644}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(ReadInputFile(path_).value(), "secret");
    EXPECT_THAT(ReadSecretFile(path_),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         HasSubstr("run: chmod 600 '" + path_ + "'")))
        << mode;
  }
}

TEST_F(InputFileOnLinuxTest, LeavesTheModesOfCredentialsToSystemd) {
  ASSERT_OK(WriteFile(path_, "secret"));
  ASSERT_EQ(chmod(path_.c_str(), 0440), 0);
  EXPECT_FALSE(ReadSecretFile(path_).ok());
  setenv("CREDENTIALS_DIRECTORY", directory_.path().c_str(), 1);
  EXPECT_EQ(ReadSecretFile(path_).value(), "secret");
  unsetenv("CREDENTIALS_DIRECTORY");
}

}  // namespace
}  // namespace fleetperf
