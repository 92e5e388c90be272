#include "aggregator/store/compaction/compactor.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/store/compaction/shares.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/fingerprints.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The approximate number of values in memory at once.
constexpr uint64_t kMaxTransposedValues = uint64_t{16} << 20;
// After a restart, merging considers the chunks received in this many hours up
// to the newest one.
constexpr uint32_t kHoursToLoad = 3;
// The maximum duration of a query.
constexpr absl::Duration kLongestRead = absl::Minutes(5);
// The maximum number of entries removed in one write.
constexpr size_t kMaxDropped = 1000;

constexpr size_t kSequenceSize = sizeof(uint64_t);
// The size of the epoch and sequence of a machine's newest sample.
constexpr size_t kPlaceSize = sizeof(uint32_t) + kSequenceSize;

// "12.5 MiB"
std::string InMib(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

void LogRemoval(const Removal& removal, uint64_t had, uint64_t max_size,
                uint64_t has) {
  if (removal.chunks == 0) return;
  LogWarning(
      "the store is full: it has ", InMib(had), ", and store.max_size is ",
      InMib(max_size), "; removed ", removal.chunks, " chunks, ",
      InMib(removal.bytes), ", received from ",
      absl::FormatTime(StartOfHour(removal.first_hour), absl::UTCTimeZone()),
      " to ",
      absl::FormatTime(StartOfHour(removal.last_hour) + absl::Hours(1),
                       absl::UTCTimeZone()),
      "; ", InMib(has), " are left");
}

}  // namespace

// The last sample of each machine, in order of arrival and not of time. Among
// the samples of one batch, the newest is the last.
struct Compactor::NewestSamples {
  struct Sample {
    uint64_t sequence = 0;
    absl::Time time = absl::InfinitePast();
  };

  void Add(const std::string& machine, uint64_t sequence, absl::Time time) {
    Sample& sample = by_machine[machine];
    const bool is_later = sequence > sample.sequence;
    sample = {sequence, is_later ? time : std::max(sample.time, time)};
  }

  std::map<std::string, Sample> by_machine;
};

absl::Status Compactor::Load(Directory* directory, OnDamage on_damage) {
  RETURN_IF_ERROR(LoadDirectory(directory, on_damage));
  ASSIGN_OR_RETURN(const std::vector<ReceivedChunk> chunks,
                   LastReceived(*parts_.database, kHoursToLoad, on_damage));
  for (const ReceivedChunk& chunk : chunks) {
    plan_.Add(chunk.key, chunk.shapes, chunk.received);
  }
  return absl::OkStatus();
}

absl::Status Compactor::LoadDirectory(Directory* directory,
                                      OnDamage on_damage) {
  const std::string collected = CollectedKey(0, 0).substr(0, 1);
  RETURN_IF_ERROR(parts_.database->ForEach(
      Family::kDefault, collected,
      [&](absl::string_view key, absl::string_view) {
        uint32_t machine_number = 0;
        uint32_t shape_number = 0;
        if (!ParseCollectedKey(key, &machine_number, &shape_number)) {
          return on_damage(DamagedRecord(key));
        }
        const auto machine = parts_.numbers->MachineOf(machine_number);
        const auto shape = parts_.numbers->ShapeOf(shape_number);
        if (!machine.has_value() || !shape.ok()) return;
        CollectedQuery query = **shape;
        query.machine = *machine;
        directory->AddQuery(query);
      }));
  const std::string newest = NewestKey(0).substr(0, 1);
  std::map<std::string, std::string> newest_place;  // by machine
  return parts_.database->ForEach(
      Family::kDefault, newest,
      [&](absl::string_view key, absl::string_view value) {
        absl::string_view rest = key.substr(newest.size());
        uint32_t number = 0;
        const absl::string_view place = value.substr(0, kPlaceSize);
        value.remove_prefix(place.size());
        absl::Time time;
        if (!GetBigEndian(&rest, &number) || !rest.empty() ||
            !GetTime(&value, &time) || !value.empty()) {
          return on_damage(DamagedRecord(key));
        }
        const auto machine = parts_.numbers->MachineOf(number);
        if (!machine.has_value()) return;
        newest_[number] = std::string(place);
        std::string& of_machine = newest_place[*machine];
        if (place < of_machine) return;  // of another of its numbers
        of_machine = std::string(place);
        directory->SetNewestSample(*machine, time);
      });
}

