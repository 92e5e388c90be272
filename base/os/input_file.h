// Reads files that people and other programs write, and may replace at any
// time: configurations, certificates, keys, passwords, lists of certificates,
// tokens. Their paths may come to name anything, such as a FIFO, a device or a
// file of a network that is down, and no reader may hang or fill the memory
// for that. Files that a program writes for itself are read with files.h.

#ifndef FLEETPERF_BASE_OS_INPUT_FILE_H_
#define FLEETPERF_BASE_OS_INPUT_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/os/clock.h"

namespace fleetperf {

// The largest size of such a file, and the time for reading it.
inline constexpr uint64_t kMaxInputFileBytes = uint64_t{16} << 20;
inline constexpr absl::Duration kInputFileTime = absl::Seconds(5);

// Returns the contents of a regular file; links to one are followed. Other
// kinds of files are FailedPrecondition and are never waited for, larger files
// are ResourceExhausted, and a read that takes longer is DeadlineExceeded.
// Messages name the file and the next step. Thread-safe.
absl::StatusOr<std::string> ReadInputFile(const std::string& path);

// The same for a file with a secret, such as a key. Returns PermissionDenied if
// the file's mode lets other users, or a group, read or change it, unless it is
// a credential of systemd (systemd_credential.h). Windows has no modes; there,
// the access list of the folder protects the file.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

namespace internal {

enum class InputSecrecy { kPublic, kSecret };

absl::Status InputTooLarge(const std::string& path);

// The parts of the functions above: reads the file on the calling thread.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            InputSecrecy secrecy);

// Calls `read` on another thread, and returns its result, or DeadlineExceeded
// after `timeout`. From then on, until `read` returns, calls for the same
// `path` fail at once, so that a file that hangs costs one thread. If the
// system starts no thread, `read` runs on the calling one.
absl::StatusOr<std::string> ReadInTime(
    const std::string& path, absl::Duration timeout,
    std::function<absl::StatusOr<std::string>()> read,
    const Clock& clock = Clock::Real());

}  // namespace internal
}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_INPUT_FILE_H_
