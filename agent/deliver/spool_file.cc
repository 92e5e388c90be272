#include "agent/deliver/spool_file.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/deliver/batch_builder.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {
namespace {

constexpr int kSchemaVersion = 1;

// `key` is the epoch's number and the sequence in one, so that rows are in the
// order in which they are sent, and removed from the front.
constexpr char kSchema[] = R"(
  CREATE TABLE epochs(
    number INTEGER PRIMARY KEY, id INTEGER NOT NULL,
    forked_from INTEGER NOT NULL, acknowledged INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL);
  CREATE TABLE batches(
    key INTEGER PRIMARY KEY, age INTEGER NOT NULL, ticks INTEGER NOT NULL,
    first_tick INTEGER NOT NULL, last_tick INTEGER NOT NULL,
    losses BLOB NOT NULL, dropped INTEGER, compression INTEGER NOT NULL,
    content_size INTEGER NOT NULL, size INTEGER NOT NULL, payload BLOB);
  CREATE TABLE ticks(
    number INTEGER PRIMARY KEY, ticks INTEGER NOT NULL,
    first_tick INTEGER NOT NULL, last_tick INTEGER NOT NULL,
    content BLOB NOT NULL);
  CREATE TABLE definitions(
    epoch INTEGER NOT NULL, id INTEGER NOT NULL, kind INTEGER NOT NULL,
    definition BLOB NOT NULL, PRIMARY KEY(epoch, id)) WITHOUT ROWID;
  CREATE TABLE process(
    one INTEGER PRIMARY KEY, age INTEGER NOT NULL,
    last_tick INTEGER NOT NULL, ended INTEGER NOT NULL, boot_id TEXT NOT NULL,
    losses BLOB NOT NULL);
  INSERT INTO process VALUES (1, 0, 0, 1, '', x'');
)";

constexpr char kRowColumns[] =
    "SELECT key, ticks, first_tick, last_tick, losses, dropped, size, "
    "compression, content_size";

enum Kind { kMachine = 1, kCounterset, kQuery, kInstance };

constexpr int kSequenceBits = 40;
constexpr int64_t kSequenceMask = (int64_t{1} << kSequenceBits) - 1;
// A key has no room for an epoch's number above this.
constexpr int64_t kLastNumber = INT64_MAX >> kSequenceBits;

// What a row takes beside its payload.
constexpr uint64_t kRowBytes = 100;
// A message with definitions has about this size at most.
constexpr size_t kPartBytes = size_t{1} << 20;
// Pages that are free for use before the file is made smaller, and how many are
// given back at once.
constexpr int kFreePages = 1024;
constexpr int kPagesGivenBack = 256;

int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }
uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

// Infinite times become the ends of what nanoseconds can say, and back.
int64_t ToNumber(absl::Time time) {
  return absl::ToInt64Nanoseconds(time - absl::UnixEpoch());
}
absl::Time ToTime(int64_t number) {
  if (number == INT64_MAX) return absl::InfiniteFuture();
  if (number == INT64_MIN) return absl::InfinitePast();
  return absl::FromUnixNanos(number);
}

TickRange RangeOf(const SqliteStatement& row, int first_column) {
  return {.ticks = Unsigned(row.Number(first_column)),
          .start = ToTime(row.Number(first_column + 1)),
          .end = ToTime(row.Number(first_column + 2))};
}

SpoolEpoch EpochOf(const SqliteStatement& row) {
  return {.number = static_cast<uint32_t>(row.Number(0)),
          .id = Unsigned(row.Number(1)),
          .forked_from = Unsigned(row.Number(2)),
          .acknowledged = Unsigned(row.Number(3)),
          .last_sequence = Unsigned(row.Number(4))};
}

void Bind(const TickRange& range, SqliteStatement* statement) {
  statement->Bind(Signed(range.ticks))
      .Bind(ToNumber(range.start))
      .Bind(ToNumber(range.end));
}

