// Finds what is missing in RocksDB's write-ahead log, and what that costs.
//
// A power cut leaves a log whose end is torn: what was not synced is not there,
// or in pieces. That is in order; nothing of it was acknowledged. Everything
// else that is missing is damage. They are told apart by the commits, which are
// numbered: one that follows another says that the other was synced.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/wal_file.h"

namespace fleetperf::aggregator {

// Batches of an epoch that may have been in what is missing: the log has later
// ones. They were held between two samples that are there.
struct MissingBatches {
  uint32_t epoch_number = 0;
  uint64_t first_sequence = 0;  // 0: not known
  uint64_t last_sequence = 0;
  absl::Time start = absl::InfinitePast();  // infinite: not known
  absl::Time end;
  absl::Time received;  // of the batch after it
};

// A place where commits are missing that were acknowledged.
struct WalDamage {
  std::string path;  // empty: the end of the log is missing
  WalRange range;    // no bytes: what is missing is in no file
  // How many are missing, if that can be known.
  std::optional<uint64_t> commits;
  std::optional<uint64_t> batches;
  // When they were received; infinite if that is not known.
  absl::Time after = absl::InfinitePast();
  absl::Time before = absl::InfiniteFuture();
  std::vector<MissingBatches> epochs;
};

// For people: where and what.
std::string Describe(const WalDamage& damage);

struct WalCheck {
  std::vector<WalFile> files;
  std::optional<CommitMark> last;  // of the commits that can be read
  std::vector<WalDamage> damage;
  // Whether one of these is all that `synced` says is missing at the end.
  bool end_is_damaged = false;
  // Where the torn end begins, if there is more than RocksDB gets over: in the
  // file of this place in `files`, all after which is torn, too.
  struct Torn {
    size_t file = 0;
    uint64_t offset = 0;
  };
  std::optional<Torn> torn;
};

// Reads the logs of the database in `directory`, which no process has open.
// `synced` is the last commit that is known to be synced. That the end of the
// newest log is missing is not said here: its commits may be in other files.
absl::StatusOr<WalCheck> CheckWal(const std::string& directory,
                                  const CommitMark& synced);

// Puts logs in place of those with damage or a torn end that have all else,
// as it was. Those with damage are kept in `DamagedFilesIn(directory)`.
absl::Status RepairWal(const std::string& directory, const WalCheck& check);
std::string DamagedFilesIn(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_CHECK_H_
