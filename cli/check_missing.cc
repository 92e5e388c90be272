#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/pages.h"
#include "cli/times.h"
#include "cli/values.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kMaxNamed = 10;

struct Found {
  size_t expected = 0;
  std::vector<std::string> missing;  // with the reasons
};

// Returns the reason why an expected machine is missing; "" if it is not.
std::string Reason(const v1::Machine& machine, absl::Duration stale,
                   absl::Time now) {
  if (!machine.has_newest_sample()) {
    return machine.connected() ? "connected, but has sent no samples"
                               : "has never sent samples";
  }
  // The lag of a connected machine leaves out the time for which its agent
  // holds samples back, and the difference of the clocks. That of a machine
  // that is away is unknown: its newest sample may stay in the future for long.
  const absl::Time newest = FromProto(machine.newest_sample());
  const absl::Duration age =
      machine.connected() ? FromProto(machine.lag()) : now - newest;
  if (absl::AbsDuration(age) <= stale) return "";
  if (age < absl::ZeroDuration()) {
    return absl::StrCat("away since its newest sample, which is of ",
                        TimeText(newest), ", in the future");
  }
  return absl::StrCat(machine.connected() ? "connected, but its" : "its",
                      " newest sample is of ",
                      AgeText(newest, now + FromProto(machine.skew())));
}

absl::StatusOr<Found> FindMissing(const ConnectionFlags& to,
                                  const CheckFlags& flags) {
  ASSIGN_OR_RETURN(const absl::Duration stale,
                   ParseDurationFlag("--stale", flags.stale));
  v1::ListMachinesRequest request;
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  ASSIGN_OR_RETURN(const Connection connection, Connection::Open(to));
  const absl::Time now = Clock::Real().Now();
  Found found;
  RETURN_IF_ERROR(
      (ForEachPage<v1::ListMachinesRequest, v1::ListMachinesResponse>(
          connection, &v1::FleetService::Stub::ListMachines, request,
          [&](const v1::ListMachinesResponse& response) {
            for (const v1::Machine& machine : response.machines()) {
              if (!machine.expected()) continue;
              ++found.expected;
              const std::string reason = Reason(machine, stale, now);
              if (reason.empty()) continue;
              found.missing.push_back(
                  absl::StrCat(machine.name(), ": ", reason));
            }
          })));
  if (found.expected > 0) return found;
  return absl::FailedPreconditionError(
      "no machine is expected; name them in expected_machines in the "
      "aggregator's configuration");
}

std::string TextOf(const Found& found) {
  const size_t missing = found.missing.size();
  if (missing == 0) {
    return absl::StrCat("all ", found.expected,
                        " expected machines send "
                        "samples");
  }
  const size_t named = std::min(missing, kMaxNamed);
  std::string text = absl::StrCat(
      missing, " of ", found.expected, " expected machines missing: ",
      absl::StrJoin(found.missing.begin(),
                    found.missing.begin() + static_cast<std::ptrdiff_t>(named),
                    "; "));
  if (missing > named) absl::StrAppend(&text, "; ", missing - named, " more");
  return text;
}

}  // namespace

int CheckMissing(const ConnectionFlags& connection, const CheckFlags& flags) {
  const auto found = FindMissing(connection, flags);
  if (!found.ok()) return ReportUnknown(found.status());
  const CheckState state =
      found->missing.empty() ? CheckState::kOk : CheckState::kCritical;
  PutLine(absl::StrCat(PluginLine(state, TextOf(*found)),
                       " | 'missing'=", found->missing.size(),
                       ";;0 'expected'=", found->expected));
  return static_cast<int>(state);
}

}  // namespace fleetperf::cli
