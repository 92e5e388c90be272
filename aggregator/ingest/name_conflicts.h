// Which agents' names are used by two agents at a time: machines that were
// cloned with their certificate, or names that are used twice.

#ifndef FLEETPERF_AGGREGATOR_INGEST_NAME_CONFLICTS_H_
#define FLEETPERF_AGGREGATOR_INGEST_NAME_CONFLICTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::aggregator {

// Returns the host of a peer's address: "box" of "box:1".
absl::string_view HostOf(absl::string_view address);

// The conflicts of connected agents. Thread-compatible. All times are
// Clock::Monotonic(), and do not decrease.
class NameConflicts {
 public:
  // The time for which a conflict is remembered. Refused agents try again after
  // 15 s at most.
  static constexpr absl::Duration kShown = absl::Minutes(10);

  // Records that an agent of the same name was refused.
  void NoteRefusal(const std::string& agent, const std::string& address,
                   absl::Duration now);
  // Records that the agent's stream was replaced. Returns whether that is a
  // conflict: the stream that was replaced came from another host, and had
  // itself replaced one of the new host within kShown. An agent whose address
  // changes does not go back and forth; two clones do.
  bool NoteReplacement(const std::string& agent, const std::string& from,
                       const std::string& to, absl::Duration now);
  // Records that the agent's stream has ended, and no other has replaced it.
  void NoteEnd(const std::string& agent) { others_.erase(agent); }

  // Returns the address of the other agent; "" for none.
  std::string AddressOf(const std::string& agent, absl::Duration now) const;
  // Returns the agents with a conflict, by name.
  std::vector<std::string> Agents(absl::Duration now) const;

 private:
  struct Other {
    std::string address;
    absl::Duration time;
  };
  struct Replacement {
    std::string from;  // hosts
    std::string to;
    absl::Duration time;
  };

  static bool IsRecent(absl::Duration time, absl::Duration now) {
    return now - time <= kShown;
  }
  // Drops what is too old. Rate-limited, because it scans everything.
  void Sweep(absl::Duration now);

  std::map<std::string, Other> others_;              // by agent
  std::map<std::string, Replacement> replacements_;  // by other hosts; by agent
  absl::Duration next_sweep_ = -absl::InfiniteDuration();
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_NAME_CONFLICTS_H_
