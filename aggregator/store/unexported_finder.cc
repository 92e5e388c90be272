#include "aggregator/store/unexported_finder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

class UnexportedFinder {
 public:
  UnexportedFinder(const ExportReader::Parts& parts,
                   const UnexportedRequest& request)
      : parts_(parts), request_(request) {}

  absl::StatusOr<UnexportedSamples> Find() {
    RETURN_IF_ERROR(FindUntaken());
    if (!found_.empty()) {
      found_.earliest = found_.oldest;
      RETURN_IF_ERROR(FindEarlier());
    }
    return std::move(found_);
  }

 private:
  using Epoch = UnexportedSamples::Epoch;

  absl::Status FindUntaken() {
    {
      absl::ReaderMutexLock lock(parts_.sources.layout);
      for (LogSegment& segment : parts_.sources.log->index().Find(
               request_.machine, absl::InfinitePast(),
               absl::InfiniteFuture())) {
        found_.epochs[segment.epoch_number].segments.push_back(
            std::move(segment));
      }
      found_.snapshot = parts_.sources.database->TakeSnapshot();
    }
    ASSIGN_OR_RETURN(found_.machine,
                     parts_.sources.numbers->GetMachine(request_.machine));
    ASSIGN_OR_RETURN(const auto listed, parts_.exports->FindChunks(
                                            found_.machine, *found_.snapshot));
    for (const UnexportedChunk& chunk : listed) {
      Epoch& epoch = found_.epochs[chunk.key.epoch_number];
      epoch.listed.emplace(chunk.key, chunk);
      found_.lost += chunk.values;
      epoch.last_listed = std::max(epoch.last_listed, chunk.last_sequence);
      epoch.last_hour = std::max(epoch.last_hour, chunk.key.hour);
      found_.oldest = std::min(found_.oldest, StartOfHour(chunk.key.hour));
      found_.received = std::min(found_.received, chunk.received);
    }
    for (auto& [number, epoch] : found_.epochs) {
      ASSIGN_OR_RETURN(epoch.cursor,
                       parts_.exports->GetCursor(number, found_.machine,
                                                 found_.snapshot.get()));
      RETURN_IF_ERROR(FindNew(number, &epoch));
    }
    return absl::OkStatus();
  }

  // Finds the batches of the log that are not exported.
  absl::Status FindNew(uint32_t number, Epoch* epoch) {
    if (epoch->segments.empty()) return absl::OkStatus();
    // Batches before the log's first one are in chunks.
    epoch->after = std::max(epoch->cursor.sequence,
                            epoch->segments.front().first_sequence - 1);
    epoch->last = epoch->segments.back().last_sequence;
    if (!epoch->has_new()) return absl::OkStatus();
    const std::string end = EndOfPrefix(LogKey(number, epoch->last));
    const rocksdb::Slice end_slice = end;
    const auto entry = parts_.sources.database->Iterate(
        Family::kTimes, found_.snapshot.get(), &end_slice);
    for (entry->Seek(LogKey(number, epoch->after + 1)); entry->Valid();
         entry->Next()) {
      BatchTimes times;
      uint64_t fingerprint = 0;
      if (!DecodeTimes(ToView(entry->value()), &times, &fingerprint)) continue;
      found_.oldest = std::min(found_.oldest, times.oldest);
      found_.received = std::min(found_.received, times.received);
      epoch->last_hour = std::max(epoch->last_hour, HourOf(times.oldest));
    }
    return FromRocksDb(entry->status(), "read its log");
  }

