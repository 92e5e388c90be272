#include "agent/deliver/spool/spool_state.h"

#include <algorithm>
#include <utility>

#include "agent/deliver/spool/spool_record.h"

namespace fleetperf::agent {
namespace {

// Upper bounds on unsaved payloads while the files cannot be written: in bytes,
// and as the inverse of a share of the spool's size.
constexpr uint64_t kMaxUnsavedBytes = uint64_t{16} << 20;
constexpr uint64_t kUnsavedShare = 4;
// Upper bound on saved payloads that memory caches.
constexpr uint64_t kMaxCachedBytes = uint64_t{1} << 20;
// Each batch takes about 300 bytes of memory in addition to its payload.
constexpr size_t kMaxBatches = 100'000;
// Upper bounds on one record of a new segment. Damage loses one record.
constexpr int kBatchesPerRecord = 500;
constexpr size_t kDefinitionBytesPerRecord = size_t{64} << 10;

}  // namespace

SpoolState::SpoolState(const Options& options, Dictionary* dictionary)
    : options_(options),
      dictionary_(*dictionary),
      epochs_(options.epoch),
      started_(options.clock->Monotonic()) {}

void SpoolState::TakeOver(
    RecoveredSpool recovered,
    const std::map<uint32_t, uint64_t>& definition_bytes) {
  process_ = recovered.process + 1;
  age_at_start_ = recovered.age;
  last_tick_ = recovered.last_tick;
  std::vector<SpoolEpoch> former;
  for (const auto& [number, epoch] : recovered.epochs) former.push_back(epoch);
  epochs_.SetFormer(std::move(former));
  for (auto& [place, batch] : recovered.batches) {
    const bool is_saved = batch.spooled.batch == nullptr;
    queue_.Add(std::move(batch), is_saved);
  }
  former_definitions_ = recovered.definitions.Parts();
  definition_bytes_ = definition_bytes;
  if (!recovered.lost.empty()) open_.AddLosses(recovered.lost);
}

const std::vector<v1::Definitions>* SpoolState::UnsavedDefinitions(
    uint32_t epoch) const {
  const bool has_them = former_definitions_.has_value() &&
                        !epochs_.former().empty() &&
                        epochs_.former().back().number == epoch;
  return has_them ? &*former_definitions_ : nullptr;
}

absl::Duration SpoolState::Age() const {
  return age_at_start_ + options_.clock->Monotonic() - started_;
}

absl::Duration SpoolState::Backlog() const {
  const HeldBatch* const oldest = queue_.Next({});
  return oldest != nullptr ? Age() - oldest->age : absl::ZeroDuration();
}

void SpoolState::AddTick(const TickRange& range, std::string content) {
  last_tick_ = std::max(last_tick_, range.end);
  open_.AddTick(range, std::move(content));
}

SpooledBatch SpoolState::Close(const TickRange& ticks) {
  last_tick_ = std::max(last_tick_, ticks.end);
  const uint64_t sequence = open_.open_sequence();
  return {.place = {.epoch = kThisProcess, .sequence = sequence},
          .ticks = ticks,
          .losses = open_.Close()};
}

void SpoolState::Seal(HeldBatch batch) {
  epochs_.AddSealed(batch.fingerprint);
  open_.RemoveSealed();
  // The aggregator may have acknowledged the batch before it was sealed: a
  // replayed capture makes the same batches again.
  if (epochs_.current().last_sequence > epochs_.current().acknowledged) {
    batch.age = Age();
    queue_.Add(std::move(batch), /*is_saved=*/false);
    DropBeyondBounds();
    DropBeyondMemory();
  }
  Settle(kThisProcess);
}

bool SpoolState::Resume(BatchPlace last_arrived, uint64_t fingerprint) {
  // Without files, this may be a repeated replay of a capture.
  if (last_arrived.epoch == kThisProcess && options_.has_files &&
      epochs_.IsOfAnotherProcess(last_arrived.sequence, fingerprint)) {
    return false;
  }
  // Dropped batches that had not arrived are lost; the others are not. From now
  // on, batches that are dropped before they are sent count as lost at once.
  epochs_.Resume(last_arrived);
  for (HeldBatch& batch : queue_.TakeDroppedAfter(last_arrived)) {
    const LossCause cause = *batch.spooled.dropped;
    Lose(std::move(batch), cause);
  }
  Acknowledge(last_arrived);
  return true;
}

void SpoolState::Fork(uint64_t id) {
  epochs_.Fork(id);
  changed_epochs_[kThisProcess] = epochs_.current();
}

bool SpoolState::Acknowledge(BatchPlace place) {
  if (!epochs_.Acknowledge(place)) return false;
  // A copy, because the ledger forgets an epoch whose last batch is removed.
  if (options_.has_files) {
    changed_epochs_[place.epoch] = *epochs_.Find(place.epoch);
  }
  queue_.RemoveUpTo(place);
  Settle(place.epoch);
  return true;
}

void SpoolState::Remove(BatchPlace place) {
  if (options_.has_files) removed_.push_back(place);
  queue_.Remove(place);
  Settle(place.epoch);
}

void SpoolState::Lose(HeldBatch batch, LossCause cause) {
  const SpooledBatch& lost = batch.spooled;
  Losses losses = lost.losses;  // reported by no other batch
  if (lost.ticks.ticks > 0) losses.Add("", cause, lost.ticks);
  dropped_ticks_ += lost.ticks.ticks;
  open_.AddLosses(losses);
  Remove(lost.place);
}

void SpoolState::Drop(HeldBatch batch, LossCause cause) {
  const BatchPlace place = batch.spooled.place;
  if (!epochs_.MayHaveArrived(place)) return Lose(std::move(batch), cause);
  queue_.Drop(place, cause);
  Settle(place.epoch);
}

void SpoolState::Settle(uint32_t epoch) {
  if (epoch != kThisProcess) {
    if (queue_.HasAny(epoch)) return;
    epochs_.ForgetFormer(epoch);
    definition_bytes_.erase(epoch);
    return;
  }
  const HeldBatch* first = queue_.Next({.epoch = kThisProcess, .sequence = 0});
  dictionary_.Settle(first != nullptr ? first->spooled.place.sequence - 1
                                      : epochs_.current().last_sequence);
}

bool SpoolState::IsNewest(BatchPlace place) const {
  return place.epoch == kThisProcess &&
         place.sequence == epochs_.current().last_sequence;
}

void SpoolState::DropBeyondBounds() {
  if (!options_.has_files) return;
  const absl::Duration now = Age();
  for (;;) {
    const HeldBatch* oldest = queue_.Next({});
    if (oldest == nullptr || IsNewest(oldest->spooled.place)) return;
    uint64_t bytes = queue_.file_bytes() + queue_.unsaved_bytes();
    for (const auto& [epoch, size] : definition_bytes_) bytes += size;
    if (now - oldest->age > options_.max_age) {
      Drop(*oldest, LossCause::kSpoolExpired);
    } else if (bytes > options_.max_bytes) {
      Drop(*oldest, LossCause::kSpoolFull);
    } else if (queue_.size() > kMaxBatches) {
      // Includes remains, whose batches then count as lost even if they
      // arrived.
      const HeldBatch& first = *queue_.First();
      Lose(first, first.spooled.dropped.value_or(LossCause::kSpoolFull));
    } else {
      return;
    }
  }
}

void SpoolState::DropBeyondMemory() {
  const uint64_t max_unsaved =
      options_.has_files
          ? std::min(kMaxUnsavedBytes, options_.max_bytes / kUnsavedShare)
          : options_.max_bytes;
  const LossCause cause =
      options_.has_files ? LossCause::kDiskFull : LossCause::kSpoolFull;
  BatchPlace place;
  while (queue_.unsaved_bytes() > max_unsaved) {
    const HeldBatch* next = queue_.NextUnsaved(place);
    if (next == nullptr || IsNewest(next->spooled.place)) return;
    place = next->spooled.place;
    const bool is_writing =
        place.epoch != kThisProcess || place.sequence <= writing_;
    if (!is_writing && !next->is_dropped()) Drop(*next, cause);
  }
}

v1::SpoolRecord SpoolState::NewRecord() const {
  v1::SpoolRecord record;
  record.set_process(process_);
  record.set_age_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(Age())));
  record.set_last_tick_ns(ToNanoseconds(last_tick_));
  return record;
}

