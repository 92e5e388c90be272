#include "driver/perf_event/event.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::perf_event {
namespace {

// The name at `index`, or `prefix` and the number.
template <size_t n>
std::string NameAt(const absl::string_view (&names)[n], uint64_t index,
                   absl::string_view prefix) {
  if (index < n) return std::string(names[index]);
  return absl::StrCat(prefix, index);
}

constexpr absl::string_view kHardwareNames[] = {
    "cpu-cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branch-instructions",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
};

constexpr absl::string_view kSoftwareNames[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

constexpr absl::string_view kCacheNames[] = {
    "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};
constexpr absl::string_view kOperationNames[] = {"load", "store", "prefetch"};
constexpr absl::string_view kOperationPlurals[] = {"loads", "stores",
                                                   "prefetches"};

bool OccursInKernel(SoftwareEvent event) {
  return event == SoftwareEvent::kContextSwitches ||
         event == SoftwareEvent::kCpuMigrations ||
         event == SoftwareEvent::kCgroupSwitches;
}

}  // namespace

Event Hardware(HardwareEvent event) {
  const auto config = static_cast<uint64_t>(event);
  return {.name = NameAt(kHardwareNames, config, "hardware "),
          .type = type::kHardware,
          .config = config};
}

Event Software(SoftwareEvent event) {
  const auto config = static_cast<uint64_t>(event);
  Event result = {.name = NameAt(kSoftwareNames, config, "software "),
                  .type = type::kSoftware,
                  .config = config};
  if (OccursInKernel(event)) result.flags = 0;
  return result;
}

Event Cache(CacheId cache, CacheOperation operation, CacheResult result) {
  const auto id = static_cast<uint64_t>(cache);
  const auto op = static_cast<uint64_t>(operation);
  std::string name = NameAt(kCacheNames, id, "cache ");
  if (result == CacheResult::kMiss) {
    absl::StrAppend(&name, "-", NameAt(kOperationNames, op, "operation "),
                    "-misses");
  } else {
    absl::StrAppend(&name, "-", NameAt(kOperationPlurals, op, "operation "));
  }
  return {.name = std::move(name),
          .type = type::kCache,
          .config = id | op << 8 | static_cast<uint64_t>(result) << 16};
}

Event Raw(uint64_t config, uint64_t config1, uint64_t config2,
          uint64_t config3) {
  return {.name = absl::StrCat("r", absl::Hex(config)),
          .type = type::kRaw,
          .config = config,
          .config1 = config1,
          .config2 = config2,
          .config3 = config3};
}

Event Breakpoint(BreakpointAccess access, uint64_t address, uint64_t length) {
  const auto bits = static_cast<uint32_t>(access);
  std::string name =
      absl::StrCat("mem:0x", absl::Hex(address), "/", length, ":");
  if ((bits & static_cast<uint32_t>(BreakpointAccess::kRead)) != 0) name += 'r';
  if ((bits & static_cast<uint32_t>(BreakpointAccess::kWrite)) != 0)
    name += 'w';
  if ((bits & static_cast<uint32_t>(BreakpointAccess::kExecute)) != 0)
    name += 'x';
  return {.name = std::move(name),
          .type = type::kBreakpoint,
          .config1 = address,
          .config2 = length,
          .breakpoint_type = bits};
}

}  // namespace fleetperf::perf_event
