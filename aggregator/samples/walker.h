// Walks through the samples of a machine in order, and tells what happens to
// each series: the only place that joins two samples to a piece.
//
// A tick is sound if its query did not fail. The counters of an instance that
// was born after a sound tick grew from 0 since that tick, so that its first
// sample ends a piece, too. Example of a counter, at ticks of one second:
//
//   tick      1     2     3     4     5     6
//   value    10    12     -     -     3     4     (- the instance is absent)
//   life      A     A                 B     B     (B is born)
//   told      -    +2                +3    +1     pieces of one second each
//
// Who listens keeps a WalkedSeries for each series, and gives it back with the
// series' next run.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_WALKER_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/samples/stretch.h"
#include "aggregator/samples/tick_link.h"
#include "values/causes.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/series_end.h"
#include "values/summary.h"
#include "values/window.h"

namespace fleetperf::aggregator {

class RunGrowth;

// The time between two neighbouring ticks of a query in which a series was
// there.
struct TickInterval {
  int64_t length = 0;                      // in nanoseconds; 0: none
  const perflib::Clocks* start = nullptr;  // null: none
};

// A sample, and what lies between it and the one before. Valid during a call.
struct WalkedSample {
  const RawSample& sample;
  uint32_t tick = 0;        // of the run
  absl::Duration interval;  // of collection
  // The sample before, or what an instance had before its birth. Null: none.
  const RawSample* older = nullptr;
  // The piece between them. std::nullopt if there is no older sample, or if the
  // formula uses one sample.
  const std::optional<Piece>& piece;
  TickInterval tick_interval;  // that ends with the sample
  // Whether a counter fell and has not grown since.
  bool has_fallen = false;

  // Whether the sample before is of another life.
  bool is_of_new_life() const {
    return older != nullptr && older->life != sample.life;
  }
  // Whether the time before the sample has no break of the series' own.
  bool IsSound(const CounterFormula& formula) const {
    return piece.has_value() ? piece->sound()
                             : CalculateSample(formula, sample).ok();
  }
};

// A sound piece of a formula that uses two samples and not M, or a sample of a
// formula of the kind kRaw; no counter fell before it. Valid during a call.
struct WalkedGrowth {
  uint32_t tick = 0;  // of the run, where the piece ends
  const Growth& growth;
  int64_t tick_length = 0;  // of the tick interval that ends there

  CalculatedValue ValueOf(const CounterFormula& formula) const {
    return formula.uses_two_samples() ? CalculateGrowth(formula, growth)
                                      : CalculateSampleSum(formula, growth, 1);
  }
};

// The sound pieces that end in some ticks of a stretch.
struct WalkedPieces {
  const Stretch& stretch;
  absl::Duration interval;  // of collection
  const WindowAccumulator::Pieces& pieces;
  const perflib::Clocks& first;  // where the first one starts
  const perflib::Clocks& last;   // where the last one ends
};

// The samples of a gauge in some ticks of a stretch.
struct WalkedGauges {
  const Stretch& stretch;
  absl::Duration interval;            // of collection
  absl::Span<const uint64_t> values;  // a single one if all are equal
  uint64_t count = 0;                 // of the samples
  // If not null, it stands for the last of the values; see Frame::fold.
  const FrameColumn::Total* total = nullptr;
  const RawSample& newest;
  const RawSample* older = nullptr;  // the sample before, if any
  const perflib::Clocks& first;      // of the first sample
  TickInterval tick_interval;        // that ends with the first sample
};

// The summary of thinned data at a tick.
struct WalkedSummary {
  const RawSample& newest;
  uint32_t tick = 0;       // of the run
  const Summary& summary;  // of the life's own samples
  // Why there is no piece from the life before. std::nullopt if there was none,
  // or if the instance was born.
  std::optional<GapCause> life_break;
  const RawSample* older = nullptr;  // at the tick before, if any
  int64_t tick_length = 0;           // of the tick interval, in nanoseconds
};

// Receives the samples of a series, joined by stretches where that gives the
// same windows as one by one.
class StretchListener {
 public:
  virtual ~StretchListener() = default;

