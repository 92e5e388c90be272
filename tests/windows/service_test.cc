// Tests of the agent as a Windows service, and of its MSI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/windows/scenarios.h"
#include "tests/windows/wine_machine.h"

namespace fleetperf::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kMsi[] = FLEETPERF_MINGW "/fleetperf-agent.msi";
constexpr char kDriver[] = "Program Files/fleetperf/fleetperf_pmu.sys";
constexpr char kConfig[] = "C:\\ProgramData\\fleetperf\\agent.yaml";

// A machine without the service, and an aggregator.
class WindowsServiceTest : public ::testing::Test {
 protected:
  WindowsServiceTest() : aggregator_(deployment_.StartAggregator()) { Clean(); }
  ~WindowsServiceTest() override { Clean(); }

  void Clean() {
    wine_.Run({FLEETPERF_MINGW "/bin/fleetperf-agent.exe", "remove"});
    std::error_code ignored;
    fs::remove_all(wine_.DriveC("ProgramData/fleetperf"), ignored);
  }

  // Writes the configuration of the service, its certificates and the scripted
  // PerfLib.
  void WriteConfiguration() {
    const fs::path directory = wine_.DriveC("ProgramData/fleetperf");
    fs::create_directories(directory);
    const TlsFiles tls = deployment_.Issue("agent", {"win-1"});
    const auto copy = [&](const std::string& from, const std::string& to) {
      fs::copy_file(from, directory / to, fs::copy_options::overwrite_existing);
    };
    copy(tls.authority, "authority.pem");
    copy(tls.certificate, "agent.pem");
    copy(tls.key, "agent.key");
    copy(FLEETPERF_MINGW "/tests/scripted_perflib.dll", "perflib.dll");
    Deployment::Write(
        directory / "perflib.json",
        json{{"machines", {{"", {{"countersets", {NumbersJson(7)}}}}}}}.dump());
    Deployment::Write(
        directory / "agent.yaml",
        absl::StrCat("name: win-1\naggregators: ['", deployment_.address(),
                     "']\n"
                     "tls: {authority: authority.pem, certificate: agent.pem, "
                     "key: agent.key}\n"
                     "log: {file: log/agent.log}\n"
                     "perflib_dll: perflib.dll\n"
                     "queries: [{counterset: Numbers}]\n"));
  }
  std::string Log() const {
    return ReadFile(wine_.DriveC("ProgramData/fleetperf/log/agent.log"))
        .value_or("no log");
  }

  // Returns whether the service delivers samples.
  bool WaitForSamples() const {
    return deployment_.WaitForAnswer("\\\\win-1\\Numbers\\Number");
  }

  Deployment deployment_;
  WineMachine wine_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(WindowsServiceTest, SetsUpRunsStopsAndRemoves) {
  const std::string agent = FLEETPERF_MINGW "/bin/fleetperf-agent.exe";
  WriteConfiguration();
  WineMachine::Output output = wine_.Run({agent, "setup", "--config", kConfig});
  ASSERT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(wine_.ServiceState(), "STOPPED");
  output = wine_.Run({agent, "setup", "--config", kConfig});  // once more
  EXPECT_EQ(output.status, 0) << output.text;

  output = wine_.Run({"net", "start", "fleetperf-agent"});
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_TRUE(wine_.WaitForServiceState("RUNNING"));
  EXPECT_TRUE(WaitForSamples()) << Log();
  EXPECT_THAT(Log(), HasSubstr("collecting from win-1"));

  output = wine_.Run({"net", "stop", "fleetperf-agent"});
  EXPECT_TRUE(wine_.WaitForServiceState("STOPPED"))
      << output.text << Log()
      << wine_.Run({"sc", "query", "fleetperf-agent"}).text;

  output = wine_.Run({agent, "remove"});
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(wine_.ServiceState(), "");
}

TEST_F(WindowsServiceTest, StopsWithErrorWithoutConfiguration) {
  const std::string agent = FLEETPERF_MINGW "/bin/fleetperf-agent.exe";
  const WineMachine::Output output =
      wine_.Run({agent, "setup", "--config", kConfig});
  ASSERT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.text, HasSubstr("Write that file"));
  wine_.Run({"net", "start", "fleetperf-agent"});
  EXPECT_TRUE(wine_.WaitForServiceState("STOPPED"));
  // ERROR_SERVICE_SPECIFIC_ERROR: the service reported the error itself.
  EXPECT_THAT(wine_.Run({"sc", "query", "fleetperf-agent"}).text,
              HasSubstr("1066"));
}

TEST_F(WindowsServiceTest, RejectsDirectoryOfOtherName) {
  const WineMachine::Output output =
      wine_.Run({FLEETPERF_MINGW "/bin/fleetperf-agent.exe", "setup",
                 "--config", "C:\\ProgramData\\agent.yaml"});
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text,
              HasSubstr("must be in a directory called fleetperf"));
  EXPECT_EQ(wine_.ServiceState(), "");
}

