#include "agent/deliver/spool/open_batches.h"

#include <algorithm>
#include <utility>

#include "agent/deliver/spool/spool_record.h"

namespace fleetperf::agent {

void OpenBatches::AddTick(const TickRange& range, std::string content) {
  tick_bytes_ += content.size();
  batches_.back().ticks.push_back(
      {.number = ++last_tick_, .range = range, .content = std::move(content)});
}

void OpenBatches::AddLosses(const Losses& losses) {
  batches_.back().told.Add(losses);
  ++told_version_;
}

Losses OpenBatches::Close() {
  const Batch& closed = batches_.back();
  batches_.push_back({.sequence = closed.sequence + 1});
  return batches_[batches_.size() - 2].told;
}

void OpenBatches::RemoveSealed() {
  for (const Tick& tick : batches_.front().ticks) {
    tick_bytes_ -= tick.content.size();
  }
  batches_.pop_front();
}

bool OpenBatches::has_unsaved() const {
  if (told_version_ != saved_told_version_) return true;
  return std::any_of(batches_.begin(), batches_.end(), [&](const Batch& batch) {
    return !batch.ticks.empty() && batch.ticks.back().number > last_saved_tick_;
  });
}

bool OpenBatches::needs_saved_ticks() const {
  return std::any_of(batches_.begin(), batches_.end(), [&](const Batch& batch) {
    return !batch.ticks.empty() &&
           batch.ticks.front().number <= last_saved_tick_;
  });
}

void OpenBatches::AddToldTo(v1::SpoolRecord* record) const {
  record->set_told_version(told_version_);
  for (const Batch& batch : batches_) {
    if (batch.told.empty()) continue;
    v1::SpoolOpenBatch* to = record->add_open();
    to->set_sequence(batch.sequence);
    batch.told.AppendTo(to->mutable_told());
  }
}

void OpenBatches::AddTo(bool all_ticks, v1::SpoolRecord* record) const {
  AddToldTo(record);
  for (const Batch& batch : batches_) {
    for (const Tick& tick : batch.ticks) {
      if (!all_ticks && tick.number <= last_saved_tick_) continue;
      v1::SpoolOpenBatch* to = record->add_open();
      to->set_sequence(batch.sequence);
      v1::SpoolTick* to_tick = to->add_ticks();
      to_tick->set_number(tick.number);
      ToProto(tick.range, to_tick->mutable_range());
      to_tick->set_content(tick.content);
    }
  }
}

std::vector<HeldRun> OpenBatches::Runs() const {
  std::vector<HeldRun> runs;
  for (const Batch& batch : batches_) {
    if (batch.ticks.empty()) continue;
    HeldRun& run = runs.emplace_back();
    run.first = {.epoch = kThisProcess, .sequence = batch.sequence};
    run.last_sequence = batch.sequence;
    for (const Tick& tick : batch.ticks) run.ticks.Extend(tick.range);
  }
  return runs;
}

void OpenBatches::SetSaved(const v1::SpoolRecord& record) {
  saved_told_version_ = std::max(saved_told_version_, record.told_version());
  for (const v1::SpoolOpenBatch& batch : record.open()) {
    for (const v1::SpoolTick& tick : batch.ticks()) {
      last_saved_tick_ = std::max(last_saved_tick_, tick.number());
    }
  }
}

}  // namespace fleetperf::agent
