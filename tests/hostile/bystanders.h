// An honest agent and an honest reader, which measure their waits while others
// attack the aggregator.

#ifndef FLEETPERF_TESTS_HOSTILE_BYSTANDERS_H_
#define FLEETPERF_TESTS_HOSTILE_BYSTANDERS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {

// The waits of the bystanders and the aggregator's use of resources in a
// period.
struct Measured {
  std::vector<absl::Duration> acknowledgments;
  std::vector<absl::Duration> answers;
  int64_t memory_kib = 0;  // the largest resident set
  int64_t threads = 0;     // the largest number
  int64_t descriptors = 0;

  // Adds the present use of a process.
  void AddUsage(pid_t pid);

  // Returns the `share`-th smallest wait: 0.99. Zero if there is none.
  static absl::Duration Quantile(std::vector<absl::Duration> waits,
                                 double share);
};

// Thread-safe.
class Bystanders {
 public:
  // Connects the agent "honest" and a reader to the aggregator of `deployment`,
  // the process `pid`. Unless `page_port` is 0, the reader also asks the page.
  Bystanders(Deployment* deployment, pid_t pid, int page_port);
  // Ends the streams.
  ~Bystanders();

  // Waits until both bystanders have measured something in this period, for at
  // most kPatience.
  void AwaitMeasures();
  // Begins a new period and returns the measures of the last.
  Measured Next();

  // Returns "" or the failure of a bystander: a stream that ended, a wait of
  // more than kPatience.
  std::string failure() const;
  // The number of acknowledged batches.
  uint64_t acknowledged() const;
  // The time of the honest agent's batch 0. Batch n is n seconds later.
  absl::Time start() const { return start_; }

 private:
  void RunAgent();
  void RunReader();
  void RunUsage(pid_t pid);
  // Waits before the next step. Returns false if it is time to stop.
  bool Pause();
  void Fail(const std::string& reason);

  Deployment& deployment_;
  const int page_port_;
  const TlsFiles agent_tls_;
  const TlsFiles reader_tls_;
  const absl::Time start_;
  mutable absl::Mutex mutex_;
  Wakeup changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  Measured measured_ ABSL_GUARDED_BY(mutex_);
  std::thread agent_;
  std::thread reader_;
  std::thread usage_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_BYSTANDERS_H_
