// Marks of a restore that is not complete.
//
// A restore copies a backup to a directory in the store's, makes a store of the
// copy, and moves its files to the store's directory, CURRENT last. The name of
// the directory says how far it is.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_PARTIAL_RESTORE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_PARTIAL_RESTORE_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// The directory of an incomplete copy, and that of files to be moved.
std::string CopiedFilesIn(const std::string& directory);
std::string RestoredFilesIn(const std::string& directory);

// Returns whether files of a restore are in the store's directory, but not all
// of them.
bool IsMovingRestored(const std::string& directory);

// Returns FailedPrecondition, with the next step, if a restore to `directory`
// was interrupted or is in progress. The store would lack the backup's samples.
absl::Status CheckRestored(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_PARTIAL_RESTORE_H_
