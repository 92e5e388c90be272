// The thread that takes a machine's ticks when they are due.

#ifndef FLEETPERF_AGENT_COLLECT_COLLECTION_H_
#define FLEETPERF_AGENT_COLLECT_COLLECTION_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/collect/collector.h"
#include "agent/collect/plan.h"
#include "agent/collect/schedule.h"
#include "agent/deliver/delivery.h"
#include "agent/source/source.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

// What became of one query of a plan.
struct QueryReport {
  size_t query = 0;        // its position in the plan
  std::string counterset;  // empty if none matched
  std::string error;       // empty if all is well
};

// Thread-safe.
class Collection {
 public:
  struct Options {
    std::string machine;
    Source* source = nullptr;
    Delivery* delivery = nullptr;
    const Clock* clock = &Clock::Real();
    // The source's countersets.
    std::vector<perflib::CountersetRegistration> registrations;
    std::unique_ptr<Capture> capture;  // keeps the blocks; may be null
  };

  explicit Collection(Options options);
  // Stops the thread, after the tick it is at.
  ~Collection();

  // Replaces what is collected, between two ticks; waits until that is done.
  // What goes on being collected at the same interval loses no tick, and no
  // instance begins a new life.
  std::vector<QueryReport> Apply(const Plan& plan);

 private:
  struct Group {
    std::unique_ptr<Collector> collector;
    Schedule schedule;
  };
  struct Application {
    const Plan* plan = nullptr;
    std::vector<QueryReport> reports;
    bool done = false;
  };

  void Run();
  // Sleeps until a tick is due, a plan is waiting or the end. False at the end.
  bool WaitForWork();
  void ApplyNow(Application* application);
  std::vector<std::vector<ResolvedQuery>> GroupByHandle(
      std::vector<ResolvedQuery> queries) const;
  void TakeDueTicks();
  void TakeTick(Group& group);
  void ReportLoss(const Group& group, int64_t ticks, LossCause cause);

  const Options options_;
  LogOncePerCause log_;
  // Used by the thread alone.
  MachineInstances instances_;
  std::vector<Group> groups_;
  uint32_t next_handle_ = 1;

  absl::Mutex mutex_;
  Wakeup wakeup_;
  Application* application_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_COLLECTION_H_
