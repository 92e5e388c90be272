#include "agent/deliver/spool/spool_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "agent/deliver/spool/record_log.h"
#include "agent/deliver/spool/spool_record.h"
#include "base/os/files.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

constexpr char kTicks[] = "spool.ticks";
constexpr char kCounts[] = "spool.held";
constexpr char kSegments[] = ".log";
constexpr char kDefinitions[] = ".definitions";
constexpr char kDamaged[] = ".damaged";
// Obsolete bytes allowed in the file of ticks, in addition to as many as it has
// needed ones.
constexpr uint64_t kMaxObsoleteTickBytes = uint64_t{1} << 20;

std::string NumberedName(uint32_t number, absl::string_view ending) {
  return absl::StrFormat("spool.%06d%s", number, ending);
}

// The number in a name made by NumberedName; std::nullopt for other names.
std::optional<uint32_t> NumberOf(absl::string_view name,
                                 absl::string_view ending) {
  uint32_t number;
  if (!absl::ConsumePrefix(&name, "spool.") ||
      !absl::ConsumeSuffix(&name, ending) || !absl::SimpleAtoi(name, &number) ||
      number == 0) {
    return std::nullopt;
  }
  return number;
}

absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (absl::IsNotFound(bytes.status())) return "";
  return bytes;
}

// Returns a batch's payload in its segment; std::nullopt if it is damaged.
std::optional<absl::string_view> PayloadIn(absl::string_view segment,
                                           const HeldBatch& batch) {
  if (batch.payload.offset > segment.size() ||
      batch.size > segment.size() - batch.payload.offset) {
    return std::nullopt;
  }
  const absl::string_view payload =
      segment.substr(batch.payload.offset, batch.size);
  if (Fingerprint(payload) != batch.fingerprint) return std::nullopt;
  return payload;
}

void Delete(const std::string& path) {
  RemoveFile(path).IgnoreError();  // the next call of KeepOnly tries again
}

}  // namespace

std::string SpoolFiles::PathOf(absl::string_view name) const {
  return ResolvePath(options_.directory, name);
}
std::string SpoolFiles::SegmentPath(uint32_t number) const {
  return PathOf(NumberedName(number, kSegments));
}
std::string SpoolFiles::DefinitionsPath(uint32_t number) const {
  return PathOf(NumberedName(number, kDefinitions));
}

absl::StatusOr<std::unique_ptr<SpoolFiles>> SpoolFiles::Open(
    const Options& options) {
  RETURN_IF_ERROR(MakeDirectories(options.directory));
  std::unique_ptr<SpoolFiles> files(new SpoolFiles(options));
  ASSIGN_OR_RETURN(files->lock_,
                   FileLock::Acquire(files->PathOf("spool.lock")));
  ASSIGN_OR_RETURN(files->directory_lock_,
                   DirectoryLock::Acquire(options.directory));
  RETURN_IF_ERROR(files->FindFiles());
  return files;
}

absl::Status SpoolFiles::FindFiles() {
  segments_.clear();
  definitions_.clear();
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries,
                   ListDirectory(options_.directory));
  for (const DirectoryEntry& entry : entries) {
    if (const auto segment = NumberOf(entry.name, kSegments)) {
      segments_.insert(*segment);
    } else if (const auto epoch = NumberOf(entry.name, kDefinitions)) {
      definitions_[*epoch] = entry.size;
    }
  }
  if (!segments_.empty()) last_segment_ = *segments_.rbegin();
  return absl::OkStatus();
}

absl::StatusOr<SpoolRecovery> SpoolFiles::ReadRecords() {
  std::vector<uint32_t> numbers;  // newest first
  for (auto number = segments_.rbegin(); number != segments_.rend(); ++number) {
    ASSIGN_OR_RETURN(const std::string segment, ReadFile(SegmentPath(*number)));
    const SegmentKind kind = KindOf(segment);
    if (kind == SegmentKind::kReleased) continue;
    if (kind != SegmentKind::kCutOff) numbers.push_back(*number);
    if (kind != SegmentKind::kComplete) continue;
    complete_segment_ = *number;
    break;
  }
  SpoolRecovery recovery;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    ASSIGN_OR_RETURN(const std::string segment, ReadFile(SegmentPath(*number)));
    recovery.ApplySegment(*number, segment);
  }
  ASSIGN_OR_RETURN(const std::string counts, ReadIfThere(PathOf(kCounts)));
  recovery.ApplyCounts(counts);
  ASSIGN_OR_RETURN(const std::string ticks, ReadIfThere(PathOf(kTicks)));
  recovery.ApplyTicks(ticks);
  return recovery;
}

