#include "agent/deliver/spool.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "agent/deliver/batch_builder.h"
#include "base/files.h"
#include "base/native_path.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {
namespace {

constexpr char kFileName[] = "spool.sqlite";
// How soon writing is tried again after it failed.
constexpr absl::Duration kRetry = absl::Seconds(1);
// What memory holds for a file that cannot be written, and how much of the
// spool's size at most.
constexpr uint64_t kMostUnsavedBytes = uint64_t{16} << 20;
constexpr uint64_t kUnsavedPart = 4;
// What memory keeps of what is in the file, so that it need not be read.
constexpr uint64_t kMostCachedBytes = uint64_t{1} << 20;
constexpr size_t kMostFingerprints = 100'000;
// A file that cannot be read so often in a row is taken for damaged.
constexpr int kMostReadErrors = 3;

uint64_t PayloadOf(const SpooledBatch& batch) {
  return batch.batch != nullptr ? batch.batch->payload().size() : 0;
}

}  // namespace

Spool::Spool(const Options& options)
    : options_(options),
      path_(options.directory.empty()
                ? ""
                : ResolvePath(options.directory, kFileName)),
      dictionary_(/*is_saved=*/!options.directory.empty()) {
  epoch_ = {.number = kThisProcess, .id = options.epoch, .sent = 0};
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const Options& options) {
  auto spool = std::make_unique<Spool>(options);
  if (options.directory.empty()) return spool;
  RETURN_IF_ERROR(MakeDirectories(options.directory));
  const absl::Status opened = spool->OpenFile();
  if (absl::IsResourceExhausted(opened)) {
    spool->Report(opened);  // it is tried again
  } else if (!opened.ok()) {
    return absl::Status(opened.code(), absl::StrCat("cannot open the spool: ",
                                                    opened.message()));
  }
  spool->writer_ = std::thread([spool = spool.get()] { spool->Run(); });
  return spool;
}

