#include "perflib/v1/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  ASSERT_OK_AND_ASSIGN(
      const V1Names names,
      V1Names::Read(V1NameTable({{2, "System"}, {4, "Memory"}, {6, "Größe"}})));
  EXPECT_THAT(names.all(), ElementsAre(Pair(2, "System"), Pair(4, "Memory"),
                                       Pair(6, "Größe")));
  EXPECT_EQ(names.Find(4), "Memory");
  EXPECT_EQ(names.Find(5), "");
  EXPECT_EQ(names.Find(1), "");  // 1847 is no name
}

TEST(V1NamesTest, LeavesOutWhatIsNoPair) {
  const std::string nul(2, '\0');
  ASSERT_OK_AND_ASSIGN(
      const V1Names names,
      V1Names::Read(Utf16("x") + nul + Utf16("no index") + nul + Utf16("4") +
                    nul + Utf16("Memory") + nul + Utf16("4") + nul +
                    Utf16("again") + nul + Utf16("99999999999") + nul +
                    Utf16("too large") + nul + nul + Utf16("6") + nul +
                    Utf16("behind the end") + nul));
  EXPECT_THAT(names.all(), ElementsAre(Pair(4, "Memory")));
}

TEST(V1NamesTest, ReadsEmptyTables) {
  ASSERT_OK_AND_ASSIGN(const V1Names none, V1Names::Read(""));
  EXPECT_THAT(none.all(), IsEmpty());
}

TEST(V1NamesTest, RejectsTextsWithoutNul) {
  EXPECT_THAT(V1Names::Read(Utf16("4")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("offset 0: a text of the name table")));
  const std::string bytes = V1NameTable({{2, "System"}});
  for (size_t size = 1; size + 2 < bytes.size(); ++size) {
    const auto names = V1Names::Read(bytes.substr(0, size));
    EXPECT_THAT(names.value_or(V1Names()).all(), IsEmpty()) << size;
  }
}

}  // namespace
}  // namespace fleetperf::perflib