// DataLoss if an epoch has a number that no process gave it, or a batch is of
// no epoch: it would be held for ever, or be taken for this process's.
absl::Status CheckNumbers(SqliteDatabase& database, const std::string& path) {
  ASSIGN_OR_RETURN(
      const int64_t epochs,
      database.GetNumber(absl::StrCat(
          "SELECT count(*) FROM epochs WHERE number < 1 OR number >= ",
          kLastNumber)));
  ASSIGN_OR_RETURN(const int64_t batches,
                   database.GetNumber(absl::StrCat(
                       "SELECT count(*) FROM batches WHERE key >> ",
                       kSequenceBits, " NOT IN (SELECT number FROM epochs)")));
  if (epochs == 0 && batches == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " has epochs or batches with wrong numbers"));
}

}  // namespace

SpoolFile::SpoolFile(const Options& options)
    : options_(options), started_(options.clock->Monotonic()) {}

absl::StatusOr<std::unique_ptr<SpoolFile>> SpoolFile::Open(
    const Options& options) {
  std::unique_ptr<SpoolFile> file(new SpoolFile(options));
  const absl::Status status = file->Begin();
  if (status.ok()) return file;
  // A statement that does not fit: it lacks a table, or has another.
  if (absl::IsInvalidArgument(status)) {
    return absl::DataLossError(status.message());
  }
  return status;
}

absl::Status SpoolFile::Begin() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(database_, SqliteDatabase::Open(options_.path));
  RETURN_IF_ERROR(Configure());
  RETURN_IF_ERROR(Prepare());
  const absl::Status begun = InTransaction([&] {
    const absl::Status recovered = Recover();
    return recovered.ok() ? BeginProcess() : recovered;
  });
  has_begun_ = begun.ok();
  return begun;
}

absl::Status SpoolFile::Configure() {
  // Read before anything is written: a file of a later version, or of another
  // program, is left as it is.
  ASSIGN_OR_RETURN(const int64_t version,
                   database_->GetNumber("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables,
                   database_->GetNumber("SELECT count(*) FROM sqlite_master"));
  if (tables > 0 && version != kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(options_.path, " is of version ",
                                            version, " and not ",
                                            kSchemaVersion));
  }
  // The lock is kept, so that no second agent can use the file. What is freed
  // can be given back to the disk.
  RETURN_IF_ERROR(database_->Execute("PRAGMA locking_mode = EXCLUSIVE"));
  RETURN_IF_ERROR(database_->Execute("PRAGMA auto_vacuum = INCREMENTAL"));
  RETURN_IF_ERROR(database_->GetText("PRAGMA journal_mode = WAL").status());
  RETURN_IF_ERROR(database_->Execute("PRAGMA cache_size = -512"));
  RETURN_IF_ERROR(
      database_->GetNumber("PRAGMA journal_size_limit = 4194304").status());
  if (tables == 0) {
    RETURN_IF_ERROR(database_->Execute(
        absl::StrCat("BEGIN;", kSchema,
                     "PRAGMA user_version = ", kSchemaVersion, "; COMMIT")));
  }
  ASSIGN_OR_RETURN(const std::string check,
                   database_->GetText("PRAGMA quick_check(1)"));
  if (check == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(options_.path, ": ", check));
}

