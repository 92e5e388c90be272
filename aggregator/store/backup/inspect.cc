#include "aggregator/store/backup/inspect.h"

#include "absl/strings/string_view.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<StoreState> InspectStore(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto database, Database::OpenForReading(directory));
  RETURN_IF_ERROR(database->missing());
  StoreState state{.size = database->Size()};
  const auto known = database->Get(Family::kDefault, KnownTimeKey());
  // An aggregator records it when it is stopped.
  if (absl::IsNotFound(known.status())) return state;
  RETURN_IF_ERROR(known.status());
  absl::string_view rest = *known;
  absl::Time time;
  if (GetTime(&rest, &time) && rest.empty()) state.known_time = time;
  return state;
}

}  // namespace fleetperf::aggregator
