#include "agent/source/linux/proc_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class ProcFileTest : public ::testing::Test {
 protected:
  // The text of `file`, or its error.
  absl::StatusOr<std::string> Read(ProcFile& file) {
    auto text = file.Read(&buffer_);
    if (!text.ok()) return text.status();
    return std::string(*text);
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("stat");
  std::string buffer_;
};

TEST_F(ProcFileTest, ReadsCurrentContents) {
  ProcFile file(path_);
  EXPECT_EQ(file.path(), path_);
  for (const char* text : {"cpu 1\n", "cpu 123456\n", "", "cpu 2\n"}) {
    Write(path_, text);
    EXPECT_EQ(Read(file).value(), text);
  }
}

TEST_F(ProcFileTest, ReadsFilesOfAnySizeCompletely) {
  ProcFile file(path_);
  for (const size_t size : {1, 4095, 4096, 4097, 16383, 16384, 16385, 32768,
                            100'000, 1'000'000, 50}) {
    std::string text;
    while (text.size() < size) absl::StrAppend(&text, text.size(), " ");
    text.resize(size);
    Write(path_, text);
    EXPECT_TRUE(Read(file).value() == text) << size;
  }
}

// The kernel returns such files record by record, at most about a page per
// read. This file has a line for each of thousands of mappings.
TEST_F(ProcFileTest, ReadsFilesReturnedPageByPage) {
  ProcFile file("/proc/self/maps");
  ASSERT_OK_AND_ASSIGN(const std::string before, Read(file));
  const long page = sysconf(_SC_PAGESIZE);
  constexpr long kMappings = 500;
  // Adjacent pages with different rights are separate mappings.
  void* const memory = mmap(nullptr, kMappings * page, PROT_READ,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (long i = 1; i < kMappings; i += 2) {
    ASSERT_EQ(mprotect(static_cast<char*>(memory) + i * page, page, PROT_NONE),
              0);
  }
  ASSERT_OK_AND_ASSIGN(const std::string text, Read(file));
  munmap(memory, kMappings * page);
  const auto lines = [](const std::string& of) {
    return std::count(of.begin(), of.end(), '\n');
  };
  EXPECT_GE(lines(text), lines(before) + kMappings - 1);
}

TEST_F(ProcFileTest, SharesABufferWithOtherFiles) {
  const std::string long_text(20'000, 'x');
  Write(path_, long_text);
  Write(directory_.File("small"), "7\n");
  ProcFile whole(path_);
  ProcFile small(directory_.File("small"), ProcFile::Kind::kSmall);
  EXPECT_EQ(Read(whole).value(), long_text);
  EXPECT_EQ(Read(small).value(), "7\n");
  EXPECT_EQ(Read(whole).value(), long_text);
}

TEST_F(ProcFileTest, KeepsTheFileOpenUntilItIsClosed) {
  Write(path_, "old");
  ProcFile file(path_);
  ASSERT_OK(Read(file));
  unlink(path_.c_str());
  Write(path_, "new");
  EXPECT_EQ(Read(file).value(), "old");
  file.Close();
  EXPECT_EQ(Read(file).value(), "new");
}

TEST_F(ProcFileTest, KeepsItsDescriptorWhenMoved) {
  Write(path_, "text");
  ProcFile file(path_);
  ASSERT_OK(Read(file));
  unlink(path_.c_str());
  ProcFile moved = std::move(file);
  EXPECT_EQ(Read(moved).value(), "text");
  ProcFile assigned("nowhere");
  assigned = std::move(moved);
  EXPECT_EQ(Read(assigned).value(), "text");
}

TEST_F(ProcFileTest, NamesUnreadableFiles) {
  ProcFile missing(path_);
  EXPECT_THAT(Read(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  ProcFile directory(directory_.path());
  EXPECT_THAT(Read(directory).status().message(), HasSubstr(directory_.path()));
  Write(path_, "there now");
  EXPECT_EQ(Read(missing).value(), "there now");
}

TEST_F(ProcFileTest, ReturnsNotFoundAfterTheProcessEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  const std::string stat = absl::StrCat("/proc/", child, "/stat");
  ASSERT_EQ(symlink(stat.c_str(), path_.c_str()), 0);
  ProcFile file(path_, ProcFile::Kind::kSmall);
  EXPECT_THAT(Read(file).value(), HasSubstr(absl::StrCat(child, " (")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(Read(file),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("No such file")));
  // Files of /sys reappear with their CPU.
  unlink(path_.c_str());
  Write(path_, "new");
  EXPECT_EQ(Read(file).value(), "new");
}

}  // namespace
}  // namespace fleetperf::agent
