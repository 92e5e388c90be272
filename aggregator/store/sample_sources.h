// The parts of the store that samples are in, and the newest samples in them.

#ifndef FLEETPERF_AGGREGATOR_STORE_SAMPLE_SOURCES_H_
#define FLEETPERF_AGGREGATOR_STORE_SAMPLE_SOURCES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/log.h"

namespace fleetperf::aggregator {

struct SampleSources {
  Database* database;
  Log* log;
  KeyNumbers* numbers;
  RecentBatches* recent;
  absl::Mutex* layout;  // see Compactor::Parts
};

// Returns the time of a machine's newest sample in the log. std::nullopt if
// there is none, or if it is not found within a bounded search. Thread-safe.
std::optional<absl::Time> NewestLogged(const SampleSources& sources,
                                       const std::string& machine);

// Finds the time of the newest sample of a machine that is only on disk, and
// sets it in `sources.recent`. Returns an error if samples could not be read,
// but may be readable later. Thread-safe.
absl::Status FindElsewhere(const SampleSources& sources,
                           const std::string& machine);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_SAMPLE_SOURCES_H_
