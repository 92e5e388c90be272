// Converts the names of machines and agents in stores of versions that
// distinguished their case.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_NAME_MIGRATION_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_NAME_MIGRATION_H_

#include "absl/status/status.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Gives the records of epochs, machines and lost ticks the canonical names of
// their agents and machines, in one write, unless the store has been converted.
// Of two records for one epoch or machine, one remains: that of the epoch with
// more batches, or that of the machine's own agent. Lost ticks are added up.
//
// Machine numbers are not changed: KeyNumbers accepts several for one machine.
// Readers of definitions and losses convert the names themselves.
//
// Damaged records are left for the readers, which report them. Returns
// ResourceExhausted if there are records to convert and the disk is full.
absl::Status MigrateNames(Database* database);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_NAME_MIGRATION_H_
