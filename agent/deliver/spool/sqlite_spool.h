// Imports the spool of version 0.1, an SQLite database.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/deliver/spool/recovered_spool.h"
#include "agent/deliver/spool/spool_files.h"

namespace fleetperf::agent {

// Whether the directory has such a database.
bool HasSqliteSpool(const std::string& directory);

// Copies payloads, and the definitions of former epochs, to `files`, and
// returns the rest. The database stays until RemoveSqliteSpool is called. A
// database that is damaged or of an unknown version is renamed, and its
// contents count as lost. Returns FailedPrecondition if another process uses
// the database, and ResourceExhausted if the disk has no space for the copy.
absl::StatusOr<RecoveredSpool> ImportSqliteSpool(SpoolFiles* files);

// Removes the database. Ignores errors; the next process then removes it.
void RemoveSqliteSpool(const std::string& directory);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_
