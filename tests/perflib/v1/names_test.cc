#include "perflib/v1/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/byte_builder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::StatusIs;
using testing::Utf16;
using testing::V1NameTable;

TEST(V1NamesTest, ReadsPairs) {
  const V1Names names =
      V1Names::Read(V1NameTable({{2, "System"}, {4, "Memory"}, {6, "Größe"}}));
  EXPECT_OK(names.status());
  EXPECT_THAT(names.all(), ElementsAre(Pair(2, "System"), Pair(4, "Memory"),
                                       Pair(6, "Größe")));
  EXPECT_EQ(names.Find(4), "Memory");
  EXPECT_EQ(names.Find(5), "");
  EXPECT_EQ(names.Find(1), "");  // 1847 is no name
}

TEST(V1NamesTest, LeavesOutWhatIsNoPair) {
  std::string bytes;
  for (const char* text : {"x",
                           "no index",
                           "4",
                           "Memory",
                           "4",
                           "again",
                           "99999999999",
                           "too large",
                           " 6",
                           "space",
                           "+8",
                           "sign",
                           "-10",
                           "negative",
                           "12 ",
                           "space",
                           "0x1",
                           "hexadecimal",
                           "",
                           "14",
                           "behind the end"}) {
    bytes += Utf16(text) + std::string(2, '\0');
  }
  const V1Names names = V1Names::Read(bytes);
  EXPECT_OK(names.status());
  EXPECT_THAT(names.all(), ElementsAre(Pair(4, "Memory")));
}

TEST(V1NamesTest, ReadsEmptyTables) {
  const V1Names none = V1Names::Read("");
  EXPECT_OK(none.status());
  EXPECT_THAT(none.all(), IsEmpty());
}

TEST(V1NamesTest, ATextWithoutNulEndsTheTable) {
  EXPECT_THAT(V1Names::Read(Utf16("4")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "offset 0: a text of the name table has no NUL within "
                       "its 2 bytes"));
  const std::string first = V1NameTable({{2, "System"}});
  const std::string bytes = V1NameTable({{2, "System"}, {4, "Memory"}});
  // Cut inside the pair of Memory, after the end of System's.
  for (size_t size = first.size() - 1; size + 2 < bytes.size(); ++size) {
    const V1Names names = V1Names::Read(bytes.substr(0, size));
    EXPECT_THAT(names.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("has no NUL")));
    EXPECT_THAT(names.all(), ElementsAre(Pair(2, "System"))) << size;
  }
}

}  // namespace
}  // namespace fleetperf::perflib
