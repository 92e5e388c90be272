#include <utility>
#include <vector>

#include "agent/source/combined_source.h"
#include "agent/source/deadline_source.h"
#include "agent/source/hardware_counters.h"
#include "agent/source/provider_source.h"
#include "agent/source/sources.h"
#include "agent/source/windows/perflib_functions.h"
#include "agent/source/windows/perflib_source.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "driver/hardware/reader.h"

namespace fleetperf::agent {
namespace {

// A local provider can hang as well as a remote machine.
constexpr absl::Duration kDeadline = absl::Seconds(10);

absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& perflib_dll,
                                             const std::string& machine) {
  ASSIGN_OR_RETURN(const PerfLibFunctions functions,
                   LoadPerfLibFunctions(perflib_dll));
  return MakeDeadlineSource(MakePerfLibSource(functions, machine),
                            machine.empty() ? "this machine" : machine,
                            kDeadline);
}

}  // namespace

// PerfLib's countersets, and the processors' if the driver is there.
absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll) {
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
