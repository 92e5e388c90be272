#include "agent/source/linux/memory.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "base/status_macros.h"
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
  kOutOfMemoryKillsPerSec,
  kCompactionStallsPerSec,
  kNumColumns
};

constexpr uint32_t kPercentCommittedBaseId = kFirstLinuxCounterId + 100;

constexpr CounterSpec kCounters[] = {
    {0, kPerfCounterLargeRawcount, "Available Bytes",
     "Memory available to programs without swapping (MemAvailable)."},
    {1, kPerfCounterLargeRawcount, "Available KBytes",
     "The same in units of 1024 bytes."},
    {2, kPerfCounterLargeRawcount, "Available MBytes",
     "The same in units of 1048576 bytes."},
    {3, kPerfCounterLargeRawcount, "Committed Bytes",
     "Memory committed to programs (Committed_AS)."},
    {4, kPerfCounterLargeRawcount, "Commit Limit",
     "Memory that may be committed if overcommitting is off (CommitLimit)."},
    {5, kPerfRawFraction, "% Committed Bytes In Use",
     "Committed Bytes as a percentage of Commit Limit.",
     kPercentCommittedBaseId},
    {kPercentCommittedBaseId, kPerfRawBase, "", ""},
    {6, kPerfCounterCounter, "Page Faults/sec",
     "Page faults, with and without reading from disk (pgfault)."},
    {7, kPerfCounterCounter, "Pages Input/sec",
     "Pages read from swap (pswpin)."},
    {8, kPerfCounterCounter, "Page Reads/sec",
     "Page faults that had to read from disk (pgmajfault)."},
    {9, kPerfCounterCounter, "Pages Output/sec",
     "Pages written to swap (pswpout)."},
    {10, kPerfCounterCounter, "Pages/sec",
     "Pages read from and written to swap."},
    {11, kPerfCounterLargeRawcount, "Cache Bytes",
     "Memory that holds file contents (Cached, Buffers and SReclaimable)."},
    {12, kPerfCounterLargeRawcount, "Free & Zero Page List Bytes",
     "Unused memory (MemFree)."},
    {13, kPerfCounterLargeRawcount, "Modified Page List Bytes",
     "File contents that are not on disk yet (Dirty and Writeback)."},
    {14, kPerfCounterLargeRawcount, "Standby Cache Normal Priority Bytes",
     "File contents not used recently (Inactive(file))."},
    {15, kPerfCounterLargeRawcount, "Pool Nonpaged Bytes",
     "Kernel memory that cannot be reclaimed (SUnreclaim, KernelStack and "
     "PageTables)."},
    {16, kPerfCounterLargeRawcount, "Pool Paged Bytes",
     "Kernel memory that can be reclaimed (SReclaimable)."},
    {17, kPerfCounterCounter, "Transition Faults/sec",
     "File pages that were needed again after they had been reclaimed "
     "(workingset_refault_file)."},
    {18, kPerfCounterCounter, "Transition Pages RePurposed/sec",
     "Pages reclaimed for another purpose (pgsteal_kswapd, pgsteal_direct, "
     "pgsteal_khugepaged and pgsteal_proactive)."},
    {kFirstLinuxCounterId + 0, kPerfCounterLargeRawcount, "Total Bytes",
     "Memory that the kernel manages (MemTotal)."},
    {kFirstLinuxCounterId + 1, kPerfCounterLargeRawcount, "Anonymous Bytes",
     "Memory of programs not backed by files (AnonPages)."},
    {kFirstLinuxCounterId + 2, kPerfCounterLargeRawcount, "Shared Bytes",
     "Shared memory and tmpfs (Shmem)."},
    {kFirstLinuxCounterId + 3, kPerfCounterLargeRawcount, "Swap Total Bytes",
     "Size of the swap space (SwapTotal)."},
    {kFirstLinuxCounterId + 4, kPerfCounterLargeRawcount, "Swap Free Bytes",
     "Unused swap space (SwapFree)."},
    {kFirstLinuxCounterId + 5, kPerfCounterLargeRawcount, "Huge Pages",
     "Huge pages reserved (HugePages_Total)."},
    {kFirstLinuxCounterId + 6, kPerfCounterLargeRawcount, "Huge Pages Free",
     "Huge pages not in use (HugePages_Free)."},
    {kFirstLinuxCounterId + 7, kPerfCounterCounter, "Out Of Memory Kills/sec",
     "Processes killed for lack of memory (oom_kill)."},
    {kFirstLinuxCounterId + 8, kPerfCounterCounter, "Compaction Stalls/sec",
     "Allocations that had to wait for memory to be moved (compact_stall)."},
};
static_assert(std::size(kCounters) == kNumColumns);

