#include "driver/hardware/device.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::hardware {
namespace {

using pmu::Command;
using pmu::Result;

absl::string_view NameOf(Command command) {
  switch (command) {
    case Command::kDescribe:
      return "describe";
    case Command::kReserve:
      return "reserve";
    case Command::kProgram:
      return "program";
    case Command::kRead:
      return "read";
    case Command::kRelease:
      return "release";
  }
  return "unknown command";
}

struct Explanation {
  Result result;
  absl::StatusCode code;
  const char* text;
};

constexpr auto kBusy = absl::StatusCode::kResourceExhausted;
constexpr auto kLost = absl::StatusCode::kFailedPrecondition;
constexpr auto kOld = absl::StatusCode::kUnimplemented;
constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

constexpr char kUpdateDriver[] =
    "install the driver of the same version as this program";

constexpr Explanation kExplanations[] = {
    {Result::kUnknownCommand, kOld, kUpdateDriver},
    {Result::kWrongSize, kWrong, "the request or the reply has a wrong size"},
    {Result::kWrongVersion, kOld, kUpdateDriver},
    {Result::kNotOwner, kLost, "this program does not hold the PMU"},
    {Result::kOwned, kBusy,
     "another program holds the PMU; stop it, or collect with it"},
    {Result::kReservedBySystem, kBusy,
     "another driver or a profiler holds the PMU; stop it"},
    {Result::kInUse, kBusy,
     "counters of the PMU run already, without a reservation; stop the program "
     "or the BIOS setting that started them"},
    {Result::kNoPmu, absl::StatusCode::kNotFound,
     "no CPU has a PMU that the driver can program; virtual machines often "
     "have none: enable it in the hypervisor"},
    {Result::kWrongCoreType, kWrong, "the machine lacks this type of core"},
    {Result::kWrongCounter, kWrong, "the CPU lacks this counter"},
    {Result::kWrongEvent, kWrong, "the CPU lacks this event"},
    {Result::kFault, absl::StatusCode::kUnavailable,
     "the CPU refused an access to the PMU, as hypervisors let it do; enable "
     "the PMU in the hypervisor"},
    {Result::kCannotReserve, absl::StatusCode::kUnimplemented,
     "this Windows lacks functions that the driver needs to share the PMU; "
     "use Windows 10 or later"},
    {Result::kSuspended, absl::StatusCode::kUnavailable,
     "the machine is about to sleep; try again when it is awake"},
    {Result::kNotProgrammed, kLost, "no counters are programmed"},
};

}  // namespace

absl::Status ErrorOf(Command command, Result result) {
  if (result == Result::kOk) return absl::OkStatus();
  for (const Explanation& explanation : kExplanations) {
    if (explanation.result == result) {
      return absl::Status(explanation.code, absl::StrCat(NameOf(command), ": ",
                                                         explanation.text));
    }
  }
  return absl::UnknownError(absl::StrCat(NameOf(command), ": unknown result ",
                                         static_cast<uint32_t>(result)));
}

}  // namespace fleetperf::hardware
