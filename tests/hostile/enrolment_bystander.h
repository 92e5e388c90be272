// `fleetperf pki serve`, and an honest client that measures its waits while
// others attack it.

#ifndef FLEETPERF_TESTS_HOSTILE_ENROLMENT_BYSTANDER_H_
#define FLEETPERF_TESTS_HOSTILE_ENROLMENT_BYSTANDER_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/process.h"
#include "tests/hostile/bystanders.h"

namespace fleetperf::testing {

// Thread-safe, except for Enroll.
class EnrolmentBystander {
 public:
  // Starts the server with the authority of `deployment`, and the client.
  explicit EnrolmentBystander(Deployment* deployment);
  ~EnrolmentBystander();

  int port() const { return port_; }

  // Waits until the client has an answer in this period, for at most kPatience.
  void AwaitMeasures();
  // Begins a new period and returns the measures of the last.
  Measured Next();
  // Returns "" or why a question had no answer.
  std::string failure() const;

  // Enrolls an agent. Returns "" or the output of the command that failed.
  std::string Enroll(const std::string& name);

 private:
  void Run();

  Deployment& deployment_;
  Process server_;
  int port_ = 0;
  mutable absl::Mutex mutex_;
  Wakeup changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  Measured measured_ ABSL_GUARDED_BY(mutex_);
  std::thread client_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_ENROLMENT_BYSTANDER_H_
