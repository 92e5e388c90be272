#include "base/rpc_log.h"

#include <grpc/support/log.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/logging.h"

namespace fleetperf {

void SendGrpcLogsToDebug() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    static LogOncePerCause* const log = new LogOncePerCause(absl::Seconds(1));
    const std::string place = absl::StrCat(args->file, ":", args->line);
    log->Debug(place, absl::StrCat("gRPC: ", place, ": ", args->message));
  });
}

}  // namespace fleetperf
