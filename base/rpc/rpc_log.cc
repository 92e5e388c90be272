#include "base/rpc/rpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

// Returns whether protobuf says that a message cannot be sent or stored: a
// string is not UTF-8, so that no receiver can parse it, or the message is too
// large.
bool IsUnserializable(absl::string_view message) {
  return absl::StrContains(message, "when serializing") ||
         absl::StrContains(message, "exceeded maximum protobuf size");
}

// Messages about received ones that are not UTF-8 name a field, too. There are
// as many causes as fields.
void LogProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                 const std::string& message) {
  static LogOncePerCause* const log = new LogOncePerCause;
  if (level == google::protobuf::LOGLEVEL_FATAL) {  // ends the process
    LogError("protobuf: ", file, ":", line, ": ", message);
  } else if (IsUnserializable(message)) {
    log->Warn(message, absl::StrCat("a message cannot be sent or stored: ",
                                    absl::StripAsciiWhitespace(message)));
  } else if (absl::StrContains(message, "invalid UTF-8")) {
    log->Warn(message, absl::StrCat("a received message is unusable: ",
                                    absl::StripAsciiWhitespace(message)));
  } else {
    LogLibrary("protobuf", file, line, message);
  }
}

}  // namespace

void SendRpcLogs() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    LogLibrary("gRPC", args->file, args->line, args->message);
  });
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace fleetperf
