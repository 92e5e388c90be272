// The commands that administer the aggregator, except for its status.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/aggregators.h"
#include "cli/calls.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/values.h"
#include "fleetperf/v1/administration.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// Returns "web-9, newest sample of 09:12:40Z, 32m20s old".
std::string Describe(const v1::ForgottenMachine& machine) {
  std::string text = machine.name();
  if (machine.agent() != machine.name()) {
    absl::StrAppend(&text, ", collected by ", machine.agent());
  }
  if (!machine.has_newest_sample()) {
    return absl::StrCat(text, ", which has no samples");
  }
  return absl::StrCat(
      text, ", newest sample of ",
      AgeText(FromProto(machine.newest_sample()), Clock::Real().Now()));
}

absl::Status PrintLoginLink(const Connection& connection) {
  v1::MakeLoginLinkResponse response;
  RETURN_IF_ERROR(Call(connection,
                       &v1::AdministrationService::Stub::MakeLoginLink, {},
                       &response));
  PutLine(Printable(response.url()));
  return absl::OkStatus();
}

absl::Status Forget(const Connection& connection,
                    const v1::ForgetMachinesRequest& request,
                    v1::ForgetMachinesResponse* response) {
  return Call(connection, &v1::AdministrationService::Stub::ForgetMachines,
              request, response);
}

void PrintForgotten(const v1::ForgetMachinesResponse& response, bool dry_run,
                    const std::string& where) {
  for (const v1::ForgottenMachine& machine : response.machines()) {
    PutLine(absl::StrCat(dry_run ? "would forget " : "forgot ",
                         Describe(machine), where));
    if (!machine.expected()) continue;
    PrintNote(absl::StrCat(machine.name(),
                           " is still expected: remove it from "
                           "expected_machines in the aggregator's "
                           "configuration"));
  }
}

}  // namespace

absl::Status ForgetMachines(const Aggregators& aggregators,
                            const std::vector<std::string>& names,
                            bool dry_run) {
  const auto reached = aggregators.reached();
  v1::ForgetMachinesResponse response;
  // The machines that each has, if it can forget them.
  std::vector<v1::ForgetMachinesRequest> requests(reached.size());
  for (const std::string& name : names) {
    v1::ForgetMachinesRequest one;
    one.add_machines(name);
    one.set_dry_run(true);
    std::vector<absl::Status> results;
    for (size_t i = 0; i < reached.size(); ++i) {
      results.push_back(Forget(reached[i], one, &response));
      if (results.back().ok()) requests[i].add_machines(name);
      if (!results.back().ok() && !IsMissing(results.back())) {
        return results.back();
      }
    }
    RETURN_IF_ERROR(aggregators.Combine(results));
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    if (requests[i].machines().empty()) continue;
    requests[i].set_dry_run(dry_run);
    RETURN_IF_ERROR(Forget(reached[i], requests[i], &response));
    PrintForgotten(response, dry_run,
                   aggregators.are_several()
                       ? absl::StrCat(", at ", reached[i].address())
                       : "");
  }
  return absl::OkStatus();
}

absl::Status Backup(const Connection& connection,
                    const std::string& directory) {
  grpc::ClientContext context;  // no deadline: a backup may take hours
  v1::BackupRequest request;
  request.set_directory(directory);
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  const auto reader = stub->Backup(&context, request);
  v1::BackupResponse response;
  RpcStage stage = RpcStage::kConnecting;
  while (reader->Read(&response)) {
    stage = RpcStage::kAnswering;
    if (response.bytes() == response.total_bytes()) continue;
    std::fprintf(stderr, "%s",
                 absl::StrCat(response.bytes(), " of ", response.total_bytes(),
                              " bytes\n")
                     .c_str());
  }
  RETURN_IF_ERROR(connection.Explain(reader->Finish(), stage));
  PutLine(absl::StrCat("backed up ", response.total_bytes(), " bytes to ",
                       directory));
  return absl::OkStatus();
}

absl::Status MakeLoginLinks(const Aggregators& aggregators,
                            ConnectionFlags flags) {
  std::vector<absl::Status> results;
  for (const Connection& connection : aggregators.reached()) {
    results.push_back(PrintLoginLink(connection));
  }
  RETURN_IF_ERROR(aggregators.Combine(results));
  ASSIGN_OR_RETURN(
      const auto answers,
      CallEach(aggregators, &v1::AdministrationService::Stub::GetStatus, {}));
  std::set<std::string> others;
  for (const v1::GetStatusResponse& status : answers) {
    for (const v1::OtherAggregator& other : status.others()) {
      if (!other.page().empty()) others.insert(other.aggregator());
    }
  }
  for (const Connection& asked : aggregators.all()) {
    others.erase(asked.address());
  }
  for (const std::string& other : others) {
    flags.aggregators = {other};
    ASSIGN_OR_RETURN(const auto connections, Connection::MakeAll(flags));
    absl::Status printed = connections.front().Connect();
    if (printed.ok()) printed = PrintLoginLink(connections.front());
    if (!printed.ok()) aggregators.AddFailure(connections.front(), printed);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
