// Properties of Linux files: modes, links, limits.

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;

// Sets the process's file mode mask for one test.
class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : before_(umask(mask)) {}
  ~ScopedUmask() { umask(before_); }

 private:
  const mode_t before_;
};

class FilesOnLinuxTest : public ::testing::Test {
 protected:
  static unsigned ModeOf(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(FilesOnLinuxTest, ExplainsWhyAFileCannotBeRead) {
  EXPECT_THAT(ReadFile(path_).status().message(),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(ReadFile(directory_.path()).status().message(),
              HasSubstr("Is a directory"));
}

TEST_F(FilesOnLinuxTest, ReplacesAFileAtomically) {
  ASSERT_OK(WriteFile(path_, "old"));
  std::ifstream reader(path_);
  ASSERT_OK(WriteFile(path_, "new contents"));
  // A reader of the old file still sees all of it.
  std::stringstream read;
  read << reader.rdbuf();
  EXPECT_EQ(read.str(), "old");
  EXPECT_EQ(ReadFile(path_).value(), "new contents");
  // No other file is left in the directory.
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory_.path()), {}),
      1);
}

TEST_F(FilesOnLinuxTest, KeepsTheOldFileIfTheNewOneCannotBeWritten) {
  ASSERT_OK(WriteFile(path_, "old"));
  // Like a full disk, the limit truncates the new file.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status status = WriteFile(path_, std::string(2000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(status.message(), HasSubstr(path_));
  EXPECT_EQ(ReadFile(path_).value(), "old");
}

TEST_F(FilesOnLinuxTest, ReplacesLeftoversOfACrash) {
  const std::string victim = directory_.File("victim");
  ASSERT_OK(WriteFile(victim, "untouched"));
  std::filesystem::create_symlink(victim, path_ + ".new");
  ASSERT_OK(WriteFile(path_, "key", FileAccess::kOwnerOnly));
  EXPECT_EQ(ReadFile(path_).value(), "key");
  EXPECT_EQ(ReadFile(victim).value(), "untouched");
  EXPECT_EQ(ModeOf(path_), 0600);
}

TEST_F(FilesOnLinuxTest, KeepsKeysFromOthers) {
  const ScopedUmask no_mask(0);
  ASSERT_OK(WriteFile(path_, "public"));
  EXPECT_EQ(ModeOf(path_), 0644);
  ASSERT_OK(WriteFile(path_, "secret", FileAccess::kOwnerOnly));
  EXPECT_EQ(ModeOf(path_), 0600);
}

TEST_F(FilesOnLinuxTest, LetsOthersReadCertificatesWhateverTheUmask) {
  const ScopedUmask mask(077);
  ASSERT_OK(WriteFile(path_, "certificate", FileAccess::kPublic));
  EXPECT_EQ(ModeOf(path_), 0644);
}

}  // namespace
}  // namespace fleetperf