Spool::~Spool() {
  if (!writer_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Notify();
  writer_.join();
}

absl::Status Spool::OpenFile() {
  const SpoolFile::Options options = {.path = path_,
                                      .epoch = epoch(),
                                      .clock = options_.clock,
                                      .boot_id = BootId(),
                                      .before_use = options_.before_file_use};
  auto opened = SpoolFile::Open(options);
  if (absl::IsDataLoss(opened.status())) {
    RETURN_IF_ERROR(SetAside(opened.status()));
    opened = SpoolFile::Open(options);
  }
  RETURN_IF_ERROR(opened.status());
  std::shared_ptr<SpoolFile> file = *std::move(opened);
  ASSIGN_OR_RETURN(std::vector<SpoolEpoch> former, file->FormerEpochs());
  absl::MutexLock lock(&mutex_);
  losses_.Add(file->power_cut());
  former_ = std::move(former);
  for (const SpoolEpoch& epoch : former_) {
    in_file_ = std::max(in_file_, BatchPlace{.epoch = epoch.number,
                                             .sequence = epoch.last_sequence});
  }
  file_ = std::move(file);
  MakeDirty();
  return absl::OkStatus();
}

// What is in memory is written to the next file; what was in this one alone is
// lost.
absl::Status Spool::SetAside(const absl::Status& damage) {
  std::shared_ptr<SpoolFile> file;
  {
    absl::MutexLock lock(&mutex_);
    file = std::exchange(file_, nullptr);
  }
  const int64_t number = file != nullptr ? file->number() : 0;
  if (file != nullptr) file->Close();
  const std::string aside = absl::StrCat(path_, ".damaged");
  std::error_code error;
  std::filesystem::rename(NativePath(path_), NativePath(aside), error);
  if (error) {
    return absl::DataLossError(absl::StrCat(damage.message(),
                                            "; and it cannot be set aside as ",
                                            aside, ": ", error.message()));
  }
  std::filesystem::rename(NativePath(absl::StrCat(path_, "-wal")),
                          NativePath(absl::StrCat(aside, "-wal")), error);
  TickRange lost = {.start = options_.clock->Now(),
                    .end = options_.clock->Now()};
  const std::vector<SpooledBatch> held = SpoolFile::Salvage(aside, number);
  absl::ReleasableMutexLock lock(&mutex_);
  for (const SpooledBatch& batch : held) {
    const bool has_place = batch.place.sequence > 0;
    // Ticks without a place are in memory, unless of a former process.
    if (!has_place && file != nullptr) continue;
    if (has_place && file != nullptr &&
        (IsGone(batch.place) ||
         (batch.place.epoch == kThisProcess &&
          FindEntry(batch.place.sequence) != entries_.end()))) {
      continue;
    }
    lost.Extend(batch.ticks);
    losses_.Add(batch.losses);
  }
  losses_.Add("", LossCause::kSpoolDamaged, lost);
  for (Entry& entry : entries_) {
    if (entry.saved) unsaved_bytes_ += PayloadOf(entry.batch);
    entry.saved = false;
  }
  saved_ticks_ = 0;
  has_stale_ticks_ = false;
  former_.clear();
  in_file_ = {};
  removals_ = {};
  dictionary_.ForgetSaved();
  MakeDirty();
  lock.Release();
  spdlog::error(
      "the spool is damaged ({}); it is set aside as {}, and a new one begins. "
      "Lost with it: {} ticks",
      std::string(damage.message()), aside,
      lost.ticks > 0 ? absl::StrCat(lost.ticks) : "an unknown number of");
  return absl::OkStatus();
}

uint64_t Spool::open_sequence() const {
  absl::MutexLock lock(&mutex_);
  return last_closed_ + 1;
}

void Spool::AddTick(const v1::BatchContent& content, const TickRange& range) {
  std::string bytes = content.SerializeAsString();
  absl::MutexLock lock(&mutex_);
  last_tick_ = std::max(last_tick_, range.end);
  ticks_.push_back({.content = std::move(bytes), .range = range});
  MakeDirty(/*has_new_state=*/false);
}

void Spool::AddLoss(const std::string& machine, LossCause cause,
                    const TickRange& ticks) {
  absl::MutexLock lock(&mutex_);
  losses_.Add(machine, cause, ticks);
  MakeDirty();
}

void Spool::AddLosses(const Losses& losses) {
  absl::MutexLock lock(&mutex_);
  losses_.Add(losses);
  MakeDirty();
}

SpooledBatch Spool::Close(const TickRange& ticks) {
  absl::MutexLock lock(&mutex_);
  last_tick_ = std::max(last_tick_, ticks.end);
  has_stale_ticks_ = has_stale_ticks_ || saved_ticks_ > 0;
  ticks_.clear();
  saved_ticks_ = 0;
  return {.place = {.epoch = kThisProcess, .sequence = ++last_closed_},
          .ticks = ticks,
          .losses = std::exchange(losses_, {})};
}

void Spool::Seal(SpooledBatch closed, v1::BatchContent content) {
  options_.before_seal();
  closed.losses.AppendTo(&content);
  closed.batch =
      std::make_shared<const v1::Batch>(PackBatch(content.SerializeAsString()));
  const uint64_t sequence = closed.place.sequence;
  const uint64_t fingerprint =
      keeps_ticks() ? Fingerprint(closed.batch->payload()) : 0;
  absl::MutexLock lock(&mutex_);
  changed_.Await(&mutex_, absl::InfiniteDuration(),
                 [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                   return epoch_.last_sequence + 1 == sequence;
                 });
  epoch_.last_sequence = sequence;
  if (keeps_ticks()) {
    fingerprints_[sequence] = fingerprint;
    if (fingerprints_.size() > kMostFingerprints) {
      fingerprints_.erase(fingerprints_.begin());
    }
  }
  bytes_ += PayloadOf(closed);
  unsaved_bytes_ += PayloadOf(closed);
  entries_.push_back({.batch = std::move(closed)});
  KeepMemoryBounded();
  MakeDirty();
  // The aggregator may have had it before it was made: a capture is played
  // again.
  if (sequence <= epoch_.acknowledged) {
    Erase(std::prev(entries_.end()));
    dictionary_.Settle(sequence);
  }
  if (wants_changes_ && !IsSealing()) {
    changes_ = TakeChanges();
    wants_changes_ = false;
  }
  changed_.Notify();
}

void Spool::Append(v1::BatchContent content, const TickRange& ticks) {
  Seal(Close(ticks), std::move(content));
}

bool Spool::IsSealing() const { return last_closed_ != epoch_.last_sequence; }

void Spool::MakeDirty(bool has_new_state) {
  has_new_state_ = has_new_state_ || has_new_state;
  dirty_ = keeps_ticks();
  if (dirty_) changed_.Notify();
}

SpoolEpoch* Spool::FindEpoch(uint32_t number) {
  if (number == kThisProcess) return &epoch_;
  const auto found = std::find_if(
      former_.begin(), former_.end(),
      [&](const SpoolEpoch& epoch) { return epoch.number == number; });
  return found != former_.end() ? &*found : nullptr;
}

const SpoolEpoch* Spool::FindEpoch(uint32_t number) const {
  return const_cast<Spool*>(this)->FindEpoch(number);
}

std::vector<Spool::HeldEpoch> Spool::HeldEpochs() {
  std::vector<SpoolEpoch> epochs;
  {
    absl::MutexLock lock(&mutex_);
    epochs = former_;
    epochs.push_back(epoch_);
  }
  std::vector<HeldEpoch> held;
  for (const SpoolEpoch& epoch : epochs) {
    const auto next =
        Next({.epoch = epoch.number, .sequence = epoch.acknowledged});
    uint64_t first = epoch.last_sequence + 1;
    if (!next.ok()) {
      first = epoch.acknowledged + 1;
    } else if (next->has_value() && (*next)->place.epoch == epoch.number) {
      first = (*next)->place.sequence;
    }
    held.push_back({.epoch = epoch, .first_sequence = first});
  }
  return held;
}

uint64_t Spool::epoch() const {
  absl::MutexLock lock(&mutex_);
  return epoch_.id;
}

std::optional<uint32_t> Spool::NumberOf(uint64_t epoch) const {
  absl::MutexLock lock(&mutex_);
  if (epoch == epoch_.id) return kThisProcess;
  for (const SpoolEpoch& former : former_) {
    if (former.id == epoch) return former.number;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<v1::Definitions>> Spool::DefinitionsOf(
    uint32_t epoch) const {
  if (epoch == kThisProcess) return dictionary_.All();
  std::shared_ptr<SpoolFile> file;
  {
    absl::MutexLock lock(&mutex_);
    file = file_;
  }
  if (file == nullptr) return absl::UnavailableError("the spool has no file");
  return file->DefinitionsOf(epoch);
}

absl::StatusOr<bool> Spool::Resume(uint32_t epoch, uint64_t durable,
                                   uint64_t fingerprint) {
  const BatchPlace last_arrived = {.epoch = epoch, .sequence = durable};
  {
    absl::MutexLock lock(&mutex_);
    if (epoch == kThisProcess) {
      if (!known_.has_value()) known_ = durable;
      const auto made = fingerprints_.find(durable);
      const bool is_anothers =
          keeps_ticks() && (durable > epoch_.last_sequence ||
                            (made != fingerprints_.end() && fingerprint != 0 &&
                             made->second != fingerprint));
      if (is_anothers) return false;
    }
  }
  RETURN_IF_ERROR(ResolveDropped(last_arrived));
  Acknowledge(last_arrived);
  return true;
}

void Spool::Fork() {
  absl::BitGen random;
  absl::MutexLock lock(&mutex_);
  epoch_.forked_from = epoch_.id;
  epoch_.id = absl::Uniform<uint64_t>(random);
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
  const auto found = [&](std::optional<SpooledBatch> batch)
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                           if (batch.has_value() && marks_sent) {
                             MarkSent(batch->place);
                           }
                           return batch;
                         };
  for (;;) {
    std::shared_ptr<SpoolFile> file;
    BatchPlace in_file;
    {
      absl::MutexLock lock(&mutex_);
      file = file_;
      in_file = in_file_;
      if (file == nullptr || place >= in_file) {
        return found(NextInMemory(place));
      }
    }
    auto row = file->Next(place);
    absl::MutexLock lock(&mutex_);
    if (!row.ok()) {
      if (file != file_) continue;  // it was set aside
      if (absl::IsDataLoss(row.status()) || ++read_errors_ >= kMostReadErrors) {
        damage_ = absl::DataLossError(row.status().message());
        changed_.Notify();  // the writer sees to it
      }
      return row.status();
    }
    read_errors_ = 0;
    if (!row->has_value()) {
      if (in_file != in_file_) continue;  // more has come into the file
      return found(NextInMemory(place));
    }
    if (!IsGone((*row)->place)) return found(*std::move(row));
    place = (*row)->place;
  }
}

std::optional<SpooledBatch> Spool::TakeFromMemory(BatchPlace place,
                                                  bool* must_read) {
  absl::MutexLock lock(&mutex_);
  *must_read = file_ != nullptr && place < in_file_;
  if (*must_read) return std::nullopt;
  std::optional<SpooledBatch> batch = NextInMemory(place);
  if (batch.has_value()) MarkSent(batch->place);
  return batch;
}

void Spool::MarkSent(BatchPlace place) {
  SpoolEpoch* epoch = FindEpoch(place.epoch);
  epoch->sent = std::max(epoch->sent, place.sequence);
}

bool Spool::MayHoldAfter(BatchPlace place) const {
  absl::MutexLock lock(&mutex_);
  if (IsSealing() || NextInMemory(place).has_value()) return true;
  if (file_ == nullptr || place >= in_file_) return false;
  const auto may_hold = [&](const SpoolEpoch& epoch) {
    return epoch.last_sequence > epoch.acknowledged &&
           place < BatchPlace{.epoch = epoch.number,
                              .sequence = epoch.last_sequence};
  };
  return may_hold(epoch_) ||
         std::any_of(former_.begin(), former_.end(), may_hold);
}

std::optional<SpooledBatch> Spool::NextInMemory(BatchPlace place) const {
  auto entry = std::partition_point(
      entries_.begin(), entries_.end(),
      [&](const Entry& e) { return e.batch.place <= place; });
  while (entry != entries_.end() && entry->batch.batch == nullptr) ++entry;
  if (entry == entries_.end()) return std::nullopt;
  return entry->batch;
}

bool Spool::IsGone(BatchPlace place) const {
  const SpoolEpoch* epoch = FindEpoch(place.epoch);
  return epoch == nullptr || place.sequence <= epoch->acknowledged ||
         removals_.Contains(place) || removals_in_writing_.Contains(place);
}

bool Spool::Removals::Contains(BatchPlace place) const {
  return std::count(removed.begin(), removed.end(), place) > 0 ||
         std::any_of(dropped.begin(), dropped.end(),
                     [&](const auto& batch) { return batch.place == place; });
}

void Spool::Removals::Add(const Removals& others) {
  for (const auto& [epoch, sequence] : others.acknowledged) {
    uint64_t& mine = acknowledged[epoch];
    mine = std::max(mine, sequence);
  }
  removed.insert(removed.end(), others.removed.begin(), others.removed.end());
  dropped.insert(dropped.end(), others.dropped.begin(), others.dropped.end());
}

bool Spool::MayHaveArrived(BatchPlace place) const {
  const SpoolEpoch* epoch = FindEpoch(place.epoch);
  return epoch != nullptr && place.sequence <= epoch->sent;
}

void Spool::Acknowledge(BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  SpoolEpoch* epoch = FindEpoch(place.epoch);
  if (epoch == nullptr || place.sequence <= epoch->acknowledged) return;
  epoch->acknowledged = place.sequence;
  // The file need not follow at once: what comes again is recognised.
  if (keeps_ticks()) removals_.acknowledged[place.epoch] = place.sequence;
  if (place.epoch != kThisProcess) return;
  while (!entries_.empty() && entries_.front().batch.place <= place) {
    Erase(entries_.begin());
  }
  fingerprints_.erase(fingerprints_.begin(),
                      fingerprints_.lower_bound(place.sequence));
  dictionary_.Settle(place.sequence);
  changed_.Notify();
}

std::deque<Spool::Entry>::iterator Spool::FindEntry(uint64_t sequence) {
  const auto found = std::partition_point(
      entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.batch.place.sequence < sequence;
      });
  const bool is_it =
      found != entries_.end() && found->batch.place.sequence == sequence;
  return is_it ? found : entries_.end();
}

std::deque<Spool::Entry>::iterator Spool::Erase(
    std::deque<Entry>::iterator entry) {
  bytes_ -= PayloadOf(entry->batch);
  if (!entry->saved) unsaved_bytes_ -= PayloadOf(entry->batch);
  return entries_.erase(entry);
}

void Spool::Reject(BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  ++rejected_.batches;
  if (keeps_ticks()) removals_.removed.push_back(place);
  if (place.epoch != kThisProcess) return;
  const auto found = FindEntry(place.sequence);
  if (found == entries_.end()) return;
  rejected_.ticks += found->batch.ticks.ticks;
  Erase(found);
  changed_.Notify();
}

void Spool::Refuse(const SpooledBatch& batch) {
  absl::MutexLock lock(&mutex_);
  if (IsGone(batch.place)) return;
  CountAsLost(batch, LossCause::kRejected);
  if (keeps_ticks()) removals_.removed.push_back(batch.place);
  if (batch.place.epoch != kThisProcess) return;
  const auto found = FindEntry(batch.place.sequence);
  if (found != entries_.end()) Erase(found);
}

Spool::Usage Spool::usage() const {
  absl::MutexLock lock(&mutex_);
  return {.memory_bytes = bytes_,
          .file_bytes = file_bytes_,
          .max_bytes = options_.max_bytes,
          .dropped_ticks = dropped_ticks_};
}

void Spool::CountAsLost(const SpooledBatch& batch, LossCause cause) {
  if (batch.ticks.ticks > 0) losses_.Add("", cause, batch.ticks);
  dropped_ticks_ += batch.ticks.ticks;
  losses_.Add(batch.losses);  // nobody was told of these
  MakeDirty();
}

void Spool::Empty(Entry& entry, LossCause cause) {
  bytes_ -= PayloadOf(entry.batch);
  if (!entry.saved) unsaved_bytes_ -= PayloadOf(entry.batch);
  entry.batch.batch = nullptr;
  entry.batch.dropped = cause;
}

void Spool::KeepMemoryBounded() {
  const bool has_file = keeps_ticks();
  const uint64_t most =
      has_file ? std::min(kMostUnsavedBytes, options_.max_bytes / kUnsavedPart)
               : options_.max_bytes;
  const LossCause cause =
      has_file ? LossCause::kDiskFull : LossCause::kSpoolFull;
  auto entry = entries_.begin();
  // The newest stays.
  while (unsaved_bytes_ > most && entry != entries_.end() &&
         entry != std::prev(entries_.end())) {
    const bool is_writing =
        writing_.has_value() && entry->batch.place.sequence <= *writing_;
    if (entry->saved || is_writing || entry->batch.batch == nullptr) {
      ++entry;
    } else if (MayHaveArrived(entry->batch.place)) {
      Empty(*entry, cause);
    } else {
      CountAsLost(entry->batch, cause);
      entry = Erase(entry);
    }
  }
  // What batches that are gone retired is used by none that is held.
  if (!has_file && !entries_.empty()) {
    dictionary_.Settle(entries_.front().batch.place.sequence - 1);
  }
}

void Spool::ShrinkMemory() {
  while (!entries_.empty() && entries_.front().saved &&
         (bytes_ > kMostCachedBytes + unsaved_bytes_ ||
          entries_.front().batch.batch == nullptr)) {
    in_file_ = std::max(in_file_, entries_.front().batch.place);
    Erase(entries_.begin());
  }
}

// Whether batches that were dropped are lost: those that had arrived are not.
// Others that are dropped from now on are lost for certain, until they are
// sent.
absl::Status Spool::ResolveDropped(BatchPlace last_arrived) {
  absl::MutexLock saving(&saving_mutex_);  // none moves into the file meanwhile
  std::shared_ptr<SpoolFile> file;
  {
    absl::MutexLock lock(&mutex_);
    file = file_;
  }
  std::vector<SpooledBatch> lost;
  if (file != nullptr) {
    ASSIGN_OR_RETURN(lost, file->DroppedAfter(last_arrived));
  }
  const auto is_lost = [&](const SpooledBatch& batch) {
    return batch.dropped.has_value() &&
           batch.place.epoch == last_arrived.epoch &&
           batch.place > last_arrived;
  };
  absl::MutexLock lock(&mutex_);
  SpoolEpoch* epoch = FindEpoch(last_arrived.epoch);
  if (epoch == nullptr) return absl::OkStatus();
  epoch->sent = last_arrived.sequence;
  std::erase_if(lost, [&](const auto& batch) { return IsGone(batch.place); });
  std::vector<SpooledBatch>& dropped = removals_.dropped;
  std::copy_if(dropped.begin(), dropped.end(), std::back_inserter(lost),
               is_lost);
  std::erase_if(dropped, is_lost);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (!is_lost(entry->batch)) {
      ++entry;
      continue;
    }
    lost.push_back(entry->batch);
    entry = Erase(entry);
  }
  for (const SpooledBatch& batch : lost) {
    CountAsLost(batch, *batch.dropped);
    if (keeps_ticks()) removals_.removed.push_back(batch.place);
  }
  return absl::OkStatus();
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
  return changed_.Await(
      &mutex_, timeout,
      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return bytes_ <= bytes; });
}

