#include "aggregator/store/backup/verify.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "aggregator/store/backup/chunk_check.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/sst_index.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

class Verifier {
 public:
  Verifier(Database* database, const std::function<void(double)>& progress)
      : database_(*database),
        progress_(progress),
        definitions_(database, &schemas_),
        numbers_(database, &schemas_),
        log_(database, &definitions_) {}

  absl::StatusOr<StoreReport> Run() {
    VerifyFiles();
    RETURN_IF_ERROR(VerifyWal());
    RETURN_IF_ERROR(numbers_.Load([&](const absl::Status& damage) {
      report_.damage.emplace_back(damage.message());
    }));
    RETURN_IF_ERROR(VerifyChunks());
    RETURN_IF_ERROR(VerifyLog());
    return std::move(report_);
  }

 private:
  void Damage(const std::string& where, const absl::Status& status) {
    report_.damage.push_back(absl::StrCat(where, ": ", status.message()));
  }

  void VerifyFiles() {
    const std::vector<std::string> files = database_.Files();
    for (const std::string& file : files) {
      progress_(static_cast<double>(report_.files++) /
                static_cast<double>(files.size()));
      const absl::Status status = VerifySst(file);
      if (!status.ok()) Damage(file, status);
    }
  }

  // The write-ahead log was checked when the database was opened.
  absl::Status VerifyWal() {
    ASSIGN_OR_RETURN(const CommitMark mark, ReadCommitMark(database_));
    report_.files += database_.wal().files.size();
    for (std::string& lost : LostCommits(database_, mark)) {
      report_.damage.push_back(std::move(lost));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyChunks() {
    const auto chunks_entry = database_.Iterate(Family::kChunks);
    for (const auto& entry : numbers_.Machines()) {
      const std::string& name = entry.second;
      const uint64_t chunks = report_.chunks;
      for (const Resolution resolution : kResolutions) {
        RETURN_IF_ERROR(ForEachChunk(
            chunks_entry.get(), entry.first, resolution, 0, UINT32_MAX,
            [&](const StoredChunk& stored) {
              ++report_.chunks;
              const auto values = CountValues(database_, numbers_, stored);
              if (values.ok()) {
                report_.values += *values;
              } else {
                Damage(WhereOf(name, stored.key), values.status());
              }
              return absl::OkStatus();
            },
            [&](const absl::Status& damage) { Damage(name, damage); }));
      }
      if (report_.chunks > chunks) ++report_.machines;
    }
    return absl::OkStatus();
  }

  static std::string WhereOf(const std::string& machine, const ChunkKey& key) {
    return absl::StrCat(
        machine, ", the hour of ",
        absl::FormatTime(StartOfHour(key.hour), absl::UTCTimeZone()));
  }

  absl::Status VerifyLog() {
    return log_.Verify([&](const absl::Status& status) {
      ++report_.batches;
      if (!status.ok()) report_.damage.emplace_back(status.message());
    });
  }

  Database& database_;
  const std::function<void(double)>& progress_;
  SchemaTable schemas_;
  DefinitionTable definitions_;
  KeyNumbers numbers_;
  Log log_;
  StoreReport report_;
};

}  // namespace

absl::StatusOr<StoreReport> VerifyStore(
    const std::string& directory, const std::function<void(double)>& progress) {
  ASSIGN_OR_RETURN(const auto database, Database::OpenForReading(directory));
  return Verifier(database.get(), progress).Run();
}

}  // namespace fleetperf::aggregator