absl::StatusOr<bool> Compactor::Step(absl::Time idle_since) {
  if (to_transpose_.empty() && to_merge_.empty()) {
    RETURN_IF_ERROR(FindWork(idle_since));
    if (!to_transpose_.empty() || !to_merge_.empty()) return true;
    return parts_.epochs->RemoveEnded([this] { return SecureMoved(); });
  }
  if (!to_transpose_.empty()) {
    // A failed move is found again by FindWork.
    std::vector<LogSegment> segments = std::move(to_transpose_.back());
    to_transpose_.pop_back();
    RETURN_IF_ERROR(Transpose(&segments));
    if (!segments.empty()) to_transpose_.push_back(std::move(segments));
    return true;
  }
  const MergePlan::Group group = std::move(to_merge_.back());
  to_merge_.pop_back();
  RETURN_IF_ERROR(Merge(group));
  return true;
}

absl::Status Compactor::FindWork(absl::Time idle_since) {
  RETURN_IF_ERROR(DeleteRetired());
  RETURN_IF_ERROR(parts_.lost_definitions->EndWaiting());
  for (LogSegment& segment : parts_.log->index().Closed(idle_since)) {
    if (parts_.lost_definitions->IsWaiting(segment.epoch_number)) continue;
    if (to_transpose_.empty() ||
        to_transpose_.back().front().epoch_number != segment.epoch_number) {
      to_transpose_.emplace_back();
    }
    to_transpose_.back().push_back(std::move(segment));
  }
  to_merge_ = plan_.Take(idle_since);
  return absl::OkStatus();
}

absl::Status Compactor::StepUntilDone(absl::Time idle_since) {
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, Step(idle_since));
  }
  return absl::OkStatus();
}

absl::Status Compactor::DropBefore(absl::Time time) {
  // Data this old is in chunks, unless Step was not called. A failure to move
  // it, perhaps for lack of space, must not prevent the removal.
  const absl::Status status = StepUntilDone(time);
  for (bool more = true; more;) {
    Changes changes(parts_.database);
    std::vector<uint32_t> epochs;
    ASSIGN_OR_RETURN(more,
                     DeleteReceivedBefore(*parts_.database, time, kMaxDropped,
                                          &changes, &epochs));
    RETURN_IF_ERROR(
        parts_.database->Write(&changes, Database::Durability::kProcess));
    parts_.epochs->NoteRemoved(epochs);
  }
  RETURN_IF_ERROR(parts_.epochs->RemoveRecords());
  return status;
}

absl::Status Compactor::DropTo(uint64_t size) {
  if (parts_.database->Size() <= size) return absl::OkStatus();
  // Merged, thinned and moved data takes space, too, until it is released. No
  // sample is removed for it. On a full disk, samples must be removed first.
  const absl::Status released = Release();
  if (!absl::IsResourceExhausted(released)) RETURN_IF_ERROR(released);
  const uint64_t has = parts_.database->Size();
  if (has <= size) return absl::OkStatus();
  // Frees 5 % more, because releasing space requires rewriting the whole
  // family.
  ASSIGN_OR_RETURN(const Removal removal, Remove(has - size + size / 20, size));
  if (removal.bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Release());
  LogRemoval(removal, has, size, parts_.database->Size());
  return absl::OkStatus();
}

absl::Status Compactor::Release() {
  for (const Family family : {Family::kLog, Family::kTimes, Family::kChunks}) {
    RETURN_IF_ERROR(parts_.database->Compact(family));
  }
  return absl::OkStatus();
}

absl::StatusOr<Removal> Compactor::Remove(uint64_t to_free, uint64_t max_size) {
  const UseByHolder uses = FindUse(*parts_.database, *parts_.numbers,
                                   *parts_.directory, *parts_.epochs);
  const uint64_t share = FairShare(uses, max_size);
  ASSIGN_OR_RETURN(Removal removal,
                   DropExcess(uses, share, to_free, parts_.database));
  to_free -= std::min(to_free, ExcessOfDefinitions(uses, share));
  while (removal.bytes < to_free) {
    std::vector<uint32_t> epochs;
    ASSIGN_OR_RETURN(
        const Removal of_hour,
        DeleteFirstReceived(parts_.database, to_free - removal.bytes, &epochs));
    parts_.epochs->NoteRemoved(epochs);
    removal.Add(of_hour);
    if (of_hour.bytes == 0) break;
  }
  return removal;
}

