#include "agent/source/linux/memory/memory.h"

#include <algorithm>
#include <iterator>

#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kAvailableBytes,
  kAvailableKBytes,
  kAvailableMBytes,
  kCommittedBytes,
  kCommitLimit,
  kPercentCommitted,
  kPercentCommittedBase,
  kPageFaultsPerSec,
  kPagesInputPerSec,
  kPageReadsPerSec,
  kPagesOutputPerSec,
  kPagesPerSec,
  kCacheBytes,
  kFreeBytes,
  kModifiedBytes,
  kStandbyCacheNormalBytes,
  kPoolNonpagedBytes,
  kPoolPagedBytes,
  kTransitionFaultsPerSec,
  kTransitionPagesRepurposedPerSec,
  kTotalBytes,
  kAnonymousBytes,
  kSharedBytes,
  kSwapTotalBytes,
  kSwapFreeBytes,
  kHugePages,
  kHugePagesFree,
  kUsedBytes,
  kNumColumns
};

constexpr uint32_t kPercentCommittedBaseId = kFirstLinuxCounterId + 100;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterLargeRawcount, "Available Bytes",
      "Memory available to programs without swapping."},
     "bytes",
     "/proc/meminfo MemAvailable",
     "An estimate by the kernel: page cache counts unless it is in use. Since "
     "Linux 3.14."},
    {{1, kPerfCounterLargeRawcount, "Available KBytes",
      "The same in units of 1024 bytes."},
     "KiB",
     "/proc/meminfo MemAvailable"},
    {{2, kPerfCounterLargeRawcount, "Available MBytes",
      "The same in units of 1048576 bytes."},
     "MiB",
     "/proc/meminfo MemAvailable"},
    {{3, kPerfCounterLargeRawcount, "Committed Bytes",
      "Memory committed to programs."},
     "bytes",
     "/proc/meminfo Committed_AS",
     "May exceed Commit Limit, because Linux overcommits by default."},
    {{4, kPerfCounterLargeRawcount, "Commit Limit",
      "Memory that may be committed."},
     "bytes",
     "/proc/meminfo CommitLimit",
     "Enforced only if vm.overcommit_memory is 2."},
    {{5, kPerfRawFraction, "% Committed Bytes In Use",
      "Committed Bytes as a percentage of Commit Limit.",
      kPercentCommittedBaseId},
     "%",
     "/proc/meminfo Committed_AS, CommitLimit",
     "May exceed 100."},
    {{kPercentCommittedBaseId, kPerfRawBase, "", ""}, "", ""},
    {{6, kPerfCounterCounter, "Page Faults/sec",
      "Page faults, with and without reading from disk."},
     "faults/s",
     "/proc/vmstat pgfault"},
    {{7, kPerfCounterCounter, "Pages Input/sec", "Pages read from swap."},
     "pages/s",
     "/proc/vmstat pswpin",
     "Windows counts pages of mapped files, too."},
    {{8, kPerfCounterCounter, "Page Reads/sec",
      "Page faults that had to read from disk."},
     "faults/s",
     "/proc/vmstat pgmajfault",
     "Faults of mapped files included."},
    {{9, kPerfCounterCounter, "Pages Output/sec", "Pages written to swap."},
     "pages/s",
     "/proc/vmstat pswpout",
     "Windows counts pages of mapped files, too."},
    {{10, kPerfCounterCounter, "Pages/sec",
      "Pages read from and written to swap."},
     "pages/s",
     "/proc/vmstat pswpin, pswpout",
     "Windows counts pages of mapped files, too."},
    {{11, kPerfCounterLargeRawcount, "Cache Bytes",
      "Memory that holds file contents and reclaimable kernel objects."},
     "bytes",
     "/proc/meminfo Cached, Buffers, SReclaimable",
     "Cached includes shared memory and tmpfs."},
    {{12, kPerfCounterLargeRawcount, "Free & Zero Page List Bytes",
      "Unused memory."},
     "bytes",
     "/proc/meminfo MemFree",
     "Normally small: Linux uses free memory as cache."},
    {{13, kPerfCounterLargeRawcount, "Modified Page List Bytes",
      "File contents that are not on disk yet."},
     "bytes",
     "/proc/meminfo Dirty, Writeback"},
    {{14, kPerfCounterLargeRawcount, "Standby Cache Normal Priority Bytes",
      "File contents not used recently."},
     "bytes",
     "/proc/meminfo Inactive(file)",
     "Similar to Windows' standby list, which has no dirty pages."},
    {{15, kPerfCounterLargeRawcount, "Pool Nonpaged Bytes",
      "Kernel memory that cannot be reclaimed."},
     "bytes",
     "/proc/meminfo SUnreclaim, KernelStack, PageTables",
     "Without allocations of whole pages by drivers."},
    {{16, kPerfCounterLargeRawcount, "Pool Paged Bytes",
      "Kernel memory that can be reclaimed."},
     "bytes",
     "/proc/meminfo SReclaimable",
     "Linux never swaps kernel memory."},
    {{17, kPerfCounterCounter, "Transition Faults/sec",
      "File pages that were needed again after they had been reclaimed."},
     "pages/s",
     "/proc/vmstat workingset_refault_file",
     "Windows counts pages that it found in memory; these had to be read "
     "again. Since Linux 5.9."},
    {{18, kPerfCounterCounter, "Transition Pages RePurposed/sec",
      "Pages reclaimed for another purpose."},
     "pages/s",
     "/proc/vmstat pgsteal_kswapd, pgsteal_direct, pgsteal_khugepaged, "
     "pgsteal_proactive",
     "Anonymous pages that were swapped out included."},
    {{kFirstLinuxCounterId + 0, kPerfCounterLargeRawcount, "Total Bytes",
      "Memory that the kernel manages."},
     "bytes",
     "/proc/meminfo MemTotal"},
    {{kFirstLinuxCounterId + 1, kPerfCounterLargeRawcount, "Anonymous Bytes",
      "Memory of programs not backed by files."},
     "bytes",
     "/proc/meminfo AnonPages"},
    {{kFirstLinuxCounterId + 2, kPerfCounterLargeRawcount, "Shared Bytes",
      "Shared memory and tmpfs."},
     "bytes",
     "/proc/meminfo Shmem"},
    {{kFirstLinuxCounterId + 3, kPerfCounterLargeRawcount, "Swap Total Bytes",
      "Size of the swap space."},
     "bytes",
     "/proc/meminfo SwapTotal"},
    {{kFirstLinuxCounterId + 4, kPerfCounterLargeRawcount, "Swap Free Bytes",
      "Unused swap space."},
     "bytes",
     "/proc/meminfo SwapFree"},
    {{kFirstLinuxCounterId + 5, kPerfCounterLargeRawcount, "Huge Pages",
      "Huge pages reserved."},
     "pages",
     "/proc/meminfo HugePages_Total",
     "Of the default size."},
    {{kFirstLinuxCounterId + 6, kPerfCounterLargeRawcount, "Huge Pages Free",
      "Huge pages not in use."},
     "pages",
     "/proc/meminfo HugePages_Free",
     "Of the default size."},
    {{kFirstLinuxCounterId + 7, kPerfCounterLargeRawcount, "Used Bytes",
      "Memory that is not available to programs."},
     "bytes",
     "/proc/meminfo MemTotal - MemAvailable",
     "As `used` of free since procps 4. Since Linux 3.14."},
};
static_assert(std::size(kCounters) == kNumColumns);