v1::SpoolRecord SpoolState::MakeEnd() const {
  v1::SpoolRecord end = NewRecord();
  end.set_ended(true);
  return end;
}

std::vector<v1::SpoolRecord> SpoolState::MakeState() {
  std::vector<v1::SpoolRecord> records = {NewRecord()};
  records.back().set_version(kSpoolVersion);
  records.back().set_boot_id(options_.boot_id);
  for (const SpoolEpoch& epoch : epochs_.former()) {
    ToProto(epoch, process_, records.back().add_epochs());
  }
  ToProto(epochs_.current(), process_, records.back().add_epochs());
  for (v1::Definitions& part : dictionary_.TakeAll(kDefinitionBytesPerRecord)) {
    records.push_back(NewRecord());
    records.back().mutable_definitions()->Swap(&part);
  }
  for (const HeldBatch& batch : queue_.Saved()) {
    if (records.back().has_definitions() ||
        records.back().batches_size() == kBatchesPerRecord) {
      records.push_back(NewRecord());
    }
    ToProto(batch, process_, records.back().add_batches());
  }
  records.push_back(NewRecord());
  open_.AddTo(/*all_ticks=*/true, &records.back());
  AddCountsTo(&records.back());
  return records;
}

v1::SpoolRecord SpoolState::MakeChange() {
  v1::SpoolRecord change = NewRecord();
  changed_epochs_[kThisProcess] = epochs_.current();
  for (const auto& [number, epoch] : std::exchange(changed_epochs_, {})) {
    ToProto(epoch, process_, change.add_epochs());
  }
  for (const BatchPlace place : std::exchange(removed_, {})) {
    ToProto(place, process_, change.add_removed());
  }
  DictionaryChanges definitions = dictionary_.TakeChanges();
  if (definitions.added != nullptr) {
    change.mutable_definitions()->Swap(definitions.added.get());
  }
  change.mutable_removed_instances()->Add(definitions.removed.begin(),
                                          definitions.removed.end());
  // A record with removed batches also has the losses of these batches.
  open_.AddToldTo(&change);
  AddCountsTo(&change);
  return change;
}

