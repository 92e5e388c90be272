// Counts the samples of watched series (watch --count).

#ifndef FLEETPERF_CLI_SAMPLE_COUNT_H_
#define FLEETPERF_CLI_SAMPLE_COUNT_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Tells whether the next sample of a series is overdue.
class SampleTimes {
 public:
  // Adds a sample that arrived at `now`.
  void Add(absl::Time sample, absl::Time now);

  // Whether the series stopped: 3.5 of its intervals, and the time that samples
  // may be in flight, have passed since the last sample arrived. The age of the
  // first one is that of its own time, because it may have been stored long
  // ago; the clocks of machines do not affect later ones.
  bool IsLate(absl::Time now) const;

 private:
  absl::Time newest_ = absl::InfinitePast();
  absl::Time heard_ = absl::InfinitePast();
  absl::Duration interval_;  // the last one; 0: unknown
};

// Splits a message into parts with at most one sample of each series. The first
// part has the new series; the last one all that follows the values.
std::vector<v1::SubscribeResponse> SplitBySample(
    const v1::SubscribeResponse& message);

// Counts rounds: in each, every series has one sample more. Example, with a
// limit of 2: series A has samples at 1, 2 and 3 s, B at 1 and 3 s. Round 1 is
// complete at 1 s, round 2 at 3 s; A's third sample is left out.
//
// No round waits for a series that ended or is late. A series that begins when
// some rounds are complete takes part in the remaining ones. The first round is
// complete when all stored values have arrived. Thread-compatible.
class SampleCount {
 public:
  explicit SampleCount(uint32_t limit) : limit_(limit) {}

  // Counts a part of a message, and removes samples beyond the limit from it.
  void Add(v1::SubscribeResponse* part, absl::Time now);

  // Returns the number of complete rounds, at most the limit.
  uint32_t CompleteRounds(absl::Time now);

  uint32_t limit() const { return limit_; }

 private:
  struct Series {
    uint32_t count = 0;
    bool has_ended = false;
    SampleTimes times;
  };

  // Notes a sample. Returns whether it is beyond the limit.
  bool IsBeyond(uint32_t id, absl::Time time, absl::Time now);
  void BeginRound();

  const uint32_t limit_;
  uint32_t rounds_ = 0;
  uint32_t largest_ = 0;  // of all counts
  bool has_stored_ = false;
  std::map<uint32_t, Series> series_;
  std::set<uint32_t> behind_;  // the series that the next round needs
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_SAMPLE_COUNT_H_
