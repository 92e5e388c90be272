#include "agent/source/linux/disk_counters.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

constexpr absl::string_view kLayeredPrefixes[] = {
    "loop", "ram", "zram", "dm-", "md", "bcache", "drbd", "zd", "sr", "fd"};

}  // namespace

std::vector<TotalKind> DiskTotalKinds() {
  std::vector<TotalKind> kinds(kNumDiskColumns, TotalKind::kGrowth);
  for (const DiskColumn percentage :
       {kReadTime, kWriteTime, kDiskTime, kIdleTime, kTimestampBase}) {
    kinds[percentage] = TotalKind::kMeanGrowth;
  }
  kinds[kCurrentQueueLength] = TotalKind::kSum;
  return kinds;
}

std::optional<uint32_t> ParseDeviceNumber(absl::string_view text) {
  const std::optional<uint64_t> major = NextNumber(&text);
  if (!major.has_value() || !absl::ConsumePrefix(&text, ":")) {
    return std::nullopt;
  }
  const std::optional<uint64_t> minor = NextNumber(&text);
  if (!minor.has_value()) return std::nullopt;
  return DeviceNumber(*major, *minor);
}

bool IsLayeredDevice(absl::string_view name) {
  return std::any_of(
      std::begin(kLayeredPrefixes), std::end(kLayeredPrefixes),
      [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

bool NextDisk(absl::string_view* text, DiskLine* line) {
  absl::string_view rest;
  if (!NextLine(text, &rest)) return false;
  const uint64_t major = NumberOrZero(&rest);
  const uint64_t minor = NumberOrZero(&rest);
  line->device = DeviceNumber(major, minor);
  line->name = NextWord(&rest);
  line->fields = rest;
  return true;
}

bool DiskCounts::IsMilliseconds(size_t field) {
  switch (field) {
    case kMillisecondsReading:
    case kMillisecondsWriting:
    case kMillisecondsBusy:
    case kMillisecondsWeighted:
    case kMillisecondsDiscarding:
    case kMillisecondsFlushing:
      return true;
    default:
      return false;
  }
}

// The kernel prints milliseconds with 32 bits. They are extended to 64 bits
// here, so that the values sent never wrap. A small step back, which some
// kernels make, counts as no change. A replaced disk starts over.
bool DiskCounts::Update(absl::string_view fields,
                        const perflib::Clocks& clocks) {
  Fields read = {};
  known_fields_ = 0;
  while (known_fields_ < kNumFields) {
    const std::optional<uint64_t> field = NextNumber(&fields);
    if (!field.has_value()) break;
    read[known_fields_++] = *field;
  }
  const bool begins = !std::exchange(was_read_, true) ||
                      read[kReads] < fields_[kReads] ||
                      read[kWrites] < fields_[kWrites];
  for (size_t i = 0; i < kNumFields; ++i) {
    if (IsMilliseconds(i) && !begins) {
      const auto growth = static_cast<uint32_t>(read[i] - fields_[i]);
      if (growth < kMinBackwardStep) fields_[i] += growth;
    } else {
      fields_[i] = read[i];
    }
  }
  // kLinuxPerfFreq makes the clock's ticks 100 ns long. The busy time advances
  // in steps of the kernel's timer and can be ahead of the clock, which is read
  // first. In that case the disk counts as not idle, and its idle time stays
  // unchanged.
  const auto now = static_cast<uint64_t>(clocks.perf_time_stamp);
  const uint64_t busy = fields_[kMillisecondsBusy] * k100NSecPerMillisecond;
  const uint64_t idle = now > busy ? now - busy : 0;
  idle_time_ = begins ? idle : std::max(idle_time_, idle);
  return begins;
}

void DiskCounts::SetValues(const perflib::Clocks& clocks,
                           CountersetSample* sample) const {
  const auto time = [this](Field field) {
    return fields_[field] * k100NSecPerMillisecond;
  };
  const uint64_t read_time = time(kMillisecondsReading);
  const uint64_t write_time = time(kMillisecondsWriting);
  const uint64_t read_bytes = fields_[kSectorsRead] * kBytesPerSector;
  const uint64_t write_bytes = fields_[kSectorsWritten] * kBytesPerSector;
  const uint64_t transfers = fields_[kReads] + fields_[kWrites];

  sample->Set(kReadTime, read_time);
  sample->Set(kWriteTime, write_time);
  sample->Set(kDiskTime, read_time + write_time);
  sample->Set(kIdleTime, idle_time_);
  sample->Set(kTimestampBase, static_cast<uint64_t>(clocks.perf_time_stamp));
  sample->Set(kCurrentQueueLength, fields_[kInFlight]);
  sample->Set(kAverageQueueLength, time(kMillisecondsWeighted));
  sample->Set(kAverageReadQueueLength, read_time);
  sample->Set(kAverageWriteQueueLength, write_time);
  sample->Set(kSecondsPerTransfer, read_time + write_time);
  sample->Set(kSecondsPerRead, read_time);
  sample->Set(kSecondsPerWrite, write_time);
  sample->Set(kTransfersPerSec, transfers);
  sample->Set(kReadsPerSec, fields_[kReads]);
  sample->Set(kWritesPerSec, fields_[kWrites]);
  sample->Set(kBytesPerSec, read_bytes + write_bytes);
  sample->Set(kReadBytesPerSec, read_bytes);
  sample->Set(kWriteBytesPerSec, write_bytes);
  sample->Set(kBytesPerTransfer, read_bytes + write_bytes);
  sample->Set(kBytesPerRead, read_bytes);
  sample->Set(kBytesPerWrite, write_bytes);
  sample->Set(kTransfersBase, transfers);
  sample->Set(kReadsBase, fields_[kReads]);
  sample->Set(kWritesBase, fields_[kWrites]);
  sample->Set(kMergesPerSec, fields_[kReadsMerged] + fields_[kWritesMerged]);
  if (known_fields_ > kMillisecondsDiscarding) {
    sample->Set(kDiscardsPerSec, fields_[kDiscards]);
    sample->Set(kDiscardBytesPerSec,
                fields_[kSectorsDiscarded] * kBytesPerSector);
    sample->Set(kSecondsPerDiscard, time(kMillisecondsDiscarding));
    sample->Set(kDiscardsBase, fields_[kDiscards]);
  }
  if (known_fields_ > kMillisecondsFlushing) {
    sample->Set(kFlushesPerSec, fields_[kFlushes]);
    sample->Set(kSecondsPerFlush, time(kMillisecondsFlushing));
    sample->Set(kFlushesBase, fields_[kFlushes]);
  }
}

}  // namespace fleetperf::agent
