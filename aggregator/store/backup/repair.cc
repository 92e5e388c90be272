#include "aggregator/store/backup/repair.h"

#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/ldb_cmd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "aggregator/store/backup/lost_data.h"
#include "aggregator/store/backup/salvage.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/lost_ticks_table.h"
#include "aggregator/store/tables/manifest.h"
#include "aggregator/store/tables/partial_restore.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "aggregator/store/tables/sst_index.h"
#include "aggregator/store/tables/store_lock.h"
#include "aggregator/store/tables/wal_check.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

// The names that RocksDB and this file give.
constexpr char kLost[] = "lost";
constexpr char kScratch[] = "repair-scratch";
constexpr char kSalvaged[] = "repair-salvaged";

// Returns the number in a name that RocksDB gives, such as 7 in
// "MANIFEST-000007"; 0 if there is none.
uint64_t NumberOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "MANIFEST-");
  uint64_t number = 0;
  return absl::SimpleAtoi(name.substr(0, name.find('.')), &number) ? number : 0;
}

// Returns the name of the family that the file is of.
absl::StatusOr<std::string> FamilyOf(const std::string& path) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  RETURN_IF_ERROR(FromRocksDb(reader.Open(path), "read a file"));
  return reader.GetTableProperties()->column_family_name;
}

// Removes a file from the MANIFEST, as the command of RocksDB's tool ldb.
absl::Status RemoveFromManifest(const std::string& directory,
                                const ListedFile& file) {
  const auto families = FamilyOptions();
  const std::unique_ptr<rocksdb::LDBCommand> command(
      rocksdb::LDBCommand::InitFromCmdLineArgs(
          // The file OPTIONS, which nothing else reads, may be damaged.
          {absl::StrCat("--db=", directory), "--try_load_options=false",
           "unsafe_remove_sst_file", absl::StrCat(NumberOf(file.name))},
          rocksdb::Options(CommonOptions(), rocksdb::ColumnFamilyOptions()),
          rocksdb::LDBOptions(), &families));
  if (command == nullptr) return absl::InternalError("no such command");
  command->Run();
  rocksdb::LDBCommandExecuteResult result = command->GetExecuteState();
  if (result.IsSucceed()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "cannot remove ", file.name, " from the MANIFEST: ", result.ToString()));
}

// Returns the names in a directory that have the number of a file.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

class Repair {
 public:
  Repair(std::string directory, const Clock* clock,
         const std::function<void(uint64_t)>& progress)
      : directory_(std::move(directory)), clock_(*clock), progress_(progress) {}

  absl::StatusOr<RepairReport> Run() {
    RETURN_IF_ERROR(CheckRestored(directory_));
    RETURN_IF_ERROR(CheckExists());
    ASSIGN_OR_RETURN(lock_, StoreLock::Acquire(directory_));
    RemoveLeftovers();
    RETURN_IF_ERROR(RepairFiles());
    lock_ = nullptr;
    ASSIGN_OR_RETURN(database_, OpenDatabase());
    RETURN_IF_ERROR(KeepLostWal());
    for (const Family family : {Family::kDefault, Family::kTimes}) {
      RETURN_IF_ERROR(RepairFamily(family));
    }
    const bool is_changed = !report_.done.empty() || !report_.lost.empty();
    RETURN_IF_ERROR(KeepLostData(database_.get(), is_changed, dropped_, clock_,
                                 progress_, &report_.lost));
    database_ = nullptr;
    return std::move(report_);
  }

 private:
  std::string PathOf(absl::string_view name) const {
    return absl::StrCat(directory_, "/", name);
  }

