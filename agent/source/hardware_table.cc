#include "agent/source/hardware_table.h"

#include <iterator>

#include "absl/numeric/int128.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/registration.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types
using hardware::HardwareCount;
using hardware::HardwareReading;

enum Column : size_t {
  kInstructionsPerSec,
  kCyclesPerSec,
  kReferenceCyclesPerSec,
  kInstructionsPerCycle,
  kInstructionsPerTimestamp,
  kPercentActive,
  kActiveFrequency,
  kAverageFrequency,
  kL1LoadsPerSec,
  kL1MissesPerSec,
  kPercentL1Misses,
  kL2HitsPerSec,
  kL2MissesPerSec,
  kPercentL2Hits,
  kL2MissesPerInstruction,
  kL3ReferencesPerSec,
  kL3MissesPerSec,
  kPercentL3Hits,
  kL3MissesPerInstruction,
  kL3OccupancyBytes,
  kBranchesPerSec,
  kBranchMissesPerSec,
  kPercentBranchMisses,
  kPercentRetiring,
  kPercentBadSpeculation,
  kPercentFrontendBound,
  kPercentBackendBound,
  kTemperature,
  kPackagePower,
  kMemoryPower,
  kUncoreFrequency,
  kMemoryReadBytesPerSec,
  kMemoryWriteBytesPerSec,
  kLocalMemoryBytesPerSec,
  kRemoteMemoryBytesPerSec,
  kPercentTimeCounted,
  kCyclesBase,
  kInstructionsBase,
  kTimestampAverageBase,
  kTimestampSampleBase,
  kActiveTimeBase,
  kTimeBase,
  kL1LoadsBase,
  kL2AccessesBase,
  kL3ReferencesBase,
  kBranchesBase,
  kSlotsBase,
  kTimeEnabledBase,
  kL3InstructionsBase,
  kNumColumns
};

// The ids of bases follow those of counters.
constexpr uint32_t kFirstBaseId = 200;
constexpr uint32_t BaseId(Column base) {
  return kFirstBaseId + static_cast<uint32_t>(base - kCyclesBase);
}
constexpr CounterSpec Base(Column base, uint32_t type) {
  return {BaseId(base), type, "", ""};
}

// Cycles per 100 ns are tens of MHz.
constexpr int kMegahertzScale = 1;
constexpr int kMicroScale = -6;
constexpr uint64_t kHertzPerMegahertz = 1'000'000;

