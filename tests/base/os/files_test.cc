#include "base/os/files.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

class FilesTest : public ::testing::Test {
 protected:
  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(FilesTest, RoundTripsContents) {
  std::string large(1'000'003, 'x');
  large[500'000] = '\0';
  for (const std::string& contents :
       {std::string("text\n"), std::string(), large}) {
    ASSERT_OK(WriteFile(path_, contents));
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(path_));
    EXPECT_TRUE(read == contents) << contents.size();
  }
}

TEST_F(FilesTest, NamesUnreadableFiles) {
  EXPECT_THAT(ReadFile(path_),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("cannot read"), HasSubstr(path_))));
  EXPECT_THAT(ReadFile(directory_.path()).status().message(),
              AllOf(HasSubstr("cannot read"), HasSubstr(directory_.path())));
}

TEST_F(FilesTest, NamesUnwritableFiles) {
  EXPECT_THAT(WriteFile(directory_.File("absent/file"), "x"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(directory_.File("absent/file"))));
  ASSERT_OK(MakeDirectories(path_));
  EXPECT_THAT(WriteFile(path_, "x").message(), HasSubstr(path_));
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

TEST_F(FilesTest, RenamesEmptiesRemovesAndLists) {
  for (const std::string& directory :
       {directory_.path(), testing::LongDirectoryIn(directory_.path())}) {
    ASSERT_OK(MakeDirectories(directory));
    const std::string from = ResolvePath(directory, "from");
    const std::string to = ResolvePath(directory, "z\xC3\xA4hler");
    ASSERT_OK(WriteFile(from, "12345"));
    ASSERT_OK(WriteFile(to, "old"));
    ASSERT_OK(RenameFile(from, to));
    EXPECT_FALSE(FileExists(from));
    const auto list = [&] {
      std::vector<std::string> entries;
      const auto listed = ListDirectory(directory).value();
      for (const DirectoryEntry& entry : listed) {
        entries.push_back(absl::StrCat(entry.name, " ", entry.size));
      }
      return entries;
    };
    EXPECT_THAT(list(), ElementsAre("z\xC3\xA4hler 5"));
    ASSERT_OK(TruncateFile(to, 2));
    EXPECT_THAT(list(), ElementsAre("z\xC3\xA4hler 2"));
    EXPECT_EQ(ReadFile(to).value(), "12");
    ASSERT_OK(RemoveFile(to));
    EXPECT_THAT(list(), IsEmpty());
    EXPECT_OK(RemoveFile(to));
    EXPECT_THAT(RenameFile(from, to).message(), HasSubstr(from));
    EXPECT_THAT(TruncateFile(to, 0).message(), HasSubstr(to));
  }
  EXPECT_THAT(ListDirectory(directory_.File("missing")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

TEST(ResolvePath, PutsRelativePathsIntoTheDirectory) {
  EXPECT_EQ(ResolvePath("/etc/fleetperf", "a/b.pem"), "/etc/fleetperf/a/b.pem");
  EXPECT_EQ(ResolvePath("/etc/fleetperf", "/b.pem"), "/b.pem");
  EXPECT_EQ(ResolvePath("etc", "b.pem"), "etc/b.pem");
  EXPECT_EQ(ResolvePath("", "b.pem"), "b.pem");
}

}  // namespace
}  // namespace fleetperf
