// A child process that answers its parent over pipes.
//
// The child may hang or crash at any time, which costs its parent no more than
// the answer: reads have a timeout, and the destructor ends the child.

#ifndef FLEETPERF_BASE_OS_CHILD_PROCESS_H_
#define FLEETPERF_BASE_OS_CHILD_PROCESS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

// Thread-compatible. The child also ends with its parent: at the latest when it
// reads next, and on Windows at once.
class ChildProcess {
 public:
  // Starts `command`, whose first element is the path of an executable. The
  // child inherits no file but its pipes, and on Linux standard error.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command);

  // Kills the child and waits for its end; on Windows for a second at most,
  // because a process that is stuck in a driver does not end.
  virtual ~ChildProcess() = default;

  // Writes to the child's standard input. Must be small enough for a pipe's
  // buffer (4 KiB), or the child must be reading. Unavailable if it has ended.
  virtual absl::Status Write(absl::string_view bytes) = 0;

  // Reads `size` bytes of the child's standard output, however many pieces they
  // come in. Returns DeadlineExceeded after `timeout`; Unavailable, with the
  // way in which the child ended, if it has ended.
  virtual absl::Status Read(char* bytes, size_t size,
                            absl::Duration timeout) = 0;
};

// The child's side: its standard input and output. Thread-compatible.
class ParentPipe {
 public:
  // Takes over standard output: what other code prints goes to standard error,
  // and on Windows nowhere. There, errors also show no dialogs from then on.
  static absl::StatusOr<std::unique_ptr<ParentPipe>> Open();

  virtual ~ParentPipe() = default;

  // Reads `size` bytes. Unavailable if the parent has closed the pipe.
  virtual absl::Status Read(char* bytes, size_t size) = 0;
  virtual absl::Status Write(absl::string_view bytes) = 0;
};

// Returns the path of the running executable.
absl::StatusOr<std::string> ExecutablePath();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_CHILD_PROCESS_H_
