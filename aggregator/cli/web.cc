#include "aggregator/cli/web.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "aggregator/cli/connection.h"
#include "aggregator/cli/output.h"
#include "base/printable.h"
#include "base/rpc_deadline.h"
#include "base/status_macros.h"
#include "fleetperf/v1/administration.grpc.pb.h"

namespace fleetperf::cli {

absl::Status MakeLoginLink(const Connection& connection) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::MakeLoginLinkResponse response;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(
      connection.Explain(stub->MakeLoginLink(&context, {}, &response)));
  PutLine(Printable(response.url()));
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