absl::Status SpoolFile::Prepare() {
  statements_.emplace();
  const auto prepare = [&](SqliteStatement* statement,
                           absl::string_view sql) -> absl::Status {
    ASSIGN_OR_RETURN(*statement, database_->Prepare(sql));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(prepare(&statements_->begin, "BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(prepare(&statements_->commit, "COMMIT"));
  RETURN_IF_ERROR(
      prepare(&statements_->next,
              absl::StrCat(kRowColumns,
                           ", payload FROM batches WHERE key > ? AND "
                           "dropped IS NULL ORDER BY key LIMIT 1")));
  RETURN_IF_ERROR(
      prepare(&statements_->dropped_after,
              absl::StrCat(kRowColumns,
                           " FROM batches WHERE key > ? AND key <= ? "
                           "AND dropped IS NOT NULL")));
  RETURN_IF_ERROR(
      prepare(&statements_->oldest,
              absl::StrCat(kRowColumns,
                           ", NULL, age FROM batches WHERE dropped IS NULL "
                           "ORDER BY key")));
  RETURN_IF_ERROR(prepare(&statements_->insert,
                          "INSERT OR REPLACE INTO batches VALUES "
                          "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  RETURN_IF_ERROR(prepare(&statements_->acknowledge,
                          "DELETE FROM batches WHERE key > ? AND key <= ?"));
  RETURN_IF_ERROR(
      prepare(&statements_->remove, "DELETE FROM batches WHERE key = ?"));
  RETURN_IF_ERROR(
      prepare(&statements_->drop,
              "UPDATE batches SET dropped = ?, payload = NULL, size = 0 "
              "WHERE key = ?"));
  RETURN_IF_ERROR(prepare(&statements_->clear_ticks, "DELETE FROM ticks"));
  RETURN_IF_ERROR(prepare(&statements_->add_tick,
                          "INSERT INTO ticks VALUES (NULL, ?, ?, ?, ?)"));
  RETURN_IF_ERROR(
      prepare(&statements_->define,
              "INSERT OR REPLACE INTO definitions VALUES (?, ?, ?, ?)"));
  RETURN_IF_ERROR(
      prepare(&statements_->undefine,
              "DELETE FROM definitions WHERE epoch = ? AND id = ?"));
  RETURN_IF_ERROR(
      prepare(&statements_->save_epoch,
              "INSERT OR REPLACE INTO epochs VALUES (?, ?, ?, ?, ?)"));
  RETURN_IF_ERROR(prepare(&statements_->save_acknowledged,
                          "UPDATE epochs SET acknowledged = max(acknowledged, "
                          "?) WHERE number = ?"));
  return prepare(&statements_->save_process,
                 "UPDATE process SET age = ?, last_tick = max(last_tick, ?), "
                 "ended = ?, boot_id = ?, losses = ?");
}

// Makes a batch of what the process before had not made one of. That process
// may have made it later than the file says, and with more in it, and sent it:
// then the aggregator has this number, and all of this is in it.
absl::Status SpoolFile::Recover() {
  RETURN_IF_ERROR(CheckNumbers(*database_, options_.path));
  ASSIGN_OR_RETURN(
      SqliteStatement process,
      database_->Prepare("SELECT age, last_tick, ended, boot_id FROM process"));
  ASSIGN_OR_RETURN(const bool found, process.Next());
  if (!found) return absl::DataLossError("the table \"process\" is empty");
  age_at_start_ = absl::Milliseconds(process.Number(0));
  ASSIGN_OR_RETURN(const int64_t newest_tick,
                   database_->GetNumber("SELECT max(last_tick) FROM ticks"));
  const absl::Time last_tick = ToTime(std::max(process.Number(1), newest_tick));
  const bool ended = process.Number(2) != 0;
  const std::string boot_id(process.Bytes(3));
  process.Reset();
  if (!ended && !boot_id.empty() && boot_id != options_.boot_id) {
    power_cut_.Add(
        "", LossCause::kPowerCut,
        {.ticks = 0, .start = last_tick, .end = options_.clock->Now()});
  }
  ASSIGN_OR_RETURN(SqliteStatement epochs,
                   database_->Prepare("SELECT * FROM epochs ORDER BY number "
                                      "DESC LIMIT 1"));
  ASSIGN_OR_RETURN(const bool has_epoch, epochs.Next());
  if (!has_epoch) {
    current_number_ = 1;
    return absl::OkStatus();
  }
  SpoolEpoch last = EpochOf(epochs);
  epochs.Reset();
  current_number_ = int64_t{last.number} + 1;
  return SealTicks(&last);
}

absl::Status SpoolFile::SealTicks(SpoolEpoch* last) {
  SpooledBatch sealed;
  std::string content;
  ASSIGN_OR_RETURN(
      SqliteStatement ticks,
      database_->Prepare("SELECT ticks, first_tick, last_tick, content "
                         "FROM ticks ORDER BY number"));
  ASSIGN_OR_RETURN(bool more, ticks.Next());
  while (more) {
    sealed.ticks.Extend(RangeOf(ticks, 0));
    // Messages one after the other are one message with all that is in them.
    absl::StrAppend(&content, ticks.Bytes(3));
    ASSIGN_OR_RETURN(more, ticks.Next());
  }
  ASSIGN_OR_RETURN(const std::string losses,
                   database_->GetText("SELECT losses FROM process"));
  sealed.losses = Losses::Parse(losses);
  if (content.empty() && sealed.losses.empty()) return absl::OkStatus();
  content.append(losses);
  sealed.batch = std::make_shared<v1::Batch>(PackBatch(std::move(content)));
  sealed.place = {.epoch = last->number, .sequence = ++last->last_sequence};
  RETURN_IF_ERROR(Insert(sealed));
  RETURN_IF_ERROR(statements_->clear_ticks.Run());
  return SaveEpoch(last->number, *last);
}

absl::Status SpoolFile::BeginProcess() {
  RETURN_IF_ERROR(DeleteEpochsWithoutBatches());
  Changes changes;
  changes.epoch.id = options_.epoch;
  return Apply(changes);
}

SpoolFile::~SpoolFile() {
  absl::MutexLock lock(&mutex_);
  if (has_begun_ && statements_.has_value()) {
    database_->Execute("UPDATE process SET ended = 1").IgnoreError();
  }
}

void SpoolFile::Close() {
  absl::MutexLock lock(&mutex_);
  statements_.reset();
  database_.reset();
}

absl::Status SpoolFile::CheckOpen() const {
  options_.before_use();
  if (statements_.has_value()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(options_.path, " is closed"));
}

std::vector<SpooledBatch> SpoolFile::Salvage(const std::string& path,
                                             int64_t current) {
  std::vector<SpooledBatch> held;
  const auto database = SqliteDatabase::Open(path);
  if (!database.ok()) return held;
  auto rows = (*database)->Prepare(
      absl::StrCat(kRowColumns, " FROM batches WHERE dropped IS NULL"));
  // What is read before the damage is reached.
  for (bool more = rows.ok(); more;) {
    const auto found = rows->Next();
    more = found.ok() && *found;
    if (more) held.push_back(RowOf(*rows, current));
  }
  auto ticks = (*database)->Prepare(
      "SELECT total(ticks), min(first_tick), max(last_tick) FROM ticks");
  if (!ticks.ok()) return held;
  const auto found = ticks->Next();
  if (found.ok() && *found && ticks->Number(0) > 0) {
    held.push_back({.ticks = RangeOf(*ticks, 0)});
  }
  return held;
}

int64_t SpoolFile::KeyOf(BatchPlace place) const {
  const int64_t number =
      place.epoch == kThisProcess ? current_number_ : int64_t{place.epoch};
  return number << kSequenceBits |
         Signed(std::min(place.sequence, Unsigned(kSequenceMask)));
}

BatchPlace SpoolFile::PlaceOf(int64_t key, int64_t current_number) {
  const int64_t number = key >> kSequenceBits;
  return {.epoch = number == current_number ? kThisProcess
                                            : static_cast<uint32_t>(number),
          .sequence = Unsigned(key & kSequenceMask)};
}

absl::Duration SpoolFile::Age() const {
  return age_at_start_ + options_.clock->Monotonic() - started_;
}

absl::Status SpoolFile::InTransaction(
    const std::function<absl::Status()>& body) {
  RETURN_IF_ERROR(statements_->begin.Run());
  absl::Status status = body();
  if (status.ok()) status = statements_->commit.Run();
  // It may be rolled back already, after some errors.
  if (!status.ok()) database_->Execute("ROLLBACK").IgnoreError();
  return status;
}

absl::StatusOr<std::vector<SpoolEpoch>> SpoolFile::FormerEpochs() {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  ASSIGN_OR_RETURN(SqliteStatement rows,
                   database_->Prepare("SELECT * FROM epochs WHERE number < ? "
                                      "ORDER BY number"));
  rows.Bind(current_number_);
  std::vector<SpoolEpoch> epochs;
  ASSIGN_OR_RETURN(bool more, rows.Next());
  while (more) {
    epochs.push_back(EpochOf(rows));
    ASSIGN_OR_RETURN(more, rows.Next());
  }
  return epochs;
}

absl::StatusOr<std::vector<v1::Definitions>> SpoolFile::DefinitionsOf(
    uint32_t epoch) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  ASSIGN_OR_RETURN(
      SqliteStatement rows,
      database_->Prepare("SELECT kind, definition FROM definitions WHERE "
                         "epoch = ? ORDER BY kind, id"));
  rows.Bind(epoch);
  std::vector<v1::Definitions> parts(1);
  size_t size = 0;
  ASSIGN_OR_RETURN(bool more, rows.Next());
  while (more) {
    const std::string bytes(rows.Bytes(1));
    if (size > 0 && size + bytes.size() > kPartBytes) {
      parts.emplace_back();
      size = 0;
    }
    size += bytes.size();
    v1::Definitions& part = parts.back();
    bool parsed = false;
    switch (rows.Number(0)) {
      case kMachine:
        parsed = part.add_machines()->ParseFromString(bytes);
        break;
      case kCounterset:
        parsed = part.add_countersets()->ParseFromString(bytes);
        break;
      case kQuery:
        parsed = part.add_queries()->ParseFromString(bytes);
        break;
      case kInstance:
        parsed = part.add_instances()->ParseFromString(bytes);
        break;
      default:
        break;
    }
    if (!parsed) {
      rows.Reset();
      return absl::DataLossError(
          absl::StrCat(options_.path, " has a definition that is none"));
    }
    ASSIGN_OR_RETURN(more, rows.Next());
  }
  return parts;
}

SpooledBatch SpoolFile::RowOf(const SqliteStatement& row,
                              int64_t current_number) {
  SpooledBatch batch{.place = PlaceOf(row.Number(0), current_number),
                     .ticks = RangeOf(row, 1),
                     .losses = Losses::Parse(row.Bytes(4))};
  if (!row.IsNull(5)) batch.dropped = static_cast<LossCause>(row.Number(5));
  return batch;
}

absl::StatusOr<std::optional<SpooledBatch>> SpoolFile::Next(BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  statements_->next.Bind(KeyOf(place));
  ASSIGN_OR_RETURN(const bool found, statements_->next.Next());
  if (!found) return std::nullopt;
  SpooledBatch row = RowOf(statements_->next, current_number_);
  v1::Batch batch;
  batch.set_compression(
      static_cast<v1::Compression>(statements_->next.Number(7)));
  batch.set_content_size(static_cast<uint32_t>(statements_->next.Number(8)));
  batch.set_payload(std::string(statements_->next.Bytes(9)));
  statements_->next.Reset();
  row.batch = std::make_shared<const v1::Batch>(std::move(batch));
  return row;
}

absl::StatusOr<std::vector<SpooledBatch>> SpoolFile::DroppedAfter(
    BatchPlace place) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  std::vector<SpooledBatch> dropped;
  statements_->dropped_after.Bind(KeyOf(place))
      .Bind(KeyOf({.epoch = place.epoch, .sequence = UINT64_MAX}));
  ASSIGN_OR_RETURN(bool more, statements_->dropped_after.Next());
  while (more) {
    dropped.push_back(RowOf(statements_->dropped_after, current_number_));
    ASSIGN_OR_RETURN(more, statements_->dropped_after.Next());
  }
  return dropped;
}

absl::StatusOr<std::vector<SpooledBatch>> SpoolFile::Oldest(
    uint64_t bytes, absl::Duration age) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  const absl::Duration now = Age();
  std::vector<SpooledBatch> oldest;
  uint64_t size = 0;
  ASSIGN_OR_RETURN(bool more, statements_->oldest.Next());
  while (more) {
    const bool too_old =
        now - absl::Milliseconds(statements_->oldest.Number(10)) > age;
    if (!too_old && size >= bytes) break;
    size += Unsigned(statements_->oldest.Number(6)) + kRowBytes;
    SpooledBatch row = RowOf(statements_->oldest, current_number_);
    row.dropped = too_old ? LossCause::kSpoolExpired : LossCause::kSpoolFull;
    oldest.push_back(std::move(row));
    ASSIGN_OR_RETURN(more, statements_->oldest.Next());
  }
  statements_->oldest.Reset();
  return oldest;
}

