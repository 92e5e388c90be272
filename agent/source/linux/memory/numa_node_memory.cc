#include "agent/source/linux/memory/numa_node_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kTotalMBytes,
  kFreeMBytes,
  kStandbyMBytes,
  kAvailableMBytes,
  kAnonymousMBytes,
  kDirtyMBytes,
  kSlabMBytes,
  kHitsPerSec,
  kMissesPerSec,
  kForeignPerSec,
  kLocalPerSec,
  kRemotePerSec,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Total MBytes", "The memory of the node."},
     "MiB",
     "/sys/devices/system/node/nodeN/meminfo MemTotal"},
    {{1, kPerfCounterRawcount, "Free & Zero Page List MBytes",
      "Unused memory of the node."},
     "MiB",
     "meminfo MemFree"},
    {{2, kPerfCounterRawcount, "Standby List MBytes",
      "File contents in the memory of the node."},
     "MiB",
     "meminfo Active(file) + Inactive(file)",
     "with changes that are not on disk yet"},
    {{3, kPerfCounterRawcount, "Available MBytes",
      "Memory of the node that is unused or can be reclaimed."},
     "MiB",
     "meminfo MemFree + Active(file) + Inactive(file) + SReclaimable",
     "the kernel does not estimate it per node: more than MemAvailable, which "
     "leaves out reserves"},
    {{kFirstLinuxCounterId + 0, kPerfCounterRawcount, "Anonymous MBytes",
      "Memory of programs not backed by files."},
     "MiB",
     "meminfo AnonPages"},
    {{kFirstLinuxCounterId + 1, kPerfCounterRawcount, "Modified MBytes",
      "File contents that are not on disk yet."},
     "MiB",
     "meminfo Dirty + Writeback"},
    {{kFirstLinuxCounterId + 2, kPerfCounterRawcount, "Slab MBytes",
      "Data structures of the kernel."},
     "MiB",
     "meminfo Slab"},
    {{kFirstLinuxCounterId + 3, kPerfCounterBulkCount, "Numa Hits/sec",
      "Pages allocated on this node, which was the intended one."},
     "pages/s",
     "numastat numa_hit"},
    {{kFirstLinuxCounterId + 4, kPerfCounterBulkCount, "Numa Misses/sec",
      "Pages allocated on this node although another one was intended."},
     "pages/s",
     "numastat numa_miss"},
    {{kFirstLinuxCounterId + 5, kPerfCounterBulkCount, "Numa Foreign/sec",
      "Pages intended for this node but allocated on another one."},
     "pages/s",
     "numastat numa_foreign"},
    {{kFirstLinuxCounterId + 6, kPerfCounterBulkCount, "Local Allocations/sec",
      "Pages allocated on this node by a process running there."},
     "pages/s",
     "numastat local_node"},
    {{kFirstLinuxCounterId + 7, kPerfCounterBulkCount, "Remote Allocations/sec",
      "Pages allocated on this node by a process running on another one."},
     "pages/s",
     "numastat other_node"},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kMeminfoColumns = Bit(kHitsPerSec) - 1;  // all before
constexpr ColumnSet kNumastatColumns =
    (Bit(kNumColumns) - 1) & ~kMeminfoColumns;

constexpr KeyedTerm kNumastat[] = {
    {"numa_hit", kHitsPerSec},        {"numa_miss", kMissesPerSec},
    {"numa_foreign", kForeignPerSec}, {"local_node", kLocalPerSec},
    {"other_node", kRemotePerSec},
};

// Lines such as "Node 0 MemTotal:       16316416 kB".
constexpr size_t kWordsBeforeKey = 2;
constexpr KeyedTerm kMeminfo[] = {
    {"MemTotal", kTotalMBytes},
    {"MemFree", kFreeMBytes},
    {"MemFree", kAvailableMBytes},
    {"Active(file)", kStandbyMBytes},
    {"Active(file)", kAvailableMBytes},
    {"Inactive(file)", kStandbyMBytes},
    {"Inactive(file)", kAvailableMBytes},
    {"Dirty", kDirtyMBytes},
    {"Writeback", kDirtyMBytes},
    {"AnonPages", kAnonymousMBytes},
    {"Slab", kSlabMBytes},
    {"SReclaimable", kAvailableMBytes},
};

constexpr uint64_t kKibPerMib = 1024;

// From KiB.
void ConvertToMBytes(CountersetSample* sample) {
  const size_t row = sample->rows() - 1;
  for (size_t i = 0; Has(kMeminfoColumns, i); ++i) {
    if (!sample->HasValue(row, i)) continue;
    sample->Set(i, sample->Value(row, i) / kKibPerMib);
  }
}

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kSum);
  for (size_t i = 0; i < kNumColumns; ++i) {
    if (Has(kNumastatColumns, i)) kinds[i] = TotalKind::kGrowth;
  }
  return kinds;
}

}  // namespace

constinit const LinuxCounterset NumaNodeMemory::kCounterset = {
    .guid = "{b907241c-9fd5-5607-b1e2-f37d5ec4d58b}",
    .name = "NUMA Node Memory",
    .help = "The memory of each NUMA node.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances = "numbers of nodes: `0`, `1`, `_Total`",
    .counters = kCounters};

NumaNodeMemory::NumaNodeMemory(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      root_(root),
      meminfo_(kMeminfo, kWordsBeforeKey),
      numastat_(kNumastat),
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status NumaNodeMemory::Sample(ColumnSet needed, const Clocks& clocks,
                                    CountersetSample* sample) {
  if (list_.IsDue(clocks)) List();
  if (nodes_.empty()) return absl::OkStatus();
  totals_.Begin();
  for (Node& node : nodes_) {
    sample->AddInstance(node.utf16_name, node.number);
    if ((needed & kMeminfoColumns) != 0) {
      if (const auto text = node.meminfo.Read(clocks, &buffer_)) {
        meminfo_.SetColumns(*text, sample);
        ConvertToMBytes(sample);
      }
    }
    if ((needed & kNumastatColumns) != 0) {
      if (const auto text = node.numastat.Read(clocks, &buffer_)) {
        numastat_.SetColumns(*text, sample);
      }
    }
    const size_t row = sample->rows() - 1;
    totals_.Add(node.number, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  return absl::OkStatus();
}

// Nodes that stay keep their open files.
void NumaNodeMemory::List() {
  std::vector<Node> known = std::move(nodes_);
  nodes_.clear();
  const std::string directory = root_ + "/sys/devices/system/node";
  for (const std::string& name : ListNames(directory)) {
    absl::string_view suffix = name;
    uint32_t number = 0;
    if (!absl::ConsumePrefix(&suffix, "node") ||
        !absl::SimpleAtoi(suffix, &number)) {
      continue;
    }
    const auto found =
        std::find_if(known.begin(), known.end(),
                     [&](const Node& node) { return node.number == number; });
    if (found != known.end()) {
      nodes_.push_back(std::move(*found));
      continue;
    }
    const std::string path = absl::StrCat(directory, "/", name);
    nodes_.push_back({.number = number,
                      .utf16_name = Utf16FromUtf8(absl::StrCat(number)),
                      .meminfo = OptionalFile(path + "/meminfo"),
                      .numastat = OptionalFile(path + "/numastat")});
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node& a, const Node& b) { return a.number < b.number; });
}

}  // namespace fleetperf::agent
