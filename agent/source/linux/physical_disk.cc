#include "agent/source/linux/physical_disk.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kReadTime,
  kWriteTime,
  kDiskTime,
  kIdleTime,
  kCurrentQueueLength,
  kAverageQueueLength,
  kAverageReadQueueLength,
  kAverageWriteQueueLength,
  kSecondsPerTransfer,
  kSecondsPerRead,
  kSecondsPerWrite,
  kTransfersPerSec,
  kReadsPerSec,
  kWritesPerSec,
  kBytesPerSec,
  kReadBytesPerSec,
  kWriteBytesPerSec,
  kBytesPerTransfer,
  kBytesPerRead,
  kBytesPerWrite,
  kTimestampBase,
  kTransfersBase,
  kReadsBase,
  kWritesBase,
  kMergesPerSec,
  kDiscardsPerSec,
  kDiscardBytesPerSec,
  kFlushesPerSec,
  kNumColumns
};

constexpr uint32_t kTimestampId = kFirstLinuxCounterId + 100;
constexpr uint32_t kTransfersBaseId = kFirstLinuxCounterId + 101;
constexpr uint32_t kReadsBaseId = kFirstLinuxCounterId + 102;
constexpr uint32_t kWritesBaseId = kFirstLinuxCounterId + 103;

constexpr CounterSpec kCounters[] = {
    {0, kPerfPrecision100NsTimer, "% Disk Read Time",
     "Time spent on reads; overlapping requests count separately.",
     kTimestampId},
    {1, kPerfPrecision100NsTimer, "% Disk Write Time",
     "Time spent on writes; overlapping requests count separately.",
     kTimestampId},
    {2, kPerfPrecision100NsTimer, "% Disk Time",
     "Time spent on reads and writes; overlapping requests count separately.",
     kTimestampId},
    {3, kPerfPrecision100NsTimer, "% Idle Time",
     "Time in which the disk had no request.", kTimestampId},
    {4, kPerfCounterRawcount, "Current Disk Queue Length",
     "Requests that are being served."},
    {5, kPerfCounter100NsQueuelenType, "Avg. Disk Queue Length",
     "The average number of requests being served."},
    {6, kPerfCounter100NsQueuelenType, "Avg. Disk Read Queue Length",
     "The average number of reads being served."},
    {7, kPerfCounter100NsQueuelenType, "Avg. Disk Write Queue Length",
     "The average number of writes being served."},
    {8, kPerfAverageTimer, "Avg. Disk sec/Transfer",
     "The average time of a read or write.", kTransfersBaseId},
    {9, kPerfAverageTimer, "Avg. Disk sec/Read", "The average time of a read.",
     kReadsBaseId},
    {10, kPerfAverageTimer, "Avg. Disk sec/Write",
     "The average time of a write.", kWritesBaseId},
    {11, kPerfCounterCounter, "Disk Transfers/sec", "Reads and writes."},
    {12, kPerfCounterCounter, "Disk Reads/sec", "Reads that were completed."},
    {13, kPerfCounterCounter, "Disk Writes/sec", "Writes that were completed."},
    {14, kPerfCounterBulkCount, "Disk Bytes/sec", "Bytes read and written."},
    {15, kPerfCounterBulkCount, "Disk Read Bytes/sec", "Bytes read."},
    {16, kPerfCounterBulkCount, "Disk Write Bytes/sec", "Bytes written."},
    {17, kPerfAverageBulk, "Avg. Disk Bytes/Transfer",
     "The average size of a read or write.", kTransfersBaseId},
    {18, kPerfAverageBulk, "Avg. Disk Bytes/Read",
     "The average size of a read.", kReadsBaseId},
    {19, kPerfAverageBulk, "Avg. Disk Bytes/Write",
     "The average size of a write.", kWritesBaseId},
    {kTimestampId, kPerfLargeRawBase, "", ""},
    {kTransfersBaseId, kPerfAverageBase, "", ""},
    {kReadsBaseId, kPerfAverageBase, "", ""},
    {kWritesBaseId, kPerfAverageBase, "", ""},
    {kFirstLinuxCounterId + 0, kPerfCounterCounter, "Disk Merges/sec",
     "Requests merged with an adjacent request."},
    {kFirstLinuxCounterId + 1, kPerfCounterCounter, "Disk Discards/sec",
     "Discards that were completed."},
    {kFirstLinuxCounterId + 2, kPerfCounterBulkCount, "Disk Discard Bytes/sec",
     "Bytes discarded."},
    {kFirstLinuxCounterId + 3, kPerfCounterCounter, "Disk Flushes/sec",
     "Flushes of the disk's cache."},
};
static_assert(std::size(kCounters) == kNumColumns);

// Percentages of several disks are averaged, all other values added.
std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds(kNumColumns, TotalKind::kGrowth);
  for (const Column percentage :
       {kReadTime, kWriteTime, kDiskTime, kIdleTime, kTimestampBase}) {
    kinds[percentage] = TotalKind::kMeanGrowth;
  }
  kinds[kCurrentQueueLength] = TotalKind::kSum;
  return kinds;
}

// Devices that are not disks: memory, files, and layers over other devices,
// whose requests would count twice.
constexpr absl::string_view kSkippedPrefixes[] = {"loop", "ram", "zram", "dm-",
                                                  "md",   "sr",  "fd"};

