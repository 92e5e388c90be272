// The commands that administer the aggregator, except for its status.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/connection.h"
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
  flags.aggregator = aggregator;
  ASSIGN_OR_RETURN(const Connection connection, Connection::Open(flags));
  return PrintLoginLink(connection);
}

}  // namespace

absl::Status ForgetMachines(const Connection& connection,
                            const std::vector<std::string>& names,
                            bool dry_run) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::ForgetMachinesRequest request;
  request.mutable_machines()->Assign(names.begin(), names.end());
  request.set_dry_run(dry_run);
  v1::ForgetMachinesResponse response;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(
      connection.Explain(stub->ForgetMachines(&context, request, &response)));
  for (const v1::ForgottenMachine& machine : response.machines()) {
    PutLine(
        absl::StrCat(dry_run ? "would forget " : "forgot ", Describe(machine)));
  }
  for (const v1::ForgottenMachine& machine : response.machines()) {
    if (!machine.expected()) continue;
    std::fflush(stdout);
    std::fprintf(stderr,
                 "fleetperf: %s is still expected: remove it from "
                 "expected_machines in the aggregator's configuration\n",
                 Printable(machine.name()).c_str());
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

absl::Status MakeLoginLinks(const Connection& connection,
                            const ConnectionFlags& flags) {
  RETURN_IF_ERROR(PrintLoginLink(connection));
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::GetStatusResponse status;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(connection.Explain(stub->GetStatus(&context, {}, &status)));
  bool all = true;
  for (const v1::OtherAggregator& other : status.others()) {
    if (other.page().empty()) continue;
    const absl::Status printed = PrintLoginLinkOf(other.aggregator(), flags);
    if (printed.ok()) continue;
    all = false;
    std::fprintf(stderr, "%s\n", Printable(printed.message()).c_str());
  }
  return all ? absl::OkStatus() : MissingError(AlreadyReported());
}

}  // namespace fleetperf::cli