absl::Status SpoolFile::Write(const Changes& changes) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  // It takes effect with the next transaction.
  RETURN_IF_ERROR(database_->Execute(changes.sync
                                         ? "PRAGMA synchronous = FULL"
                                         : "PRAGMA synchronous = NORMAL"));
  RETURN_IF_ERROR(InTransaction([&] { return Apply(changes); }));
  GiveBackPages(!changes.acknowledged.empty() || !changes.removed.empty());
  return absl::OkStatus();
}

// What has been written stays written if this fails.
void SpoolFile::GiveBackPages(bool has_freed) {
  if (!has_freed && !may_shrink_) return;
  const auto free = database_->GetNumber("PRAGMA freelist_count");
  may_shrink_ = free.ok() && *free > kFreePages;
  if (!may_shrink_) return;
  database_
      ->Execute(
          absl::StrCat("PRAGMA incremental_vacuum(", kPagesGivenBack, ")"))
      .IgnoreError();
}

absl::Status SpoolFile::Apply(const Changes& changes) {
  for (const SpooledBatch& batch : changes.batches) {
    RETURN_IF_ERROR(Insert(batch));
  }
  for (const BatchPlace place : changes.acknowledged) {
    RETURN_IF_ERROR(statements_->acknowledge.Bind(KeyOf({place.epoch, 0}))
                        .Bind(KeyOf(place))
                        .Run());
    RETURN_IF_ERROR(statements_->save_acknowledged.Bind(Signed(place.sequence))
                        .Bind(KeyOf(place) >> kSequenceBits)
                        .Run());
  }
  for (const BatchPlace place : changes.removed) {
    RETURN_IF_ERROR(statements_->remove.Bind(KeyOf(place)).Run());
  }
  for (const SpooledBatch& batch : changes.dropped) {
    RETURN_IF_ERROR(statements_->drop.Bind(static_cast<int64_t>(*batch.dropped))
                        .Bind(KeyOf(batch.place))
                        .Run());
  }
  if (!changes.acknowledged.empty() || !changes.removed.empty()) {
    RETURN_IF_ERROR(DeleteEpochsWithoutBatches());
  }
  if (changes.clears_ticks) RETURN_IF_ERROR(statements_->clear_ticks.Run());
  for (const Tick& tick : changes.ticks) {
    Bind(tick.range, &statements_->add_tick);
    RETURN_IF_ERROR(statements_->add_tick.BindBlob(tick.content).Run());
  }
  if (changes.definitions.added != nullptr) {
    RETURN_IF_ERROR(Define(*changes.definitions.added));
  }
  for (const uint32_t id : changes.definitions.removed) {
    RETURN_IF_ERROR(statements_->undefine.Bind(current_number_).Bind(id).Run());
  }
  return changes.has_state ? SaveState(changes) : absl::OkStatus();
}

