#include "agent/source/windows/advice.h"

#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

TEST(PerfLibError, ExplainsDeniedAccess) {
  EXPECT_THAT(
      PerfLibError("", "PerfAddCounters", 5),
      StatusIs(absl::StatusCode::kPermissionDenied,
               AllOf(HasSubstr("PerfAddCounters: ERROR_ACCESS_DENIED (5): "),
                     HasSubstr("Performance Monitor Users of this machine"))));
  EXPECT_THAT(
      PerfLibError("db1", "PerfOpenQueryHandle", 5),
      StatusIs(
          absl::StatusCode::kPermissionDenied,
          AllOf(HasSubstr("PerfOpenQueryHandle of db1: ERROR_ACCESS_DENIED"),
                HasSubstr("computer account"),
                HasSubstr("Performance Monitor Users of that machine"))));
}

TEST(PerfLibError, DistinguishesUnreachableMachinesFromStoppedServices) {
  for (const uint32_t unreachable : {53u, 1722u}) {
    EXPECT_THAT(
        PerfLibError("db1", "PerfOpenQueryHandle", unreachable),
        StatusIs(absl::StatusCode::kUnavailable,
                 AllOf(HasSubstr("port 445"), Not(HasSubstr("sc.exe")))));
  }
  for (const uint32_t stopped : {2u, 1062u, 1753u}) {
    EXPECT_THAT(PerfLibError("db1", "PerfOpenQueryHandle", stopped),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("sc.exe \\\\db1 start RemoteRegistry"),
                               Not(HasSubstr("port 445")))));
  }
}

TEST(PerfLibError, AdvisesNoCommandWithNamesThatAShellInterprets) {
  EXPECT_THAT(
      PerfLibError("a & calc", "PerfOpenQueryHandle", 2).message(),
      AllOf(HasSubstr("PerfOpenQueryHandle of a & calc"),
            HasSubstr("with: sc.exe \\\\MACHINE start RemoteRegistry")));
}

TEST(PerfLibError, GivesNoAdviceForUnrelatedErrors) {
  EXPECT_THAT(PerfLibError("", "PerfOpenQueryHandle", 1722).message(),
              "PerfOpenQueryHandle: RPC_S_SERVER_UNAVAILABLE (1722)");
  EXPECT_THAT(PerfLibError("db1", "PerfAddCounters", 87).message(),
              "PerfAddCounters of db1: ERROR_INVALID_PARAMETER (87)");
}

}  // namespace
}  // namespace fleetperf::agent