absl::StatusOr<RecoveredSpool> SpoolFiles::Recover(absl::string_view boot_id) {
  options_.before_use();
  ASSIGN_OR_RETURN(SpoolRecovery recovery, ReadRecords());
  RecoveredSpool& recovered = recovery.recovered();
  recovered.RemoveUnsound();
  recovered.CompareWithCounts(boot_id);
  if (recovery.is_of_later_version()) {
    for (const auto& [place, batch] : recovered.batches) recovered.Lose(batch);
    for (const auto& [sequence, batch] : recovered.open) {
      recovered.lost.Add("", LossCause::kSpoolDamaged, batch.ticks);
    }
    RecoveredSpool nothing;
    nothing.lost = recovered.lost;
    nothing.AddDamage("a later version wrote it");
    RETURN_IF_ERROR(SetAllAside());
    return nothing;
  }
  if (!recovered.damage.empty()) {
    if (!segments_.empty()) CopyAside(SegmentPath(last_segment_));
    CopyAside(PathOf(kTicks));
  }
  RETURN_IF_ERROR(CheckPayloads(&recovered));
  RETURN_IF_ERROR(CheckDefinitions(&recovered));
  return std::move(recovered);
}

absl::Status SpoolFiles::CheckPayloads(RecoveredSpool* recovered) const {
  std::map<uint32_t, std::vector<BatchPlace>> by_segment;
  for (const auto& [place, batch] : recovered->batches) {
    if (!batch.is_dropped()) {
      by_segment[batch.payload.segment].push_back(place);
    }
  }
  for (const auto& [number, places] : by_segment) {
    const std::string path = SegmentPath(number);
    const auto segment = ReadFile(path);
    if (!segment.ok() && !absl::IsNotFound(segment.status())) {
      return segment.status();
    }
    const bool is_released =
        segment.ok() && KindOf(*segment) == SegmentKind::kReleased;
    bool is_damaged = false;
    for (const BatchPlace place : places) {
      const auto found = recovered->batches.find(place);
      if (segment.ok() && PayloadIn(*segment, found->second).has_value()) {
        continue;
      }
      if (!is_released) {
        is_damaged = true;
        recovered->Lose(found->second);
      }
      recovered->batches.erase(found);
    }
    if (!is_damaged) continue;
    recovered->AddDamage(absl::StrCat("payloads in ", path));
    CopyAside(path);
  }
  return absl::OkStatus();
}

// Without its definitions, no batch of an epoch can be used.
absl::Status SpoolFiles::CheckDefinitions(RecoveredSpool* recovered) const {
  for (const auto& [number, epoch] : recovered->epochs) {
    const auto first = recovered->batches.lower_bound({number, 0});
    const auto end = recovered->batches.upper_bound({number, UINT64_MAX});
    if (number == recovered->process || first == end) continue;
    const absl::Status read = ReadDefinitions(number).status();
    if (read.ok()) continue;
    if (!absl::IsDataLoss(read) && !absl::IsNotFound(read)) return read;
    recovered->AddDamage(read.message());
    for (auto batch = first; batch != end; ++batch) {
      recovered->Lose(batch->second);
    }
    recovered->batches.erase(first, end);
  }
  return absl::OkStatus();
}

absl::Status SpoolFiles::SetAllAside() {
  std::vector<std::string> names = {kTicks, kCounts};
  for (const uint32_t segment : segments_) {
    names.push_back(NumberedName(segment, kSegments));
  }
  for (const auto& [epoch, size] : definitions_) {
    names.push_back(NumberedName(epoch, kDefinitions));
  }
  for (const std::string& name : names) {
    const std::string path = PathOf(name);
    if (!FileExists(path)) continue;
    RETURN_IF_ERROR(RenameFile(path, absl::StrCat(path, kDamaged)));
  }
  return FindFiles();
}

void SpoolFiles::CopyAside(const std::string& path) const {
  const auto contents = ReadFile(path);
  if (!contents.ok()) return;
  // The copy only serves analysis.
  WriteFile(absl::StrCat(path, kDamaged), *contents).IgnoreError();
}

