// Finds missing parts of RocksDB's write-ahead log, and estimates the loss.
//
// A power cut leaves a log with a torn end: writes that were not synced are
// missing or incomplete. A torn end is normal, since none of these writes was
// acknowledged. Everything else that is missing is damage. These invariants
// distinguish the two:
//
// - Each commit writes its number and its count of batches as a CommitMark, in
//   the same write as its batches.
// - A commit begins only after the previous commit was synced. So all readable
//   commits except the last were synced, and so was everything before them. The
//   file that SyncedMark writes may show that the last commit was synced, too.
// - A place where writes are missing is damage if a later commit is known to
//   have been synced. Otherwise the torn end begins there, and everything after
//   it is discarded.
// - RocksDB numbers changed keys consecutively across all files. If the numbers
//   continue after such a place, no write is missing there. A write tells how
//   many numbers before it belong to changes that are in no log.
// - The difference between the commit marks on both sides gives the number of
//   lost commits and batches.
// - RepairWal retains all other writes unchanged, and keeps the damaged files.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/wal_file.h"

namespace fleetperf::aggregator {

// The data of a write for the log alone: the number of changes before it that
// are in no log.
std::string UnloggedChanges(uint32_t count);

// Batches of an epoch that may have been in a missing part: the log has later
// batches of the epoch. Their samples lie between two samples that are present.
struct MissingBatches {
  uint32_t epoch_number = 0;
  uint64_t last_sequence = 0;
  absl::Time start = absl::InfinitePast();  // infinite: unknown
  absl::Time end;
  absl::Time received;  // receipt of the next batch
};

// A place where acknowledged commits are missing.
struct WalDamage {
  std::string path;  // empty: the end of the log is missing
  WalRange range;    // size 0: the missing part is in no file
  // The number of missing commits, if known, and of their batches.
  std::optional<uint64_t> commits;
  uint64_t batches = 0;
  // The time range of their receipt. Infinite if unknown.
  absl::Time after = absl::InfinitePast();
  absl::Time before = absl::InfiniteFuture();
  std::vector<MissingBatches> epochs;
};

// Describes the place and the extent of the damage for operators.
std::string Describe(const WalDamage& damage);

struct WalCheck {
  CommitMark synced;  // the last commit known to have been synced
  std::map<uint64_t, std::string> files;  // see FindWalFiles
  // The last commit that is readable or, at the end, counted in `damage`.
  std::optional<CommitMark> last;
  // The number of the first change, unless a hole is before it.
  std::optional<uint64_t> first_change;
  std::vector<WalDamage> damage;
  // The paths of logs that have damage or belong to the torn end, each with the
  // offset at which the torn end begins.
  std::map<std::string, uint64_t> to_repair;
};

// Reads the logs of the database in `directory`, which no process may have
// open. `synced` is the last commit known to have been synced. A missing end of
// the newest log is not reported: its commits may be in other files.
absl::StatusOr<WalCheck> CheckWal(const std::string& directory,
                                  const CommitMark& synced);

// Replaces damaged logs by logs that hold all other writes, unchanged, and
// truncates the torn end. The damaged logs are kept; see DamagedFilesIn.
absl::Status RepairWal(const std::string& directory, const WalCheck& check);

// Writes the logs as RepairWal would leave them to the directory `to`, under
// the same names. RocksDB must not read damaged logs: whatever its recovery
// mode, some damage makes it loop or refuse the database.
absl::Status CopyRepairedWal(const WalCheck& check, const std::string& to);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_
