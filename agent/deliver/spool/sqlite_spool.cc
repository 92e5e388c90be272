#include "agent/deliver/spool/sqlite_spool.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/deliver/spool/spool_record.h"
#include "agent/deliver/spool/sqlite.h"
#include "base/files.h"
#include "base/native_path.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

constexpr int kSchemaVersion = 1;
// A batch's key consists of its epoch's number and its sequence.
constexpr int kSequenceBits = 40;
constexpr int64_t kSequenceMask = (int64_t{1} << kSequenceBits) - 1;
// The payload bytes of one write and sync.
constexpr uint64_t kWrittenBytes = uint64_t{1} << 20;

constexpr char kBatches[] =
    "SELECT key, ticks, first_tick, last_tick, losses, dropped, age, "
    "compression, content_size, payload FROM batches";

enum Kind { kMachine = 1, kCounterset, kQuery, kInstance };

std::string PathIn(const std::string& directory) {
  return ResolvePath(directory, "spool.sqlite");
}

uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

TickRange RangeOf(const SqliteStatement& row, int first_column) {
  return {.ticks = Unsigned(row.Number(first_column)),
          .start = FromNanoseconds(row.Number(first_column + 1)),
          .end = FromNanoseconds(row.Number(first_column + 2))};
}

Losses LossesOf(absl::string_view bytes) {
  v1::BatchContent content;
  if (!content.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    content.Clear();
  }
  return Losses::In(content);
}

HeldBatch BatchOf(const SqliteStatement& row) {
  const int64_t key = row.Number(0);
  HeldBatch held = {
      .spooled = {.place = {.epoch =
                                static_cast<uint32_t>(key >> kSequenceBits),
                            .sequence = Unsigned(key & kSequenceMask)},
                  .ticks = RangeOf(row, 1),
                  .losses = LossesOf(row.Bytes(4))},
      .age = absl::Milliseconds(row.Number(6))};
  if (!row.IsNull(5)) {
    held.spooled.dropped =
        fleetperf::FromProto(static_cast<v1::LossCause>(row.Number(5)));
    return held;
  }
  v1::Batch batch;
  batch.set_compression(static_cast<v1::Compression>(row.Number(7)));
  batch.set_content_size(static_cast<uint32_t>(row.Number(8)));
  batch.set_payload(std::string(row.Bytes(9)));
  batch.set_fingerprint(Fingerprint(batch.payload()));
  held.SetBatch(std::move(batch));
  return held;
}

// Calls `take` with each row.
template <typename Function>
absl::Status ForEachRow(SqliteDatabase& database, absl::string_view sql,
                        Function take) {
  ASSIGN_OR_RETURN(SqliteStatement row, database.Prepare(sql));
  ASSIGN_OR_RETURN(bool more, row.Next());
  while (more) {
    RETURN_IF_ERROR(take(row));
    ASSIGN_OR_RETURN(more, row.Next());
  }
  return absl::OkStatus();
}

absl::Status CheckDatabase(SqliteDatabase& database, const std::string& path) {
  ASSIGN_OR_RETURN(const int64_t version,
                   database.GetNumber("PRAGMA user_version"));
  if (version != kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(path, " is of version ", version,
                                            " and not ", kSchemaVersion));
  }
  ASSIGN_OR_RETURN(const std::string check,
                   database.GetText("PRAGMA quick_check(1)"));
  if (check == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": ", check));
}

absl::Status ImportBatches(SqliteDatabase& database, SpoolFiles* files,
                           RecoveredSpool* recovered) {
  std::vector<HeldBatch> batches;
  uint64_t bytes = 0;
  const auto write = [&]() -> absl::Status {
    RETURN_IF_ERROR(files->AppendImported(&batches));
    for (HeldBatch& batch : batches) {
      batch.spooled.batch = nullptr;
      recovered->batches[batch.spooled.place] = std::move(batch);
    }
    batches.clear();
    bytes = 0;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRow(database, absl::StrCat(kBatches, " ORDER BY key"),
                             [&](const SqliteStatement& row) {
                               bytes += batches.emplace_back(BatchOf(row)).size;
                               return bytes < kWrittenBytes ? absl::OkStatus()
                                                            : write();
                             }));
  return write();
}

// Adds a definition to `definitions`.
absl::Status AddDefinition(const SqliteStatement& row,
                           v1::Definitions* definitions) {
  const std::string bytes(row.Bytes(2));
  bool parsed = false;
  switch (row.Number(1)) {
    case kMachine:
      parsed = definitions->add_machines()->ParseFromString(bytes);
      break;
    case kCounterset:
      parsed = definitions->add_countersets()->ParseFromString(bytes);
      break;
    case kQuery:
      parsed = definitions->add_queries()->ParseFromString(bytes);
      break;
    case kInstance:
      parsed = definitions->add_instances()->ParseFromString(bytes);
      break;
    default:
      break;
  }
  return parsed ? absl::OkStatus()
                : absl::DataLossError("a definition is malformed");
}