absl::Status SpoolFiles::OpenSegment() {
  segment_ = nullptr;
  records_ = 0;
  definition_records_ = 0;
  segments_.insert(++last_segment_);
  ASSIGN_OR_RETURN(segment_, AppendFile::Open(SegmentPath(last_segment_)));
  return absl::OkStatus();
}

// Appends the record and the payloads of `batches` to `bytes`.
absl::Status SpoolFiles::AddRecord(v1::SpoolRecord record, uint32_t process,
                                   std::vector<HeldBatch>* batches,
                                   std::string* bytes) {
  uint64_t payload_size = 0;
  for (HeldBatch& batch : *batches) {
    batch.payload = {.segment = 0, .offset = payload_size};
    ToProto(batch, process, record.add_batches());
    if (!batch.is_dropped()) payload_size += batch.size;
  }
  if (payload_size > UINT32_MAX) {
    return absl::ResourceExhaustedError("batches of more than 4 GiB");
  }
  record.set_definition_records(definition_records_);
  if (record.has_definitions()) ++definition_records_;
  AppendRecord(++records_, record, static_cast<uint32_t>(payload_size), bytes);
  const uint64_t payloads = segment_->position() + bytes->size();
  for (HeldBatch& batch : *batches) {
    if (batch.is_dropped()) continue;
    batch.payload = {.segment = last_segment_,
                     .offset = payloads + batch.payload.offset};
    bytes->append(batch.spooled.batch->payload());
  }
  return absl::OkStatus();
}

absl::Status SpoolFiles::Write(const std::string& bytes, bool syncs) {
  absl::Status status = segment_->Append(bytes);
  if (status.ok() && syncs) status = segment_->Sync();
  if (!status.ok()) segment_ = nullptr;  // its end is unknown
  return status;
}

absl::Status SpoolFiles::BeginSegment(std::vector<v1::SpoolRecord> state,
                                      uint32_t process,
                                      std::vector<HeldBatch>* batches) {
  options_.before_use();
  RETURN_IF_ERROR(OpenSegment());
  std::string bytes;
  std::vector<HeldBatch> none;
  uint64_t state_bytes = 0;
  for (v1::SpoolRecord& record : state) {
    const bool is_last = &record == &state.back();
    record.set_complete(is_last);
    if (is_last) state_bytes = bytes.size();
    RETURN_IF_ERROR(AddRecord(std::move(record), process,
                              is_last ? batches : &none, &bytes));
  }
  const absl::Status status = Write(bytes, /*syncs=*/true);
  if (!status.ok()) {
    Delete(SegmentPath(last_segment_));
    segments_.erase(last_segment_);
    return status;
  }
  complete_segment_ = last_segment_;
  // The state takes at most half of a segment.
  full_size_ = state_bytes + std::max(options_.segment_bytes, state_bytes);
  if (ticks_ == nullptr) {
    Delete(PathOf(kTicks));  // the previous process's
    ASSIGN_OR_RETURN(ticks_, AppendFile::Open(PathOf(kTicks)));
  }
  RewindTicks();
  return absl::OkStatus();
}

absl::Status SpoolFiles::Append(v1::SpoolRecord record, uint32_t process,
                                std::vector<HeldBatch>* batches) {
  options_.before_use();
  std::string bytes;
  RETURN_IF_ERROR(AddRecord(std::move(record), process, batches, &bytes));
  return Write(bytes, /*syncs=*/!batches->empty());
}

absl::Status SpoolFiles::AppendTicks(const v1::SpoolRecord& record) {
  options_.before_use();
  if (std::exchange(rewinds_ticks_, false)) RETURN_IF_ERROR(ticks_->Rewind());
  std::string bytes;
  AppendRecord(++tick_records_, record, /*payload_size=*/0, &bytes);
  return ticks_->Append(bytes);
}