// In the order of /proc/meminfo of Linux 6.
constexpr KeyedTerm kMeminfo[] = {
    {"MemTotal", kTotalBytes, kBytesPerKib},
    {"MemFree", kFreeBytes, kBytesPerKib},
    {"MemAvailable", kAvailableBytes, kBytesPerKib},
    {"MemAvailable", kAvailableKBytes, 1},
    {"Buffers", kCacheBytes, kBytesPerKib},
    {"Cached", kCacheBytes, kBytesPerKib},
    {"Inactive(file)", kStandbyCacheNormalBytes, kBytesPerKib},
    {"SwapTotal", kSwapTotalBytes, kBytesPerKib},
    {"SwapFree", kSwapFreeBytes, kBytesPerKib},
    {"Dirty", kModifiedBytes, kBytesPerKib},
    {"Writeback", kModifiedBytes, kBytesPerKib},
    {"AnonPages", kAnonymousBytes, kBytesPerKib},
    {"Shmem", kSharedBytes, kBytesPerKib},
    {"SReclaimable", kCacheBytes, kBytesPerKib},
    {"SReclaimable", kPoolPagedBytes, kBytesPerKib},
    {"SUnreclaim", kPoolNonpagedBytes, kBytesPerKib},
    {"KernelStack", kPoolNonpagedBytes, kBytesPerKib},
    {"PageTables", kPoolNonpagedBytes, kBytesPerKib},
    {"CommitLimit", kCommitLimit, kBytesPerKib},
    {"CommitLimit", kPercentCommittedBase, 1},
    {"Committed_AS", kCommittedBytes, kBytesPerKib},
    {"Committed_AS", kPercentCommitted, 1},
    {"HugePages_Total", kHugePages, 1},
    {"HugePages_Free", kHugePagesFree, 1},
};

