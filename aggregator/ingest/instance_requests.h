// Requests to agents for the present instances of a counterset.

#ifndef FLEETPERF_AGGREGATOR_INGEST_INSTANCE_REQUESTS_H_
#define FLEETPERF_AGGREGATOR_INGEST_INSTANCE_REQUESTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace fleetperf::aggregator {

class Session;

// Thread-safe.
class InstanceRequests {
 public:
  using InstanceNames = absl::StatusOr<std::vector<perflib::InstanceName>>;
  using SessionOf =
      absl::FunctionRef<std::shared_ptr<Session>(const std::string& machine)>;

  // `clock` must outlive this object.
  explicit InstanceRequests(const Clock* clock) : answered_(clock) {}

  // Sends a request to the agent of each machine, by `session_of`, which
  // returns nullptr if none is connected, and waits for the answers. Returns
  // them in the order of `machines`. Errors: see Ingest::EnumerateInstances.
  std::vector<InstanceNames> Enumerate(const std::vector<std::string>& machines,
                                       const perflib::Guid& counterset,
                                       absl::Duration timeout,
                                       SessionOf session_of);

  // Takes an agent's answer. Answers that no call of Enumerate awaits from this
  // agent are ignored. Lists out of bounds become errors.
  void Take(const std::string& agent, v1::InstanceList list);

 private:
  struct Request {
    std::string agent;
    uint64_t id = 0;  // 0: not sent
    std::optional<v1::InstanceList> answer;
  };

  // Sends `request` for the machine to its agent.
  void Send(const std::string& machine, const perflib::Guid& counterset,
            Session& session, Request* request);

  absl::Mutex mutex_;
  std::map<uint64_t, Request*> requests_ ABSL_GUARDED_BY(mutex_);  // by id
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  Wakeup answered_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_INSTANCE_REQUESTS_H_
