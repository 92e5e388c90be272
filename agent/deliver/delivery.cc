#include "agent/deliver/delivery.h"

#include <utility>

#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

// A batch of more values than this is not held back for more ticks, so that its
// size stays far below what the aggregator takes.
constexpr size_t kManyValues = 250'000;

v1::LossCause ToProto(LossCause cause) {
  switch (cause) {
    case LossCause::kSpoolFull:
      return v1::LOSS_CAUSE_SPOOL_FULL;
    case LossCause::kRejected:
      return v1::LOSS_CAUSE_REJECTED;
    case LossCause::kOverrun:
      return v1::LOSS_CAUSE_OVERRUN;
    case LossCause::kSourceFailed:
      return v1::LOSS_CAUSE_SOURCE_FAILED;
  }
  return v1::LOSS_CAUSE_UNSPECIFIED;
}

void AddLossTo(const std::string& machine, LossCause cause,
               const TickRange& ticks, v1::BatchContent* content) {
  v1::Loss* loss = content->add_losses();
  loss->set_machine(machine);
  *loss->mutable_start() = fleetperf::ToProto(ticks.start);
  *loss->mutable_end() = fleetperf::ToProto(ticks.end);
  loss->set_ticks(ticks.ticks);
  loss->set_cause(ToProto(cause));
}

v1::Batch MakeBatch(uint64_t epoch, uint64_t sequence,
                    const v1::BatchContent& content) {
  v1::Batch batch;
  batch.set_epoch(epoch);
  batch.set_sequence(sequence);
  std::string bytes = content.SerializeAsString();
  batch.set_content_size(static_cast<uint32_t>(bytes.size()));
  ZstdCompress(bytes, batch.mutable_payload());
  if (batch.payload().size() < bytes.size()) {
    batch.set_compression(v1::COMPRESSION_ZSTD);
  } else {
    batch.set_compression(v1::COMPRESSION_NONE);
    batch.set_payload(std::move(bytes));
  }
  return batch;
}

}  // namespace

Delivery::Delivery(const Options& options)
    : options_(options), spool_(options.spool_bytes) {}

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
    held_.Extend({.ticks = 1, .start = time, .end = time});
    const absl::Duration interval = block.interval;
    builder_.Add(std::move(block));
    if (!IsDue(interval)) return;
    BuildBatch();
  }
  Notify();
}

void Delivery::AddLoss(const std::string& machine, const TickRange& ticks,
                       LossCause cause) {
  {
    absl::MutexLock lock(&mutex_);
    StartHolding();
    losses_[{machine, cause}].Extend(ticks);
    if (!IsDue(absl::ZeroDuration())) return;
    BuildBatch();
  }
  Notify();
}

void Delivery::StartHolding() {
  if (builder_.empty() && losses_.empty()) {
    held_since_ = options_.clock->Monotonic();
  }
}

// Whether what is held would have waited too long by the next tick.
bool Delivery::IsDue(absl::Duration until_next_tick) const {
  const bool full = builder_.values() > kManyValues;
  if (options_.blocks_per_batch > 0) {
    return full || held_.ticks >= options_.blocks_per_batch;
  }
  if (next_sequence_ == 1) return true;  // so that a new agent is seen at once
  const absl::Duration held = options_.clock->Monotonic() - held_since_;
  // Ticks are not exactly an interval apart.
  const absl::Duration tolerance = until_next_tick / 4;
  return full || live_ ||
         held + until_next_tick + tolerance > options_.batch_period;
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
    if (builder_.empty() && losses_.empty()) return;
    BuildBatch();
  }
  Notify();
}

void Delivery::BuildBatch() {
  const uint64_t sequence = next_sequence_++;
  v1::BatchContent content;
  dictionary_.TakePending(sequence, &content);
  builder_.Build(&content);
  if (const TickRange lost = spool_.TakeLost(); lost.ticks > 0) {
    losses_[{"", LossCause::kSpoolFull}].Extend(lost);
  }
  TickRange ticks = std::exchange(held_, {});
  for (const auto& [machine_and_cause, lost] : losses_) {
    AddLossTo(machine_and_cause.first, machine_and_cause.second, lost,
              &content);
    ticks.Extend(lost);  // they count as lost again if this batch is
  }
  losses_.clear();
  spool_.Append(MakeBatch(options_.epoch, sequence, content), ticks);
  // What batches retired that had to go is used by none that is held.
  dictionary_.Settle(spool_.extent().first - 1);
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