  virtual void OnSample(const WalkedSample& walked) = 0;
  virtual void OnPieces(const WalkedPieces& walked) = 0;
  virtual void OnGauges(const WalkedGauges& walked) = 0;
};

// How samples are joined.
enum class Joining : uint8_t {
  kNone,
  kPieces,    // sound pieces one by one, found quickly; gauges as kNone
  kStretches  // all samples of a stretch
};

// What a walk remembers of a series. Thread-compatible.
class WalkedSeries {
 public:
  // The time of the newest sample, if any.
  std::optional<absl::Time> newest() const;
  // The life of the newest sample; 0: none.
  uint64_t life() const { return life_; }
  // Whether a folded run followed the fall of a counter, so that what was told
  // may be wrong: its second sample, which may be the return, is unknown. The
  // walk must begin again, with all samples.
  bool needs_samples() const { return needs_samples_; }
  // Whether the newest sample is that of a tick of the run.
  bool IsAt(const SeriesRun& run, uint32_t tick) const;

 private:
  friend class Walker;

  SeriesEnd end_;
  bool needs_samples_ = false;
  uint64_t life_ = 0;
  int64_t number_ = 0;  // of the newest sample's tick; 0: unknown
};

// Walks through the frames of a machine, which must arrive in the order of
// epochs and sequences, with one tick or more. Runs of a series must arrive in
// order, each once: of a faulty agent's runs that return to an earlier life,
// each may count as its birth. Before the first frame, only TakeSample may be
// called. Thread-compatible.
class Walker {
 public:
  // Tells of samples after `start` until `end`. Those of the last
  // kMaxIntervalsBefore before `start` begin pieces.
  explicit Walker(absl::Time start = absl::InfinitePast(),
                  absl::Time end = absl::InfiniteFuture())
      : range_start_(start),
        start_(perflib::PerfTime100NSecFromTime(start)),
        end_(perflib::PerfTime100NSecFromTime(end)),
        links_(end) {}
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  // Begins a frame, which must outlive its walks. `lengths`, if not null, has
  // the nanoseconds between each tick and the tick before it, or 0 if their
  // clocks have a break, and must live until the next frame.
  void BeginFrame(const Frame& frame,
                  const std::vector<int64_t>* lengths = nullptr) {
    ticks_ = &links_.Add(frame, lengths);
  }

  // The number of the frame's query, the same for all its frames.
  size_t query() const { return ticks_->query(); }
  // The tick interval that ends at a tick of the frame.
  TickInterval IntervalTo(uint32_t tick) const {
    const int64_t length = ticks_->LengthTo(tick);
    if (length == 0) return {};
    return {length, &ticks_->ClocksBefore(tick)};
  }
  int64_t LengthTo(uint32_t tick) const { return ticks_->LengthTo(tick); }

  // The number of queries so far.
  size_t queries() const { return links_.queries(); }
  // Returns whether a query has samples of a counter.
  bool Collects(size_t query, const Schema& schema, uint32_t counter_id) const {
    return links_.Collects(query, schema, counter_id);
  }
  // Returns whether both queries have the same counters at the same time, of
  // different instances.
  bool AreConcurrent(size_t a, size_t b) const {
    return links_.AreConcurrent(a, b);
  }

  // Calls `use` with the samples of a run from tick `first` to before `end`. If
  // `first` is above 0, `series` is at the tick before it. The samples at the
  // ticks of thinned data are samples as others.
  using UseSample = absl::FunctionRef<void(const WalkedSample&)>;
  void ForEachSample(const CounterFormula& formula, const SeriesRun& run,
                     uint32_t first, uint32_t end, WalkedSeries* series,
                     UseSample use) const;

  // The same, faster: calls `use_growth` instead where there is a sound piece
  // or a gauge's sample that needs no earlier samples. Not for folded runs.
  using UseGrowth = absl::FunctionRef<void(const WalkedGrowth&)>;
  void ForEachGrowth(const CounterFormula& formula, const SeriesRun& run,
                     uint32_t first, uint32_t end, WalkedSeries* series,
                     UseGrowth use_growth, UseSample use) const;

  // Calls `use` with the summaries of a run of thinned data. A summary without
  // breaks starts at the life's sample at the tick before. The start of a
  // life's first summary is estimated; see DecodeSummary.
  using UseSummary = absl::FunctionRef<void(const WalkedSummary&)>;
  void ForEachSummary(const CounterFormula& formula, const SeriesRun& run,
                      WalkedSeries* series, UseSummary use) const;

