// Ticks that were lost for good.

#ifndef FLEETPERF_AGENT_DELIVER_LOSSES_H_
#define FLEETPERF_AGENT_DELIVER_LOSSES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "values/causes.h"

namespace fleetperf::v1 {
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// A range of ticks: the contents of a batch, or lost ticks.
struct TickRange {
  uint64_t ticks = 0;
  absl::Time start = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();

  void Extend(const TickRange& other);
};

// Sums of lost ticks, by machine and cause. Thread-compatible.
class Losses {
 public:
  // An empty `machine` means all machines of the agent. 0 ticks mean that the
  // number is unknown.
  void Add(const std::string& machine, LossCause cause, const TickRange& ticks);
  void Add(const Losses& others);

  bool empty() const { return ranges_.empty(); }
  // Returns the range of all ticks lost for a cause, and for any cause.
  TickRange Of(LossCause cause) const;
  TickRange All() const;

  // Adds the losses to a batch.
  void AppendTo(v1::BatchContent* content) const;
  // Returns the losses that a batch reports.
  static Losses In(const v1::BatchContent& content);

 private:
  std::map<std::pair<std::string, LossCause>, TickRange> ranges_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_LOSSES_H_
