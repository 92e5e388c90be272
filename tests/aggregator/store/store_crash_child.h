// The child processes of store_crash_test: one that fills a store until it is
// killed, and one that checks what the store then has.

#ifndef FLEETPERF_TESTS_AGGREGATOR_STORE_STORE_CRASH_CHILD_H_
#define FLEETPERF_TESTS_AGGREGATOR_STORE_STORE_CRASH_CHILD_H_

#include <cstdint>
#include <string>

namespace fleetperf::aggregator {

// Commits the batches that `seed` determines, moves and thins chunks, and makes
// backups. Prints a line after each step; "acknowledged 7" means that batches 1
// to 7 are durable. One agent stays connected; another one restarts after each
// batch, so that its epochs end.
[[noreturn]] void CommitUntilKilled(const std::string& directory,
                                    uint64_t seed);

// Checks that the store has all batches up to `acknowledged`, and perhaps later
// ones, exactly once and undamaged. Prints the first error and returns 1 if
// not.
int CheckStore(const std::string& directory, uint64_t seed,
               uint64_t acknowledged);

// Restores the newest backup and checks that it has all batches acknowledged
// before it. Returns 0 if no backup exists.
int CheckBackup(const std::string& directory, uint64_t seed);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_STORE_STORE_CRASH_CHILD_H_
