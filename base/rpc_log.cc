#include "base/rpc_log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

namespace fleetperf {

void SendGrpcLogsToDebug() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    spdlog::debug("gRPC: {}:{}: {}", args->file, args->line, args->message);
  });
}

}  // namespace fleetperf
