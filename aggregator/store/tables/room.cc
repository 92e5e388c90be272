#include "aggregator/store/tables/room.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"

namespace fleetperf::aggregator {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMinBatchReserve = 64 * kMiB;
constexpr uint64_t kMaintenanceReserve = 16 * kMiB;

}  // namespace

std::optional<uint64_t> FreeBytes(const std::string& directory) {
  std::error_code error;
  const std::filesystem::space_info space =
      std::filesystem::space(directory, error);
  if (error) return std::nullopt;
  return space.available;
}

absl::Status CheckRoom(const std::string& directory, uint64_t bytes,
                       DiskUse use) {
  std::error_code error;
  const std::filesystem::space_info space =
      std::filesystem::space(directory, error);
  if (error) {
    return StatusFromErrorCode(
        error, absl::StrCat("cannot get the free space in ", directory));
  }
  const uint64_t left =
      use == DiskUse::kMaintenance
          ? kMaintenanceReserve
          : std::max<uint64_t>(kMinBatchReserve, space.capacity / 100);
  if (space.available >= left && space.available - left >= bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      space.available / kMiB, " MiB are free in ", directory, ", and ",
      (left + bytes) / kMiB,
      " MiB are reserved for maintaining the store; free disk space or shorten "
      "store.retention"));
}

}  // namespace fleetperf::aggregator
