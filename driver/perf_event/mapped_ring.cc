#include "driver/perf_event/mapped_ring.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::perf_event {
namespace {

// The largest number of pages for which no sum or product overflows.
size_t MaxPages(const System& system) {
  return std::numeric_limits<size_t>::max() / system.page_size() / 4;
}

absl::StatusOr<size_t> RoundedUp(const Counter& counter, size_t pages) {
  if (pages > MaxPages(counter.system())) {
    return absl::InvalidArgumentError(absl::StrCat(
        counter.name(), ": a ring of ", pages, " pages is too large"));
  }
  return std::bit_ceil(std::max<size_t>(pages, 1));
}

absl::Status TooMuchLocked(const Counter& counter, size_t size) {
  auto limit =
      counter.system().ReadFile("/proc/sys/kernel/perf_event_mlock_kb");
  return absl::PermissionDeniedError(absl::StrCat(
      counter.name(), ": a ring of ", size / 1024,
      " KiB is more than the user may lock. Use fewer pages, raise "
      "RLIMIT_MEMLOCK or kernel.perf_event_mlock_kb (",
      limit.ok() ? limit->substr(0, limit->find('\n')) : "unknown",
      " KiB per CPU, for all rings of the user), or grant CAP_IPC_LOCK"));
}

absl::Status RefusedRing(const Counter& counter, int error, size_t size) {
  const bool inherits = (counter.attributes().flags & flag::kInherit) != 0;
  if (error == EPERM || error == EACCES) return TooMuchLocked(counter, size);
  if (error == EINVAL && inherits) {
    return absl::InvalidArgumentError(absl::StrCat(
        counter.name(),
        ": the kernel has no ring for an inherited event of a thread on any "
        "CPU. Open one event per CPU, or do not inherit"));
  }
  if (error == ENOMEM) {
    return absl::ResourceExhaustedError(
        absl::StrCat(counter.name(), ": no memory for a ring of ", size / 1024,
                     " KiB. Use fewer pages"));
  }
  return absl::ErrnoToStatus(
      error, absl::StrCat(counter.name(), ": cannot map a ring of ",
                          size / 1024, " KiB"));
}

}  // namespace

absl::StatusOr<MappedRing> MapRing(const Counter& counter, size_t pages,
                                   bool writable) {
  System& system = counter.system();
  ASSIGN_OR_RETURN(pages, RoundedUp(counter, pages));
  const size_t size = (1 + pages) * system.page_size();
  void* address = nullptr;
  const int result =
      system.Map(counter.descriptor(), size, 0, writable, &address);
  if (result < 0) return RefusedRing(counter, -result, size);
  MappedMemory mapping(system, address, size);
  ASSIGN_OR_RETURN(const RingMemory memory,
                   RingMemory::Find(mapping.data(), size, system.page_size()));
  return MappedRing{std::move(mapping), memory};
}

absl::StatusOr<MappedMemory> MapAux(const Counter& counter,
                                    const MappedRing& ring, size_t pages) {
  System& system = counter.system();
  ASSIGN_OR_RETURN(pages, RoundedUp(counter, pages));
  const size_t size = pages * system.page_size();
  const size_t offset = ring.mapping.size();
  ring.memory.page->aux_offset = offset;
  ring.memory.page->aux_size = size;
  void* address = nullptr;
  const int result =
      system.Map(counter.descriptor(), size, offset, true, &address);
  if (result >= 0) return MappedMemory(system, address, size);
  if (result == -EOPNOTSUPP) {
    return absl::UnimplementedError(
        absl::StrCat(counter.name(), ": the event's PMU has no AUX area"));
  }
  return RefusedRing(counter, -result, size);
}

}  // namespace fleetperf::perf_event