// Adds a line's number, times a factor, to a column.
struct Term {
  absl::string_view key;
  Column column;
  uint64_t factor = 1;
};

// In the order of /proc/meminfo of Linux 6.
constexpr Term kMeminfo[] = {
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
constexpr Term kVmstat[] = {
    {"workingset_refault_file", kTransitionFaultsPerSec},
    {"pswpin", kPagesInputPerSec},
    {"pswpin", kPagesPerSec},
    {"pswpout", kPagesOutputPerSec},
    {"pswpout", kPagesPerSec},
    {"pgfault", kPageFaultsPerSec},
    {"pgmajfault", kPageReadsPerSec},
    {"pgsteal_kswapd", kTransitionPagesRepurposedPerSec},
    {"pgsteal_direct", kTransitionPagesRepurposedPerSec},
    {"pgsteal_khugepaged", kTransitionPagesRepurposedPerSec},
    {"pgsteal_proactive", kTransitionPagesRepurposedPerSec},
    {"oom_kill", kOutOfMemoryKillsPerSec},
    {"compact_stall", kCompactionStallsPerSec},
};

constexpr ColumnSet ColumnsOf(absl::Span<const Term> terms) {
  ColumnSet columns = 0;
  for (const Term& term : terms) columns |= Bit(term.column);
  return columns;
}
constexpr ColumnSet kMeminfoColumns =
    ColumnsOf(kMeminfo) | Bit(kAvailableMBytes);
constexpr ColumnSet kVmstatColumns = ColumnsOf(kVmstat);

// Adds the lines "KEY: number ..." or "KEY number" to their columns. `terms`
// should be in the order of the lines, which makes the search cheap. Terms out
// of order are still found.
void AddTerms(absl::string_view text, absl::Span<const Term> terms,
              CountersetSample* sample) {
  std::array<uint64_t, kNumColumns> sums = {};
  ColumnSet present = 0;
  absl::string_view line;
  size_t next = 0;
  while (NextLine(&text, &line)) {
    const absl::string_view key = absl::StripSuffix(NextWord(&line), ":");
    // The search starts after the previous line's terms. It wraps around.
    for (size_t tried = 0; tried < terms.size(); ++tried) {
      const size_t i = (next + tried) % terms.size();
      if (terms[i].key != key) continue;
      const uint64_t number = NumberOrZero(&line);
      for (next = i; next < terms.size() && terms[next].key == key; ++next) {
        sums[terms[next].column] += number * terms[next].factor;
        present |= Bit(terms[next].column);
      }
      break;
    }
  }
  for (size_t i = 0; i < kNumColumns; ++i) {
    if (Has(present, i)) sample->Set(i, sums[i]);
  }
}

}  // namespace

Memory::Memory(const std::string& root)
    : Provider(MakeRegistration("{933f806f-4880-5328-bb67-7672ae6d7a2d}",
                                "Memory", "The machine's memory.",
                                kCountersetSingleInstance, kCounters)),
      meminfo_(root + "/proc/meminfo"),
      vmstat_(root + "/proc/vmstat") {}

absl::Status Memory::Sample(ColumnSet needed, const Clocks&,
                            CountersetSample* sample) {
  sample->AddInstance("", 0);
  if ((needed & kMeminfoColumns) != 0) {
    ASSIGN_OR_RETURN(const absl::string_view text, meminfo_.Read(&buffer_));
    AddTerms(text, kMeminfo, sample);
    if (sample->HasValue(0, kAvailableBytes)) {
      sample->Set(kAvailableMBytes,
                  sample->Value(0, kAvailableBytes) / kBytesPerMib);
    }
  }
  if ((needed & kVmstatColumns) != 0) {
    ASSIGN_OR_RETURN(const absl::string_view text, vmstat_.Read(&buffer_));
    AddTerms(text, kVmstat, sample);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