  absl::Status CheckExists() const {
    const auto names = NamesIn(directory_);
    const auto is_data = [](const std::string& name) {
      return name == "CURRENT" || absl::StartsWith(name, "MANIFEST-") ||
             absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".log");
    };
    if (names.ok() && std::any_of(names->begin(), names->end(), is_data)) {
      return absl::OkStatus();
    }
    return absl::NotFoundError(
        absl::StrCat("there is no store in ", directory_));
  }

  // Of a repair that was interrupted.
  void RemoveLeftovers() const {
    std::error_code ignored;
    fs::remove_all(PathOf(kScratch), ignored);
    fs::remove(PathOf(kSalvaged), ignored);
  }

  absl::Status MakeAside() {
    for (int number = 1; report_.aside.empty(); ++number) {
      const std::string path = PathOf(absl::StrCat("damaged-", number));
      if (!FileExists(path)) report_.aside = path;
    }
    return MakeDirectories(report_.aside);
  }
  absl::Status MoveAside(const std::string& path, const std::string& name) {
    RETURN_IF_ERROR(MakeAside());
    return RenameFile(path, absl::StrCat(report_.aside, "/", name));
  }
  // Moves a file of which the store lacks the contents from now on.
  absl::Status Drop(const std::string& path, const std::string& name) {
    RETURN_IF_ERROR(MoveAside(path, name));
    dropped_.push_back(absl::StrCat(report_.aside, "/", name));
    return absl::OkStatus();
  }
  absl::Status KeepAside(const std::string& name) {
    RETURN_IF_ERROR(MakeAside());
    return KeepFile(PathOf(name), report_.aside);
  }

  absl::Status RepairFiles() {
    const absl::Status current = RepairCurrent();
    if (absl::IsDataLoss(current)) return RebuildManifest(current);
    RETURN_IF_ERROR(current);
    ASSIGN_OR_RETURN(const std::string manifest, FindManifest(directory_));
    ASSIGN_OR_RETURN(const auto damage, FindManifestDamage(manifest));
    if (damage.has_value()) {
      return RebuildManifest(
          absl::DataLossError(absl::StrCat(manifest, " is damaged")));
    }
    const auto listing = ListFiles(directory_);
    if (absl::IsDataLoss(listing.status())) {
      return RebuildManifest(listing.status());
    }
    RETURN_IF_ERROR(listing.status());
    return RemoveUnreadable(listing->files);
  }

  // Returns DataLoss if there is no MANIFEST.
  absl::Status RepairCurrent() {
    const absl::Status found = FindManifest(directory_).status();
    if (!absl::IsDataLoss(found)) return found;
    ASSIGN_OR_RETURN(const auto names, NamesIn(directory_));
    std::string newest;
    for (const std::string& name : names) {
      // The numbers have the same width.
      if (absl::StartsWith(name, "MANIFEST-")) newest = name;
    }
    if (newest.empty()) return found;
    if (FileExists(PathOf("CURRENT"))) RETURN_IF_ERROR(KeepAside("CURRENT"));
    RETURN_IF_ERROR(WriteFile(PathOf("CURRENT"), absl::StrCat(newest, "\n")));
    RETURN_IF_ERROR(SyncDirectory(directory_));
    report_.done.push_back(
        absl::StrCat(found.message(), ": wrote it again, for ", newest));
    return absl::OkStatus();
  }

  // Returns DataLoss if RocksDB cannot open the file, even with a new index.
  absl::Status CheckOrRebuild(const std::string& name) {
    const absl::Status status = CheckSst(PathOf(name));
    if (!absl::IsDataLoss(status)) return status;
    const absl::Status rebuilt = RebuildSstIndex(
        PathOf(name), [&](const std::string&) { return KeepAside(name); });
    if (absl::IsDataLoss(rebuilt)) return status;
    RETURN_IF_ERROR(rebuilt);
    report_.done.push_back(absl::StrCat(
        PathOf(name), " has a damaged index: rebuilt it from the file's data"));
    return absl::OkStatus();
  }

  // Removes files from the MANIFEST that RocksDB could not open.
  absl::Status RemoveUnreadable(const std::vector<ListedFile>& files) {
    std::vector<ListedFile> unreadable;
    for (const ListedFile& file : files) {
      const std::string path = PathOf(file.name);
      std::error_code error;
      const uint64_t size = fs::file_size(path, error);
      absl::Status status;
      if (error) {
        status = absl::DataLossError("it is missing");
      } else if (size != file.size) {
        status = absl::DataLossError(
            absl::StrCat("it has ", size, " bytes instead of ", file.size));
      } else {
        status = CheckOrRebuild(file.name);
      }
      if (status.ok()) continue;
      if (!absl::IsDataLoss(status)) return status;
      unreadable.push_back(file);
      report_.lost.push_back(absl::StrCat(path, " (", file.size,
                                          " bytes, family \"", file.family,
                                          "\"): ", status.message()));
    }
    return RemoveListed(unreadable);
  }

  absl::Status RemoveListed(const std::vector<ListedFile>& files) {
    if (files.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string manifest, FindManifest(directory_));
    RETURN_IF_ERROR(KeepAside(fs::path(manifest).filename()));
    for (const ListedFile& file : files) {
      RETURN_IF_ERROR(RemoveFromManifest(directory_, file));
      const std::string path = PathOf(file.name);
      if (FileExists(path)) RETURN_IF_ERROR(Drop(path, file.name));
    }
    return SyncDirectory(directory_);
  }

  // Makes a MANIFEST from all files that can be read.
  absl::Status RebuildManifest(const absl::Status& reason) {
    ASSIGN_OR_RETURN(const auto names, NamesIn(directory_));
    for (const std::string& name : names) {
      if (!absl::EndsWith(name, ".sst")) continue;
      // RocksDB would drop these, too, without a report.
      absl::Status status = CheckOrRebuild(name);
      if (status.ok()) status = VerifySst(PathOf(name));
      if (status.ok()) continue;
      if (!absl::IsDataLoss(status)) return status;
      report_.lost.push_back(
          absl::StrCat(PathOf(name), ": ", status.message()));
      RETURN_IF_ERROR(Drop(PathOf(name), name));
    }
    ASSIGN_OR_RETURN(const WalCheck wal,
                     CheckWal(directory_, SyncedMark::Read(directory_)));
    for (const WalDamage& damage : wal.damage) {
      report_.lost.push_back(Describe(damage));
    }
    RETURN_IF_ERROR(RepairWal(directory_, wal));
    RETURN_IF_ERROR(AddEmptyFiles());
    lock_->ReleaseFile();
    RETURN_IF_ERROR(FromRocksDb(
        rocksdb::RepairDB(directory_, CommonOptions(), FamilyOptions()),
        "make a MANIFEST"));
    RETURN_IF_ERROR(TakeLost());
    report_.done.push_back(
        absl::StrCat(reason.message(), ": made a new MANIFEST"));
    return absl::OkStatus();
  }

  // RocksDB learns the families from files of keys and values, and drops the
  // log's data of others. Adds a file that deletes a key which does not exist
  // to each family without files. A separate database makes these files, so
  // that their changes have low numbers and all changes of the store take
  // precedence.
  absl::Status AddEmptyFiles() {
    ASSIGN_OR_RETURN(const auto names, NamesIn(directory_));
    std::set<std::string> present;
    uint64_t number = 0;
    for (const std::string& name : names) {
      number = std::max(number, NumberOf(name));
      if (!absl::EndsWith(name, ".sst")) continue;
      ASSIGN_OR_RETURN(const std::string family, FamilyOf(PathOf(name)));
      present.insert(family);
    }
    const std::string scratch = PathOf(kScratch);
    std::vector<std::string> files;
    {
      ASSIGN_OR_RETURN(const auto database, Database::Open(scratch));
      Changes changes(database.get());
      for (const Family family :
           {Family::kDefault, Family::kLog, Family::kTimes, Family::kChunks}) {
        changes.Delete(family, "\xff");
      }
      RETURN_IF_ERROR(
          database->Write(&changes, Database::Durability::kProcess));
      RETURN_IF_ERROR(database->Flush());
      files = database->Files();
    }
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(const std::string family, FamilyOf(file));
      if (present.contains(family)) continue;
      RETURN_IF_ERROR(
          RenameFile(file, PathOf(absl::StrFormat("%06d.sst", ++number))));
    }
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    return SyncDirectory(directory_);
  }

  // Moves the files that RocksDB set aside.
  absl::Status TakeLost() {
    const std::string lost = PathOf(kLost);
    if (!FileExists(lost)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto names, NamesIn(lost));
    for (const std::string& name : names) {
      const std::string path = absl::StrCat(lost, "/", name);
      if (!absl::EndsWith(name, ".sst")) {
        RETURN_IF_ERROR(MoveAside(path, name));
        continue;
      }
      RETURN_IF_ERROR(Drop(path, name));
      report_.lost.push_back(absl::StrCat(PathOf(name), ": cannot be read"));
    }
    std::error_code ignored;
    fs::remove(lost, ignored);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Database>> OpenDatabase() {
    auto database = Database::Open(directory_);
    if (!absl::IsDataLoss(database.status())) return database;
    // The MANIFEST can be read, but RocksDB does not accept the files.
    ASSIGN_OR_RETURN(lock_, StoreLock::Acquire(directory_));
    RETURN_IF_ERROR(RebuildManifest(database.status()));
    lock_ = nullptr;
    return Database::Open(directory_);
  }

  // Only the process that repairs the write-ahead log knows about its losses.
  absl::Status KeepLostWal() {
    const auto mark = ReadCommitMark(*database_);
    if (!mark.ok() && !absl::IsDataLoss(mark.status())) return mark.status();
    std::vector<std::string> lost =
        LostCommits(*database_, mark.ok() ? *mark : CommitMark());
    report_.lost.insert(report_.lost.end(), lost.begin(), lost.end());
    if (lost.empty()) return absl::OkStatus();
    const auto on_damage = [&](const absl::Status& damage) {
      report_.lost.emplace_back(damage.message());
    };
    SchemaTable schemas;
    const DefinitionTable definitions(database_.get(), &schemas);
    LostTicksTable lost_ticks;
    const absl::Status loaded = lost_ticks.Load(*database_, on_damage);
    if (absl::IsDataLoss(loaded)) on_damage(loaded);
    return KeepLostCommits(database_.get(), definitions, &lost_ticks,
                           on_damage);
  }

  // Replaces the files of a family, which the aggregator must read whole when
  // it starts, if a part of them cannot be read.
  absl::Status RepairFamily(Family family) {
    const std::string path = PathOf(kSalvaged);
    ASSIGN_OR_RETURN(const Salvage salvage,
                     SalvageFamily(*database_, family, path));
    if (salvage.lost.empty()) return RemoveFile(path);
    const std::string name = database_->family(family)->GetName();
    database_ = nullptr;
    {
      ASSIGN_OR_RETURN(const auto lock, StoreLock::Acquire(directory_));
      ASSIGN_OR_RETURN(Listing listing, ListFiles(directory_));
      std::erase_if(listing.files, [&](const ListedFile& file) {
        return file.family != name;
      });
      RETURN_IF_ERROR(RemoveListed(listing.files));
    }
    ASSIGN_OR_RETURN(database_, Database::Open(directory_));
    if (salvage.keys > 0) RETURN_IF_ERROR(database_->Ingest(family, path));
    report_.done.push_back(absl::StrCat("wrote the ", salvage.keys,
                                        " readable records of the family \"",
                                        name, "\" again"));
    report_.lost.insert(report_.lost.end(), salvage.lost.begin(),
                        salvage.lost.end());
    return absl::OkStatus();
  }

  const std::string directory_;
  const Clock& clock_;
  const std::function<void(uint64_t)>& progress_;
  std::unique_ptr<StoreLock> lock_;  // while files are changed
  std::unique_ptr<Database> database_;
  std::vector<std::string> dropped_;  // paths of files in report_.aside
  RepairReport report_;
};

}  // namespace

absl::StatusOr<RepairReport> RepairStore(
    const std::string& directory, const Clock* clock,
    const std::function<void(uint64_t)>& progress) {
  return Repair(directory, clock, progress).Run();
}

}  // namespace fleetperf::aggregator
