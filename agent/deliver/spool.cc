#include "agent/deliver/spool.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "agent/deliver/batch_builder.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {
namespace {

// The inverse of the share of the spool's size that one segment may take. Disk
// space is released by whole segments.
constexpr uint64_t kSegmentsPerSpool = 16;
constexpr uint64_t kMaxSegmentBytes = uint64_t{4} << 20;
// After this many read errors in a row, a payload counts as damaged.
constexpr int kMaxReadErrors = 3;

}  // namespace

Spool::Spool(const Options& options)
    : options_(options),
      dictionary_(/*is_saved=*/!options.directory.empty()),
      state_({.epoch = options.epoch,
              .has_files = !options.directory.empty(),
              .max_bytes = options.max_bytes,
              .max_age = options.max_age,
              .clock = options.clock,
              .boot_id = options.boot_id},
             &dictionary_),
      writer_(options.clock, [this] { return Save(); }) {}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const Options& options) {
  auto spool = std::make_unique<Spool>(options);
  if (options.directory.empty()) return spool;
  const absl::Status recovered = spool->Recover();
  if (!recovered.ok()) {
    return absl::Status(
        recovered.code(),
        absl::StrCat("cannot open the spool: ", recovered.message()));
  }
  spool->writer_.Request();
  spool->writer_.Start();
  return spool;
}

Spool::~Spool() {
  if (files_ == nullptr) return;
  writer_.Stop();
  if (must_begin_segment_) return;
  v1::SpoolRecord end;
  uint32_t process;
  {
    absl::MutexLock lock(&mutex_);
    end = state_.MakeEnd();
    process = state_.process();
  }
  std::vector<HeldBatch> none;
  files_->Append(std::move(end), process, &none).IgnoreError();
}

absl::Status Spool::Recover() {
  ASSIGN_OR_RETURN(files_,
                   SpoolFiles::Open({.directory = options_.directory,
                                     .segment_bytes = std::min(
                                         options_.max_bytes / kSegmentsPerSpool,
                                         kMaxSegmentBytes),
                                     .before_use = options_.before_file_use}));
  ASSIGN_OR_RETURN(RecoveredSpool recovered, files_->Recover(options_.boot_id));
  recovered.SealOpen();
  recovered.AddPowerCut(options_.boot_id, options_.clock->Now());
  ReportDamage(&recovered);
  absl::MutexLock lock(&mutex_);
  state_.TakeOver(std::move(recovered), files_->definition_bytes());
  return absl::OkStatus();
}

void Spool::ReportDamage(RecoveredSpool* recovered) const {
  if (recovered->damage.empty()) return;
  const TickRange lost = recovered->lost.Of(LossCause::kSpoolDamaged);
  if (!recovered->has_counts()) {
    // The damage may have cost more than is known.
    const absl::Time now = options_.clock->Now();
    recovered->lost.Add("", LossCause::kSpoolDamaged,
                        {.ticks = 0, .start = now, .end = now});
  }
  LogError("the spool is damaged (", recovered->damage,
           "); a copy of it is kept in ", options_.directory,
           ". Lost with it: ",
           lost.ticks > 0 || recovered->has_counts() ? absl::StrCat(lost.ticks)
                                                     : "an unknown number of",
           " ticks");
}

uint64_t Spool::open_sequence() const {
  absl::MutexLock lock(&mutex_);
  return state_.open().open_sequence();
}

void Spool::AddTick(const v1::BatchContent& content, const TickRange& range) {
  std::string bytes = content.SerializeAsString();
  {
    absl::MutexLock lock(&mutex_);
    state_.AddTick(range, std::move(bytes));
  }
  MakeDirty();  // after the unlock, because the woken thread needs the lock
}

void Spool::AddLoss(const std::string& machine, LossCause cause,
                    const TickRange& ticks) {
  Losses losses;
  losses.Add(machine, cause, ticks);
  AddLosses(losses);
}

void Spool::AddLosses(const Losses& losses) {
  absl::MutexLock lock(&mutex_);
  state_.AddLosses(losses);
  MakeDirty();
}

SpooledBatch Spool::Close(const TickRange& ticks) {
  absl::MutexLock lock(&mutex_);
  return state_.Close(ticks);
}

void Spool::Seal(SpooledBatch closed, v1::BatchContent content) {
  options_.before_seal();
  closed.losses.AppendTo(&content);
  HeldBatch held = {.spooled = std::move(closed)};
  held.SetBatch(PackBatch(content.SerializeAsString()));
  const uint64_t sequence = held.spooled.place.sequence;
  absl::MutexLock lock(&mutex_);
  changed_.Await(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.epochs().current().last_sequence + 1 == sequence;
  });
  state_.Seal(std::move(held));
  MakeDirty();
  changed_.Notify();
}

