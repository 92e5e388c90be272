#include "perflib/guid.h"

#include <optional>
#include <string>

#include "absl/hash/hash_testing.h"
#include "tests/support/byte_builder.h"
#include "tests/support/guids.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using ::testing::Eq;
using testing::kGuid;
using testing::kGuidHex;
using testing::kGuidText;
using ::testing::Optional;

TEST(Guid, ParsesEveryUsualForm) {
  for (const char* text : {kGuidText, "b4fc721a-0378-476f-89ba-a5a79f810b36",
                           "{B4FC721A-0378-476F-89BA-A5A79F810B36}",
                           "B4fc721A-0378-476F-89ba-a5a79F810b36"}) {
    EXPECT_THAT(ParseGuid(text), Optional(kGuid)) << text;
  }
}

TEST(Guid, FormatsInLowerCaseAndBraces) {
  EXPECT_EQ(kGuid.ToString(), kGuidText);
  EXPECT_EQ(Guid().ToString(), "{00000000-0000-0000-0000-000000000000}");
  EXPECT_EQ((Guid{1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}}).ToString(),
            "{00000001-0002-0003-0405-060708090a0b}");
}

TEST(Guid, RejectsInvalidText) {
  for (const char* text : {
           "",
           "{}",
           "{b4fc721a-0378-476f-89ba-a5a79f810b36",  // one brace
           "b4fc721a-0378-476f-89ba-a5a79f810b36}",
           "{{b4fc721a-0378-476f-89ba-a5a79f810b36}}",
           "b4fc721a-0378-476f-89ba-a5a79f810b3",    // too short
           "b4fc721a-0378-476f-89ba-a5a79f810b366",  // too long
           "b4fc721a00378-476f-89ba-a5a79f810b36",   // a digit in place of a
                                                     // dash
           "b4fc721a-0378-476f-89ba-a5a79f810b3-",   // a dash in place of a
                                                     // digit
           "b4fc721a-0378-476f-89ba-a5a79f810b3g",
           "b4fc721a0378476f89baa5a79f810b36",  // no dashes
           " b4fc721a-0378-476f-89ba-a5a79f810b36",
           "0xb4fc72-0378-476f-89ba-a5a79f810b36",
       }) {
    EXPECT_THAT(ParseGuid(text), Eq(std::nullopt)) << text;
  }
}

TEST(Guid, HasTheBytesOfAWindowsGuid) {
  EXPECT_EQ(kGuid.Bytes(), testing::FromHex(kGuidHex));
  EXPECT_THAT(GuidFromBytes(testing::FromHex(kGuidHex)), Optional(kGuid));
}

TEST(Guid, IsMadeOf16BytesOnly) {
  EXPECT_THAT(GuidFromBytes(""), Eq(std::nullopt));
  EXPECT_THAT(GuidFromBytes(std::string(15, 'x')), Eq(std::nullopt));
  EXPECT_THAT(GuidFromBytes(std::string(17, 'x')), Eq(std::nullopt));
}

TEST(Guid, ComparesAndHashesEveryField) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({
      Guid{},
      Guid{.data1 = 1},
      Guid{.data2 = 1},
      Guid{.data3 = 1},
      Guid{.data4 = {1}},
      Guid{.data4 = {0, 0, 0, 0, 0, 0, 0, 1}},
  }));
  EXPECT_LT((Guid{.data1 = 1, .data2 = 9}), (Guid{.data1 = 2}));
}

}  // namespace
}  // namespace fleetperf::perflib
