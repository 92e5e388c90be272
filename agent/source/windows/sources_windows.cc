#include "agent/source/deadline_source.h"
#include "agent/source/sources.h"
#include "agent/source/windows/perflib_functions.h"
#include "agent/source/windows/perflib_source.h"
#include "base/status_macros.h"

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

absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll) {
  return Open(perflib_dll, "");
}

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const std::string& perflib_dll, const std::string& machine) {
  return Open(perflib_dll, machine);
}

}  // namespace fleetperf::agent
