#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "cli/aggregators.h"
#include "cli/calls.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/merged_lists.h"
#include "cli/missing.h"
#include "cli/output.h"
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
  // Those of which no aggregator has samples, while others cannot be asked.
  std::vector<std::string> unknown;
  std::map<std::string, std::string> failures;  // of aggregators, by address
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
  ASSIGN_OR_RETURN(const Aggregators aggregators, Aggregators::Open(to));
  const absl::Time now = Clock::Real().Now();
  ASSIGN_OR_RETURN(auto lists, MachinesOfEach(aggregators, flags.machines));
  Found found{.failures = aggregators.failures()};
  for (const v1::Machine& machine : MergeMachines(std::move(lists))) {
    if (!machine.expected()) continue;
    ++found.expected;
    const std::string reason = Reason(machine, stale, now);
    if (reason.empty()) continue;
    if (!found.failures.empty() && !machine.has_newest_sample() &&
        !machine.connected()) {
      found.unknown.push_back(machine.name());
    } else {
      found.missing.push_back(absl::StrCat(machine.name(), ": ", reason));
    }
  }
  if (found.expected > 0) return found;
  return absl::FailedPreconditionError(
      "no machine is expected; name them in expected_machines in the "
      "aggregator's configuration");
}

std::string TextOf(const Found& found) {
  std::vector<std::string> texts;
  if (!found.missing.empty()) {
    texts.push_back(absl::StrCat(
        found.missing.size(), " of ", found.expected,
        " expected machines missing: ",
        SomeOf(found.missing, found.missing.size(), kMaxNamed, "; ")));
  }
  if (!found.unknown.empty()) {
    texts.push_back(
        absl::StrCat(found.unknown.size(), " of ", found.expected,
                     " expected machines unknown: ",
                     SomeOf(found.unknown, found.unknown.size(), kMaxNamed)));
  }
  if (texts.empty()) {
    texts.push_back(absl::StrCat("all ", found.expected,
                                 " expected machines send samples"));
  }
  for (const auto& [address, reason] : found.failures) texts.push_back(reason);
  return absl::StrJoin(texts, "; ");
}

CheckState StateOf(const Found& found) {
  if (!found.missing.empty()) return CheckState::kCritical;
  return found.unknown.empty() ? CheckState::kOk : CheckState::kUnknown;
}

}  // namespace

int CheckMissing(const ConnectionFlags& connection, const CheckFlags& flags) {
  const auto found = FindMissing(connection, flags);
  if (!found.ok()) return ReportUnknown(found.status());
  const CheckState state = StateOf(*found);
  PutLine(absl::StrCat(PluginLine(state, TextOf(*found)),
                       " | 'missing'=", found->missing.size(),
                       ";;0 'expected'=", found->expected));
  return static_cast<int>(state);
}

}  // namespace fleetperf::cli
