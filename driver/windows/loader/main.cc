// fleetperf-pmu: installs and starts the driver fleetperf_pmu, which reads the
// CPUs' hardware counters.

#include <windows.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"
#include "driver/windows/client/open_device.h"
#include "driver/windows/loader/code_integrity.h"
#include "driver/windows/loader/driver_service.h"

namespace fleetperf {
namespace {

constexpr char kFooter[] =
    R"(The driver lets administrators, the system and the service fleetperf-agent read
hardware counters. It changes no register before a program reserves the PMU, and
restores all registers when that program ends. It starts only on demand, not with
Windows.

Examples, as an administrator:
  fleetperf-pmu install
  fleetperf-pmu start
  fleetperf-pmu status
  fleetperf-pmu remove
)";

// Exit statuses.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kNotRunning = 3;

std::string DefaultImage() {
  wchar_t path[1024];
  const DWORD size = GetModuleFileNameW(nullptr, path, std::size(path));
  return Utf8FromPath(NativePath(Utf8FromWide({path, size}))
                          .replace_filename("fleetperf_pmu.sys"));
}

absl::StatusOr<int> Install(const DriverService& service) {
  RETURN_IF_ERROR(service.Install());
  std::printf("The driver is installed: %s\nStart it: fleetperf-pmu start\n",
              service.image().c_str());
  return kDone;
}

absl::StatusOr<int> Start(const DriverService& service) {
  RETURN_IF_ERROR(service.Start());
  std::printf("The driver is running.\n");
  return kDone;
}

absl::StatusOr<int> Stop(const DriverService& service) {
  RETURN_IF_ERROR(service.Stop());
  std::printf("The driver is stopped.\n");
  return kDone;
}

absl::StatusOr<int> Remove(const DriverService& service) {
  RETURN_IF_ERROR(service.Remove());
  std::printf("The driver is removed. Its image remains: %s\n",
              service.image().c_str());
  return kDone;
}

// Returns what the running driver says about the PMU, or why it cannot be
// asked.
std::string DescribePmu() {
  const auto device = hardware::OpenDevice();
  if (!device.ok()) return std::string(device.status().message());
  const auto reply = (*device)->Call(pmu::Command::kDescribe, "");
  if (!reply.ok()) return std::string(reply.status().message());
  pmu::Description machine;
  pmu::CpuDescription cpu;
  if (reply->size() < sizeof machine + sizeof cpu) return "unknown";
  std::memcpy(&machine, reply->data(), sizeof machine);
  std::memcpy(&cpu, reply->data() + sizeof machine, sizeof cpu);
  if (cpu.pmu_version == 0) return "none that the driver can program";
  return absl::StrCat("version ", cpu.pmu_version, ", ", cpu.num_general,
                      " general counters of ", cpu.general_width,
                      " bits, on CPU 0 of ", machine.num_cpus);
}

absl::StatusOr<int> Status(const DriverService& service) {
  ASSIGN_OR_RETURN(const DriverState state, service.State());
  std::printf("driver:    %s\nimage:     %s\nsignature: %s\n", Name(state),
              service.image().c_str(), Describe(QueryCodeIntegrity()).c_str());
  if (state != DriverState::kRunning) return kNotRunning;
  std::printf("PMU:       %s\n", DescribePmu().c_str());
  return kDone;
}

struct PmuCommand {
  const char* name;
  const char* help;
  std::function<absl::StatusOr<int>(const DriverService&)> run;
};

const PmuCommand kCommands[] = {
    {"install", "Create the service fleetperf_pmu, which loads the driver",
     Install},
    {"start", "Load the driver", Start},
    {"status",
     "Show whether the driver is loaded, and its PMU; the exit status is 3 if "
     "it is not",
     Status},
    {"stop", "Unload the driver, after all programs have closed it", Stop},
    {"remove", "Unload the driver and remove the service", Remove},
};

int Main(int argc, char** argv) {
  Command program("fleetperf-pmu",
                  "Installs and starts the driver of the hardware counters.");
  program.SetFooter(kFooter);
  program.AcceptParentOptions();
  std::string image = DefaultImage();
  program
      .AddText("--image", &image,
               "The driver's image; fleetperf_pmu.sys beside this program if "
               "omitted")
      .SetType("FILE");
  const PmuCommand* given = nullptr;
  for (const PmuCommand& command : kCommands) {
    program.AddCommand(command.name, command.help,
                       [&given, &command] { given = &command; });
  }
  if (const auto status = program.Parse(argc, argv)) return *status;
  const auto result = given->run(DriverService(image));
  if (result.ok()) return *result;
  std::fprintf(stderr, "fleetperf-pmu: %s\n",
               std::string(result.status().message()).c_str());
  return kFailed;
}

}  // namespace
}  // namespace fleetperf

int main(int argc, char** argv) { return fleetperf::Main(argc, argv); }
