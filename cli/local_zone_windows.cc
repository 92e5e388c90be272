#include "cli/local_zone.h"

namespace fleetperf::cli {

absl::StatusOr<absl::TimeZone> LocalZone() { return absl::LocalTimeZone(); }

}  // namespace fleetperf::cli