absl::Status Spool::AwaitSaved() {
  absl::MutexLock lock(&mutex_);
  dirty_ =
      dirty_ || !removals_.acknowledged.empty() || !removals_.removed.empty();
  save_status_ = absl::OkStatus();
  changed_.Notify();
  changed_.Await(
      &mutex_, absl::Minutes(1), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return (!dirty_ && !writing_.has_value()) || !save_status_.ok();
      });
  return save_status_;
}

void Spool::Run() {
  bool stopping = false;
  while (!stopping) {
    {
      absl::MutexLock lock(&mutex_);
      changed_.Await(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return dirty_ || stopping_ || absl::IsDataLoss(damage_);
      });
      stopping = stopping_;
    }
    absl::Status status = Save();
    // What is in memory goes into a new file.
    if (absl::IsDataLoss(status) && stopping) status = Save();
    Report(status);
    if (status.ok()) continue;
    absl::MutexLock lock(&mutex_);
    dirty_ = true;
    changed_.Await(
        &mutex_, kRetry,
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
  }
}

void Spool::Report(const absl::Status& status) {
  // Each time: until it can be written again, much depends on this process.
  if (!status.ok() && !is_failing_) {
    spdlog::warn(
        "cannot write the spool, so that samples are kept in memory alone: {}",
        std::string(status.message()));
  } else if (status.ok() && is_failing_) {
    spdlog::info("the spool can be written again");
  }
  is_failing_ = !status.ok();
  absl::MutexLock lock(&mutex_);
  save_status_ = status;
  changed_.Notify();
}

