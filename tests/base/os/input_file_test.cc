#include "base/os/input_file.h"

#include <memory>
#include <string>
#include <thread>

#include "base/os/files.h"
#include "tests/support/gate.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class InputFileTest : public ::testing::Test {
 protected:
  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(InputFileTest, ReadsRegularFiles) {
  ASSERT_OK(WriteFile(path_, "contents", FileAccess::kOwnerOnly));
  EXPECT_EQ(ReadInputFile(path_).value(), "contents");
  EXPECT_EQ(ReadSecretFile(path_).value(), "contents");
  ASSERT_OK(WriteFile(path_, "", FileAccess::kOwnerOnly));
  EXPECT_EQ(ReadInputFile(path_).value(), "");
  EXPECT_THAT(ReadInputFile(directory_.File("absent")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
}

TEST_F(InputFileTest, RefusesLargeFiles) {
  const std::string most(kMaxInputFileBytes, 'x');
  ASSERT_OK(WriteFile(path_, most));
  EXPECT_EQ(ReadInputFile(path_).value(), most);
  ASSERT_OK(WriteFile(path_, most + "x"));
  EXPECT_THAT(
      ReadInputFile(path_),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr(path_ + " has more than 16MiB, the limit of such "
                                 "files; name the right file")));
}

// The gate stands for a filesystem that does not answer.
TEST_F(InputFileTest, WaitsOnceForAFileThatHangs) {
  const auto gate = std::make_shared<testing::Gate>();
  const auto read = [&](const std::string& path, absl::Duration timeout) {
    return internal::ReadInTime(path, timeout,
                                [gate]() -> absl::StatusOr<std::string> {
                                  gate->Pass();
                                  return "contents";
                                });
  };
  gate->Close();
  EXPECT_THAT(read(path_, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("cannot read " + path_ +
                                 ": its filesystem has not answered for 5s; "
                                 "check its disk or network")));
  ASSERT_TRUE(gate->AwaitStopped());
  // Does not wait again, and starts no other thread.
  EXPECT_THAT(read(path_, absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(path_)));
  gate->Open();
  // A moment later, the first read has returned.
  absl::StatusOr<std::string> again = absl::UnknownError("not read");
  while (!again.ok()) {
    std::this_thread::yield();
    again = read(path_, absl::InfiniteDuration());
  }
  EXPECT_EQ(*again, "contents");
}

TEST_F(InputFileTest, ReadsOtherFilesWhileOneHangs) {
  const auto gate = std::make_shared<testing::Gate>();
  gate->Close();
  const auto hanging = internal::ReadInTime(
      path_, absl::ZeroDuration(), [gate]() -> absl::StatusOr<std::string> {
        gate->Pass();
        return "";
      });
  EXPECT_THAT(hanging,
              StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
  ASSERT_OK(WriteFile(directory_.File("other"), "contents"));
  EXPECT_EQ(ReadInputFile(directory_.File("other")).value(), "contents");
  gate->Open();
}

}  // namespace
}  // namespace fleetperf