TEST_F(WindowsServiceTest, MsiInstallsUpgradesAndRemovesSilently) {
  WriteConfiguration();
  const auto install = [&](const std::string& msi) {
    return wine_.Run({"msiexec", "/i", msi, "/qn"}).status;
  };
  const std::string program = "Program Files/fleetperf/fleetperf-agent.exe";
  ASSERT_EQ(install(kMsi), 0);
  EXPECT_TRUE(fs::exists(wine_.DriveC(program)));
  EXPECT_TRUE(
      fs::exists(wine_.DriveC("Program Files/fleetperf/fleetperf.exe")));
  EXPECT_FALSE(fs::exists(wine_.DriveC(kDriver)));
  // The MSI ran the setup, which creates the agent's state directory.
  EXPECT_TRUE(fs::exists(wine_.DriveC("ProgramData/fleetperf/state")));
  EXPECT_TRUE(wine_.WaitForServiceState("RUNNING"));
  EXPECT_TRUE(WaitForSamples()) << Log();

  // A newer MSI replaces the files and restarts the service.
  const std::string newer = deployment_.File("newer.msi");
  const Result made = RunCommand({FLEETPERF_SOURCE "/deploy/windows/msi",
                                  "99.0.0", FLEETPERF_MINGW "/bin", newer});
  ASSERT_EQ(made.status, 0) << made.error;
  ASSERT_EQ(install(newer), 0);
  EXPECT_TRUE(fs::exists(wine_.DriveC(program)));
  EXPECT_TRUE(wine_.WaitForServiceState("RUNNING"));
  const std::string log = Log();
  EXPECT_NE(log.find("collecting from win-1"),
            log.rfind("collecting from win-1"))
      << log;  // the service has started twice

  ASSERT_EQ(wine_.Run({"msiexec", "/x", newer, "/qn"}).status, 0);
  EXPECT_FALSE(fs::exists(wine_.DriveC(program)));
  EXPECT_EQ(wine_.ServiceState(), "");
  // The removal keeps the configuration.
  EXPECT_TRUE(fs::exists(wine_.DriveC("ProgramData/fleetperf/agent.yaml")));
}

// Two builds of a version have the same files and service.
TEST_F(WindowsServiceTest, MsiReplacesAnotherBuildOfTheSameVersion) {
  const std::string other = deployment_.File("other.msi");
  for (const std::string& msi : {deployment_.File("first.msi"), other}) {
    const Result made = RunCommand({FLEETPERF_SOURCE "/deploy/windows/msi",
                                    "99.0.0", FLEETPERF_MINGW "/bin", msi});
    ASSERT_EQ(made.status, 0) << made.error;
    ASSERT_EQ(wine_.Run({"msiexec", "/i", msi, "/qn"}).status, 0);
  }
  // The first one is no longer listed among the installed programs.
  const std::string programs =
      wine_
          .Run({"reg", "query",
                "HKLM\\Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall",
                "/s"})
          .text;
  const size_t first = programs.find("fleetperf agent");
  EXPECT_NE(first, std::string::npos) << programs;
  EXPECT_EQ(programs.find("fleetperf agent", first + 1), std::string::npos)
      << programs;
  ASSERT_EQ(wine_.Run({"msiexec", "/x", other, "/qn"}).status, 0);
  EXPECT_FALSE(
      fs::exists(wine_.DriveC("Program Files/fleetperf/fleetperf-agent.exe")));
  EXPECT_EQ(wine_.ServiceState(), "");
}

TEST_F(WindowsServiceTest, MsiOffersTheDriverOfHardwareCounters) {
  WriteConfiguration();
  ASSERT_EQ(wine_
                .Run({"msiexec", "/i", kMsi, "/qn",
                      "ADDLOCAL=Everything,HardwareCounters"})
                .status,
            0);
  EXPECT_TRUE(fs::exists(wine_.DriveC(kDriver)));
  const std::string loader = "C:\\Program Files\\fleetperf\\fleetperf-pmu.exe";
  EXPECT_THAT(wine_.Run({loader, "status"}).text, HasSubstr("not installed"));
  WineMachine::Output output = wine_.Run({loader, "install"});
  EXPECT_EQ(output.status, 0) << output.text;
  output = wine_.Run({loader, "start"});
  EXPECT_EQ(output.status, 0) << output.text;

  // The removal unloads the driver.
  ASSERT_EQ(wine_.Run({"msiexec", "/x", kMsi, "/qn"}).status, 0);
  EXPECT_FALSE(fs::exists(wine_.DriveC(kDriver)));
  EXPECT_NE(wine_.Run({"sc", "query", "fleetperf_pmu"}).status, 0);
}

}  // namespace
}  // namespace fleetperf::testing