absl::Status Spool::Save() {
  absl::MutexLock saving(&saving_mutex_);
  std::shared_ptr<SpoolFile> file;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    file = file_;
    status = std::exchange(damage_, absl::OkStatus());
  }
  if (absl::IsDataLoss(status)) {
    RETURN_IF_ERROR(SetAside(status));
    return status;
  }
  if (file == nullptr) {
    RETURN_IF_ERROR(OpenFile());
    absl::MutexLock lock(&mutex_);
    file = file_;
  }
  status = DropBeyondBounds(*file);
  if (status.ok()) {
    SpoolFile::Changes changes;
    {
      absl::MutexLock lock(&mutex_);
      changes = AwaitChanges();
    }
    status = file->Write(changes);
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      SetSaved(changes);
    } else {
      PutBack(changes);
    }
    writing_ = std::nullopt;
  }
  if (absl::IsDataLoss(status)) RETURN_IF_ERROR(SetAside(status));
  return status;
}

absl::Status Spool::DropBeyondBounds(SpoolFile& file) {
  uint64_t needed = 0;
  {
    absl::MutexLock lock(&mutex_);
    const bool has_unsaved = !entries_.empty() && !entries_.back().saved;
    if (!has_unsaved) return absl::OkStatus();
    needed = unsaved_bytes_;
  }
  ASSIGN_OR_RETURN(const uint64_t used, file.UsedBytes());
  needed += used;
  ASSIGN_OR_RETURN(const std::vector<SpooledBatch> oldest,
                   file.Oldest(needed - std::min(needed, options_.max_bytes),
                               options_.max_age));
  absl::MutexLock lock(&mutex_);
  file_bytes_ = used;
  for (const SpooledBatch& row : oldest) {
    if (IsGone(row.place)) continue;
    if (row.place.epoch == kThisProcess) {
      if (const auto found = FindEntry(row.place.sequence);
          found != entries_.end()) {
        Erase(found);
      }
    }
    // What batches that are gone retired is used by none that is held.
    if (row.place.epoch == kThisProcess) {
      dictionary_.Settle(row.place.sequence);
    }
    if (MayHaveArrived(row.place)) {
      removals_.dropped.push_back(row);
    } else {
      CountAsLost(row, *row.dropped);
      removals_.removed.push_back(row.place);
    }
  }
  return absl::OkStatus();
}

