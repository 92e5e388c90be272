#include "aggregator/store/tables/log.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {
namespace {

BatchTimes TimesOf(const BatchToCommit& batch) {
  BatchTimes times{.received = batch.received};
  const auto extend = [&](absl::Time time) {
    times.oldest = std::min(times.oldest, time);
    times.newest = std::max(times.newest, time);
  };
  for (const Frame& frame : batch.decoded->frames) {
    for (const perflib::Clocks& clocks : *frame.clocks) {
      extend(perflib::TimeOf(clocks));
    }
  }
  for (const Loss& loss : batch.decoded->losses) {
    extend(loss.start);
    extend(loss.end);
  }
  if (times.oldest > times.newest) times.oldest = times.newest = batch.received;
  return times;
}

// The batch was valid when it was received, so decoding errors are damage.
// Failed reads and missing definitions are not.
absl::Status Damaged(const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsFailedPrecondition(status)) {
    return status;
  }
  return absl::DataLossError(status.message());
}

// A record of the family kTimes.
struct TimesEntry {
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
  BatchTimes times;
  uint64_t fingerprint = 0;

  // Returns std::nullopt if the record is damaged.
  static std::optional<TimesEntry> Parse(absl::string_view key,
                                         absl::string_view value) {
    TimesEntry entry;
    if (!ParseLogKey(key, &entry.epoch_number, &entry.sequence) ||
        !DecodeTimes(value, &entry.times, &entry.fingerprint)) {
      return std::nullopt;
    }
    return entry;
  }

  // Adds the batch's name to an error.
  absl::Status InBatch(const absl::Status& status) const {
    return absl::Status(
        status.code(),
        absl::StrCat("batch ", sequence, " of epoch ", epoch_number,
                     absl::IsFailedPrecondition(status)
                         ? " in the log cannot be read: "
                         : " in the log is damaged: ",
                     status.message()));
  }
};

// Returns a batch that stores only the losses of a rejected batch.
v1::Batch WithoutSamples(const BatchToCommit& rejected) {
  v1::Batch batch;
  batch.set_sequence(rejected.sequence);
  batch.set_compression(v1::COMPRESSION_NONE);
  batch.set_payload(EncodeLosses(rejected.decoded->losses));
  batch.set_content_size(static_cast<uint32_t>(batch.payload().size()));
  return batch;
}

}  // namespace

absl::Status Log::Load(OnDamage on_damage) {
  return database_.ForEach(
      Family::kTimes, "", [&](absl::string_view key, absl::string_view value) {
        const auto entry = TimesEntry::Parse(key, value);
        if (entry.has_value()) {
          index_.Add(entry->epoch_number, entry->sequence, entry->times);
        } else {
          on_damage(DamagedRecord(key));
        }
      });
}

BatchTimes Log::Put(const BatchToCommit& batch, Changes* changes) {
  const std::string key = LogKey(batch.epoch_number, batch.sequence);
  std::string record = EncodeTime(batch.received);
  if (batch.batch != nullptr) {
    batch.batch->AppendToString(&record);
  } else {
    WithoutSamples(batch).AppendToString(&record);
  }
  changes->Put(Family::kLog, key, record);
  const BatchTimes times = TimesOf(batch);
  changes->Put(Family::kTimes, key, EncodeTimes(times, batch.fingerprint));
  return times;
}

absl::StatusOr<bool> Log::Contains(uint32_t epoch_number, uint64_t sequence,
                                   uint64_t fingerprint) const {
  const std::string key = LogKey(epoch_number, sequence);
  const auto record = database_.Get(Family::kTimes, key);
  if (absl::IsNotFound(record.status())) return false;
  RETURN_IF_ERROR(record.status());
  BatchTimes times;
  uint64_t kept = 0;
  if (!DecodeTimes(*record, &times, &kept)) return DamagedRecord(key);
  return kept == fingerprint;
}