absl::Status SpoolFile::SaveState(const Changes& changes) {
  RETURN_IF_ERROR(SaveEpoch(current_number_, changes.epoch));
  const std::string losses = changes.losses.Serialize();
  return statements_->save_process.Bind(absl::ToInt64Milliseconds(Age()))
      .Bind(ToNumber(changes.last_tick))
      .Bind(0)
      .BindText(options_.boot_id)
      .BindBlob(losses)
      .Run();
}

absl::Status SpoolFile::SaveEpoch(int64_t number, const SpoolEpoch& epoch) {
  return statements_->save_epoch.Bind(number)
      .Bind(Signed(epoch.id))
      .Bind(Signed(epoch.forked_from))
      .Bind(Signed(epoch.acknowledged))
      .Bind(Signed(epoch.last_sequence))
      .Run();
}

absl::Status SpoolFile::Insert(const SpooledBatch& batch) {
  const std::string losses = batch.losses.Serialize();
  statements_->insert.Bind(KeyOf(batch.place))
      .Bind(absl::ToInt64Milliseconds(Age()));
  Bind(batch.ticks, &statements_->insert);
  statements_->insert.BindBlob(losses);
  if (batch.dropped.has_value()) {
    statements_->insert.Bind(static_cast<int64_t>(*batch.dropped));
  } else {
    statements_->insert.BindNull();
  }
  if (batch.batch == nullptr) {
    return statements_->insert.Bind(0).Bind(0).Bind(0).BindNull().Run();
  }
  return statements_->insert.Bind(batch.batch->compression())
      .Bind(batch.batch->content_size())
      .Bind(Signed(batch.batch->payload().size()))
      .BindBlob(batch.batch->payload())
      .Run();
}

