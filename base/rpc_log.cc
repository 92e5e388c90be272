#include "base/rpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/logging.h"

namespace fleetperf {
namespace {

void LogLibrary(absl::string_view library, const char* file, int line,
                absl::string_view message) {
  static LogOncePerCause* const log = new LogOncePerCause(absl::Seconds(1));
  const std::string place = absl::StrCat(file, ":", line);
  log->Debug(place, absl::StrCat(library, ": ", place, ": ", message));
}

void LogProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                 const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_FATAL) {  // ends the process
    LogError("protobuf: ", file, ":", line, ": ", message);
  } else {
    LogLibrary("protobuf", file, line, message);
  }
}

}  // namespace

void SendRpcLogsToDebug() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    LogLibrary("gRPC", args->file, args->line, args->message);
  });
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace fleetperf
