// Plays a capture: its blocks take the same path as collected blocks, with
// their original times.

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

// Thread-compatible, except for Stop().
class Player {
 public:
  struct Options {
    std::string machine;  // the machine to play as
    Delivery* delivery = nullptr;
    // Play() waits while the spool holds more bytes, so that nothing is
    // dropped.
    uint64_t max_spool_bytes = uint64_t{32} << 20;
  };

  // Returns an error that describes the first defect in a recording.
  static absl::StatusOr<std::unique_ptr<Player>> Open(
      std::vector<Recording> recordings, const Options& options);

  // Delivers all blocks, oldest first, as fast as the spool accepts them, and
  // waits until all are acknowledged. Defects in files are logged. Returns
  // DataLoss with the amounts if some data is not stored, and Cancelled after
  // Stop().
  absl::Status Play();

  // Thread-safe.
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
  // Blocks until the spool holds at most `bytes`. Returns false once stopped.
  bool AwaitSpool(uint64_t bytes) const;
  absl::Status Stopped() const;
  absl::Status Finished() const;

  const Options options_;
  LogOncePerCause log_;
  MachineInstances instances_;
  std::vector<Track> tracks_;
  size_t blocks_ = 0;
  // The numbers of blocks played, and of played blocks that were not stored at
  // all and stored in part.
  size_t played_ = 0;
  size_t unreadable_ = 0;
  size_t damaged_ = 0;
  std::atomic<bool> stopping_ = false;
};

// Returns the epoch of the batches that result from playing `recordings` as
// `machine`. The epoch is a digest of the whole input: the aggregator
// recognizes a capture that is played again, and different captures differ.
uint64_t EpochOf(const std::vector<Recording>& recordings,
                 const std::string& machine);

// Returns the countersets of the recordings, without duplicates.
absl::StatusOr<std::vector<perflib::CountersetRegistration>> RegistrationsOf(
    const std::vector<Recording>& recordings);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAYER_H_