absl::Status SpoolFile::Define(const v1::Definitions& definitions) {
  const auto define = [&](Kind kind, const auto& definition) {
    const std::string bytes = definition.SerializeAsString();
    return statements_->define.Bind(current_number_)
        .Bind(definition.id())
        .Bind(kind)
        .BindBlob(bytes)
        .Run();
  };
  for (const auto& machine : definitions.machines()) {
    RETURN_IF_ERROR(define(kMachine, machine));
  }
  for (const auto& counterset : definitions.countersets()) {
    RETURN_IF_ERROR(define(kCounterset, counterset));
  }
  for (const auto& query : definitions.queries()) {
    RETURN_IF_ERROR(define(kQuery, query));
  }
  for (const auto& instance : definitions.instances()) {
    RETURN_IF_ERROR(define(kInstance, instance));
  }
  return absl::OkStatus();
}

// The epoch of the process before this one stays: it tells the aggregator that
// a stream of that process is over.
absl::Status SpoolFile::DeleteEpochsWithoutBatches() {
  const std::string current = absl::StrCat(current_number_);
  const std::string has_none = absl::StrCat(
      " NOT EXISTS (SELECT 1 FROM batches WHERE key BETWEEN (number << ",
      kSequenceBits, ") AND (number + 1 << ", kSequenceBits, "))");
  RETURN_IF_ERROR(database_->Execute(absl::StrCat(
      "DELETE FROM definitions WHERE epoch IN (SELECT number FROM epochs "
      "WHERE number < ",
      current, " AND", has_none, ")")));
  return database_->Execute(absl::StrCat(
      "DELETE FROM epochs WHERE number < (SELECT max(number) FROM epochs "
      "WHERE number < ",
      current, ") AND", has_none));
}

absl::StatusOr<uint64_t> SpoolFile::UsedBytes() {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  ASSIGN_OR_RETURN(const int64_t pages,
                   database_->GetNumber("PRAGMA page_count"));
  ASSIGN_OR_RETURN(const int64_t free,
                   database_->GetNumber("PRAGMA freelist_count"));
  ASSIGN_OR_RETURN(const int64_t size,
                   database_->GetNumber("PRAGMA page_size"));
  return Unsigned((pages - free) * size);
}

}  // namespace fleetperf::agent
