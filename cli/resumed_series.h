// Joins the streams of a subscription that is resumed after its connection was
// lost.

#ifndef FLEETPERF_CLI_RESUMED_SERIES_H_
#define FLEETPERF_CLI_RESUMED_SERIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Gives series the same ids in all streams, and removes values that an earlier
// stream had. Thread-compatible.
class ResumedSeries {
 public:
  // Must be called before the first response of each stream.
  void BeginStream();

  // Translates a response of the current stream.
  void Translate(v1::SubscribeResponse* response);

  // Returns the time after which the next stream should start. It leaves time
  // for machines that send later than others. std::nullopt: no values so far.
  std::optional<absl::Time> NextStart() const;

 private:
  struct Series {
    uint32_t id = 0;
    absl::Time newest = absl::InfinitePast();
    // `newest` when the current stream began.
    absl::Time before_stream = absl::InfinitePast();
  };

  void RemoveOld(v1::Points* points);
  void RemoveOld(v1::RawSamples* samples);

  std::map<std::string, Series> series_;      // by machine and path
  std::map<uint32_t, Series*> by_stream_id_;  // of the current stream
  absl::Time newest_ = absl::InfinitePast();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_RESUMED_SERIES_H_
