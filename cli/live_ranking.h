// Ranks the series that several aggregators send (watch --top).

#ifndef FLEETPERF_CLI_LIVE_RANKING_H_
#define FLEETPERF_CLI_LIVE_RANKING_H_

#include <cstdint>
#include <map>
#include <set>

#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Of each counter, passes on only the series with the largest newest values, or
// the smallest ones. Each aggregator sends its own first few. A series that is
// no longer among these ends, and returns with its newest value.
// Thread-compatible.
class LiveRanking {
 public:
  // One of these is the number of series; the other is 0.
  LiveRanking(uint32_t top, uint32_t bottom) : top_(top), bottom_(bottom) {}

  void Apply(v1::SubscribeResponse* response);

 private:
  struct Entry {
    v1::Series series;
    v1::Points newest;  // the newest point; none yet: empty
    double rank = 0;    // the smaller, the better; of a value that is OK
    bool is_ok = false;
  };

  void AddPoints(const v1::Points& points);
  std::set<uint32_t> FirstOfEachCounter() const;

  const uint32_t top_;
  const uint32_t bottom_;
  std::map<uint32_t, Entry> entries_;  // by id
  std::set<uint32_t> shown_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_LIVE_RANKING_H_