void Spool::Append(v1::BatchContent content, const TickRange& ticks) {
  Seal(Close(ticks), std::move(content));
}

void Spool::MakeDirty() {
  if (keeps_ticks()) writer_.Request();
}

std::vector<Spool::HeldEpoch> Spool::HeldEpochs() const {
  absl::MutexLock lock(&mutex_);
  std::vector<SpoolEpoch> epochs = state_.epochs().former();
  epochs.push_back(state_.epochs().current());
  std::vector<HeldEpoch> held;
  for (const SpoolEpoch& epoch : epochs) {
    const HeldBatch* first = state_.queue().Next(
        {.epoch = epoch.number, .sequence = epoch.acknowledged});
    const bool holds_any =
        first != nullptr && first->spooled.place.epoch == epoch.number;
    held.push_back({.epoch = epoch,
                    .first_sequence = holds_any ? first->spooled.place.sequence
                                                : epoch.last_sequence + 1});
  }
  return held;
}

uint64_t Spool::epoch() const {
  absl::MutexLock lock(&mutex_);
  return state_.epochs().current().id;
}

std::optional<uint32_t> Spool::NumberOf(uint64_t epoch) const {
  absl::MutexLock lock(&mutex_);
  return state_.epochs().NumberOf(epoch);
}

absl::StatusOr<std::vector<v1::Definitions>> Spool::DefinitionsOf(
    uint32_t epoch) {
  if (epoch == kThisProcess) return dictionary_.All();
  {
    absl::MutexLock lock(&mutex_);
    const auto* unsaved = state_.UnsavedDefinitions(epoch);
    if (unsaved != nullptr) return *unsaved;
    if (!state_.queue().HasAny(epoch)) return std::vector<v1::Definitions>(1);
  }
  auto definitions = files_->ReadDefinitions(epoch);
  if (!absl::IsDataLoss(definitions.status()) &&
      !absl::IsNotFound(definitions.status())) {
    return definitions;
  }
  // Without its definitions, no batch of the epoch can be used.
  absl::MutexLock lock(&mutex_);
  BatchPlace place = {.epoch = epoch, .sequence = 0};
  for (const HeldBatch* next = state_.queue().Next(place);
       next != nullptr && next->spooled.place.epoch == epoch;
       next = state_.queue().Next(place)) {
    place = next->spooled.place;
    LoseDamaged(*next, definitions.status());
  }
  return std::vector<v1::Definitions>(1);
}

void Spool::LoseDamaged(const HeldBatch& batch, const absl::Status& damage) {
  LogError("the spool is damaged (", damage.message(),
           "). Lost with it: ", batch.spooled.ticks.ticks, " ticks");
  state_.Lose(batch, LossCause::kSpoolDamaged);
  MakeDirty();
}

bool Spool::Resume(uint32_t epoch, uint64_t durable, uint64_t fingerprint) {
  absl::MutexLock lock(&mutex_);
  if (epoch == kThisProcess && !known_.has_value()) known_ = durable;
  const bool is_ours =
      state_.Resume({.epoch = epoch, .sequence = durable}, fingerprint);
  MakeDirty();
  changed_.Notify();
  return is_ours;
}

void Spool::Fork() {
  absl::BitGen random;
  absl::MutexLock lock(&mutex_);
  state_.Fork(absl::Uniform<uint64_t>(random));
  MakeDirty();
}

absl::StatusOr<std::optional<SpooledBatch>> Spool::Next(BatchPlace place) {
  return Find(place, /*marks_sent=*/false);
}

absl::StatusOr<std::optional<SpooledBatch>> Spool::Take(BatchPlace place) {
  return Find(place, /*marks_sent=*/true);
}

absl::StatusOr<std::optional<SpooledBatch>> Spool::Find(BatchPlace place,
                                                        bool marks_sent) {
  for (;;) {
    HeldBatch held;
    {
      absl::MutexLock lock(&mutex_);
      const HeldBatch* next = state_.queue().Next(place);
      if (next == nullptr) return std::nullopt;
      held = *next;
      if (held.spooled.batch != nullptr) {
        if (marks_sent) state_.MarkSent(held.spooled.place);
        return held.spooled;
      }
    }
    absl::StatusOr<std::string> payload = files_->ReadPayload(held);
    absl::MutexLock lock(&mutex_);
    const HeldBatch* now = state_.queue().Find(held.spooled.place);
    if (now == nullptr || now->is_dropped()) continue;
    if (payload.ok()) {
      read_errors_ = 0;
      if (marks_sent) state_.MarkSent(held.spooled.place);
      return held.WithPayload(*std::move(payload));
    }
    const bool is_damaged = absl::IsDataLoss(payload.status()) ||
                            absl::IsNotFound(payload.status()) ||
                            ++read_errors_ >= kMaxReadErrors;
    if (!is_damaged) return payload.status();
    read_errors_ = 0;
    LoseDamaged(*now, payload.status());
  }
}

