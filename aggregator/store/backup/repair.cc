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
#include "aggregator/store/tables/lost_commits.h"
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

constexpr char kScratch[] = "repair-scratch";
constexpr char kSalvaged[] = "repair-salvaged";

// Returns the number in a name that RocksDB gives, such as 7 in
// "MANIFEST-000007"; 0 if there is none.
uint64_t NumberOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "MANIFEST-");
  uint64_t number = 0;
  return absl::SimpleAtoi(name.substr(0, name.find('.')), &number) ? number : 0;
}

// Returns the name of the family that the file is of. Returns DataLoss if a
// part of the file is damaged.
absl::StatusOr<std::string> FamilyOf(const std::string& path) {
  RETURN_IF_ERROR(VerifySst(path));
  rocksdb::SstFileReader reader{rocksdb::Options()};
  RETURN_IF_ERROR(FromRocksDb(reader.Open(path), "read a file"));
  return reader.GetTableProperties()->column_family_name;
}

// Removes a file from the MANIFEST, as the command of RocksDB's tool ldb.
absl::Status RemoveFromManifest(const std::string& directory,
                                const rocksdb::LiveFileMetaData& file) {
  const auto families = FamilyOptions();
  const std::unique_ptr<rocksdb::LDBCommand> command(
      rocksdb::LDBCommand::InitFromCmdLineArgs(
          // The file OPTIONS, which nothing else reads, may be damaged.
          {absl::StrCat("--db=", directory), "--try_load_options=false",
           "unsafe_remove_sst_file", absl::StrCat(file.file_number)},
          rocksdb::Options(CommonOptions(), rocksdb::ColumnFamilyOptions()),
          rocksdb::LDBOptions(), &families));
  if (command == nullptr) return absl::InternalError("no such command");
  command->Run();
  rocksdb::LDBCommandExecuteResult result = command->GetExecuteState();
  if (result.IsSucceed()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot remove ", file.relative_filename,
                   " from the MANIFEST: ", result.ToString()));
}

class Repair {
 public:
  Repair(std::string directory, const Clock* clock,
         const std::function<void(uint64_t)>& progress)
      : directory_(std::move(directory)), clock_(*clock), progress_(progress) {}

  absl::StatusOr<RepairReport> Run() {
    RETURN_IF_ERROR(CheckRestored(directory_));
    if (!FileExists(PathOf("CURRENT")) && !HasData(directory_)) {
      return absl::NotFoundError(
          absl::StrCat("there is no store in ", directory_));
    }
    ASSIGN_OR_RETURN(lock_, StoreLock::Acquire(directory_));
    RemoveScratch();  // of a repair that was interrupted
    ChooseAside();
    RETURN_IF_ERROR(RebuildIndexes());
    absl::Status status = RepairFiles();
    if (absl::IsDataLoss(status)) status = RebuildManifest(status);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(OpenDatabase());
    RETURN_IF_ERROR(KeepLostWal());
    for (const Family family : {Family::kDefault, Family::kTimes}) {
      RETURN_IF_ERROR(RepairFamily(family));
    }
    const bool is_changed = !report_.done.empty() || !report_.lost.empty();
    RETURN_IF_ERROR(KeepLostData(database_.get(), is_changed, dropped_, clock_,
                                 progress_, &report_.lost));
    database_ = nullptr;
    if (!FileExists(report_.aside)) report_.aside.clear();
    return std::move(report_);
  }

 private:
  using Files = std::vector<rocksdb::LiveFileMetaData>;

  std::string PathOf(absl::string_view name) const {
    return absl::StrCat(directory_, "/", name);
  }

  void RemoveScratch() const {
    std::error_code ignored;
    fs::remove_all(PathOf(kScratch), ignored);
  }

  void ChooseAside() {
    int number = 1;
    do {
      report_.aside = PathOf(absl::StrCat("damaged-", number++));
    } while (FileExists(report_.aside));
  }
  // Moves a file to the replaced files, if it exists.
  absl::Status Drop(const std::string& path) {
    if (!FileExists(path)) return absl::OkStatus();
    RETURN_IF_ERROR(KeepFile(path, report_.aside));
    dropped_.push_back(
        absl::StrCat(report_.aside, "/", fs::path(path).filename().string()));
    return RemoveFile(path);
  }

  absl::Status RebuildIndexes() {
    ASSIGN_OR_RETURN(const auto rebuilt,
                     RebuildSstIndexes(directory_, report_.aside));
    for (const std::string& path : rebuilt) {
      report_.done.push_back(absl::StrCat(
          path, " has a damaged index: rebuilt it from the file's data"));
    }
    return absl::OkStatus();
  }

  // Returns DataLoss if the MANIFEST is missing or damaged.
  absl::Status RepairFiles() {
    RETURN_IF_ERROR(RepairCurrent());
    ASSIGN_OR_RETURN(const Listing listing, ListFiles(directory_));
    if (listing.damage.has_value()) {
      return absl::DataLossError(absl::StrCat(listing.manifest, " is damaged"));
    }
    return RemoveUnreadable(listing.files);
  }

