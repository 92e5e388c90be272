// Real processes, for tests that start, watch and kill them.

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

namespace fleetperf::testing {

// How long anything may take that a test waits for.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

// A child process. Killed, if it still runs, when it is destroyed.
class Process {
 public:
  // `environment` is added to that of the test.
  Process(const std::vector<std::string>& command,
          const std::map<std::string, std::string>& environment = {});
  // A child that runs `body` and is called `name` in /proc.
  Process(const std::string& name, const std::function<void()>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // Whether its standard output, or its standard error, has so many lines that
  // contain `text`; waits for them as long as it runs.
  bool WaitForOutput(const std::string& text, int lines = 1);
  bool WaitForError(const std::string& text, int lines = 1);

  std::string output() const;
  std::string error() const;

  void Signal(int signal);
  // Waits for its end. Its exit status, or minus the signal that ended it.
  int Wait();

 private:
  // What comes out of a pipe, collected by a thread.
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

// Runs a command to its end.
Result RunCommand(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment = {});

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_PROCESS_H_
