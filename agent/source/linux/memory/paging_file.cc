#include "agent/source/linux/memory/paging_file.h"

#include <algorithm>
#include <iterator>

#include "agent/source/linux/octal_escapes.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kUsage,
  kUsagePeak,
  kSizeBase,
  kSize,
  kUsed,
  kNumColumns
};

constexpr uint32_t kSizeBaseId = kFirstLinuxCounterId + 100;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfRawFraction, "% Usage", "The part of the swap space in use.",
      kSizeBaseId},
     "%",
     "/proc/swaps Used, Size"},
    {{1, kPerfRawFraction, "% Usage Peak", "The largest part that was in use.",
      kSizeBaseId},
     "%",
     "/proc/swaps Used, Size",
     "Since the agent's start, at the moments of its readings; Windows knows "
     "the peak since the machine's start."},
    {{kSizeBaseId, kPerfRawBase, "", ""}, "", ""},
    {{kFirstLinuxCounterId + 0, kPerfCounterLargeRawcount, "Size Bytes",
      "Size of the swap space."},
     "bytes",
     "/proc/swaps Size"},
    {{kFirstLinuxCounterId + 1, kPerfCounterLargeRawcount, "Used Bytes",
      "Size of its part in use."},
     "bytes",
     "/proc/swaps Used"},
};
static_assert(std::size(kCounters) == kNumColumns);

struct Usage {
  uint64_t size_kib = 0;
  uint64_t used_kib = 0;
  uint64_t peak_kib = 0;
};

void SetUsage(const Usage& usage, CountersetSample* sample) {
  sample->Set(kUsage, usage.used_kib);
  sample->Set(kUsagePeak, usage.peak_kib);
  sample->Set(kSizeBase, usage.size_kib);
  sample->Set(kSize, usage.size_kib * kBytesPerKib);
  sample->Set(kUsed, usage.used_kib * kBytesPerKib);
}

}  // namespace

constinit const LinuxCounterset PagingFile::kCounterset = {
    .guid = "{d5c1e112-1c3b-5088-b3c7-2a2f8d83ac00}",
    .name = "Paging File",
    .help = "Swap partitions and files.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances = "swap devices and files: `/dev/dm-1`, `/swapfile`, `_Total`",
    .counters = kCounters,
};

PagingFile::PagingFile(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      swaps_(root + "/proc/swaps"),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

// Parses a header and lines such as "/dev/dm-1  partition  4194300  512  -2":
// name, type, size and used in KiB, priority.
absl::Status PagingFile::Sample(ColumnSet, const Clocks&,
                                CountersetSample* sample) {
  absl::StatusOr<absl::string_view> text = swaps_.Read(&buffer_);
  // The kernel may lack CONFIG_SWAP.
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  ++pass_;
  Usage total;
  absl::string_view line;
  NextLine(&*text, &line);
  while (NextLine(&*text, &line)) {
    const absl::string_view name = NextWord(&line);
    NextWord(&line);
    const auto size_kib = NextNumber(&line);
    const auto used_kib = NextNumber(&line);
    if (!size_kib.has_value() || !used_kib.has_value()) continue;
    Swap& swap = GetSwap(name);
    swap.peak_kib = std::max(swap.peak_kib, *used_kib);
    sample->AddInstance(swap.utf16_name, swap.id);
    SetUsage({*size_kib, *used_kib, swap.peak_kib}, sample);
    total.size_kib += *size_kib;
    total.used_kib += *used_kib;
  }
  absl::erase_if(known_, [this](const auto& entry) {
    return entry.second.last_pass != pass_;
  });
  total_peak_kib_ = std::max(total_peak_kib_, total.used_kib);
  total.peak_kib = std::min(total_peak_kib_, total.size_kib);
  sample->AddInstance(utf16_total_name_, 0);
  if (total.size_kib > 0) SetUsage(total, sample);
  return absl::OkStatus();
}

PagingFile::Swap& PagingFile::GetSwap(absl::string_view name) {
  const auto [entry, is_new] = known_.try_emplace(name);
  Swap& swap = entry->second;
  if (is_new) {
    swap.utf16_name = Utf16FromUtf8(DecodeOctal(name));
    swap.id = ++ids_;
  }
  swap.last_pass = pass_;
  return swap;
}

}  // namespace fleetperf::agent