  // Finds where the samples are that the first unexported pieces begin with.
  absl::Status FindEarlier() {
    found_.intervals = request_.intervals;
    std::sort(found_.intervals.begin(), found_.intervals.end());
    if (!found_.intervals.empty()) {
      found_.earliest =
          found_.oldest - found_.intervals.back() * kMaxIntervalsRead;
    }
    RETURN_IF_ERROR(FindRecent());
    bool needs_chunks = false;
    uint32_t last_hour = HourOf(found_.oldest);
    for (const auto& [number, epoch] : found_.epochs) {
      last_hour = std::max(last_hour, epoch.last_hour);
      needs_chunks = needs_chunks || !epoch.listed.empty();
      if (epoch.has_new() && found_.recent.complete_after >= found_.earliest) {
        ASSIGN_OR_RETURN(const bool is_logged, LogBegins(number));
        needs_chunks = needs_chunks || !is_logged;
      }
    }
    if (!needs_chunks) return absl::OkStatus();
    const auto entry = parts_.sources.database->Iterate(Family::kChunks,
                                                        found_.snapshot.get());
    RETURN_IF_ERROR(ForEachChunk(
        entry.get(), found_.machine, Resolution::kFull, HourOf(found_.earliest),
        last_hour,
        [&](StoredChunk chunk) {
          AddChunk(std::move(chunk));
          return absl::OkStatus();
        },
        [&](const absl::Status& damage) {
          LogUnexportedDamage(request_.machine, damage);
        }));
    for (auto& [number, epoch] : found_.epochs) {
      std::sort(epoch.chunks.begin(), epoch.chunks.end(),
                [](const auto& a, const auto& b) {
                  return a.chunk.key.order < b.chunk.key.order;
                });
    }
    return absl::OkStatus();
  }

  absl::Status FindRecent() {
    found_.recent = parts_.sources.recent->Find(
        request_.machine, found_.earliest, absl::InfiniteFuture());
    if (found_.recent.epochs.empty() ||
        found_.recent.complete_after < absl::InfiniteFuture()) {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(FindElsewhere(parts_.sources, request_.machine));
    found_.recent = parts_.sources.recent->Find(
        request_.machine, found_.earliest, absl::InfiniteFuture());
    return absl::OkStatus();
  }

  // Whether the log has the epoch from its beginning, or from the earliest
  // sample.
  absl::StatusOr<bool> LogBegins(uint32_t number) {
    const std::string end = EndOfPrefix(LogKey(number, kMaxSequence));
    const rocksdb::Slice end_slice = end;
    const auto entry = parts_.sources.database->Iterate(
        Family::kTimes, found_.snapshot.get(), &end_slice);
    entry->Seek(LogKey(number, 0));
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read its log"));
    uint32_t of_first = 0;
    uint64_t first = 0;
    BatchTimes times;
    uint64_t fingerprint = 0;
    return entry->Valid() &&
           ParseLogKey(ToView(entry->key()), &of_first, &first) &&
           DecodeTimes(ToView(entry->value()), &times, &fingerprint) &&
           (first == 1 || times.oldest <= found_.earliest);
  }

  void AddChunk(StoredChunk chunk) {
    const auto epoch = found_.epochs.find(chunk.key.epoch_number);
    if (epoch == found_.epochs.end()) return;
    // Of chunks that are not listed, only ticks before unexported ones are
    // needed.
    if (chunk.key.hour >
        std::max(HourOf(found_.oldest), epoch->second.last_hour)) {
      return;
    }
    const auto listed = epoch->second.listed.find(chunk.key);
    const bool is_listed = listed != epoch->second.listed.end();
    if (is_listed) found_.lost -= listed->second.values;
    epoch->second.chunks.push_back(
        {.chunk = std::move(chunk), .is_listed = is_listed});
  }

  const ExportReader::Parts& parts_;
  const UnexportedRequest& request_;
  UnexportedSamples found_;
};

}  // namespace

bool UnexportedSamples::MayBegin(absl::Duration interval,
                                 absl::Time time) const {
  return time >= oldest - interval * kMaxIntervalsRead;
}

absl::StatusOr<UnexportedSamples> FindUnexported(
    const ExportReader::Parts& parts, const UnexportedRequest& request) {
  return UnexportedFinder(parts, request).Find();
}

void LogUnexportedDamage(const std::string& machine,
                         const absl::Status& status) {
  LogErrorOf(machine, absl::StrCat("did not export some samples of ", machine,
                                   ": ", status.message()));
}

}  // namespace fleetperf::aggregator