// While a batch is being sealed, its ticks and what it tells are neither in it
// nor among the open ones: a file that was told of this would lack them. The
// thread that seals the last one takes the changes, because batches may follow
// each other so fast that this one would never find none.
SpoolFile::Changes Spool::AwaitChanges() {
  if (!IsSealing()) return TakeChanges();
  wants_changes_ = true;
  changed_.Await(&mutex_, absl::InfiniteDuration(),
                 [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                   return changes_.has_value();
                 });
  SpoolFile::Changes changes = *std::move(changes_);
  changes_.reset();
  return changes;
}

SpoolFile::Changes Spool::TakeChanges() {
  SpoolFile::Changes changes;
  for (const Entry& entry : entries_) {
    if (!entry.saved) changes.batches.push_back(entry.batch);
  }
  writing_ = epoch_.last_sequence;
  removals_in_writing_ = std::exchange(removals_, {});
  for (const auto& [epoch, sequence] : removals_in_writing_.acknowledged) {
    changes.acknowledged.push_back({.epoch = epoch, .sequence = sequence});
  }
  changes.removed = removals_in_writing_.removed;
  changes.dropped = removals_in_writing_.dropped;
  changes.clears_ticks = std::exchange(has_stale_ticks_, false);
  changes.ticks.assign(
      ticks_.begin() + static_cast<std::ptrdiff_t>(saved_ticks_), ticks_.end());
  changes.has_state =
      std::exchange(has_new_state_, false) || !changes.acknowledged.empty();
  changes.losses = losses_;
  changes.definitions = dictionary_.TakeChanges();
  changes.epoch = epoch_;
  changes.last_tick = last_tick_;
  changes.sync = !changes.batches.empty();
  dirty_ = false;
  return changes;
}

