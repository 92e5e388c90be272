// Tick intervals: the time between two neighbouring ticks of a query.
//
// A tick interval joins two neighbouring sound ticks of one query and epoch,
// without a break between their clocks. A tick is sound if the query did not
// fail. Queries of the same counters and interval are one query, whatever the
// sizes of their values, unless ticks of another query of the same series are
// between them. Presence is the part of the tick intervals in which a series
// was there.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_TICK_LINK_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_TICK_LINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// Ticks have numbers above 0, in order. The sound ticks of a query that follow
// each other without another one between them have consecutive numbers only
// within a frame; NumberBefore has the number of the tick before.
struct SoundTick {
  int64_t number = 0;
  perflib::Clocks clocks;
};

// The ticks of one frame. Valid until the next one is added to the TickLinks
// that made it. Immutable.
class FrameTicks {
 public:
  // The number of the frame's query, the same for all its frames.
  size_t query() const { return query_; }
  // The nanoseconds of the tick interval that ends at a tick. 0: none.
  int64_t LengthTo(uint32_t tick) const {
    return tick == 0 ? link_ : (*lengths_)[tick];
  }
  // Returns the number of a tick, or of the last sound tick before it if it is
  // not sound.
  int64_t NumberOf(uint32_t tick) const {
    return numbers_.empty() ? first_number_ + tick : numbers_[tick];
  }
  // Returns the number of the last sound tick before a tick. 0: none.
  int64_t NumberBefore(uint32_t tick) const {
    const int64_t position = PositionBefore(tick);
    return position < 0 ? before_.number
                        : NumberOf(static_cast<uint32_t>(position));
  }
  // Returns the clocks of that tick, which must exist.
  const perflib::Clocks& ClocksBefore(uint32_t tick) const {
    const int64_t position = PositionBefore(tick);
    return position < 0 ? before_.clocks
                        : (*clocks_)[static_cast<size_t>(position)];
  }

 private:
  friend class TickLinks;

  // Returns the position of the last sound tick before a tick; -1: before the
  // frame.
  int64_t PositionBefore(uint32_t tick) const {
    return numbers_.empty() ? int64_t{tick} - 1 : positions_before_[tick];
  }

  size_t query_ = 0;
  std::shared_ptr<const std::vector<perflib::Clocks>> clocks_;
  SoundTick before_;  // the last sound tick before the frame
  int64_t link_ = 0;  // from that tick to the frame's first one
  int64_t first_number_ = 0;
  const std::vector<int64_t>* lengths_ = nullptr;
  // If ticks are not sound: the number of each tick, and the position of the
  // last sound tick before it; -1: before the frame.
  std::vector<int64_t> numbers_;
  std::vector<int64_t> positions_before_;
};

// Joins the ticks of a machine's queries. Frames must arrive in the order of
// epochs and sequences. Thread-compatible.
class TickLinks {
 public:
  // Ignores ticks after `end`.
  explicit TickLinks(absl::Time end = absl::InfiniteFuture());

  // Adds a frame with at least one tick. `lengths`, if not null, has the
  // nanoseconds between each tick and the tick before it, or 0 if their clocks
  // have a break, and must outlive the result.
  const FrameTicks& Add(const Frame& frame,
                        const std::vector<int64_t>* lengths = nullptr);

  // The number of queries so far.
  size_t queries() const { return queries_.size(); }
  // Returns whether a query has samples of a counter.
  bool Collects(size_t query, const Schema& schema, uint32_t counter_id) const;
  // Returns whether both queries have the same counters at the same time, of
  // different instances. A plan that changed has queries one after the other.
  bool AreConcurrent(size_t a, size_t b) const {
    return queries_[a].concurrent.contains(b);
  }

 private:
  struct Query {
    std::shared_ptr<const CollectedQuery> query;
    uint32_t epoch_number = 0;
    SoundTick last;  // number 0: none
    // The queries of the same counters, which may have samples of the same
    // series.
    std::vector<size_t> rivals = {};
    absl::flat_hash_set<size_t> concurrent = {};  // of these; AreConcurrent
    // The last frame: the number of its first tick and the times of its first
    // and last ones; if there are rivals, its lives.
    int64_t first_number = 0;  // 0: none
    int64_t start = 0;         // like PerfTime100NSec
    int64_t end = 0;
    std::optional<absl::flat_hash_set<uint64_t>> lives = std::nullopt;
  };

  size_t QueryOf(const std::shared_ptr<const CollectedQuery>& query);
  void AddQuery(const std::shared_ptr<const CollectedQuery>& query);
  // Whether a frame has ticks of series that `rival` had last.
  static bool HasSeriesOf(const Query& rival, const Frame& frame);
  // Compares the query of a frame, the last frame of which is the one before,
  // with its rivals.
  void FindConcurrent(const Frame& frame, size_t number);
  static void SetFrame(const Frame& frame, int64_t first_number, Query* query);
  bool HasTickAfterEnd(const Frame& frame) const;
  void AddSound(const Frame& frame, const std::vector<int64_t>* lengths,
                Query* query);
  void AddThinned(const Frame& frame, Query* query);
  void AddEach(const Frame& frame, Query* query);

  const int64_t end_;  // like PerfTime100NSec
  std::vector<Query> queries_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, size_t> numbers_;
  int64_t next_number_ = 1;
  FrameTicks ticks_;
  std::vector<int64_t> lengths_;  // of ticks_, unless the caller has them
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_TICK_LINK_H_
