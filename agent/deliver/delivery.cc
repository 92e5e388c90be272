#include "agent/deliver/delivery.h"

#include <utility>

#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {
namespace {

// A batch of more values than this is not held back for more ticks, so that its
// size stays far below what the aggregator takes.
constexpr size_t kManyValues = 250'000;

}  // namespace

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

void Delivery::Add(BlockSamples block) {
  {
    absl::MutexLock lock(&mutex_);
    StartHolding();
    const absl::Time time =
        perflib::TimeFromPerfTime100NSec(block.clocks.perf_time_100nsec);
    const TickRange tick = {.ticks = 1, .start = time, .end = time};
    held_.Extend(tick);
    const absl::Duration interval = block.interval;
    // A tick that goes out at once is in the spool with its batch.
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
    BuildBatch();
  }
  Notify();
}

void Delivery::AddLoss(const std::string& machine, const TickRange& ticks,
                       LossCause cause) {
  {
    absl::MutexLock lock(&mutex_);
    StartHolding();
    has_losses_ = true;
    spool_->AddLoss(machine, cause, ticks);
    if (!IsDue(absl::ZeroDuration())) return;
    BuildBatch();
  }
  Notify();
}

bool Delivery::HoldsAnything() const {
  return !builder_.empty() || has_losses_;
}

void Delivery::StartHolding() {
  if (!HoldsAnything()) held_since_ = options_.clock->Monotonic();
}

// Whether what is held would have waited too long by the next tick.
bool Delivery::IsDue(absl::Duration until_next_tick) const {
  if (options_.blocks_per_batch > 0) {
    return held_.ticks >= options_.blocks_per_batch;
  }
  // So that a new agent is seen at once.
  if (spool_->open_sequence() == 1) return true;
  const absl::Duration held = options_.clock->Monotonic() - held_since_;
  // Ticks are not exactly an interval apart.
  const absl::Duration tolerance = until_next_tick / 4;
  return live_ || held + until_next_tick + tolerance > options_.batch_period;
}

void Delivery::SetLive(bool live) {
  if (options_.blocks_per_batch > 0) return;
  {
    absl::MutexLock lock(&mutex_);
    live_ = live;
  }
  Flush();
}

void Delivery::Flush() {
  {
    absl::MutexLock lock(&mutex_);
    if (!HoldsAnything()) return;
    BuildBatch();
  }
  Notify();
}

v1::BatchContent Delivery::TakeDefinitions() {
  v1::BatchContent content;
  spool_->dictionary().TakePending(spool_->open_sequence(), &content);
  defined_->MergeFrom(content);
  return content;
}

void Delivery::BuildBatch() {
  TakeDefinitions();
  v1::BatchContent content;
  content.Swap(defined_.get());
  builder_.Build(&content);
  has_losses_ = false;
  spool_->Append(std::move(content), std::exchange(held_, {}));
}

void Delivery::Notify() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = listener_;
  }
  if (listener) listener();
}

}  // namespace fleetperf::agent