void Spool::PutBack(const SpoolFile::Changes& changes) {
  removals_.Add(std::exchange(removals_in_writing_, {}));
  has_stale_ticks_ = has_stale_ticks_ || changes.clears_ticks;
  has_new_state_ = has_new_state_ || changes.has_state;
  dictionary_.PutBack(changes.definitions);
  writing_ = std::nullopt;
  KeepMemoryBounded();
}

void Spool::SetSaved(const SpoolFile::Changes& changes) {
  removals_in_writing_ = {};
  for (Entry& entry : entries_) {
    if (entry.saved || entry.batch.place.sequence > *writing_) continue;
    entry.saved = true;
    unsaved_bytes_ -= PayloadOf(entry.batch);
  }
  // Those of the batch that was open; another one may be by now.
  if (changes.epoch.last_sequence == last_closed_) {
    saved_ticks_ += changes.ticks.size();
  } else {
    has_stale_ticks_ = has_stale_ticks_ || !changes.ticks.empty();
  }
  // Former epochs of which nothing is left.
  std::erase_if(former_, [&](const SpoolEpoch& epoch) {
    return &epoch != &former_.back() &&
           epoch.acknowledged >= epoch.last_sequence;
  });
  ShrinkMemory();
}

}  // namespace fleetperf::agent
