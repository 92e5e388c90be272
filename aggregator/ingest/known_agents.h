// What is known of agents from one stream to the next. It is forgotten when
// they have been away for long.

#ifndef FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_
#define FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/rate_budget.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {

// Times are Clock::Monotonic(). Thread-compatible.
class KnownAgents {
 public:
  // How long an agent may be away before it is forgotten.
  static constexpr absl::Duration kForgottenAfter = absl::Hours(24);

  explicit KnownAgents(const IngestLimits& limits) : limits_(limits) {}

  // The agent's stream was opened, or replaced by another one; it has ended.
  void Join(const std::string& agent, absl::Duration now);
  void Leave(const std::string& agent, absl::Duration now);

  std::shared_ptr<AgentBudgets> BudgetsOf(const std::string& agent,
                                          absl::Duration now);

  // `agent`, whose stream is open, speaks for a machine until it leaves.
  // ResourceExhausted if it speaks for too many.
  absl::Status SetSpeaker(const std::string& machine, const std::string& agent);
  // Null if no agent does.
  const std::string* SpeakerOf(const std::string& machine) const;

  // Makes `agent` the owner of a machine's counterset. AlreadyExists if another
  // one is whose stream is open. An agent that owns too many loses another.
  absl::Status Claim(const std::string& machine,
                     const perflib::Guid& counterset, const std::string& agent);

  // Whether definitions of an epoch of the agent are missing. One that is
  // forgotten with its agent is found out again.
  void SetLostDictionary(const std::string& agent, uint32_t epoch_number,
                         bool lost);
  bool HasLostDictionary(const std::string& agent, uint32_t epoch_number) const;

  struct Sizes {
    size_t agents = 0;
    size_t speakers = 0;
    size_t owned_countersets = 0;
    size_t lost_dictionaries = 0;

    bool operator==(const Sizes&) const = default;
  };
  Sizes sizes() const;

 private:
  using MachineCounterset = std::pair<std::string, perflib::Guid>;

  struct Agent {
    std::optional<absl::Duration> left;  // nothing: its stream is open
    std::shared_ptr<AgentBudgets> budgets;
    std::set<std::string> machines;  // that it speaks for
    std::set<MachineCounterset> owned;
    std::set<uint32_t> lost_dictionaries;
  };

  // Now and then: it looks at all of them.
  void ForgetThoseAway(absl::Duration now);

  const IngestLimits limits_;
  std::map<std::string, Agent> agents_;
  std::map<std::string, std::string> speakers_;  // by machine
  std::map<MachineCounterset, std::string> owners_;
  absl::Duration next_look_ = -absl::InfiniteDuration();
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_
