#include "agent/deliver/spool/recovered_spool.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/deliver/batch_builder.h"
#include "agent/deliver/spool/record_log.h"
#include "agent/deliver/spool/spool_record.h"

namespace fleetperf::agent {
namespace {

// Leaves numbers for a million later processes.
constexpr uint32_t kLastProcess = kThisProcess - (uint32_t{1} << 20);
// The upper bound of v1::Batch.sequence.
constexpr uint64_t kLastSequence = (uint64_t{1} << 40) - 1;

// Calls `apply` with each record and the offset of its payloads. Returns
// whether damage was found.
template <typename Function>
bool ForEachRecord(RecordReader::File file, absl::string_view bytes,
                   Function apply) {
  RecordReader reader(file, bytes);
  v1::SpoolRecord record;
  bool is_damaged = false;
  while (const auto next = reader.Next()) {
    if (record.ParseFromArray(next->body.data(),
                              static_cast<int>(next->body.size()))) {
      apply(record, next->payload_offset);
    } else {
      is_damaged = true;
    }
  }
  return is_damaged || reader.has_damage();
}

bool IsSound(const HeldBatch& batch, const RecoveredSpool& spool) {
  const BatchPlace place = batch.spooled.place;
  const auto epoch = spool.epochs.find(place.epoch);
  return epoch != spool.epochs.end() && place.sequence > 0 &&
         place.sequence <= epoch->second.last_sequence &&
         batch.spooled.dropped != LossCause::kUnknown;
}

void RemoveAcknowledged(RecoveredSpool* spool) {
  for (auto& [number, epoch] : spool->epochs) {
    if (epoch.acknowledged > epoch.last_sequence) {
      // The aggregator recognizes batches that it has.
      epoch.acknowledged = 0;
      // Of a former process, the aggregator may have batches that no file has.
      if (number == spool->process) {
        spool->AddDamage("acknowledgments of batches that no epoch has");
      }
    }
    spool->batches.erase(
        spool->batches.lower_bound({number, 0}),
        spool->batches.upper_bound({number, epoch.acknowledged}));
  }
}

}  // namespace

void RecoveredSpool::Lose(const HeldBatch& batch) {
  lost.Add(batch.spooled.losses);
  // A dropped batch may have arrived.
  if (batch.is_dropped() || batch.spooled.ticks.ticks == 0) return;
  lost.Add("", LossCause::kSpoolDamaged, batch.spooled.ticks);
}

void RecoveredSpool::AddDamage(absl::string_view found) {
  absl::StrAppend(&damage, damage.empty() ? "" : "; ", found);
}

void RecoveredSpool::RemoveUnsound() {
  const auto is_unsound = [](const auto& numbered) {
    const SpoolEpoch& epoch = numbered.second;
    return epoch.number < 1 || epoch.number > kLastProcess ||
           epoch.last_sequence > kLastSequence;
  };
  if (std::erase_if(epochs, is_unsound) > 0) AddDamage("wrong epochs");
  process = epochs.empty() ? 0 : epochs.rbegin()->first;
  RemoveAcknowledged(this);
  const size_t removed = std::erase_if(batches, [&](const auto& placed) {
    if (IsSound(placed.second, *this)) return false;
    unusable.insert(placed);
    return true;
  });
  if (removed > 0) AddDamage("batches that no epoch has");
  for (auto& [sequence, batch] : open) {
    const auto epoch = epochs.find(process);
    if (epoch != epochs.end() && sequence > epoch->second.last_sequence &&
        sequence <= kLastSequence) {
      continue;
    }
    AddDamage("ticks that no epoch has");
    lost.Add(batch.told);
    unusable_open[sequence].Extend(std::exchange(batch, {}).ticks);
  }
  std::erase_if(epochs, [&](const auto& numbered) {
    const auto first = batches.lower_bound({numbered.first, 0});
    const bool has_batches =
        first != batches.end() && first->first.epoch == numbered.first;
    return numbered.first != process && !has_batches;
  });
}

void RecoveredSpool::CompareWithCounts(absl::string_view this_boot_id) {
  const bool counts_apply = counts.save > 0 && counts.process == process;
  if (counts_apply) {
    const TickRange missing = KeepRuns(counts.held, &batches);
    if (missing.ticks > 0) {
      AddDamage(absl::StrCat(missing.ticks, " ticks are missing"));
      lost.Add("", LossCause::kSpoolDamaged, missing);
    }
  } else {
    for (const auto& [place, batch] : unusable) Lose(batch);
    counts.open_ticks.clear();
  }
  const uint64_t last_sealed =
      epochs.contains(process) ? epochs[process].last_sequence : 0;
  const LossCause cause = IsAfterPowerCut(this_boot_id)
                              ? LossCause::kPowerCut
                              : LossCause::kSpoolDamaged;
  for (const HeldRun& run : counts.open_ticks) {
    const uint64_t sequence = run.first.sequence;
    if (sequence <= last_sealed) continue;
    const auto found = open.find(sequence);
    const uint64_t ticks = found != open.end() ? found->second.ticks.ticks : 0;
    if (run.ticks.ticks <= ticks) continue;
    TickRange missing = run.ticks;
    missing.ticks -= ticks;
    // The ticks after the counts are in no count.
    missing.ticks = std::max(missing.ticks, unusable_open[sequence].ticks);
    unusable_open.erase(sequence);
    lost.Add("", cause, missing);
    if (cause == LossCause::kPowerCut) continue;
    AddDamage(absl::StrCat(missing.ticks, " unsealed ticks are missing"));
  }
  for (const auto& [sequence, ticks] : unusable_open) {
    lost.Add("", cause, ticks);
  }
}

void RecoveredSpool::SealOpen() {
  for (auto& [sequence, batch] : std::exchange(open, {})) {
    if (batch.content.empty() && batch.told.empty()) continue;
    v1::BatchContent told;
    batch.told.AppendTo(&told);
    told.AppendToString(&batch.content);
    HeldBatch held = {
        .spooled = {.place = {.epoch = process, .sequence = sequence},
                    .ticks = batch.ticks,
                    .losses = batch.told},
        .age = age};
    held.SetBatch(PackBatch(std::move(batch.content)));
    batches[held.spooled.place] = std::move(held);
    epochs[process].last_sequence = sequence;
  }
}

bool RecoveredSpool::IsAfterPowerCut(absl::string_view this_boot_id) const {
  return !ended && !boot_id.empty() && boot_id != this_boot_id;
}

void RecoveredSpool::AddPowerCut(absl::string_view this_boot_id,
                                 absl::Time now) {
  if (!IsAfterPowerCut(this_boot_id)) return;
  lost.Add("", LossCause::kPowerCut,
           {.ticks = 0, .start = last_tick, .end = now});
}

SegmentKind KindOf(absl::string_view segment) {
  RecordReader reader(RecordReader::File::kAppended, segment);
  v1::SpoolRecord record;
  bool is_first = true;
  for (auto next = reader.Next(); next.has_value(); next = reader.Next()) {
    const bool is_record = record.ParseFromArray(
        next->body.data(), static_cast<int>(next->body.size()));
    if (is_record && record.released()) return SegmentKind::kReleased;
    if (reader.has_damage() || !is_record ||
        (is_first && record.version() == 0)) {
      return SegmentKind::kDamaged;
    }
    if (record.complete()) return SegmentKind::kComplete;
    is_first = false;
  }
  return reader.has_damage() ? SegmentKind::kDamaged : SegmentKind::kCutOff;
}

void SpoolRecovery::ApplySegment(uint32_t number, absl::string_view bytes) {
  segment_ = number;
  const bool is_damaged = ForEachRecord(
      RecordReader::File::kAppended, bytes,
      [&](const v1::SpoolRecord& record, uint64_t payload_offset) {
        if (record.version() > 0) definition_records_ = 0;
        Apply(record, {.segment = number, .offset = payload_offset});
        ApplyOpen(record);
      });
  if (is_damaged) recovered_.AddDamage("records of its log");
}

void SpoolRecovery::ApplyCounts(absl::string_view bytes) {
  RecordReader reader(RecordReader::File::kRewound, bytes);
  const auto next = reader.Next();
  v1::SpoolRecord record;
  if (!next.has_value() ||
      !record.ParseFromArray(next->body.data(),
                             static_cast<int>(next->body.size())) ||
      record.process() < recovered_.process) {
    return;
  }
  const bool has_log = record.process() == recovered_.process;
  if (!has_log) BeginProcess(record.process());
  RecoveredSpool::Counts& counts = recovered_.counts;
  const bool is_older =
      counts.process == record.process() && record.save() < counts.save;
  counts.are_apart = true;
  for (const v1::SpoolRun& run : record.open_ticks()) {
    counts.open_ticks.push_back(FromProto(run));
  }
  if (is_older) return;
  counts.process = record.process();
  counts.save = record.save();
  counts.held.clear();
  for (const v1::SpoolRun& run : record.held()) {
    counts.held.push_back(FromProto(run));
  }
  // The end of the log may have had definitions that the ticks need.
  if (!has_log || record.segment() != segment_ ||
      record.definition_records() != definition_records_) {
    lacks_definitions_ = true;
  }
  if (!record.boot_id().empty()) recovered_.boot_id = record.boot_id();
  if (!has_log) recovered_.ended = false;
  ApplyEpochs(record);
  ApplyOpen(record);
}

void SpoolRecovery::ApplyTicks(absl::string_view bytes) {
  bool has_others = false;
  const bool is_damaged = ForEachRecord(
      RecordReader::File::kRewound, bytes,
      [&](const v1::SpoolRecord& record, uint64_t /*payload_offset*/) {
        if (record.process() == recovered_.process) {
          ApplyOpen(record);
          return;
        }
        // The ticks of earlier processes are in batches.
        if (record.process() < recovered_.process) return;
        has_others = true;
        for (const v1::SpoolOpenBatch& batch : record.open()) {
          for (const v1::SpoolTick& tick : batch.ticks()) {
            recovered_.unusable_open[batch.sequence()].Extend(
                FromProto(tick.range()));
          }
        }
      });
  if (is_damaged) recovered_.AddDamage("records of its ticks");
  if (has_others) recovered_.AddDamage("ticks of another log");
}

void SpoolRecovery::Apply(const v1::SpoolRecord& record,
                          PayloadPlace payloads) {
  if (record.version() > kSpoolVersion) is_of_later_version_ = true;
  if (record.process() > recovered_.process) BeginProcess(record.process());
  recovered_.ended = record.ended();
  if (!record.boot_id().empty()) recovered_.boot_id = record.boot_id();
  // A batch without its definitions would end each stream that sends it.
  if (record.definition_records() != definition_records_) {
    lacks_definitions_ = true;
  }
  recovered_.definitions.Add(record.definitions());
  definition_records_ =
      record.definition_records() + (record.has_definitions() ? 1 : 0);
  for (const uint32_t instance : record.removed_instances()) {
    recovered_.definitions.RemoveInstance(instance);
  }
  for (const v1::SpoolBatch& batch : record.batches()) {
    HeldBatch held = FromProto(batch);
    if (!held.is_dropped() && held.payload.segment == 0) {
      held.payload = {.segment = payloads.segment,
                      .offset = payloads.offset + held.payload.offset};
    }
    const BatchPlace place = held.spooled.place;
    recovered_.batches.erase(place);
    recovered_.unusable.erase(place);
    const bool is_unusable =
        lacks_definitions_ && place.epoch == record.process();
    (is_unusable ? recovered_.unusable : recovered_.batches)
        .emplace(place, std::move(held));
  }
  for (const v1::SpoolPlace& place : record.removed()) {
    recovered_.batches.erase(FromProto(place));
    recovered_.unusable.erase(FromProto(place));
  }
  ApplyEpochs(record);
  if (record.save() > 0) {
    recovered_.counts = {.process = record.process(), .save = record.save()};
    for (const v1::SpoolRun& run : record.held()) {
      recovered_.counts.held.push_back(FromProto(run));
    }
  }
}

void SpoolRecovery::BeginProcess(uint32_t process) {
  recovered_.process = process;
  // The new process sealed the open batches of the previous one.
  recovered_.open.clear();
  recovered_.definitions = {};
  lacks_definitions_ = false;
  told_version_ = 0;
  last_tick_number_ = 0;
}

void SpoolRecovery::ApplyEpochs(const v1::SpoolRecord& record) {
  for (const v1::SpoolEpoch& epoch : record.epochs()) {
    recovered_.epochs[epoch.number()] = FromProto(epoch);
    recovered_.batches.erase(
        recovered_.batches.lower_bound({epoch.number(), 0}),
        recovered_.batches.upper_bound({epoch.number(), epoch.acknowledged()}));
    recovered_.unusable.erase(
        recovered_.unusable.lower_bound({epoch.number(), 0}),
        recovered_.unusable.upper_bound(
            {epoch.number(), epoch.acknowledged()}));
    if (epoch.number() != record.process()) continue;
    recovered_.open.erase(recovered_.open.begin(),
                          recovered_.open.upper_bound(epoch.last_sequence()));
  }
}

void SpoolRecovery::ApplyOpen(const v1::SpoolRecord& record) {
  recovered_.age =
      std::max(recovered_.age, absl::Milliseconds(record.age_ms()));
  recovered_.last_tick =
      std::max(recovered_.last_tick, FromNanoseconds(record.last_tick_ns()));
  const auto epoch = recovered_.epochs.find(record.process());
  const uint64_t last_sealed =
      epoch != recovered_.epochs.end() ? epoch->second.last_sequence : 0;
  const bool tells =
      record.told_version() > 0 && record.told_version() >= told_version_;
  if (tells) {
    told_version_ = record.told_version();
    for (auto& [sequence, batch] : recovered_.open) batch.told = {};
  }
  for (const v1::SpoolOpenBatch& batch : record.open()) {
    if (batch.sequence() <= last_sealed) continue;
    RecoveredSpool::Open& open = recovered_.open[batch.sequence()];
    if (tells && batch.has_told()) open.told = Losses::In(batch.told());
    for (const v1::SpoolTick& tick : batch.ticks()) {
      if (tick.number() <= last_tick_number_) continue;
      last_tick_number_ = tick.number();
      if (lacks_definitions_) {
        recovered_.unusable_open[batch.sequence()].Extend(
            FromProto(tick.range()));
        continue;
      }
      open.ticks.Extend(FromProto(tick.range()));
      // Concatenated serialized messages parse as one merged message.
      open.content += tick.content();
    }
  }
}

}  // namespace fleetperf::agent