absl::Status Log::Read(const LogSegment& segment, absl::Time from,
                       absl::Time to, const QueryFilter& filter,
                       const Snapshot* snapshot,
                       absl::FunctionRef<absl::Status(LoggedBatch)> use,
                       OnDamagedBatch on_damage) {
  const std::string last = LogKey(segment.epoch_number, segment.last_sequence);
  const std::string end = EndOfPrefix(last);
  const rocksdb::Slice end_slice = end;
  const auto entry = database_.Iterate(Family::kTimes, snapshot, &end_slice);
  entry->Seek(LogKey(segment.epoch_number, segment.first_sequence));
  for (; entry->Valid() && ToView(entry->key()) <= last; entry->Next()) {
    const absl::string_view key = ToView(entry->key());
    const auto listed = TimesEntry::Parse(key, ToView(entry->value()));
    if (!listed.has_value()) continue;  // Load has reported it
    if (listed->times.oldest > to || listed->times.newest < from) continue;
    auto batch = Get(key, segment.epoch_number, filter, snapshot);
    if (absl::IsNotFound(batch.status())) continue;  // just removed
    if (absl::IsDataLoss(batch.status()) ||
        absl::IsFailedPrecondition(batch.status())) {
      RETURN_IF_ERROR(on_damage(listed->sequence, listed->times,
                                listed->InBatch(batch.status())));
      continue;
    }
    RETURN_IF_ERROR(batch.status());
    batch->sequence = listed->sequence;
    batch->received = listed->times.received;
    batch->fingerprint = listed->fingerprint;
    RETURN_IF_ERROR(use(*std::move(batch)));
  }
  return FromRocksDb(entry->status(), "read its log");
}

absl::Status Log::Verify(absl::FunctionRef<void(const absl::Status&)> use) {
  const auto entry = database_.Iterate(Family::kTimes);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    const absl::string_view key = ToView(entry->key());
    const auto listed = TimesEntry::Parse(key, ToView(entry->value()));
    if (!listed.has_value()) {
      use(DamagedRecord(key));
      continue;
    }
    const absl::Status status =
        Get(key, listed->epoch_number, /*filter=*/nullptr, /*snapshot=*/nullptr)
            .status();
    use(status.ok() ? status : listed->InBatch(status));
  }
  return FromRocksDb(entry->status(), "read its log");
}

absl::StatusOr<LoggedBatch> Log::Get(absl::string_view key,
                                     uint32_t epoch_number,
                                     const QueryFilter& filter,
                                     const Snapshot* snapshot) {
  ASSIGN_OR_RETURN(const std::string record,
                   database_.Get(Family::kLog, key, snapshot));
  // Batches in the log were within the limits when they were received.
  const BatchLimits no_limits = BatchLimits::None();
  v1::Batch batch;
  if (record.size() < sizeof(uint64_t) ||
      !batch.ParseFromArray(
          record.data() + sizeof(uint64_t),
          static_cast<int>(record.size() - sizeof(uint64_t)))) {
    return absl::DataLossError("not a batch");
  }
  auto contents = ParseBatch(batch, no_limits);
  if (!contents.ok()) return Damaged(contents.status());
  const auto dictionary = definitions_.ReadDictionary(epoch_number);
  auto decoded = DecodeBatch(*contents, no_limits, filter, dictionary.get());
  if (!decoded.ok()) return Damaged(decoded.status());
  return LoggedBatch{
      .decoded = *std::move(decoded),
      .retired_instances = std::move(contents->retired_instances)};
}

absl::Status Log::List(uint32_t epoch_number, uint64_t sequence,
                       Changes* changes) {
  const std::string key = LogKey(epoch_number, sequence);
  const TimesEntry entry = {.epoch_number = epoch_number, .sequence = sequence};
  const auto logged =
      Get(key, epoch_number, /*filter=*/nullptr, /*snapshot=*/nullptr);
  if (!logged.ok()) return entry.InBatch(logged.status());
  ASSIGN_OR_RETURN(const std::string record,
                   database_.Get(Family::kLog, key, /*snapshot=*/nullptr));
  absl::string_view rest = record;
  BatchToCommit batch{.decoded = &logged->decoded};
  v1::Batch message;
  if (!GetTime(&rest, &batch.received) ||
      !message.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) {
    return entry.InBatch(absl::DataLossError("not a batch"));
  }
  changes->Put(Family::kTimes, key,
               EncodeTimes(TimesOf(batch), Fingerprint(message.payload())));
  return absl::OkStatus();
}

void Log::Delete(uint32_t epoch_number, uint64_t sequence, Changes* changes) {
  const std::string key = LogKey(epoch_number, sequence);
  changes->Delete(Family::kLog, key);
  changes->Delete(Family::kTimes, key);
}

}  // namespace fleetperf::aggregator