void SpoolFiles::WriteCounts(v1::SpoolRecord counts) {
  options_.before_use();
  counts.set_segment(last_segment_);
  counts.set_definition_records(definition_records_);
  std::string bytes;
  AppendRecord(/*number=*/1, counts, /*payload_size=*/0, &bytes);
  absl::Status status;
  if (counts_ == nullptr) {
    auto opened = AppendFile::Open(PathOf(kCounts));
    status = opened.status();
    if (status.ok()) counts_ = *std::move(opened);
  }
  if (status.ok()) status = counts_->Rewind();
  if (status.ok()) status = counts_->Append(bytes);
  if (status.ok()) return;
  log_.Warn("counts", absl::StrCat("cannot write the counts of held ticks: ",
                                   status.message()));
}

bool SpoolFiles::needs_segment(uint64_t needed_tick_bytes) const {
  return segment_ == nullptr || segment_->position() >= full_size_ ||
         ticks_->position() > 2 * needed_tick_bytes + kMaxObsoleteTickBytes;
}

absl::Status SpoolFiles::WriteDefinitions(
    uint32_t epoch, const std::vector<v1::Definitions>& parts) {
  options_.before_use();
  std::string bytes;
  uint32_t number = 0;
  for (const v1::Definitions& part : parts) {
    v1::Dictionary dictionary;
    *dictionary.mutable_definitions() = part;
    dictionary.set_more(&part != &parts.back());
    AppendRecord(++number, dictionary, /*payload_size=*/0, &bytes);
  }
  RETURN_IF_ERROR(
      WriteFile(DefinitionsPath(epoch), bytes, FileAccess::kOwnerOnly));
  definitions_[epoch] = bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Definitions>> SpoolFiles::ReadDefinitions(
    uint32_t epoch) const {
  options_.before_use();
  const std::string path = DefinitionsPath(epoch);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  RecordReader reader(RecordReader::File::kAppended, bytes);
  std::vector<v1::Definitions> parts;
  v1::Dictionary dictionary;
  dictionary.set_more(true);
  while (const auto record = reader.Next()) {
    if (!dictionary.ParseFromArray(record->body.data(),
                                   static_cast<int>(record->body.size()))) {
      break;
    }
    parts.push_back(std::move(*dictionary.mutable_definitions()));
  }
  if (dictionary.more() || reader.has_damage()) {
    CopyAside(path);
    return absl::DataLossError(absl::StrCat(path, " is damaged"));
  }
  return parts;
}

absl::StatusOr<std::string> SpoolFiles::ReadPayload(
    const HeldBatch& batch) const {
  options_.before_use();
  const std::string path = SegmentPath(batch.payload.segment);
  absl::StatusOr<std::string> payload =
      ReadFileRange(path, batch.payload.offset, batch.size);
  if (payload.ok() && Fingerprint(*payload) != batch.fingerprint) {
    payload = absl::DataLossError(absl::StrCat(path, " is damaged"));
  }
  if (absl::IsDataLoss(payload.status())) CopyAside(path);
  return payload;
}

void SpoolFiles::KeepOnly(const std::set<uint32_t>& segments,
                          const std::set<uint32_t>& epochs) {
  std::erase_if(segments_, [&](uint32_t number) {
    if (number == last_segment_ || segments.contains(number)) return false;
    const std::string path = SegmentPath(number);
    Delete(path);
    return !FileExists(path);
  });
  std::erase_if(definitions_, [&](const auto& numbered) {
    if (epochs.contains(numbered.first)) return false;
    const std::string path = DefinitionsPath(numbered.first);
    Delete(path);
    return !FileExists(path);
  });
}

void SpoolFiles::ReleaseOthers(const std::set<uint32_t>& segments) {
  for (const uint32_t number : segments_) {
    // Recovery needs the last complete segment and all later ones.
    if (number >= complete_segment_ || segments.contains(number)) continue;
    // The next failed save tries again.
    Release(number).IgnoreError();
  }
}

// Writes before it truncates, because an empty file would look damaged.
absl::Status SpoolFiles::Release(uint32_t segment) const {
  v1::SpoolRecord record;
  record.set_released(true);
  std::string bytes;
  AppendRecord(/*number=*/1, record, /*payload_size=*/0, &bytes);
  const std::string path = SegmentPath(segment);
  {
    ASSIGN_OR_RETURN(const auto file, AppendFile::Open(path));
    if (file->position() <= bytes.size()) return absl::OkStatus();
    RETURN_IF_ERROR(file->Rewind());
    RETURN_IF_ERROR(file->Append(bytes));
  }
  return TruncateFile(path, bytes.size());
}

}  // namespace fleetperf::agent
