#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/connection.h"
#include "base/status_macros.h"
#include "fleetperf/v1/administration.grpc.pb.h"

namespace fleetperf::cli {

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

}  // namespace fleetperf::cli
