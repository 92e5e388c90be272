// The spool of versions up to 0.1, an SQLite database: its contents are taken
// over by the first process of a later version.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/deliver/spool/recovered_spool.h"
#include "agent/deliver/spool/spool_files.h"

namespace fleetperf::agent {

// Whether there is such a spool in a directory.
bool HasSqliteSpool(const std::string& directory);

// Copies payloads and definitions of former epochs to `files`, and returns all
// else. The database stays until it is removed, unless it is damaged or of an
// unknown version: then it is renamed, and what it held is counted as lost.
// Errors: FailedPrecondition if another process uses it; ResourceExhausted if
// the disk has no room for the copy.
absl::StatusOr<RecoveredSpool> ImportSqliteSpool(SpoolFiles* files);

// Removes the database. An error is ignored: it is removed by the next process.
void RemoveSqliteSpool(const std::string& directory);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SQLITE_SPOOL_H_
