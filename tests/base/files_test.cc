#include "base/files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

// Sets the process's file mode mask for one test.
class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : before_(umask(mask)) {}
  ~ScopedUmask() { umask(before_); }

 private:
  const mode_t before_;
};

class FilesTest : public ::testing::Test {
 protected:
  static unsigned ModeOf(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(FilesTest, ReadsWhatWasWritten) {
  std::string large(1'000'003, 'x');
  large[500'000] = '\0';
  for (const std::string& contents :
       {std::string("text\n"), std::string(), large}) {
    ASSERT_OK(WriteFile(path_, contents));
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(path_));
    EXPECT_TRUE(read == contents) << contents.size();
  }
}

TEST_F(FilesTest, ReportsTheFileThatCannotBeRead) {
  EXPECT_THAT(ReadFile(path_),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path_),
                             HasSubstr("No such file or directory"))));
  EXPECT_THAT(ReadFile(directory_.path()).status().message(),
              AllOf(HasSubstr(directory_.path()), HasSubstr("Is a directory")));
}

TEST_F(FilesTest, ReportsTheFileThatCannotBeWritten) {
  EXPECT_THAT(WriteFile(directory_.File("absent/file"), "x"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(directory_.File("absent/file"))));
  ASSERT_OK(MakeDirectories(path_));
  EXPECT_THAT(WriteFile(path_, "x").message(), HasSubstr(path_));
}

TEST_F(FilesTest, ReplacesAFileInOneStep) {
  ASSERT_OK(WriteFile(path_, "old"));
  std::ifstream reader(path_);
  ASSERT_OK(WriteFile(path_, "new contents"));
  // Whoever had opened the old file still reads all of it.
  std::stringstream read;
  read << reader.rdbuf();
  EXPECT_EQ(read.str(), "old");
  EXPECT_EQ(ReadFile(path_).value(), "new contents");
  // And nothing is left beside it.
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory_.path()), {}),
      1);
}

TEST_F(FilesTest, KeepsTheOldFileIfTheNewOneCannotBeWritten) {
  ASSERT_OK(WriteFile(path_, "old"));
  // As a full disk does, this cuts the new file in the middle.
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

TEST_F(FilesTest, SurvivesWhatACrashLeftBehind) {
  const std::string victim = directory_.File("victim");
  ASSERT_OK(WriteFile(victim, "untouched"));
  std::filesystem::create_symlink(victim, path_ + ".new");
  ASSERT_OK(WriteFile(path_, "key", FileAccess::kOwnerOnly));
  EXPECT_EQ(ReadFile(path_).value(), "key");
  EXPECT_EQ(ReadFile(victim).value(), "untouched");
  EXPECT_EQ(ModeOf(path_), 0600);
}

TEST_F(FilesTest, KeepsKeysFromOthers) {
  const ScopedUmask no_mask(0);
  ASSERT_OK(WriteFile(path_, "public"));
  EXPECT_EQ(ModeOf(path_), 0644);
  ASSERT_OK(WriteFile(path_, "secret", FileAccess::kOwnerOnly));
  EXPECT_EQ(ModeOf(path_), 0600);
}

TEST_F(FilesTest, KnowsWhetherAFileExists) {
  EXPECT_FALSE(FileExists(path_));
  ASSERT_OK(WriteFile(path_, ""));
  EXPECT_TRUE(FileExists(path_));
  EXPECT_TRUE(FileExists(directory_.path()));
}

TEST_F(FilesTest, MakesDirectories) {
  const std::string deep = directory_.File("a/b/c");
  EXPECT_OK(MakeDirectories(deep));
  EXPECT_TRUE(std::filesystem::is_directory(deep));
  EXPECT_OK(MakeDirectories(deep));
  ASSERT_OK(WriteFile(path_, ""));
  EXPECT_THAT(MakeDirectories(path_ + "/a").message(), HasSubstr(path_ + "/a"));
}

TEST(ResolvePath, PutsRelativePathsIntoTheDirectory) {
  EXPECT_EQ(ResolvePath("/etc/fleetperf", "a/b.pem"), "/etc/fleetperf/a/b.pem");
  EXPECT_EQ(ResolvePath("/etc/fleetperf", "/b.pem"), "/b.pem");
  EXPECT_EQ(ResolvePath("etc", "b.pem"), "etc/b.pem");
  EXPECT_EQ(ResolvePath("", "b.pem"), "b.pem");
}

}  // namespace
}  // namespace fleetperf