  // Returns DataLoss if there is no MANIFEST.
  absl::Status RepairCurrent() {
    const absl::Status found = FindManifest(directory_).status();
    if (!absl::IsDataLoss(found)) return found;
    ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory_));
    std::string newest;
    for (const DirectoryEntry& entry : entries) {
      if (!absl::StartsWith(entry.name, "MANIFEST-")) continue;
      newest = std::max(newest, entry.name);  // numbers of the same width
    }
    if (newest.empty()) return found;
    RETURN_IF_ERROR(Drop(PathOf("CURRENT")));
    RETURN_IF_ERROR(WriteFile(PathOf("CURRENT"), absl::StrCat(newest, "\n")));
    RETURN_IF_ERROR(SyncDirectory(directory_));
    report_.done.push_back(
        absl::StrCat(found.message(), ": wrote it again, for ", newest));
    return absl::OkStatus();
  }

  // Removes files from the MANIFEST that RocksDB could not open.
  absl::Status RemoveUnreadable(const Files& files) {
    Files unreadable;
    for (const auto& file : files) {
      const std::string path = PathOf(file.relative_filename);
      std::error_code error;
      const uint64_t size = fs::file_size(path, error);
      absl::Status status;
      if (error) {
        status = absl::DataLossError("it is missing");
      } else if (size != file.size) {
        status = absl::DataLossError(
            absl::StrCat("it has ", size, " bytes instead of ", file.size));
      } else {
        status = CheckSst(path);
      }
      if (status.ok()) continue;
      if (!absl::IsDataLoss(status)) return status;
      unreadable.push_back(file);
      report_.lost.push_back(
          absl::StrCat(path, " (", file.size, " bytes, family \"",
                       file.column_family_name, "\"): ", status.message()));
    }
    return RemoveListed(unreadable);
  }

  absl::Status RemoveListed(const Files& files) {
    if (files.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string manifest, FindManifest(directory_));
    RETURN_IF_ERROR(KeepFile(manifest, report_.aside));
    for (const auto& file : files) {
      RETURN_IF_ERROR(RemoveFromManifest(directory_, file));
      RETURN_IF_ERROR(Drop(PathOf(file.relative_filename)));
    }
    return SyncDirectory(directory_);
  }

  // Makes a MANIFEST from all files that can be read whole.
  absl::Status RebuildManifest(const absl::Status& reason) {
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

  // Adds a file that deletes a key which does not exist to each family without
  // readable files, because RocksDB drops the log's data of such families. A
  // separate database makes these files.
  absl::Status AddEmptyFiles() {
    ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory_));
    std::set<std::string> present;
    uint64_t number = 0;
    for (const DirectoryEntry& entry : entries) {
      number = std::max(number, NumberOf(entry.name));
      if (!absl::EndsWith(entry.name, ".sst")) continue;
      const auto family = FamilyOf(PathOf(entry.name));
      if (family.ok()) present.insert(*family);
    }
    std::vector<std::string> files;
    {
      ASSIGN_OR_RETURN(const auto database, Database::Open(PathOf(kScratch)));
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
    RemoveScratch();
    return SyncDirectory(directory_);
  }

  // Moves the files that RocksDB set aside: those that it replaced, and files
  // of keys and values of which it cannot read a part.
  absl::Status TakeLost() {
    const std::string lost = PathOf("lost");
    if (!FileExists(lost)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto entries, ListDirectory(lost));
    for (const DirectoryEntry& entry : entries) {
      if (absl::EndsWith(entry.name, ".sst")) {
        report_.lost.push_back(
            absl::StrCat(PathOf(entry.name), ": cannot be read"));
      }
      RETURN_IF_ERROR(Drop(absl::StrCat(lost, "/", entry.name)));
    }
    std::error_code ignored;
    fs::remove(lost, ignored);
    return absl::OkStatus();
  }

  absl::Status OpenDatabase() {
    lock_ = nullptr;
    auto database = Database::Open(directory_);
    if (absl::IsDataLoss(database.status())) {
      // The MANIFEST can be read, but RocksDB does not accept the files.
      ASSIGN_OR_RETURN(lock_, StoreLock::Acquire(directory_));
      RETURN_IF_ERROR(RebuildManifest(database.status()));
      lock_ = nullptr;
      database = Database::Open(directory_);
    }
    ASSIGN_OR_RETURN(database_, std::move(database));
    return absl::OkStatus();
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
    return KeepLostCommits(database_.get(), on_damage);
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
      std::erase_if(listing.files, [&](const auto& file) {
        return file.column_family_name != name;
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
  std::vector<std::string> dropped_;  // their paths in report_.aside
  RepairReport report_;
};

}  // namespace

absl::StatusOr<RepairReport> RepairStore(
    const std::string& directory, const Clock* clock,
    const std::function<void(uint64_t)>& progress) {
  return Repair(directory, clock, progress).Run();
}

}  // namespace fleetperf::aggregator
