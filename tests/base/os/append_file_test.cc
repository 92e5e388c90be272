#include "base/os/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/os/directory_lock.h"
#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(AppendFile, GrowsAtItsEndWhereverItWasOpened) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("file");
  {
    auto file = AppendFile::Open(path);
    ASSERT_OK(file);
    EXPECT_EQ((*file)->position(), 0);
    ASSERT_OK((*file)->Append("one "));
    ASSERT_OK((*file)->Append("two "));
    EXPECT_EQ((*file)->position(), 8);
    EXPECT_THAT(ReadFile(path), IsOkAndHolds("one two "));
  }
  auto file = AppendFile::Open(path);
  ASSERT_OK(file);
  EXPECT_EQ((*file)->position(), 8);
  ASSERT_OK((*file)->Append("three"));
  ASSERT_OK((*file)->Sync());
  EXPECT_THAT(ReadFile(path), IsOkAndHolds("one two three"));
  ASSERT_OK((*file)->Rewind());
  EXPECT_EQ((*file)->position(), 0);
  ASSERT_OK((*file)->Append("four"));
  EXPECT_THAT(ReadFile(path), IsOkAndHolds("fourtwo three"));
}

// Windows refuses paths of 260 characters in their usual form.
TEST(AppendFile, TakesLongPaths) {
  const testing::TempDirectory directory;
  const std::string long_directory = testing::LongDirectoryIn(directory.path());
  ASSERT_OK(MakeDirectories(long_directory));
  const std::string path = ResolvePath(long_directory, "file");
  {
    ASSERT_OK_AND_ASSIGN(const auto file, AppendFile::Open(path));
    ASSERT_OK(file->Append("one"));
    EXPECT_OK(FileLock::Acquire(ResolvePath(long_directory, "lock")));
  }
  EXPECT_TRUE(FileExists(path));
  EXPECT_THAT(ReadFile(path), IsOkAndHolds("one"));
  ASSERT_OK(WriteFile(path, "two"));
  EXPECT_THAT(ReadFileRange(path, 0, 3), IsOkAndHolds("two"));
}

TEST(AppendFile, NamesAFileThatCannotBeOpened) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("missing/file");
  EXPECT_THAT(AppendFile::Open(path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
}

TEST(FileLock, IsHeldOnceAtATime) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("lock");
  {
    const auto lock = FileLock::Acquire(path);
    ASSERT_OK(lock);
    EXPECT_THAT(FileLock::Acquire(path),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("is in use by another process")));
  }
  EXPECT_OK(FileLock::Acquire(path));
}

TEST(DirectoryLock, IsExclusiveOrShared) {
  using Kind = DirectoryLock::Kind;
  const testing::TempDirectory directory;
  {
    const auto lock = DirectoryLock::Acquire(directory.path());
    ASSERT_OK(lock);
    for (const Kind kind : {Kind::kExclusive, Kind::kShared}) {
      const auto second = DirectoryLock::Acquire(directory.path(), kind);
#ifdef _WIN32
      EXPECT_OK(second);
#else
      EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("is in use by another process")));
#endif
    }
  }
  const auto reader = DirectoryLock::Acquire(directory.path(), Kind::kShared);
  ASSERT_OK(reader);
  EXPECT_OK(DirectoryLock::Acquire(directory.path(), Kind::kShared));
}

TEST(ReadFileRange, ReadsTheRangeOrFails) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("file");
  ASSERT_OK(WriteFile(path, "0123456789"));
  EXPECT_THAT(ReadFileRange(path, 3, 4), IsOkAndHolds("3456"));
  EXPECT_THAT(ReadFileRange(path, 10, 0), IsOkAndHolds(""));
  EXPECT_THAT(ReadFileRange(path, 8, 4),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  EXPECT_THAT(ReadFileRange(directory.File("missing"), 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

}  // namespace
}  // namespace fleetperf