constexpr CounterSpec kCounters[] = {
    {1, kPerfCounterBulkCount, "Instructions/sec", "Instructions retired."},
    {2, kPerfCounterBulkCount, "Cycles/sec",
     "Cycles in which the CPU was not halted."},
    {3, kPerfCounterBulkCount, "Reference Cycles/sec",
     "The same time in cycles of the timestamp counter."},
    {4, kPerfAverageBulk, "IPC", "Instructions per cycle.",
     BaseId(kCyclesBase)},
    {5, kPerfAverageBulk, "EXEC",
     "Instructions per cycle of the timestamp counter, halted cycles included.",
     BaseId(kTimestampAverageBase)},
    {6, kPerfSampleFraction, "% Active",
     "The share of time in which the CPU was not halted.",
     BaseId(kTimestampSampleBase)},
    {7, kPerfAverageBulk, "Active Frequency",
     "The frequency in MHz while the CPU was not halted.",
     BaseId(kActiveTimeBase), kNoCounter, kNoCounter, kMegahertzScale},
    {8, kPerfAverageBulk, "Average Frequency",
     "Cycles in MHz, halted time included.", BaseId(kTimeBase), kNoCounter,
     kNoCounter, kMegahertzScale},
    {10, kPerfCounterBulkCount, "L1 Data Loads/sec", "Loads."},
    {11, kPerfCounterBulkCount, "L1 Data Misses/sec",
     "Loads that missed the first-level data cache."},
    {12, kPerfSampleFraction, "% L1 Data Misses",
     "The share of loads that missed the first-level data cache.",
     BaseId(kL1LoadsBase)},
    {20, kPerfCounterBulkCount, "L2 Hits/sec",
     "Loads that the second-level cache served."},
    {21, kPerfCounterBulkCount, "L2 Misses/sec",
     "Loads that missed the second-level cache."},
    {22, kPerfSampleFraction, "% L2 Hits",
     "The share of hits in the second-level cache.", BaseId(kL2AccessesBase)},
    {23, kPerfAverageBulk, "L2 Misses per Instruction",
     "Misses of the second-level cache per instruction.",
     BaseId(kInstructionsBase)},
    {30, kPerfCounterBulkCount, "L3 References/sec",
     "References to the last-level cache."},
    {31, kPerfCounterBulkCount, "L3 Misses/sec",
     "References that missed the last-level cache."},
    {32, kPerfSampleFraction, "% L3 Hits",
     "The share of references that the last-level cache served.",
     BaseId(kL3ReferencesBase)},
    {33, kPerfAverageBulk, "L3 Misses per Instruction",
     "Misses of the last-level cache per instruction.",
     BaseId(kL3InstructionsBase)},
    {34, kPerfCounterLargeRawcount, "L3 Occupancy Bytes",
     "What the CPUs that share the last-level cache have in it."},
    {40, kPerfCounterBulkCount, "Branches/sec", "Branches retired."},
    {41, kPerfCounterBulkCount, "Branch Misses/sec",
     "Branches that were predicted wrongly."},
    {42, kPerfSampleFraction, "% Branch Misses",
     "The share of branches that were predicted wrongly.",
     BaseId(kBranchesBase)},
    {50, kPerfSampleFraction, "% Retiring",
     "Pipeline slots whose operations retired.", BaseId(kSlotsBase)},
    {51, kPerfSampleFraction, "% Bad Speculation",
     "Pipeline slots of operations that were cancelled.", BaseId(kSlotsBase)},
    {52, kPerfSampleFraction, "% Frontend Bound",
     "Pipeline slots without an operation from the front end.",
     BaseId(kSlotsBase)},
    {53, kPerfSampleFraction, "% Backend Bound",
     "Pipeline slots that waited for the back end.", BaseId(kSlotsBase)},
    {60, kPerfCounterRawcount, "Temperature",
     "The core's temperature in degrees Celsius."},
    {61, kPerfCounterBulkCount, "Package Power",
     "Power of the package in watts.", kNoCounter, kNoCounter, kNoCounter,
     kMicroScale},
    {62, kPerfCounterBulkCount, "Memory Power", "Power of the memory in watts.",
     kNoCounter, kNoCounter, kNoCounter, kMicroScale},
    {63, kPerfCounterRawcount, "Uncore Frequency",
     "The frequency of the package's uncore in MHz."},
    {70, kPerfCounterBulkCount, "Memory Read Bytes/sec",
     "Bytes that the package's memory controllers read."},
    {71, kPerfCounterBulkCount, "Memory Write Bytes/sec",
     "Bytes that the package's memory controllers wrote."},
    {72, kPerfCounterBulkCount, "Local Memory Bytes/sec",
     "Bytes of the CPUs' own memory through the last-level cache."},
    {73, kPerfCounterBulkCount, "Remote Memory Bytes/sec",
     "Bytes of the memory of other nodes through the last-level cache."},
    {80, kPerfSampleFraction, "% Time Counted",
     "The share of time in which events were counted. Below 100 % they take "
     "turns on too few hardware counters, and their counts are scaled up.",
     BaseId(kTimeEnabledBase)},
    Base(kCyclesBase, kPerfAverageBase),
    Base(kInstructionsBase, kPerfAverageBase),
    Base(kTimestampAverageBase, kPerfAverageBase),
    Base(kTimestampSampleBase, kPerfSampleBase),
    Base(kActiveTimeBase, kPerfAverageBase),
    Base(kTimeBase, kPerfAverageBase),
    Base(kL1LoadsBase, kPerfSampleBase),
    Base(kL2AccessesBase, kPerfSampleBase),
    Base(kL3ReferencesBase, kPerfSampleBase),
    Base(kBranchesBase, kPerfSampleBase),
    Base(kSlotsBase, kPerfSampleBase),
    Base(kTimeEnabledBase, kPerfSampleBase),
    Base(kL3InstructionsBase, kPerfAverageBase),
};
static_assert(std::size(kCounters) == kNumColumns);