  // Tells `listener` of the samples of a run, which is not of thinned data.
  // `stretches` are those of the frame in the walker's range. Only samples of
  // Formula::kRaw, and of formulas that use two samples and not M, are joined.
  void ForEachStretch(const CounterFormula& formula, const SeriesRun& run,
                      absl::Span<const Stretch> stretches, Joining joining,
                      WalkedSeries* series, StretchListener* listener) const;

  // Calls `use` with a sample whose tick is in no tick interval.
  void TakeSample(const CounterFormula& formula, const RawSample& sample,
                  absl::Duration interval, WalkedSeries* series,
                  UseSample use) const;

  // Follows the samples of a run from tick `first` to before `end`, without
  // telling of them.
  void Follow(const CounterFormula& formula, const SeriesRun& run,
              uint32_t first, uint32_t end, WalkedSeries* series) const;

 private:
  // What a walk passes on: the samples of one series in one run.
  struct Walk {
    const CounterFormula& formula;
    const SeriesRun& run;
    WalkedSeries& series;
  };

  // What a walk knows of a sample's tick; see WalkedSample.
  struct SampleTick {
    absl::Duration interval;
    uint32_t tick = 0;
    TickInterval tick_interval;
  };

  void BeginRun(const Walk& walk) const;
  void TellSample(const Walk& walk, uint32_t tick, UseSample use) const;
  // `growth_at` sets the growth that ends at a tick, or returns false if the
  // tick must be passed on as a sample.
  template <typename GrowthAt>
  void TellGrowth(const Walk& walk, uint32_t first, uint32_t end,
                  const GrowthAt& growth_at, UseGrowth use_growth,
                  UseSample use) const;
  // Tells of a sample, if it is in the range, and makes it the newest one.
  // Returns whether it is at or before the end of the range.
  bool Tell(const CounterFormula& formula, const RawSample& sample,
            const SampleTick& at, WalkedSeries* series, UseSample use) const;
  // The tick interval that ends at a tick of the run, if the series' piece is
  // in it.
  TickInterval IntervalOf(const Walk& walk, uint32_t tick) const;
  // Forgets the newest sample if it is too old to begin the first piece.
  void ForgetEarlier(int64_t time, absl::Duration interval,
                     WalkedSeries* series) const;
  bool IsInRange(const perflib::Clocks& clocks) const {
    return clocks.perf_time_100nsec > start_ &&
           clocks.perf_time_100nsec <= end_;
  }
  // Makes the sample at a tick of the run the newest one.
  void SetEnd(const Walk& walk, uint32_t tick, const RawSample& sample) const;
  void TellPieces(const Walk& walk, const RunGrowth& growth,
                  absl::Span<const Stretch> stretches, Joining joining,
                  StretchListener* listener) const;
  void TellGauges(const Walk& walk, absl::Span<const uint64_t> values,
                  absl::Span<const Stretch> stretches,
                  StretchListener* listener) const;

  const absl::Time range_start_;
  // Like PerfTime100NSec.
  const int64_t start_;
  const int64_t end_;
  TickLinks links_;
  const FrameTicks* ticks_ = nullptr;  // of the frame
};

// What a walk remembers of the series of a machine's instances. Schemas must
// outlive it. Thread-compatible.
class WalkedInstances {
 public:
  // Returns the series of an instance, of `counters` counters or more: the
  // caller numbers those of a schema. Later lives of the instance have the same
  // ones. Valid until the next call.
  std::vector<WalkedSeries>& Of(const Schema& schema,
                                const std::shared_ptr<const Instance>& instance,
                                size_t counters);

 private:
  using InstanceKey =
      std::tuple<const Schema*, std::string, uint32_t, uint32_t>;

  absl::flat_hash_map<InstanceKey, std::unique_ptr<std::vector<WalkedSeries>>>
      series_;
  // A cache that finds known lives without comparing names.
  absl::flat_hash_map<std::shared_ptr<const Instance>,
                      std::vector<WalkedSeries>*>
      of_life_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_WALKER_H_
