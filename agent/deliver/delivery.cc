#include "agent/deliver/delivery.h"

#include <optional>
#include <utility>

#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {
namespace {

// A batch with more values than this is sent without waiting for more ticks, so
// that its size stays far below the aggregator's limit.
constexpr size_t kManyValues = 250'000;

}  // namespace

// A batch with a sequence number whose content is yet to be encoded.
struct Delivery::Closed {
  SpooledBatch batch;
  v1::BatchContent defined;
  BatchBuilder builder;
};

Delivery::Delivery(const Options& options, std::unique_ptr<Spool> spool)
    : options_(options),
      spool_(std::move(spool)),
      defined_(std::make_unique<v1::BatchContent>()) {}

Delivery::Delivery(const Options& options)
    : Delivery(options, std::make_unique<Spool>(
                            Spool::Options{.epoch = options.epoch,
                                           .max_bytes = options.spool_bytes,
                                           .clock = options.clock})) {}

Delivery::~Delivery() = default;

void Delivery::SetBatchListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

Delivery::Counts Delivery::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

void Delivery::Add(BlockSamples block) {
  std::optional<Closed> closed;
  {
    absl::MutexLock lock(&mutex_);
    ++counts_.ticks;
    counts_.samples += block.CountValues();
    StartHolding();
    const absl::Time time = perflib::TimeOf(block.clocks);
    const TickRange tick = {.ticks = 1, .start = time, .end = time};
    held_.Extend(tick);
    const absl::Duration interval = block.interval;
    // A tick that is sent at once enters the spool with its batch.
    const bool goes_out =
        builder_.values() + block.CountValues() > kManyValues ||
        IsDue(interval);
    if (!goes_out && spool_->keeps_ticks()) {
      v1::BatchContent content = TakeDefinitions();
      AddBlock(block, &content);
      spool_->AddTick(content, tick);
    }
    builder_.Add(std::move(block));
    if (!goes_out) return;
    closed = CloseBatch();
  }
  SealBatch(*std::move(closed));
}

void Delivery::AddLoss(const std::string& machine, const TickRange& ticks,
                       LossCause cause) {
  std::optional<Closed> closed;
  {
    absl::MutexLock lock(&mutex_);
    counts_.lost_ticks += ticks.ticks;
    StartHolding();
    has_losses_ = true;
    spool_->AddLoss(machine, cause, ticks);
    if (!IsDue(absl::ZeroDuration())) return;
    closed = CloseBatch();
  }
  SealBatch(*std::move(closed));
}

bool Delivery::HoldsAnything() const {
  return !builder_.empty() || has_losses_;
}

void Delivery::StartHolding() {
  if (!HoldsAnything()) held_since_ = options_.clock->Monotonic();
}

// Returns whether the held ticks would wait too long until the next tick.
bool Delivery::IsDue(absl::Duration until_next_tick) const {
  if (options_.blocks_per_batch > 0) {
    return held_.ticks >= options_.blocks_per_batch;
  }
  // The first tick is sent at once, so that a new agent is visible at once.
  if (spool_->open_sequence() == 1) return true;
  const absl::Duration held = options_.clock->Monotonic() - held_since_;
  // The distance between ticks varies around the interval.
  const absl::Duration tolerance = until_next_tick / 4;
  return live_ || held + until_next_tick + tolerance > options_.batch_period;
}

void Delivery::SetLive(bool live) {
  if (options_.blocks_per_batch > 0) return;
  SetLiveFromNextTick(live);
  Flush();
}

void Delivery::SetLiveFromNextTick(bool live) {
  absl::MutexLock lock(&mutex_);
  live_ = live;
}

void Delivery::Flush() {
  std::optional<Closed> closed;
  {
    absl::MutexLock lock(&mutex_);
    if (!HoldsAnything()) return;
    closed = CloseBatch();
  }
  SealBatch(*std::move(closed));
}

v1::BatchContent Delivery::TakeDefinitions() {
  v1::BatchContent content;
  spool_->dictionary().TakePending(spool_->open_sequence(), &content);
  defined_->MergeFrom(content);
  return content;
}

Delivery::Closed Delivery::CloseBatch() {
  TakeDefinitions();
  Closed closed;
  closed.defined.Swap(defined_.get());
  closed.builder = std::exchange(builder_, {});
  closed.batch = spool_->Close(std::exchange(held_, {}));
  has_losses_ = false;
  ++counts_.batches;
  return closed;
}

void Delivery::SealBatch(Closed closed) {
  v1::BatchContent content = std::move(closed.defined);
  closed.builder.Build(&content);
  spool_->Seal(std::move(closed.batch), std::move(content));
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = listener_;
  }
  if (listener) listener();
}

}  // namespace fleetperf::agent
