// Commits that were acknowledged and are not in the store any more.

#ifndef FLEETPERF_AGGREGATOR_STORE_LOST_COMMITS_H_
#define FLEETPERF_AGGREGATOR_STORE_LOST_COMMITS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/commit_mark.h"
#include "aggregator/store/database.h"
#include "aggregator/store/lost_ticks_table.h"

namespace fleetperf::aggregator {

// The mark of the last commit that the database has; no commits if none has
// one yet.
absl::StatusOr<CommitMark> ReadCommitMark(const Database& database);

// For people: what the write-ahead log lacked when the database was opened, in
// which file and where, and what that cost. Empty if nothing is lost.
std::vector<std::string> LostCommits(const Database& database,
                                     const CommitMark& mark);

// Keeps, in place of batches that are lost and whose epochs have later ones,
// that they are lost: a loss of all of their agent's machines, of an unknown
// number of ticks. Of epochs that have none their agents will tell: Welcome
// says how far their batches are durable.
absl::Status KeepLostCommits(Database* database, LostTicksTable* lost_ticks);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_LOST_COMMITS_H_