// Columns that are a count as it is. Some counters share a count.
struct Plain {
  Column column;
  HardwareCount count;
};
constexpr Plain kPlain[] = {
    {kInstructionsPerSec, HardwareCount::kInstructions},
    {kInstructionsPerCycle, HardwareCount::kInstructions},
    {kInstructionsPerTimestamp, HardwareCount::kInstructions},
    {kInstructionsBase, HardwareCount::kInstructions},
    {kCyclesPerSec, HardwareCount::kCycles},
    {kActiveFrequency, HardwareCount::kCycles},
    {kAverageFrequency, HardwareCount::kCycles},
    {kCyclesBase, HardwareCount::kCycles},
    {kReferenceCyclesPerSec, HardwareCount::kReferenceCycles},
    {kPercentActive, HardwareCount::kReferenceCycles},
    {kTimestampAverageBase, HardwareCount::kTimestamp},
    {kTimestampSampleBase, HardwareCount::kTimestamp},
    {kL1LoadsPerSec, HardwareCount::kL1Loads},
    {kL1LoadsBase, HardwareCount::kL1Loads},
    {kL1MissesPerSec, HardwareCount::kL1Misses},
    {kPercentL1Misses, HardwareCount::kL1Misses},
    {kL2HitsPerSec, HardwareCount::kL2Hits},
    {kPercentL2Hits, HardwareCount::kL2Hits},
    {kL2MissesPerSec, HardwareCount::kL2Misses},
    {kL2MissesPerInstruction, HardwareCount::kL2Misses},
    {kL3ReferencesPerSec, HardwareCount::kL3References},
    {kL3ReferencesBase, HardwareCount::kL3References},
    {kL3MissesPerSec, HardwareCount::kL3Misses},
    {kL3InstructionsBase, HardwareCount::kL3Instructions},
    {kBranchesPerSec, HardwareCount::kBranches},
    {kBranchesBase, HardwareCount::kBranches},
    {kBranchMissesPerSec, HardwareCount::kBranchMisses},
    {kPercentBranchMisses, HardwareCount::kBranchMisses},
    {kSlotsBase, HardwareCount::kSlots},
    {kPercentRetiring, HardwareCount::kRetiring},
    {kPercentBadSpeculation, HardwareCount::kBadSpeculation},
    {kPercentFrontendBound, HardwareCount::kFrontendBound},
    {kPercentBackendBound, HardwareCount::kBackendBound},
    {kPackagePower, HardwareCount::kPackageMicrojoules},
    {kMemoryPower, HardwareCount::kMemoryMicrojoules},
    {kMemoryReadBytesPerSec, HardwareCount::kMemoryReadBytes},
    {kMemoryWriteBytesPerSec, HardwareCount::kMemoryWriteBytes},
    {kLocalMemoryBytesPerSec, HardwareCount::kLocalMemoryBytes},
    {kRemoteMemoryBytesPerSec, HardwareCount::kRemoteMemoryBytes},
    {kTimeEnabledBase, HardwareCount::kTimeEnabled},
    {kPercentTimeCounted, HardwareCount::kTimeRunning},
};

}  // namespace

perflib::CountersetRegistration HardwareRegistration() {
  return MakeRegistration(
      "{698967bc-e890-5d39-88aa-85a77fe63aef}", "Hardware Counters",
      "Counts of the processors' performance monitoring units.",
      "fleetperf hardware counters",
      kCountersetMultipleInstances | kCountersetAggregate, kCounters);
}

std::optional<HardwareCount> HardwareCountOf(size_t column) {
  if (column >= kCyclesBase) return std::nullopt;
  if (column == kPercentL3Hits || column == kL3MissesPerInstruction) {
    return HardwareCount::kL3Misses;
  }
  for (const Plain& plain : kPlain) {
    if (plain.column == column) return plain.count;
  }
  return std::nullopt;
}

TotalKind HardwareTotalKind(size_t column) {
  switch (column) {
    case kTemperature:
    case kUncoreFrequency:
      return TotalKind::kMean;
    case kL3OccupancyBytes:
      return TotalKind::kSum;
    default:
      return TotalKind::kGrowth;
  }
}

uint64_t HardwareColumns::AdvanceActiveTime(const HardwareReading& reading,
                                            uint64_t time) {
  const Last now = {
      .reference_cycles = *reading[HardwareCount::kReferenceCycles],
      .timestamp = *reading[HardwareCount::kTimestamp],
      .time = time};
  if (last_ && now.timestamp > last_->timestamp && time > last_->time &&
      now.reference_cycles > last_->reference_cycles) {
    active_time_ += absl::Uint128Low64(
        absl::uint128(now.reference_cycles - last_->reference_cycles) *
        (time - last_->time) / (now.timestamp - last_->timestamp));
  }
  last_ = now;
  return active_time_;
}

void HardwareColumns::Set(const HardwareReading& reading, uint64_t time,
                          CountersetSample* sample) {
  for (const Plain& plain : kPlain) {
    if (const auto& count = reading[plain.count]) {
      sample->Set(plain.column, *count);
    }
  }
  sample->Set(kTimeBase, time);
  if (reading[HardwareCount::kReferenceCycles] &&
      reading[HardwareCount::kTimestamp]) {
    sample->Set(kActiveTimeBase, AdvanceActiveTime(reading, time));
  }
  const auto& hits = reading[HardwareCount::kL2Hits];
  const auto& misses = reading[HardwareCount::kL2Misses];
  if (hits && misses) sample->Set(kL2AccessesBase, *hits + *misses);
  const auto& references = reading[HardwareCount::kL3References];
  const auto& l3_misses = reading[HardwareCount::kL3Misses];
  if (references && l3_misses && *references >= *l3_misses) {
    sample->Set(kPercentL3Hits, *references - *l3_misses);
  }
  if (l3_misses && reading[HardwareCount::kL3Instructions]) {
    sample->Set(kL3MissesPerInstruction, *l3_misses);
  }
  if (reading.temperature) sample->Set(kTemperature, *reading.temperature);
  if (reading.l3_occupancy_bytes) {
    sample->Set(kL3OccupancyBytes, *reading.l3_occupancy_bytes);
  }
  if (reading.uncore_hertz) {
    sample->Set(kUncoreFrequency, *reading.uncore_hertz / kHertzPerMegahertz);
  }
}

}  // namespace fleetperf::agent
