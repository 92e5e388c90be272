// One subscription and all viewers that asked for the same.
//
// Each message of the subscription is encoded once, to a line that all viewers
// share. A viewer that joins later first gets a snapshot: all series with their
// newest values. A viewer that reads too slowly loses the lines that wait for
// it, and gets a snapshot when it has read the rest.

#ifndef FLEETPERF_AGGREGATOR_WEB_LIVE_STREAM_H_
#define FLEETPERF_AGGREGATOR_WEB_LIVE_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/subscribe/outbox.h"
#include "aggregator/web/reply.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator::web {

// The sum of the messages of a subscription, and their lines. A line is an
// object with only the fields that there are:
//   {"series":[...],"points":[...],"ended":[ids],"lagged":n,"machines":{...},
//    "missing":[...]}
// Thread-compatible.
class LiveState {
 public:
  // Adds a message. Returns its line, without the end of the line.
  std::string Add(const v1::SubscribeResponse& message);

  // Returns a line with all series, their newest values, and what the first
  // message had; with `lagged` unless that is 0.
  std::string Snapshot(uint64_t lagged) const;

  size_t series() const { return series_.size(); }

 private:
  struct Series {
    std::string json;
    v1::Points newest;  // one point, or none
  };

  absl::flat_hash_map<uint32_t, Series> series_;
  std::string machines_;  // JSON; "": unknown
  std::string missing_;   // JSON of the elements; "": none
};

// The viewers of a stream. Thread-compatible.
class LiveViewers {
 public:
  // A viewer that has more bytes to read than this loses them.
  static constexpr size_t kMaxWaitingBytes = 4 << 20;
  // Above this, the stream waits with the next message if all viewers do; the
  // subscription then keeps the newest values only, by itself.
  static constexpr size_t kBusyBytes = 1 << 20;
  // The longest time between two lines.
  static constexpr absl::Duration kHeartbeat = absl::Seconds(10);

  // `wake` is called, on any thread, when Update has something to do.
  explicit LiveViewers(std::function<void()> wake) : wake_(std::move(wake)) {}

  // `memory` is a share of Pool::kUnreadBytes.
  void Add(std::shared_ptr<Reply> reply, bool keeps_alive,
           CallerQuota::Share share, CallerQuota::Share memory);
  // Makes the viewers current: the subscription has no messages before the next
  // one.
  void Begin();
  // Removes the viewers that are gone.
  void RemoveGone();
  bool empty() const { return viewers_.empty(); }
  // Whether none of the viewers has room for more. `wake` is called when one
  // has again.
  bool AllAreBusy() const;

  // Sends a line with a number of values to the viewers that are up to date.
  // Returns the number of values that viewers have lost.
  uint64_t Send(const std::string& line, uint64_t values, absl::Duration now);
  // Sends snapshots to the viewers that need one and have read the rest, and
  // heartbeats. `snapshot` makes one for a number of lost values.
  void Update(absl::FunctionRef<std::string(uint64_t lagged)> snapshot,
              absl::Duration now);
  // Ends the answers, and removes all viewers. Those that have got nothing get
  // the error alone.
  void End(const absl::Status& error);

 private:
  struct Viewer {
    std::shared_ptr<Reply> reply;
    bool keeps_alive = false;
    CallerQuota::Share share;   // of the subscriptions
    CallerQuota::Share memory;  // of the bytes that it has not read
    bool has_head = false;
    bool is_current = false;  // has a snapshot, and all lines since
    uint64_t lagged = 0;
    absl::Duration sent;  // Clock::Monotonic() of the last line
  };

  void SendHead(Viewer* viewer);
  // Whether the viewer may have this many more bytes that it has not taken.
  static bool HasRoom(size_t bytes, Viewer* viewer);
  // Returns the number of values that the viewer has lost.
  uint64_t Drop(Viewer* viewer);

  const std::function<void()> wake_;
  std::vector<Viewer> viewers_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_LIVE_STREAM_H_