std::optional<SpooledBatch> Spool::TakeFromMemory(BatchPlace place,
                                                  bool* must_read) {
  absl::MutexLock lock(&mutex_);
  const HeldBatch* next = state_.queue().Next(place);
  *must_read = next != nullptr && next->spooled.batch == nullptr;
  if (next == nullptr || *must_read) return std::nullopt;
  state_.MarkSent(next->spooled.place);
  return next->spooled;
}

bool Spool::MayHaveArrived(BatchPlace place) const {
  absl::MutexLock lock(&mutex_);
  return state_.epochs().MayHaveArrived(place);
}

bool Spool::MayHoldAfter(BatchPlace place) const {
  absl::MutexLock lock(&mutex_);
  return state_.open().is_sealing() || state_.queue().Next(place) != nullptr;
}

void Spool::Acknowledge(BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  if (state_.Acknowledge(place)) changed_.Notify();
}

void Spool::Reject(BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  ++rejected_.batches;
  const HeldBatch* batch = state_.queue().Find(place);
  if (batch == nullptr) return;
  rejected_.ticks += batch->spooled.ticks.ticks;
  state_.Remove(place);
  changed_.Notify();
}

void Spool::Refuse(const SpooledBatch& refused) {
  absl::MutexLock lock(&mutex_);
  const HeldBatch* batch = state_.queue().Find(refused.place);
  if (batch == nullptr || batch->is_dropped()) return;
  state_.Lose(*batch, LossCause::kRejected);
  MakeDirty();
}

Spool::Usage Spool::usage() const {
  absl::MutexLock lock(&mutex_);
  return {.memory_bytes = state_.queue().memory_bytes(),
          .file_bytes = state_.queue().file_bytes(),
          .max_bytes = options_.max_bytes,
          .unsaved_bytes = state_.queue().unsaved_bytes(),
          .batches = state_.queue().held(),
          .backlog = state_.Backlog(),
          .dropped_ticks = state_.dropped_ticks(),
          .failed_saves = failed_saves_};
}

Spool::Rejected Spool::rejected() const {
  absl::MutexLock lock(&mutex_);
  return rejected_;
}

uint64_t Spool::known() const {
  absl::MutexLock lock(&mutex_);
  return known_.value_or(0);
}

bool Spool::AwaitAtMost(uint64_t bytes, absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return changed_.Await(&mutex_, timeout,
                        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          return state_.queue().memory_bytes() <= bytes;
                        });
}

absl::Status Spool::AwaitSaved() {
  {
    absl::MutexLock lock(&mutex_);
    if (state_.has_lazy_changes()) MakeDirty();
  }
  return writer_.AwaitSaved();
}

absl::Status Spool::Save() {
  SpoolState::Changes changes;
  {
    absl::MutexLock lock(&mutex_);
    changes =
        state_.TakeChanges(must_begin_segment_ ||
                           files_->needs_segment(state_.open().tick_bytes()));
  }
  const absl::Status status = Write(&changes);
  must_begin_segment_ = !status.ok();
  std::set<uint32_t> segments;
  {
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      state_.SetSaved(changes, files_->definition_bytes());
      return status;
    }
    state_.SetFailed();
    ++failed_saves_;
    segments = state_.queue().Segments();
  }
  files_->ReleaseOthers(segments);
  return status;
}

absl::Status Spool::Write(SpoolState::Changes* changes) {
  if (changes->former_definitions.has_value()) {
    RETURN_IF_ERROR(files_->WriteDefinitions(changes->former,
                                             *changes->former_definitions));
  }
  const bool begins_segment = !changes->state.empty();
  if (begins_segment) {
    RETURN_IF_ERROR(files_->BeginSegment(std::move(changes->state),
                                         changes->process, &changes->batches));
  } else if (changes->change.has_value()) {
    RETURN_IF_ERROR(files_->Append(*std::move(changes->change),
                                   changes->process, &changes->batches));
  }
  if (changes->rewinds_ticks) files_->RewindTicks();
  if (changes->ticks.has_value() && !begins_segment) {
    RETURN_IF_ERROR(files_->AppendTicks(*changes->ticks));
  }
  files_->WriteCounts(std::move(changes->counts));
  // Files are deleted only after a sync, because a power cut undoes unsynced
  // changes.
  if (begins_segment || !changes->batches.empty()) {
    files_->KeepOnly(changes->segments, changes->epochs);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
