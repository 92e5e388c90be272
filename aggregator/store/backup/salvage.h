// Copies what can be read of a family of a damaged database.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_SALVAGE_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_SALVAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

struct Salvage {
  uint64_t keys = 0;  // in the copy
  // The ranges between readable keys that cannot be read, for operators.
  std::vector<std::string> lost;
};

// Writes all readable keys of a family and their values to the new file `path`,
// for Database::Ingest. There is no file if no key can be read.
absl::StatusOr<Salvage> SalvageFamily(const Database& database, Family family,
                                      const std::string& path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_SALVAGE_H_