absl::Status Compactor::Transpose(std::vector<LogSegment>* segments) {
  const uint32_t epoch_number = segments->front().epoch_number;
  Transposer transposer;
  NewestSamples newest;
  std::vector<LoggedBatch> batches;
  std::vector<LoggedBatch> lost;  // without their samples
  size_t taken = 0;
  while (taken < segments->size() &&
         transposer.values() < kMaxTransposedValues) {
    const absl::Status read = parts_.log->Read(
        (*segments)[taken++], absl::InfinitePast(), absl::InfiniteFuture(),
        /*filter=*/nullptr, /*snapshot=*/nullptr,
        [&](LoggedBatch batch) {
          for (FrameGroup& group :
               GroupFrames(std::move(batch.decoded.frames))) {
            newest.Add(group[0]->query->machine, batch.sequence,
                       TimeOf(group[0]->clocks->back()));
            transposer.Add(std::move(group), OrderOf(batch.sequence),
                           batch.received);
          }
          batch.decoded.frames.clear();
          batches.push_back(std::move(batch));
          return absl::OkStatus();
        },
        [&](uint64_t sequence, const BatchTimes& times,
            const absl::Status& damage) {
          if (absl::IsFailedPrecondition(damage) &&
              parts_.lost_definitions->MayCome(epoch_number)) {
            return damage;
          }
          // A batch that stays in the log would be tried again after each
          // restart.
          LogError("removed for good: ", damage.message());
          LoggedBatch& batch = lost.emplace_back();
          batch.sequence = sequence;
          batch.received = times.received;
          batch.decoded.losses = {{.start = times.oldest,
                                   .end = times.newest,
                                   .cause = LossCause::kStoreDamaged}};
          return absl::OkStatus();
        });
    if (absl::IsFailedPrecondition(read)) {
      // The batches of an epoch are moved in order, so all of them wait.
      parts_.lost_definitions->Wait(epoch_number);
      segments->clear();
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(read);
  }
  Changes changes(parts_.database);
  std::vector<UnexportedChunk> unexported;
  ASSIGN_OR_RETURN(
      const std::vector<ReceivedChunk> chunks,
      PutChunks(epoch_number, transposer.Finish(), &unexported, &changes));
  RETURN_IF_ERROR(PutNewest(epoch_number, newest, &changes));
  RETURN_IF_ERROR(PutLosses(epoch_number, batches, &changes));
  RETURN_IF_ERROR(PutLosses(epoch_number, lost, &changes));
  PutFingerprints(epoch_number, batches, &changes);
  for (const LoggedBatch& batch : batches) {
    Log::Delete(epoch_number, batch.sequence, &changes);
  }
  for (const LoggedBatch& batch : lost) {
    Log::Delete(epoch_number, batch.sequence, &changes);
  }
  {
    absl::MutexLock lock(parts_.layout);
    RETURN_IF_ERROR(parts_.exports->WriteNew(unexported, &changes));
    for (size_t i = 0; i < taken; ++i) {
      parts_.log->index().Remove((*segments)[i]);
    }
  }
  has_moved_ = true;
  for (const ReceivedChunk& chunk : chunks) {
    plan_.Add(chunk.key, chunk.shapes, chunk.received);
  }
  for (const LoggedBatch& batch : batches) {
    for (const uint32_t instance : batch.retired_instances) {
      retired_.emplace_back(epoch_number, instance);
    }
  }
  segments->erase(segments->begin(),
                  segments->begin() + static_cast<std::ptrdiff_t>(taken));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ReceivedChunk>> Compactor::PutChunks(
    uint32_t epoch_number, const std::vector<NewChunk>& chunks,
    std::vector<UnexportedChunk>* unexported, Changes* changes) {
  std::vector<ReceivedChunk> placed;
  for (const NewChunk& chunk : chunks) {
    ASSIGN_OR_RETURN(const uint32_t machine,
                     parts_.numbers->GetMachine(chunk.machine));
    const ChunkKey key = {.machine = machine,
                          .hour = chunk.hour,
                          .epoch_number = epoch_number,
                          .order = chunk.order};
    ASSIGN_OR_RETURN(std::vector<uint32_t> shapes,
                     PutNewChunk(key, chunk, parts_.numbers, changes));
    for (const uint32_t shape : shapes) {
      changes->Put(Family::kDefault, CollectedKey(machine, shape), "");
    }
    placed.push_back(
        {.key = key, .shapes = std::move(shapes), .received = chunk.received});
    unexported->push_back({.key = key,
                           .last_sequence = SequenceOf(chunk.last_order),
                           .values = chunk.builder.values(),
                           .received = chunk.received});
  }
  return placed;
}

absl::Status Compactor::PutNewest(uint32_t epoch_number,
                                  const NewestSamples& samples,
                                  Changes* changes) {
  for (const auto& [name, sample] : samples.by_machine) {
    ASSIGN_OR_RETURN(const uint32_t machine, parts_.numbers->GetMachine(name));
    const std::string place =
        absl::StrCat(BigEndian(epoch_number), BigEndian(sample.sequence));
    std::string& newest = newest_[machine];
    if (place < newest) continue;
    newest = place;
    changes->Put(Family::kDefault, NewestKey(machine),
                 absl::StrCat(place, EncodeTime(sample.time)));
  }
  return absl::OkStatus();
}

// Attributes losses of all of an agent's machines to each machine.
absl::Status Compactor::PutLosses(uint32_t epoch_number,
                                  const std::vector<LoggedBatch>& batches,
                                  Changes* changes) {
  std::map<std::string, std::vector<Loss>> by_machine;
  for (const LoggedBatch& batch : batches) {
    for (const Loss& loss : batch.decoded.losses) {
      if (!loss.machine.empty()) {
        by_machine[loss.machine].push_back(loss);
        continue;
      }
      for (const std::string& machine :
           parts_.log->index().MachinesOf(epoch_number)) {
        by_machine[machine].push_back(loss);
      }
    }
  }
  for (const auto& [name, losses] : by_machine) {
    ASSIGN_OR_RETURN(const uint32_t machine, parts_.numbers->GetMachine(name));
    aggregator::PutLosses(machine, epoch_number, batches.front().sequence,
                          batches.back().received, losses, changes);
  }
  return absl::OkStatus();
}

absl::Status Compactor::Merge(const MergePlan::Group& keys) {
  std::vector<StoredChunk> pieces;
  Transposer transposer;
  ChunkGroupReader reader(parts_.database, parts_.numbers);
  for (const ChunkKey& key : keys) {
    auto piece = GetChunk(*parts_.database, key);
    if (absl::IsNotFound(piece.status())) continue;  // removed for its age
    absl::Status status = piece.status();
    if (status.ok()) {
      auto group = reader.Read(*piece);
      status = group.status();
      if (status.ok() && !group->empty()) {
        transposer.Add(*std::move(group), key.order, piece->received);
      }
    }
    if (absl::IsDataLoss(status)) {
      // The readable rest of the chunks is left unchanged.
      const std::string machine =
          parts_.numbers->MachineOf(key.machine).value_or("?");
      LogErrorOf(machine, absl::StrCat("cannot merge chunks of ", machine, ": ",
                                       status.message()));
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(status);
    pieces.push_back(*std::move(piece));
  }
  const std::vector<NewChunk> merged = transposer.Finish();
  if (merged.size() >= pieces.size()) return absl::OkStatus();
  Changes changes(parts_.database);
  std::vector<ChunkKey> replaced;
  for (const StoredChunk& piece : pieces) {
    DeleteChunk(piece, &changes);
    replaced.push_back(piece.key);
  }
  std::vector<ChunkKey> made;
  for (const NewChunk& chunk : merged) {
    ChunkKey& key = made.emplace_back(keys.front());
    key.order = chunk.order;
    RETURN_IF_ERROR(PutNewChunk(key, chunk, parts_.numbers, &changes).status());
  }
  return parts_.exports->WriteMerged(replaced, made, &changes);
}

absl::Status Compactor::DeleteRetired() {
  const absl::Duration now = parts_.clock->Monotonic();
  if (now < next_forgetting_) return absl::OkStatus();
  next_forgetting_ = now + kLongestRead;
  if (!retired_long_.empty()) {
    const absl::Status secured = SecureMoved();
    // Definitions only take space. If the disk is full, they stay.
    if (absl::IsResourceExhausted(secured)) return absl::OkStatus();
    RETURN_IF_ERROR(secured);
  }
  Changes changes(parts_.database);
  for (const auto& [epoch_number, instance] : retired_long_) {
    DefinitionTable::DeleteInstance(epoch_number, instance, &changes);
    parts_.definitions->RetireInstance(epoch_number, instance);
  }
  retired_long_ = std::exchange(retired_, {});
  return parts_.database->Write(&changes, Database::Durability::kProcess);
}

absl::Status Compactor::SecureMoved() {
  if (!has_moved_) return absl::OkStatus();
  RETURN_IF_ERROR(parts_.database->Flush());
  has_moved_ = false;
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
