// The commands that administer the aggregator, except for its status.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/aggregators.h"
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
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::MakeLoginLinkResponse response;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(
      connection.Explain(stub->MakeLoginLink(&context, {}, &response)));
  PutLine(Printable(response.url()));
  return absl::OkStatus();
}

absl::Status PrintLoginLinkOf(const std::string& aggregator,
                              ConnectionFlags flags) {
  flags.aggregators = {aggregator};
  ASSIGN_OR_RETURN(const Aggregators one, Aggregators::Open(flags));
  return PrintLoginLink(one.reached().front());
}

// Adds the others with a page that an aggregator names.
absl::Status AddOthers(const Connection& connection,
                       std::set<std::string>* others) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::GetStatusResponse status;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(connection.Explain(stub->GetStatus(&context, {}, &status)));
  for (const v1::OtherAggregator& other : status.others()) {
    if (!other.page().empty()) others->insert(other.aggregator());
  }
  return absl::OkStatus();
}

absl::Status Forget(const Connection& connection,
                    const std::vector<std::string>& names, bool dry_run,
                    v1::ForgetMachinesResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::ForgetMachinesRequest request;
  request.mutable_machines()->Assign(names.begin(), names.end());
  request.set_dry_run(dry_run);
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  return connection.Explain(stub->ForgetMachines(&context, request, response));
}

// Returns those of the machines that an aggregator has. Returns the error of
// one that it has and cannot forget.
absl::StatusOr<std::vector<std::string>> MachinesToForget(
    const Connection& connection, const std::vector<std::string>& names,
    absl::Status* missing) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    v1::ForgetMachinesResponse response;
    const absl::Status status =
        Forget(connection, {name}, /*dry_run=*/true, &response);
    if (status.ok()) {
      found.push_back(name);
    } else if (IsMissing(status)) {
      *missing = status;
    } else {
      return status;
    }
  }
  return found;
}

void PrintForgotten(const v1::ForgetMachinesResponse& response, bool dry_run,
                    const std::string& where) {
  for (const v1::ForgottenMachine& machine : response.machines()) {
    PutLine(absl::StrCat(dry_run ? "would forget " : "forgot ",
                         Describe(machine), where));
  }
  for (const v1::ForgottenMachine& machine : response.machines()) {
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
  const std::vector<Connection>& reached = aggregators.reached();
  std::vector<std::vector<std::string>> found(reached.size());
  std::set<std::string> known;
  absl::Status missing;
  for (size_t i = 0; i < reached.size(); ++i) {
    ASSIGN_OR_RETURN(found[i], MachinesToForget(reached[i], names, &missing));
    known.insert(found[i].begin(), found[i].end());
  }
  if (known.size() < std::set(names.begin(), names.end()).size()) {
    return missing;
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    if (found[i].empty()) continue;
    v1::ForgetMachinesResponse response;
    RETURN_IF_ERROR(Forget(reached[i], found[i], dry_run, &response));
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
                            const ConnectionFlags& flags) {
  std::vector<absl::Status> results;
  std::set<std::string> others;
  for (const Connection& connection : aggregators.reached()) {
    results.push_back(PrintLoginLink(connection));
    if (results.back().ok()) results.back() = AddOthers(connection, &others);
  }
  RETURN_IF_ERROR(aggregators.Combine(results));
  for (const auto* asked : {&aggregators.reached(), &aggregators.unreached()}) {
    for (const Connection& connection : *asked) {
      others.erase(connection.address());
    }
  }
  bool all = true;
  for (const std::string& other : others) {
    const absl::Status printed = PrintLoginLinkOf(other, flags);
    if (printed.ok()) continue;
    all = false;
    std::fprintf(stderr, "%s\n", Printable(printed.message()).c_str());
  }
  return all ? absl::OkStatus() : MissingError(AlreadyReported());
}

}  // namespace fleetperf::cli
