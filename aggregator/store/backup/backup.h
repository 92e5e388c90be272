// Copies of a store, and how it is brought back from one.
//
// A backup is a directory that opens like a store. On the store's own file
// system it shares files with it, which neither of them ever changes.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Called as bytes are copied; its error ends that.
using OnCopied =
    absl::FunctionRef<absl::Status(uint64_t bytes, uint64_t total)>;

// See Store::Backup.
absl::Status BackupDatabase(Database* database, const std::string& directory,
                            OnCopied on_copied);

// Makes a store in `directory` of a backup, with an id of its own; what is
// there is whole, or no store. Errors: NotFound if `backup` is none,
// FailedPrecondition if it is not whole, or something is in `directory`.
absl::Status RestoreStore(const std::string& backup,
                          const std::string& directory, OnCopied on_copied);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_BACKUP_H_
