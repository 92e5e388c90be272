// Backs up and restores a store.
//
// A backup is a directory that can be opened like a store. On the store's file
// system, the backup and the store share files that neither of them modifies.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Called as bytes are copied. The copy stops at its first error.
using OnCopied =
    absl::FunctionRef<absl::Status(uint64_t bytes, uint64_t total)>;

// See Store::Backup.
absl::Status BackupDatabase(Database* database, const std::string& directory,
                            OnCopied on_copied);

// Restores a backup to a store in `directory`, with a new id. After an error,
// the directory is empty. If the process ends in between, no store can be
// opened there until the restore is repeated; see partial_restore.h. Errors:
// NotFound if `backup` is not a backup, DataLoss if it is damaged or
// incomplete, FailedPrecondition if `directory` is not empty or in use.
absl::Status RestoreStore(const std::string& backup,
                          const std::string& directory, OnCopied on_copied);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_