bool IsSkipped(absl::string_view name) {
  return std::any_of(
      std::begin(kSkippedPrefixes), std::end(kSkippedPrefixes),
      [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

}  // namespace

PhysicalDisk::PhysicalDisk(const std::string& root)
    : Provider(MakeRegistration(
          "{4838a6c0-4cc7-5050-a2c8-c46ed5af173d}", "PhysicalDisk",
          "Whole disks.", kCountersetMultipleInstances | kCountersetAggregate,
          kCounters)),
      root_(root),
      diskstats_(root + "/proc/diskstats"),
      // A new disk's clock starts at the current time, not at zero.
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status PhysicalDisk::Sample(ColumnSet, const Clocks& clocks,
                                  CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, diskstats_.Read(&buffer_));
  totals_.Begin();
  absl::string_view line;
  while (NextLine(&text, &line)) {
    const uint64_t major = NumberOrZero(&line);
    const uint64_t minor = NumberOrZero(&line);
    const uint32_t device = static_cast<uint32_t>(major << 20 | minor);
    Disk& disk = GetDisk(device, NextWord(&line));
    if (!disk.is_whole) continue;
    Fields read = {};
    for (uint64_t& field : read) field = NumberOrZero(&line);
    Update(read, clocks, disk);
    sample->AddInstance(disk.utf16_name, device);
    AddDisk(disk, clocks, sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(device, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  return absl::OkStatus();
}

PhysicalDisk::Disk& PhysicalDisk::GetDisk(uint32_t device,
                                          absl::string_view name) {
  const auto [entry, is_new] = disks_.try_emplace(device);
  Disk& disk = entry->second;
  std::string utf16_name = Utf16FromUtf8(name);
  if (!is_new && disk.utf16_name == utf16_name) return disk;
  // Partitions have no directory in /sys/block.
  const std::string directory = absl::StrCat(
      root_, "/sys/block/", absl::StrReplaceAll(name, {{"/", "!"}}));
  disk = {.is_whole = !IsSkipped(name) && FileExists(directory),
          .utf16_name = std::move(utf16_name)};
  return disk;
}

// The kernel prints milliseconds with 32 bits. They are extended to 64 bits
// here, so that the values sent never wrap. A small step back, which some
// kernels make, counts as no change. A replaced disk starts over.
void PhysicalDisk::Update(const Fields& read, const Clocks& clocks,
                          Disk& disk) {
  Fields& fields = disk.fields;
  const bool begins = !std::exchange(disk.was_read, true) ||
                      read[kReads] < fields[kReads] ||
                      read[kWrites] < fields[kWrites];
  for (size_t i = 0; i < kNumFields; ++i) {
    const bool milliseconds =
        i == kMillisecondsReading || i == kMillisecondsWriting ||
        i == kMillisecondsBusy || i == kMillisecondsWeighted;
    if (milliseconds && !begins) {
      const auto growth = static_cast<uint32_t>(read[i] - fields[i]);
      if (growth < kMinBackwardStep) fields[i] += growth;
    } else {
      fields[i] = read[i];
    }
  }
  // kLinuxPerfFreq makes the clock's ticks 100 ns long. The busy time advances
  // in steps of the kernel's timer and can be ahead of the clock, which is read
  // first. In that case the disk counts as not idle, and its idle time stays
  // unchanged.
  const auto now = static_cast<uint64_t>(clocks.perf_time_stamp);
  const uint64_t busy = fields[kMillisecondsBusy] * k100NSecPerMillisecond;
  const uint64_t idle = now > busy ? now - busy : 0;
  disk.idle_time = begins ? idle : std::max(disk.idle_time, idle);
}

void PhysicalDisk::AddDisk(const Disk& disk, const Clocks& clocks,
                           CountersetSample* sample) {
  const Fields& fields = disk.fields;
  const auto time = [&](Field field) {
    return fields[field] * k100NSecPerMillisecond;
  };
  const uint64_t read_time = time(kMillisecondsReading);
  const uint64_t write_time = time(kMillisecondsWriting);
  const uint64_t read_bytes = fields[kSectorsRead] * kBytesPerSector;
  const uint64_t write_bytes = fields[kSectorsWritten] * kBytesPerSector;
  const uint64_t transfers = fields[kReads] + fields[kWrites];

  sample->Set(kReadTime, read_time);
  sample->Set(kWriteTime, write_time);
  sample->Set(kDiskTime, read_time + write_time);
  sample->Set(kIdleTime, disk.idle_time);
  sample->Set(kTimestampBase, static_cast<uint64_t>(clocks.perf_time_stamp));
  sample->Set(kCurrentQueueLength, fields[kInFlight]);
  sample->Set(kAverageQueueLength, time(kMillisecondsWeighted));
  sample->Set(kAverageReadQueueLength, read_time);
  sample->Set(kAverageWriteQueueLength, write_time);
  sample->Set(kSecondsPerTransfer, read_time + write_time);
  sample->Set(kSecondsPerRead, read_time);
  sample->Set(kSecondsPerWrite, write_time);
  sample->Set(kTransfersPerSec, transfers);
  sample->Set(kReadsPerSec, fields[kReads]);
  sample->Set(kWritesPerSec, fields[kWrites]);
  sample->Set(kBytesPerSec, read_bytes + write_bytes);
  sample->Set(kReadBytesPerSec, read_bytes);
  sample->Set(kWriteBytesPerSec, write_bytes);
  sample->Set(kBytesPerTransfer, read_bytes + write_bytes);
  sample->Set(kBytesPerRead, read_bytes);
  sample->Set(kBytesPerWrite, write_bytes);
  sample->Set(kTransfersBase, transfers);
  sample->Set(kReadsBase, fields[kReads]);
  sample->Set(kWritesBase, fields[kWrites]);
  sample->Set(kMergesPerSec, fields[kReadsMerged] + fields[kWritesMerged]);
  sample->Set(kDiscardsPerSec, fields[kDiscards]);
  sample->Set(kDiscardBytesPerSec, fields[kSectorsDiscarded] * kBytesPerSector);
  sample->Set(kFlushesPerSec, fields[kFlushes]);
}

}  // namespace fleetperf::agent