// In the order of /proc/vmstat of Linux 6.
constexpr KeyedTerm kVmstat[] = {
    {"workingset_refault_file", kTransitionFaultsPerSec},
    {"pswpin", kPagesInputPerSec},
    {"pswpin", kPagesPerSec},
    {"pswpout", kPagesOutputPerSec},
    {"pswpout", kPagesPerSec},
    {"pgfault", kPageFaultsPerSec},
    {"pgmajfault", kPageReadsPerSec},
    {"pgsteal_kswapd", kTransitionPagesRepurposedPerSec},
    {"pgsteal_direct", kTransitionPagesRepurposedPerSec},
    {"pgsteal_khugepaged", kTransitionPagesRepurposedPerSec, 1, kIsOptional},
    {"pgsteal_proactive", kTransitionPagesRepurposedPerSec, 1, kIsOptional},
};

}  // namespace

constinit const LinuxCounterset Memory::kCounterset = {
    .guid = "{933f806f-4880-5328-bb67-7672ae6d7a2d}",
    .name = "Memory",
    .help = "The machine's memory.",
    .instance_type = kCountersetSingleInstance,
    .counters = kCounters,
};

Memory::Memory(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      meminfo_(root + "/proc/meminfo", kMeminfo),
      vmstat_(root + "/proc/vmstat", kVmstat) {}

absl::Status Memory::Sample(ColumnSet needed, const Clocks&,
                            CountersetSample* sample) {
  sample->AddInstance("", 0);
  if (Has(needed, kAvailableMBytes)) needed |= Bit(kAvailableBytes);
  if (Has(needed, kUsedBytes)) {
    needed |= Bit(kTotalBytes) | Bit(kAvailableBytes);
  }
  meminfo_.Read(needed, &buffer_, sample);
  vmstat_.Read(needed, &buffer_, sample);
  if (sample->HasValue(0, kAvailableBytes)) {
    sample->Set(kAvailableMBytes,
                sample->Value(0, kAvailableBytes) / kBytesPerMib);
  }
  if (sample->HasValue(0, kTotalBytes) &&
      sample->HasValue(0, kAvailableBytes)) {
    const uint64_t total = sample->Value(0, kTotalBytes);
    sample->Set(kUsedBytes,
                total - std::min(total, sample->Value(0, kAvailableBytes)));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
