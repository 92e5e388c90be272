// Child processes that a test starts, observes and kills.

#ifndef FLEETPERF_TESTS_E2E_PROCESS_H_
#define FLEETPERF_TESTS_E2E_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {

// A child process. The destructor kills it if it still runs.
class Process {
 public:
  // Starts `command`. `environment` is added to the environment of the test.
  Process(const std::vector<std::string>& command,
          const std::map<std::string, std::string>& environment = {});
  // Forks a child that runs `body` and is called `name` in /proc. `body` may
  // make only async-signal-safe calls.
  Process(const std::string& name, const std::function<void()>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // Waits until standard output or standard error has at least `lines` lines
  // that contain `text`. Returns false if the process ends, or kPatience
  // passes, without them.
  bool WaitForOutput(const std::string& text, int lines = 1);
  bool WaitForError(const std::string& text, int lines = 1);

  std::string output() const;
  std::string error() const;

  void Signal(int signal);
  // Waits for the end of the process. Returns its exit status, or minus the
  // signal that ended it.
  int Wait();

 private:
  // The output of a pipe, which a thread reads. Thread-safe.
  class Stream {
   public:
    explicit Stream(int fd);
    ~Stream();
    bool WaitFor(const std::string& text, int lines);
    std::string text() const;

   private:
    bool HasLines(const std::string& text, int lines) const
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

    mutable absl::Mutex mutex_;
    std::string text_ ABSL_GUARDED_BY(mutex_);
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    std::thread reader_;
  };

  void Start(const std::function<void()>& in_child);

  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::unique_ptr<Stream> output_;
  std::unique_ptr<Stream> error_;
};

struct Result {
  int status;
  std::string output;
  std::string error;
};

// Runs a command and waits for its end.
Result RunCommand(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment = {});

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_PROCESS_H_
