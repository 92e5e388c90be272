// The source of PerfLib V1 over providers that run in another process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/windows/v1/provider_process.h"
#include "base/os/child_process.h"
#include "base/os/files.h"
#include "perflib/v1/counterset.h"
#include "tests/agent/source/windows/v1_source_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

// The providers of these tests run in a process that may hang or crash.
class ProviderProcessTest : public V1SourceTest {
 protected:
  std::vector<std::string> Command(const std::vector<json>& objects) {
    const std::string script = directory_.File("script.json");
    EXPECT_OK(WriteFile(script,
                        json{{"machines", {{"", {{"v1", objects}}}}}}.dump()));
    const std::string self = ExecutablePath().value();
    const std::string folder = self.substr(0, self.find_last_of("/\\"));
    const std::string suffix =
        self.substr(self.size() - 4) == ".exe" ? ".exe" : "";
    return {absl::StrCat(folder, "/scripted_provider_process", suffix), script};
  }
  std::unique_ptr<Source> OpenProcess(const std::vector<json>& objects,
                                      absl::Duration timeout) {
    return MakeV1Source(
        [command = Command(objects), timeout] {
          return MakeProcessPerformanceData(command, timeout);
        },
        absl::InfiniteDuration());
  }

  testing::TempDirectory directory_;
};

TEST_F(ProviderProcessTest, AnswersAsTheRegistryDoes) {
  const auto source =
      OpenProcess({Memory(), Process()}, absl::InfiniteDuration());
  EXPECT_THAT(Names(*source),
              UnorderedElementsAre("Memory", "Process", "Process V2"));
  const auto handle =
      Handle(*source, {{.counterset = kMemoryGuid},
                       {.counterset = kProcessGuid, .instance = "*"}});
  for (int i = 0; i < 3; ++i) {
    Read(*handle);
    EXPECT_EQ(Text(0), "4096");
    EXPECT_EQ(Text(1), "cmd:100=11,100 cmd:200=22,200 _Total:0=33,0");
  }
}

TEST_F(ProviderProcessTest, ErrorsOfTheChildReachTheParent) {
  const auto data =
      MakeProcessPerformanceData(Command({Memory()}), absl::InfiniteDuration());
  std::string bytes;
  EXPECT_THAT(
      data->Query("Help 009", &bytes),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("RegQueryValueEx")));
  EXPECT_OK(data->Query("4", &bytes));  // the child still answers
}

TEST_F(ProviderProcessTest, ACrashCostsOneQueryAndTheNextStartsAnotherChild) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  const auto data = MakeProcessPerformanceData(Command({Memory(), crashing}),
                                               absl::InfiniteDuration());
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(data->Query("4", &bytes));
    EXPECT_THAT(data->Query("230", &bytes),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("asked for \"230\": the process"),
                               ::testing::AnyOf(HasSubstr("status 3"),
                                                HasSubstr("0x00000003")))));
  }
}

TEST_F(ProviderProcessTest, AHangingChildIsEnded) {
  json hanging = Process();
  hanging["hangs_from"] = 0;
  const auto data = MakeProcessPerformanceData(Command({Memory(), hanging}),
                                               absl::Milliseconds(300));
  std::string bytes;
  EXPECT_THAT(
      data->Query("230", &bytes),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("no answer within")));
}

TEST_F(ProviderProcessTest, AMissingExecutableIsNamed) {
  const auto data =
      MakeProcessPerformanceData({"/no/such/file"}, absl::Seconds(1));
  std::string bytes;
  EXPECT_THAT(data->Query("4", &bytes), StatusIs(absl::StatusCode::kNotFound,
                                                 HasSubstr("/no/such/file")));
}

// If one provider crashes the list, the well-known objects are read one by one,
// and those that the plan names, in whatever way.
TEST_F(ProviderProcessTest, OneCrashingProviderHidesNoOther) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  json own = Memory();
  own["index"] = 5000;
  own["name"] = "My Service";
  json other_crashing = crashing;
  other_crashing["index"] = 6000;
  other_crashing["name"] = "My Crash";
  for (const std::string& wanted :
       {std::string("my service"), std::string("My *"), std::string("*"),
        perflib::V1CountersetGuid("My Service").ToString()}) {
    const auto source = OpenProcess({Memory(), crashing, own, other_crashing},
                                    absl::InfiniteDuration());
    source->Want({wanted});
    EXPECT_THAT(Names(*source), UnorderedElementsAre("Memory", "My Service"))
        << wanted;
    EXPECT_THAT(source->Problems(),
                AllOf(Contains(HasSubstr("cannot list its countersets")),
                      Contains(HasSubstr("counterset \"Process\":")),
                      Not(Contains(HasSubstr("\"Memory\"")))))
        << wanted;
  }
}

// A plan that comes after such a list begins another.
TEST_F(ProviderProcessTest, ANewPlanIsReadAtOnceIfTheListFails) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  json own = Memory();
  own["index"] = 5000;
  own["name"] = "My Service";
  const auto source =
      OpenProcess({Memory(), crashing, own}, absl::InfiniteDuration());
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  source->Want({"My Service"});
  EXPECT_OK(source->EnumerateCounterSet());
  EXPECT_TRUE(source->AwaitList(absl::InfiniteDuration()));
  EXPECT_THAT(Names(*source), UnorderedElementsAre("Memory", "My Service"));
}

}  // namespace
}  // namespace fleetperf::agent
