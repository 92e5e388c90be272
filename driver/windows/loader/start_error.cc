#include "driver/windows/loader/start_error.h"

#include <windows.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"

namespace fleetperf {
namespace {

// mingw-w64's headers lack these.
constexpr uint32_t kErrorInvalidImageHash = 577;
constexpr uint32_t kErrorSystemIntegrityPolicyViolation = 4551;

std::string ExplainSignature(const CodeIntegrity& integrity) {
  if (integrity.test_signing) {
    return "the image is not signed, or was changed after it was signed; sign "
           "it, also with a certificate of your own, because test signing is "
           "on";
  }
  const char* const production =
      "this Windows loads only drivers that Microsoft has signed; get the "
      "image "
      "signed as docs/driver.md describes";
  if (integrity.secure_boot) {
    return absl::StrCat(production,
                        ", or, on a machine for tests only, switch Secure Boot "
                        "off in the firmware, then run: bcdedit /set "
                        "testsigning on, and restart");
  }
  return absl::StrCat(production,
                      ", or, on a machine for tests only, run: bcdedit /set "
                      "testsigning on, and restart");
}

std::string ExplainBlock(const CodeIntegrity& integrity) {
  if (integrity.memory_integrity) {
    return "a policy or memory integrity (HVCI) blocks the image; see the "
           "event log Microsoft-Windows-CodeIntegrity/Operational; HVCI needs "
           "an image that Microsoft has signed";
  }
  return "a policy blocks the image; see the event log "
         "Microsoft-Windows-CodeIntegrity/Operational, and allow the signer "
         "of the image in the policy";
}

std::string Explain(uint32_t error, const CodeIntegrity& integrity) {
  switch (error) {
    case ERROR_ACCESS_DENIED:
      return "run this as an administrator";
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return "the image, or its directory, was removed; run: fleetperf-pmu "
             "remove, then install it again";
    case kErrorInvalidImageHash:
      return ExplainSignature(integrity);
    case ERROR_DRIVER_BLOCKED:
    case kErrorSystemIntegrityPolicyViolation:
      return ExplainBlock(integrity);
    case ERROR_BAD_EXE_FORMAT:
      return "the image is damaged, or not for this processor; install the "
             "image of the same version as this program";
    case ERROR_SERVICE_DISABLED:
      return "an administrator disabled the service; enable it with: sc.exe "
             "config fleetperf_pmu start= demand";
    case ERROR_SERVICE_MARKED_FOR_DELETE:
      return "the service is being removed; close the programs that show "
             "services, or restart Windows";
    default:
      return "see the event log System";
  }
}

}  // namespace

absl::Status StartError(uint32_t error, const CodeIntegrity& integrity) {
  const absl::Status status =
      StatusFromWin32(error, "cannot start the driver fleetperf_pmu");
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), ": ",
                                                  Explain(error, integrity)));
}

}  // namespace fleetperf