absl::Status ImportDefinitions(SqliteDatabase& database, SpoolFiles* files,
                               RecoveredSpool* recovered) {
  std::map<uint32_t, DefinitionSet> by_epoch;
  const absl::Status read = ForEachRow(
      database,
      "SELECT epoch, kind, definition FROM definitions ORDER BY epoch, id",
      [&](const SqliteStatement& row) -> absl::Status {
        v1::Definitions definitions;
        RETURN_IF_ERROR(AddDefinition(row, &definitions));
        by_epoch[static_cast<uint32_t>(row.Number(0))].Add(definitions);
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(read);
  for (const auto& [number, epoch] : recovered->epochs) {
    if (number == recovered->process) {
      recovered->definitions = std::move(by_epoch[number]);
    } else {
      RETURN_IF_ERROR(
          files->WriteDefinitions(number, by_epoch[number].Parts()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RecoveredSpool> Import(SqliteDatabase& database,
                                      const std::string& path,
                                      SpoolFiles* files) {
  RETURN_IF_ERROR(CheckDatabase(database, path));
  RecoveredSpool recovered;
  bool has_process = false;
  Losses told;
  RETURN_IF_ERROR(ForEachRow(
      database, "SELECT age, last_tick, ended, boot_id, losses FROM process",
      [&](const SqliteStatement& row) {
        has_process = true;
        recovered.age = absl::Milliseconds(row.Number(0));
        recovered.last_tick = FromNanoseconds(row.Number(1));
        recovered.ended = row.Number(2) != 0;
        recovered.boot_id = std::string(row.Bytes(3));
        told = LossesOf(row.Bytes(4));
        return absl::OkStatus();
      }));
  if (!has_process) {
    return absl::DataLossError("the table \"process\" is empty");
  }
  RETURN_IF_ERROR(ForEachRow(
      database,
      "SELECT number, id, forked_from, acknowledged, last_sequence FROM epochs",
      [&](const SqliteStatement& row) {
        const auto number = static_cast<uint32_t>(row.Number(0));
        recovered.epochs[number] = {.number = number,
                                    .id = Unsigned(row.Number(1)),
                                    .forked_from = Unsigned(row.Number(2)),
                                    .acknowledged = Unsigned(row.Number(3)),
                                    .last_sequence = Unsigned(row.Number(4))};
        return absl::OkStatus();
      }));
  RETURN_IF_ERROR(ImportBatches(database, files, &recovered));
  RecoveredSpool::Open open = {.told = told};
  RETURN_IF_ERROR(ForEachRow(
      database,
      "SELECT ticks, first_tick, last_tick, content FROM ticks ORDER BY number",
      [&](const SqliteStatement& row) {
        open.ticks.Extend(RangeOf(row, 0));
        absl::StrAppend(&open.content, row.Bytes(3));
        return absl::OkStatus();
      }));
  recovered.last_tick = std::max(recovered.last_tick, open.ticks.end);
  if (!recovered.epochs.empty()) {
    const SpoolEpoch& last = recovered.epochs.rbegin()->second;
    recovered.open[last.last_sequence + 1] = std::move(open);
  }
  recovered.RemoveUnsound();
  RETURN_IF_ERROR(ImportDefinitions(database, files, &recovered));
  return recovered;
}

// Counts the batches and ticks that can be read before the damage.
Losses Salvage(SqliteDatabase& database) {
  RecoveredSpool salvaged;
  ForEachRow(database, absl::StrCat(kBatches, " WHERE dropped IS NULL"),
             [&](const SqliteStatement& row) {
               salvaged.Lose(BatchOf(row));
               return absl::OkStatus();
             })
      .IgnoreError();
  ForEachRow(database,
             "SELECT total(ticks), min(first_tick), max(last_tick) FROM ticks",
             [&](const SqliteStatement& row) {
               salvaged.Lose({.spooled = {.ticks = RangeOf(row, 0)}});
               return absl::OkStatus();
             })
      .IgnoreError();
  return salvaged.lost;
}

absl::StatusOr<RecoveredSpool> SetAside(const std::string& path,
                                        const absl::Status& damage) {
  const std::string aside = absl::StrCat(path, ".damaged");
  for (const std::string ending : {"", "-wal"}) {
    std::error_code error;
    std::filesystem::rename(NativePath(absl::StrCat(path, ending)),
                            NativePath(absl::StrCat(aside, ending)), error);
    if (error && ending.empty()) {
      return absl::DataLossError(absl::StrCat(damage.message(),
                                              "; and it cannot be renamed as ",
                                              aside, ": ", error.message()));
    }
  }
  RecoveredSpool nothing;
  nothing.AddDamage(damage.message());
  const auto database = SqliteDatabase::Open(aside);
  if (database.ok()) nothing.lost = Salvage(**database);
  return nothing;
}

}  // namespace

bool HasSqliteSpool(const std::string& directory) {
  return FileExists(PathIn(directory));
}

absl::StatusOr<RecoveredSpool> ImportSqliteSpool(SpoolFiles* files) {
  const std::string path = PathIn(files->directory());
  absl::StatusOr<RecoveredSpool> recovered = [&]() {
    auto database = SqliteDatabase::Open(path);
    return database.ok() ? Import(**database, path, files)
                         : absl::StatusOr<RecoveredSpool>(database.status());
  }();
  // InvalidArgument: a statement does not match the database's tables.
  if (absl::IsDataLoss(recovered.status()) ||
      absl::IsInvalidArgument(recovered.status())) {
    return SetAside(path, recovered.status());
  }
  return recovered;
}

void RemoveSqliteSpool(const std::string& directory) {
  // Removes the database first: a write-ahead log alone is not a spool.
  for (const char* ending : {"", "-shm", "-wal"}) {
    std::error_code ignored;
    std::filesystem::remove(NativePath(PathIn(directory) + ending), ignored);
  }
}

}  // namespace fleetperf::agent
