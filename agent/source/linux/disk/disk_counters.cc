#include "agent/source/linux/disk/disk_counters.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

// The longest tick of the kernel's timer, in 100 ns.
constexpr uint64_t kKernelTick = k100NSecPerJiffy;
// A request in flight at the first reading has begun at most this long before,
// in 100 ns: the kernel's time-out of SCSI disks, 30 s, with all retries.
constexpr uint64_t kLongestRequest = 180 * uint64_t{10'000'000};

}  // namespace

std::vector<TotalKind> DiskTotalKinds() {
  std::vector<TotalKind> kinds(kNumDiskColumns, TotalKind::kGrowth);
  for (const DiskColumn percentage :
       {kReadTime, kWriteTime, kDiskTime, kIdleTime, kTimestampBase}) {
    kinds[percentage] = TotalKind::kMeanGrowth;
  }
  kinds[kCurrentQueueLength] = TotalKind::kSum;
  kinds[kDiskLifeStart] = TotalKind::kNone;
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

// The number of requests in flight is a difference that some kernels let fall
// below zero. They print it as a large number then, or with a minus sign.
DiskCounts::Line DiskCounts::Parse(absl::string_view text) {
  constexpr uint64_t kMaxInFlight = std::numeric_limits<int32_t>::max();
  Line line;
  for (; line.known_fields < kNumFields; ++line.known_fields) {
    absl::string_view word = NextWord(&text);
    const bool is_there = !word.empty();
    const std::optional<uint64_t> number = NextNumber(&word);
    if (line.known_fields == kInFlight && is_there) {
      if (number.value_or(kMaxInFlight + 1) <= kMaxInFlight) {
        line.in_flight = number;
      }
      continue;
    }
    if (!number.has_value()) break;
    line.fields[line.known_fields] = *number;
  }
  return line;
}

// The kernel prints milliseconds with 32 bits. They are extended to 64 bits
// here, so that the values sent never wrap. A small step back, which some
// kernels make, counts as no change.
bool DiskCounts::Update(absl::string_view fields, const perflib::Clocks& clocks,
                        const TimeBound& bound) {
  const Line line = Parse(fields);
  known_fields_ = line.known_fields;
  in_flight_ = line.in_flight;
  growth_ = {};
  if (line.known_fields == 0) return false;
  Fields extended = line.fields;
  for (size_t i = 0; i < kNumFields; ++i) {
    if (!IsMilliseconds(i)) continue;
    const auto growth = static_cast<uint32_t>(line.fields[i] - fields_[i]);
    extended[i] = fields_[i] + (growth < kMinBackwardStep ? growth : 0);
  }
  if (!has_begun_ || !IsSameDevice(extended, bound)) {
    if (std::exchange(has_begun_, true)) life_start_ = LifeStart(clocks);
    fields_ = line.fields;
    BeginIdleTime(clocks);
    return true;
  }
  for (size_t i = 0; i < kNumFields; ++i) {
    if (extended[i] > fields_[i]) growth_[i] = extended[i] - fields_[i];
  }
  fields_ = extended;
  CountIdleTime(clocks, /*max_ahead=*/std::numeric_limits<uint64_t>::max());
  return false;
}

bool DiskCounts::IsSameDevice(const Fields& now, const TimeBound& bound) const {
  const uint64_t was_busy = fields_[kMillisecondsBusy] * k100NSecPerMillisecond;
  const uint64_t is_busy = now[kMillisecondsBusy] * k100NSecPerMillisecond;
  const uint64_t late = std::min(busy_later_, is_busy - was_busy);
  return now[kReads] >= fields_[kReads] && now[kWrites] >= fields_[kWrites] &&
         bound.Allows(was_busy, is_busy - late);
}

void DiskCounts::AddGrowth(absl::Span<const DiskCounts* const> parts,
                           const perflib::Clocks& clocks) {
  const bool begins = !std::exchange(has_begun_, true);
  growth_ = {};
  in_flight_.reset();
  for (const DiskCounts* part : parts) {
    known_fields_ = std::max(known_fields_, part->known_fields_);
    life_start_ = std::max(life_start_, part->life_start_);
    if (part->in_flight_.has_value()) {
      in_flight_ = in_flight_.value_or(0) + *part->in_flight_;
    }
    for (size_t i = 0; i < kNumFields; ++i) {
      growth_[i] += begins ? part->fields_[i] : part->growth_[i];
    }
  }
  for (size_t i = 0; i < kNumFields; ++i) fields_[i] += growth_[i];
  if (begins) {
    BeginIdleTime(clocks);
  } else {
    CountIdleTime(clocks, kKernelTick);
  }
}

// kLinuxPerfFreq makes the clock's ticks 100 ns long.
void DiskCounts::BeginIdleTime(const perflib::Clocks& clocks) {
  counted_at_ = clocks.perf_time_stamp;
  const auto now = static_cast<uint64_t>(clocks.perf_time_stamp);
  const uint64_t busy = fields_[kMillisecondsBusy] * k100NSecPerMillisecond;
  idle_time_ = now > busy ? now - busy : 0;
  busy_ahead_ = 0;
  busy_later_ = MayBeBusy() ? kLongestRequest : 0;
}

// The busy time can be ahead of the clock: it advances in steps of the kernel's
// timer, the clock is read first, and the kernel may add the time of a request
// at its end. In that case the disk counts as not idle, and the excess is taken
// from the next time, up to `max_ahead`: for paths that are busy at the same
// time the excess is greater, and the disk was not busy that long.
void DiskCounts::CountIdleTime(const perflib::Clocks& clocks,
                               uint64_t max_ahead) {
  const auto elapsed = static_cast<uint64_t>(
      std::max<int64_t>(clocks.perf_time_stamp -
                            std::exchange(counted_at_, clocks.perf_time_stamp),
                        0));
  const uint64_t busy =
      growth_[kMillisecondsBusy] * k100NSecPerMillisecond + busy_ahead_;
  if (elapsed > busy) idle_time_ += elapsed - busy;
  busy_ahead_ = busy > elapsed ? std::min(busy - elapsed, max_ahead) : 0;
  busy_later_ += elapsed;
  busy_later_ = MayBeBusy() && busy_later_ > busy ? busy_later_ - busy : 0;
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
  const struct {
    DiskColumn column;
    Field last_field;  // that the value needs
    uint64_t value;
  } kValues[] = {
      {kDiskLifeStart, kReads, life_start_},
      {kTimestampBase, kReads, static_cast<uint64_t>(clocks.perf_time_stamp)},
      {kReadsPerSec, kReads, fields_[kReads]},
      {kReadsBase, kReads, fields_[kReads]},
      {kReadBytesPerSec, kSectorsRead, read_bytes},
      {kBytesPerRead, kSectorsRead, read_bytes},
      {kReadTime, kMillisecondsReading, read_time},
      {kAverageReadQueueLength, kMillisecondsReading, read_time},
      {kSecondsPerRead, kMillisecondsReading, read_time},
      {kWritesPerSec, kWrites, fields_[kWrites]},
      {kWritesBase, kWrites, fields_[kWrites]},
      {kTransfersPerSec, kWrites, transfers},
      {kTransfersBase, kWrites, transfers},
      {kMergesPerSec, kWritesMerged,
       fields_[kReadsMerged] + fields_[kWritesMerged]},
      {kWriteBytesPerSec, kSectorsWritten, write_bytes},
      {kBytesPerWrite, kSectorsWritten, write_bytes},
      {kBytesPerSec, kSectorsWritten, read_bytes + write_bytes},
      {kBytesPerTransfer, kSectorsWritten, read_bytes + write_bytes},
      {kWriteTime, kMillisecondsWriting, write_time},
      {kAverageWriteQueueLength, kMillisecondsWriting, write_time},
      {kSecondsPerWrite, kMillisecondsWriting, write_time},
      {kDiskTime, kMillisecondsWriting, read_time + write_time},
      {kSecondsPerTransfer, kMillisecondsWriting, read_time + write_time},
      {kIdleTime, kMillisecondsBusy, idle_time_},
      {kAverageQueueLength, kMillisecondsWeighted, time(kMillisecondsWeighted)},
      {kDiscardsPerSec, kMillisecondsDiscarding, fields_[kDiscards]},
      {kDiscardBytesPerSec, kMillisecondsDiscarding,
       fields_[kSectorsDiscarded] * kBytesPerSector},
      {kSecondsPerDiscard, kMillisecondsDiscarding,
       time(kMillisecondsDiscarding)},
      {kDiscardsBase, kMillisecondsDiscarding, fields_[kDiscards]},
      {kFlushesPerSec, kMillisecondsFlushing, fields_[kFlushes]},
      {kSecondsPerFlush, kMillisecondsFlushing, time(kMillisecondsFlushing)},
      {kFlushesBase, kMillisecondsFlushing, fields_[kFlushes]},
  };
  for (const auto& [column, last_field, value] : kValues) {
    if (known_fields_ > last_field) sample->Set(column, value);
  }
  if (in_flight_.has_value()) sample->Set(kCurrentQueueLength, *in_flight_);
}

}  // namespace fleetperf::agent
