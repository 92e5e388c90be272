#include "agent/source/windows/advice.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/os/os_error.h"

namespace fleetperf::agent {
namespace {

enum class Where { kHere, kRemote };

struct Advice {
  uint32_t error;
  Where where;
  absl::StatusCode code;
  const char* text;  // $0 is the machine
};

constexpr char kJoinGroup[] =
    "add the account that the agent runs as to the group Performance Monitor "
    "Users of this machine, and restart the agent";
constexpr char kJoinRemoteGroup[] =
    "add the account that the agent runs as (for a service of its own account, "
    "the agent machine's computer account) to the group Performance Monitor "
    "Users of that machine";
constexpr char kReach[] =
    "check that the machine is up, that its name is right, that its firewall "
    "lets TCP port 445 in, and that its service Remote Registry can start";
constexpr char kStartRemoteRegistry[] =
    "the service Remote Registry of that machine does not answer; start it "
    "with: sc.exe \\\\$0 start RemoteRegistry";
constexpr char kLogon[] =
    "that machine does not know the account that the agent runs as; use a "
    "domain account, or a gMSA";

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kAway = absl::StatusCode::kUnavailable;
constexpr auto kUnknown = absl::StatusCode::kUnauthenticated;

constexpr Advice kAdvice[] = {
    {5, Where::kHere, kDenied, kJoinGroup},
    {5, Where::kRemote, kDenied, kJoinRemoteGroup},
    {53, Where::kRemote, kAway, kReach},
    {67, Where::kRemote, kAway, kReach},
    {121, Where::kRemote, kAway, kReach},
    {1203, Where::kRemote, kAway, kReach},
    {1722, Where::kRemote, kAway, kReach},
    {2, Where::kRemote, kAway, kStartRemoteRegistry},
    {231, Where::kRemote, kAway, kStartRemoteRegistry},
    {1060, Where::kRemote, kAway, kStartRemoteRegistry},
    {1062, Where::kRemote, kAway, kStartRemoteRegistry},
    {1753, Where::kRemote, kAway, kStartRemoteRegistry},
    {1311, Where::kRemote, kUnknown, kLogon},
    {1326, Where::kRemote, kUnknown, kLogon},
};

// Returns the machine for a command in a message, "MACHINE" for a name that a
// shell would interpret: an aggregator's plan chooses names.
std::string ForShell(const std::string& machine) {
  const bool is_plain = std::all_of(machine.begin(), machine.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_' || c == ':';
  });
  return is_plain ? machine : "MACHINE";
}

}  // namespace

absl::Status PerfLibError(const std::string& machine, const char* function,
                          uint32_t error) {
  const std::string what =
      machine.empty() ? function : absl::StrCat(function, " of ", machine);
  const absl::Status status = StatusFromWin32(error, what);
  const Where where = machine.empty() ? Where::kHere : Where::kRemote;
  for (const Advice& advice : kAdvice) {
    if (advice.error == error && advice.where == where) {
      return absl::Status(
          advice.code,
          absl::StrCat(status.message(), ": ",
                       absl::Substitute(advice.text, ForShell(machine))));
    }
  }
  return status;
}

}  // namespace fleetperf::agent
