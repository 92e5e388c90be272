// The state of agents that is kept across streams. An agent's state is dropped
// once the agent has been disconnected for kForgottenAfter.

#ifndef FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_
#define FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_limits.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {

// Thread-compatible. All times are Clock::Monotonic().
class KnownAgents {
 public:
  // The time for which the state of a disconnected agent is kept.
  static constexpr absl::Duration kForgottenAfter = absl::Hours(24);

  explicit KnownAgents(const IngestLimits& limits) : limits_(limits) {}

  // Records that the agent opened a stream, or replaced its stream by another.
  void Join(const std::string& agent, absl::Duration now);
  // Records that the agent's stream has ended.
  void Leave(const std::string& agent, absl::Duration now);

  // Makes `agent` the speaker for `machine`, i.e. the agent that answers for
  // it, until the agent leaves. A no-op if the agent's stream has ended.
  // Returns ResourceExhausted if the agent speaks for too many machines.
  absl::Status SetSpeaker(const std::string& machine, const std::string& agent);
  // Returns the agent that speaks for `machine`; nullptr if none does.
  const std::string* SpeakerOf(const std::string& machine) const;

  // Makes `agent` the owner of a machine's counterset. Returns AlreadyExists if
  // the owner is another agent with an open stream. An agent that owns too many
  // countersets loses one of the others.
  absl::Status Claim(const std::string& machine,
                     const perflib::Guid& counterset, const std::string& agent);

  // Records whether definitions of one of the agent's epochs are missing. If
  // the record is dropped with its agent, the loss is detected again.
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
    std::optional<absl::Duration> left;  // std::nullopt: its stream is open
    std::set<std::string> machines;      // for which the agent is the speaker
    std::set<MachineCounterset> owned;
    std::set<uint32_t> lost_dictionaries;
  };

  // Drops the state of agents that have been disconnected for kForgottenAfter.
  // Rate-limited, because it scans all agents.
  void ForgetAbsentAgents(absl::Duration now);

  const IngestLimits limits_;
  std::map<std::string, Agent> agents_;
  std::map<std::string, std::string> speakers_;  // by machine
  std::map<MachineCounterset, std::string> owners_;
  absl::Duration next_sweep_ = -absl::InfiniteDuration();
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_KNOWN_AGENTS_H_
