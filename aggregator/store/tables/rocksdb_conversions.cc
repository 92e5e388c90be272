#include "aggregator/store/tables/rocksdb_conversions.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {

absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view action) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotFound()) return absl::NotFoundError("not in the store");
  const std::string message =
      absl::StrCat("the store cannot ", action, ": ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  return absl::UnavailableError(message);
}

absl::Status CannotOpen(const std::string& directory,
                        const rocksdb::Status& status) {
  const bool is_damaged = status.IsCorruption() || status.IsPathNotFound();
  const std::string message = absl::StrCat("cannot open the store in ",
                                           directory, ": ", status.ToString());
  return is_damaged ? absl::DataLossError(message)
                    : absl::FailedPreconditionError(message);
}

}  // namespace fleetperf::aggregator
