// Plays a capture: its blocks go the way of those that are collected, with the
// times they have.

#ifndef FLEETPERF_AGENT_COLLECT_PLAYER_H_
#define FLEETPERF_AGENT_COLLECT_PLAYER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/collect/collector.h"
#include "agent/deliver/delivery.h"
#include "agent/source/replay/replay_source.h"
#include "base/logging.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

class Player {
 public:
  struct Options {
    std::string machine;  // whose counters they become
    Delivery* delivery = nullptr;
    // Waits while the spool holds more than this, so that nothing is dropped.
    uint64_t max_spool_bytes = uint64_t{32} << 20;
  };

  // An error names what is wrong with a recording.
  static absl::StatusOr<std::unique_ptr<Player>> Open(
      std::vector<Recording> recordings, const Options& options);

  // Hands all blocks to delivery, the oldest first, as fast as they are taken,
  // and waits until all are acknowledged. What is wrong with a file is logged.
  // DataLoss, which says how much, if not everything is stored; Cancelled after
  // Stop.
  absl::Status Play();

  // May be called by another thread.
  void Stop() { stopping_ = true; }

 private:
  struct Track {
    std::unique_ptr<Source> source;
    std::unique_ptr<Collector> collector;
    std::vector<std::string> block_paths;
    size_t next = 0;
    absl::Time next_time;
  };

  explicit Player(const Options& options);

  Track* OldestTrack();
  void PlayBlock(Track& track);
  // Waits until the spool holds no more. False if it is stopped.
  bool AwaitSpool(uint64_t bytes) const;
  absl::Status Stopped() const;
  absl::Status Finished() const;

  const Options options_;
  LogOncePerCause log_;
  MachineInstances instances_;
  std::vector<Track> tracks_;
  size_t blocks_ = 0;
  // Of them, so many were played, and so many of those are not stored at all or
  // not all of them is.
  size_t played_ = 0;
  size_t unreadable_ = 0;
  size_t damaged_ = 0;
  std::atomic<bool> stopping_ = false;
};

// The epoch of the batches that `recordings` make when they are played as
// `machine`: derived from everything that they are made of, so that a capture
// that is played again is recognised, and any other is another.
uint64_t EpochOf(const std::vector<Recording>& recordings,
                 const std::string& machine);

// The countersets of the recordings, each once.
absl::StatusOr<std::vector<perflib::CountersetRegistration>> RegistrationsOf(
    const std::vector<Recording>& recordings);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAYER_H_
