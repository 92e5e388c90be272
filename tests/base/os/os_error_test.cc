#include "base/os/os_error.h"

#include <cerrno>
#include <string>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using testing::StatusIs;
using Code = absl::StatusCode;

TEST(StatusFromErrno, NamesTheActionAndTheError) {
  const struct {
    int error;
    Code code;
    const char* message;
  } kCases[] = {
      {ENOENT, Code::kNotFound, "cannot read x: No such file or directory"},
      {EACCES, Code::kPermissionDenied, "cannot read x: Permission denied"},
      {EEXIST, Code::kAlreadyExists, "cannot read x: File exists"},
      {ENOSPC, Code::kResourceExhausted,
       "cannot read x: No space left on device"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(StatusFromErrno(test.error, "cannot read x"),
                StatusIs(test.code, test.message));
  }
  EXPECT_OK(StatusFromErrno(0, "cannot read x"));
}

// Codes and names from winerror.h.
TEST(StatusFromWin32, KnowsTheErrorsOfPerfLib) {
  const struct {
    uint32_t error;
    Code code;
    const char* name;
  } kCases[] = {
      {2, Code::kNotFound, "ERROR_FILE_NOT_FOUND (2)"},
      {3, Code::kNotFound, "ERROR_PATH_NOT_FOUND (3)"},
      {5, Code::kPermissionDenied, "ERROR_ACCESS_DENIED (5)"},
      {6, Code::kFailedPrecondition, "ERROR_INVALID_HANDLE (6)"},
      {8, Code::kResourceExhausted, "ERROR_NOT_ENOUGH_MEMORY (8)"},
      {53, Code::kUnavailable, "ERROR_BAD_NETPATH (53)"},
      {87, Code::kInvalidArgument, "ERROR_INVALID_PARAMETER (87)"},
      {112, Code::kResourceExhausted, "ERROR_DISK_FULL (112)"},
      {183, Code::kAlreadyExists, "ERROR_ALREADY_EXISTS (183)"},
      {232, Code::kNotFound, "ERROR_NO_DATA (232)"},
      {1168, Code::kNotFound, "ERROR_NOT_FOUND (1168)"},
      {1722, Code::kUnavailable, "RPC_S_SERVER_UNAVAILABLE (1722)"},
      {4200, Code::kNotFound, "ERROR_WMI_GUID_NOT_FOUND (4200)"},
      {4201, Code::kNotFound, "ERROR_WMI_INSTANCE_NOT_FOUND (4201)"},
      {4202, Code::kNotFound, "ERROR_WMI_ITEMID_NOT_FOUND (4202)"},
      {4211, Code::kDataLoss, "ERROR_WMI_INVALID_REGINFO (4211)"},
      {12345, Code::kUnknown, "error 12345"},
      {0xFFFFFFFF, Code::kUnknown, "error 4294967295"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Win32ErrorName(test.error), test.name);
    EXPECT_THAT(
        StatusFromWin32(test.error, "PerfAddCounters"),
        StatusIs(test.code, std::string("PerfAddCounters: ") + test.name));
  }
}

TEST(StatusFromWin32, IsOkForSuccess) {
  EXPECT_OK(StatusFromWin32(0, "PerfAddCounters"));
}

}  // namespace
}  // namespace fleetperf
