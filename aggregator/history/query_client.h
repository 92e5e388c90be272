// Asks an engine's query interface, over HTTP.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_QUERY_CLIENT_H_
#define FLEETPERF_AGGREGATOR_HISTORY_QUERY_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/engine/engine_target.h"
#include "aggregator/engine/http_client.h"

namespace fleetperf::aggregator {

// Called about ten times a second during waits. An error ends the wait.
using OnWait = std::function<absl::Status()>;

// Thread-safe.
class SampleEngine {
 public:
  virtual ~SampleEngine() = default;

  // Evaluates an expression of PromQL at a time, and returns the answer: JSON,
  // of a size that fits into memory several times. Errors name the engine and
  // quote its answer, or name the file that cannot be read.
  //
  // ResourceExhausted: the answer would be too large; ask for a shorter time.
  // FailedPrecondition: the configuration or a file of it must be changed.
  // Unavailable: the engine cannot be reached, or cannot answer now.
  // Others: those of `on_wait`.
  virtual absl::StatusOr<std::string> Query(const std::string& expression,
                                            absl::Time time,
                                            const OnWait& on_wait) = 0;
  // The engine's name in messages.
  virtual const std::string& name() const = 0;
};

class QueryClient : public SampleEngine {
 public:
  // The target's URL ends in /api/v1/query.
  explicit QueryClient(EngineTarget target)
      : target_(std::move(target)), name_(DisplayUrl(target_)) {}

  absl::StatusOr<std::string> Query(const std::string& expression,
                                    absl::Time time,
                                    const OnWait& on_wait) override;
  const std::string& name() const override { return name_; }

 private:
  std::unique_ptr<HttpClient> TakeIdle();
  void GiveBack(std::unique_ptr<HttpClient> client);

  const EngineTarget target_;
  const std::string name_;
  absl::Mutex mutex_;
  // Connections without a request.
  std::vector<std::unique_ptr<HttpClient>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_QUERY_CLIENT_H_
