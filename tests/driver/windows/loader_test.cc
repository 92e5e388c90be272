// Tests of the loader, on the service control manager.

#include "tests/driver/windows/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/os/native_path.h"
#include "base/os/wide_windows.h"
#include "driver/windows/client/open_device.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kImage[] = FLEETPERF_SIMULATED_SYS;

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() { RemoveAnyService(); }
  ~LoaderTest() override { RemoveAnyService(); }
};

TEST_F(LoaderTest, InstallsStartsStopsAndRemoves) {
  LoaderOutput output = RunLoader("status", kImage);
  EXPECT_EQ(output.status, 3) << output.text;
  EXPECT_THAT(output.text, HasSubstr("not installed"));

  output = RunLoader("install", kImage);
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.text, HasSubstr("fleetperf-pmu start"));
  EXPECT_EQ(RunLoader("install", kImage).status, 0) << "a second time";
  output = RunLoader("status", kImage);
  EXPECT_EQ(output.status, 3) << output.text;
  EXPECT_THAT(output.text, HasSubstr("stopped"));

  output = RunLoader("start", kImage);
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(RunLoader("start", kImage).status, 0) << "a second time";
  output = RunLoader("status", kImage);
  EXPECT_EQ(output.status, 0) << output.text;
  // The simulated machine is a Xeon E5-1620 v3.
  EXPECT_THAT(output.text,
              AllOf(HasSubstr("running"), HasSubstr("test signing off"),
                    HasSubstr("version 3, 4 general counters of 48 bits")));

  output = RunLoader("stop", kImage);
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(RunLoader("stop", kImage).status, 0) << "a second time";
  EXPECT_THAT(ServiceState(), EndsWith(", stopped"));
  EXPECT_EQ(RunLoader("start", kImage).status, 0) << "again";

  output = RunLoader("remove", kImage);
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(ServiceState(), "");
  EXPECT_EQ(RunLoader("remove", kImage).status, 0) << "a second time";
  EXPECT_EQ(hardware::OpenDevice().status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LoaderTest, MakesThePathAbsolute) {
  const std::filesystem::path image = NativePath(kImage);
  std::filesystem::current_path(image.parent_path());
  const LoaderOutput output =
      RunLoader("install", Utf8FromPath(image.filename()));
  EXPECT_EQ(output.status, 0) << output.text;
  const std::string state = ServiceState();
  EXPECT_THAT(state, HasSubstr(":\\"));
  EXPECT_THAT(state, HasSubstr("\\fleetperf_pmu_simulated.sys, stopped"));
}

TEST_F(LoaderTest, RefusesAForeignServiceOfItsName) {
  ASSERT_TRUE(CreateForeignService("C:\\other\\driver.sys"));
  const std::string before = ServiceState();
  for (const char* command : {"install", "start", "status", "stop", "remove"}) {
    const LoaderOutput output = RunLoader(command, kImage);
    EXPECT_EQ(output.status, 1) << command;
    EXPECT_THAT(output.text, AllOf(StartsWith("fleetperf-pmu: "),
                                   HasSubstr("C:\\other\\driver.sys"),
                                   HasSubstr("another image")))
        << command;
    EXPECT_EQ(ServiceState(), before) << command;
  }
}

TEST_F(LoaderTest, ExplainsFailures) {
  LoaderOutput output = RunLoader("install", "C:\\absent\\fleetperf_pmu.sys");
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, HasSubstr("C:\\absent\\fleetperf_pmu.sys"));
  EXPECT_EQ(ServiceState(), "");

  output = RunLoader("start", kImage);
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, HasSubstr("fleetperf-pmu install"));

  // The image disappears after the installation.
  ASSERT_TRUE(CreateForeignService("C:\\absent\\fleetperf_pmu.sys"));
  output = RunLoader("start", "C:\\absent\\fleetperf_pmu.sys");
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, HasSubstr("cannot start the driver"));
  EXPECT_THAT(ServiceState(), EndsWith(", stopped"));
}

// The driver reads its access list back, and finds one that is open to all.
TEST_F(LoaderTest, ADriverWithoutItsAccessListDoesNotLoad) {
  EXPECT_EQ(RunLoader("install", FLEETPERF_OPEN_SYS).status, 0);
  const LoaderOutput output = RunLoader("start", FLEETPERF_OPEN_SYS);
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, HasSubstr("cannot start the driver"));
  EXPECT_EQ(hardware::OpenDevice().status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LoaderTest, HelpTeaches) {
  const LoaderOutput output = RunLoader("--help");
  EXPECT_EQ(output.status, 0);
  EXPECT_THAT(output.text,
              AllOf(HasSubstr("install"), HasSubstr("start"),
                    HasSubstr("status"), HasSubstr("stop"), HasSubstr("remove"),
                    HasSubstr("as an administrator"), HasSubstr("--image")));
  EXPECT_EQ(RunLoader("").status, 2);
  EXPECT_EQ(RunLoader("load").status, 2);
}

}  // namespace
}  // namespace fleetperf