void SpoolState::AddCountsTo(v1::SpoolRecord* record) {
  record->set_save(saves_);
  for (const HeldRun& run : queue_.Runs()) {
    ToProto(run, process_, record->add_held());
  }
}

v1::SpoolRecord SpoolState::MakeCounts() {
  v1::SpoolRecord counts = NewRecord();
  counts.set_boot_id(options_.boot_id);
  for (const SpoolEpoch& epoch : epochs_.former()) {
    ToProto(epoch, process_, counts.add_epochs());
  }
  ToProto(epochs_.current(), process_, counts.add_epochs());
  open_.AddToldTo(&counts);
  AddCountsTo(&counts);
  for (const HeldRun& run : open_.Runs()) {
    ToProto(run, process_, counts.add_open_ticks());
  }
  return counts;
}

SpoolState::Changes SpoolState::TakeChanges(bool all) {
  Changes changes = {.process = process_, .batches = queue_.Unsaved()};
  changes.segments = queue_.Segments();
  for (const SpoolEpoch& epoch : epochs_.former()) {
    if (queue_.HasAny(epoch.number)) changes.epochs.insert(epoch.number);
  }
  if (!epochs_.former().empty() &&
      changes.epochs.contains(epochs_.former().back().number)) {
    changes.former = epochs_.former().back().number;
    changes.former_definitions = former_definitions_;
  }
  writing_ = epochs_.current().last_sequence;
  ++saves_;
  changes.counts = MakeCounts();
  if (all) {
    changes.state = MakeState();
    changes.ticks = changes.state.back();
    changed_epochs_.clear();
    removed_.clear();
    return changes;
  }
  if (open_.has_unsaved()) {
    changes.ticks = NewRecord();
    open_.AddTo(/*all_ticks=*/false, &*changes.ticks);
  }
  if (!changes.batches.empty() || has_lazy_changes()) {
    changes.change = MakeChange();
    changes.rewinds_ticks = !open_.needs_saved_ticks();
  }
  return changes;
}

void SpoolState::SetSaved(
    const Changes& changes,
    const std::map<uint32_t, uint64_t>& definition_bytes) {
  writing_ = 0;
  queue_.SetSaved(changes.batches);
  queue_.ShrinkCache(kMaxCachedBytes);
  if (changes.ticks.has_value()) open_.SetSaved(*changes.ticks);
  if (changes.former_definitions.has_value()) {
    former_definitions_.reset();
    definition_bytes_ = definition_bytes;
  }
}

void SpoolState::SetFailed() {
  writing_ = 0;
  DropBeyondMemory();
}

}  // namespace fleetperf::agent
