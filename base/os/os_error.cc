#include "base/os/os_error.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace fleetperf {
namespace {

struct Win32Error {
  uint32_t code;
  absl::string_view name;
  absl::StatusCode status;
};

// The codes that PerfLib, its remote transport and file access return.
constexpr Win32Error kWin32Errors[] = {
    {2, "ERROR_FILE_NOT_FOUND", absl::StatusCode::kNotFound},
    {3, "ERROR_PATH_NOT_FOUND", absl::StatusCode::kNotFound},
    {5, "ERROR_ACCESS_DENIED", absl::StatusCode::kPermissionDenied},
    {6, "ERROR_INVALID_HANDLE", absl::StatusCode::kFailedPrecondition},
    {8, "ERROR_NOT_ENOUGH_MEMORY", absl::StatusCode::kResourceExhausted},
    {32, "ERROR_SHARING_VIOLATION", absl::StatusCode::kUnavailable},
    {53, "ERROR_BAD_NETPATH", absl::StatusCode::kUnavailable},
    {67, "ERROR_BAD_NET_NAME", absl::StatusCode::kUnavailable},
    {80, "ERROR_FILE_EXISTS", absl::StatusCode::kAlreadyExists},
    {87, "ERROR_INVALID_PARAMETER", absl::StatusCode::kInvalidArgument},
    {112, "ERROR_DISK_FULL", absl::StatusCode::kResourceExhausted},
    {121, "ERROR_SEM_TIMEOUT", absl::StatusCode::kUnavailable},
    {126, "ERROR_MOD_NOT_FOUND", absl::StatusCode::kNotFound},
    {183, "ERROR_ALREADY_EXISTS", absl::StatusCode::kAlreadyExists},
    {231, "ERROR_PIPE_BUSY", absl::StatusCode::kUnavailable},
    {232, "ERROR_NO_DATA", absl::StatusCode::kNotFound},
    {1056, "ERROR_SERVICE_ALREADY_RUNNING", absl::StatusCode::kAlreadyExists},
    {1060, "ERROR_SERVICE_DOES_NOT_EXIST", absl::StatusCode::kNotFound},
    {1062, "ERROR_SERVICE_NOT_ACTIVE", absl::StatusCode::kUnavailable},
    {1063, "ERROR_FAILED_SERVICE_CONTROLLER_CONNECT",
     absl::StatusCode::kFailedPrecondition},
    {1072, "ERROR_SERVICE_MARKED_FOR_DELETE",
     absl::StatusCode::kFailedPrecondition},
    {1073, "ERROR_SERVICE_EXISTS", absl::StatusCode::kAlreadyExists},
    {1168, "ERROR_NOT_FOUND", absl::StatusCode::kNotFound},
    {1203, "ERROR_NO_NET_OR_BAD_PATH", absl::StatusCode::kUnavailable},
    {1311, "ERROR_NO_LOGON_SERVERS", absl::StatusCode::kUnauthenticated},
    {1326, "ERROR_LOGON_FAILURE", absl::StatusCode::kUnauthenticated},
    {1722, "RPC_S_SERVER_UNAVAILABLE", absl::StatusCode::kUnavailable},
    {1726, "RPC_S_CALL_FAILED", absl::StatusCode::kUnavailable},
    {1753, "EPT_S_NOT_REGISTERED", absl::StatusCode::kUnavailable},
    {4200, "ERROR_WMI_GUID_NOT_FOUND", absl::StatusCode::kNotFound},
    {4201, "ERROR_WMI_INSTANCE_NOT_FOUND", absl::StatusCode::kNotFound},
    {4202, "ERROR_WMI_ITEMID_NOT_FOUND", absl::StatusCode::kNotFound},
    {4211, "ERROR_WMI_INVALID_REGINFO", absl::StatusCode::kDataLoss},
};

const Win32Error* FindWin32Error(uint32_t code) {
  for (const Win32Error& error : kWin32Errors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

absl::Status StatusFromErrno(int error, absl::string_view what) {
  return absl::ErrnoToStatus(error, what);
}

absl::Status StatusFromErrorCode(const std::error_code& error,
                                 absl::string_view what) {
  return StatusFromErrno(error.default_error_condition().value(), what);
}

absl::Status StatusFromWin32(uint32_t error, absl::string_view what) {
  if (error == 0) return absl::OkStatus();
  const Win32Error* known = FindWin32Error(error);
  return absl::Status(
      known != nullptr ? known->status : absl::StatusCode::kUnknown,
      absl::StrCat(what, ": ", Win32ErrorName(error)));
}

std::string Win32ErrorName(uint32_t error) {
  const Win32Error* known = FindWin32Error(error);
  return known != nullptr ? absl::StrCat(known->name, " (", error, ")")
                          : absl::StrCat("error ", error);
}

}  // namespace fleetperf
