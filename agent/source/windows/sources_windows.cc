#include <windows.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "agent/source/combined_source.h"
#include "agent/source/deadline_source.h"
#include "agent/source/hardware_counters.h"
#include "agent/source/provider_source.h"
#include "agent/source/sources.h"
#include "agent/source/united_source.h"
#include "agent/source/windows/perflib_functions.h"
#include "agent/source/windows/perflib_source.h"
#include "agent/source/windows/v1/provider_process.h"
#include "agent/source/windows/v1/registry_functions.h"
#include "agent/source/windows/v1/v1_source.h"
#include "base/os/child_process.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "driver/hardware/reader.h"

namespace fleetperf::agent {
namespace {

// A local provider can hang as well as a remote machine.
constexpr absl::Duration kDeadline = absl::Seconds(10);
// The time to read the list of V1 countersets at the start; a longer list is
// found a minute later.
constexpr absl::Duration kListPatience = absl::Seconds(5);

// Returns the language of this machine's names, which is also the best guess
// for other machines. Chinese and Portuguese need their sublanguage.
std::string LanguageOfNames() {
  const LANGID language = GetSystemDefaultUILanguage();
  switch (PRIMARYLANGID(language)) {
    case LANG_ENGLISH:
      return "";
    case LANG_CHINESE:
    case LANG_PORTUGUESE:
      return absl::StrFormat("%04X", language);
    default:
      return absl::StrFormat("%03X", PRIMARYLANGID(language));
  }
}

// A remote machine's providers run there, so they need no process here.
absl::StatusOr<OpenPerformanceData> PerformanceDataOf(
    const std::string& perflib_dll, const std::string& machine) {
  if (machine.empty()) {
    ASSIGN_OR_RETURN(const std::string executable, ExecutablePath());
    std::vector<std::string> command = {executable, kProviderProcessCommand};
    if (!perflib_dll.empty()) {
      command.insert(command.end(), {"--", perflib_dll});  // may begin with "/"
    }
    return [command] { return MakeProcessPerformanceData(command, kDeadline); };
  }
  ASSIGN_OR_RETURN(const RegistryFunctions functions,
                   LoadRegistryFunctions(perflib_dll));
  return [functions, machine] {
    return MakeRegistryPerformanceData(functions, machine);
  };
}

absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& perflib_dll,
                                             const std::string& machine) {
  ASSIGN_OR_RETURN(const PerfLibFunctions functions,
                   LoadPerfLibFunctions(perflib_dll));
  ASSIGN_OR_RETURN(const OpenPerformanceData open,
                   PerformanceDataOf(perflib_dll, machine));
  const std::string name = machine.empty() ? "this machine" : machine;
  return UniteSources(
      MakeDeadlineSource(MakePerfLibSource(functions, machine), name,
                         kDeadline),
      MakeDeadlineSource(
          MakeV1Source(open, kListPatience, &Clock::Real(), LanguageOfNames()),
          name, kDeadline));
}

}  // namespace

// PerfLib's countersets, and the processors' if the driver is there.
absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll, const std::string& root) {
  if (!root.empty()) {
    return absl::InvalidArgumentError(
        "root is supported only on Linux; remove it");
  }
  ASSIGN_OR_RETURN(auto perflib, Open(perflib_dll, ""));
  auto reader = hardware::OpenHardwareReader();
  if (!reader.ok()) return perflib;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<HardwareCounters>(*std::move(reader)));
  return CombineSources(
      std::move(perflib),
      MakeProviderSource(std::move(providers), Clock::Real()));
}

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const std::string& perflib_dll, const std::string& machine) {
  return Open(perflib_dll, machine);
}

}  // namespace fleetperf::agent
