#include "driver/pmu/msr_access.h"

#include "driver/pmu/msr.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {
namespace {

enum class Use { kRead, kWrite, kReadWrite };

struct AllowedMsrs {
  uint32_t first;
  uint32_t count;
  Use use;
};

constexpr AllowedMsrs kAllowed[] = {
    {msr::kGeneralCounter, kMaxGeneralCounters, Use::kReadWrite},
    {msr::kPlatformInfo, 1, Use::kRead},
    {msr::kMaximumPerformance, 1, Use::kRead},
    {msr::kActualPerformance, 1, Use::kRead},
    {msr::kEventSelect, kMaxGeneralCounters, Use::kReadWrite},
    {msr::kEventSelect + kMaxGeneralCounters,
     msr::kMaxSelections - kMaxGeneralCounters, Use::kRead},
    {msr::kThermalStatus, 1, Use::kRead},
    {msr::kTemperatureTarget, 1, Use::kRead},
    {msr::kFixedCounter, kMaxFixedCounters, Use::kReadWrite},
    {msr::kPerfCapabilities, 1, Use::kRead},
    {msr::kFixedControl, 1, Use::kReadWrite},
    {msr::kGlobalControl, 1, Use::kReadWrite},
    {msr::kOverflowControl, 1, Use::kWrite},
    {msr::kFullWidthCounter, kMaxGeneralCounters, Use::kWrite},
    {msr::kEnergyUnit, 1, Use::kRead},
    {msr::kPackageEnergy, 1, Use::kRead},
    {msr::kMemoryEnergy, 1, Use::kRead},
    {msr::kAmdLegacySelect, msr::kNumAmdLegacyCounters, Use::kReadWrite},
    {msr::kAmdLegacyCounter, msr::kNumAmdLegacyCounters, Use::kReadWrite},
    {msr::kAmdSelect, 2 * msr::kNumAmdCounters, Use::kReadWrite},
    {msr::kAmdGlobalControl, 1, Use::kReadWrite},
    {msr::kAmdGlobalClear, 1, Use::kWrite},
    {msr::kAmdEnergyUnit, 1, Use::kRead},
    {msr::kAmdPackageEnergy, 1, Use::kRead},
};

bool IsAllowed(uint32_t msr, Use use) {
  for (const AllowedMsrs& allowed : kAllowed) {
    // The difference wraps to a large number below the first register.
    if (msr - allowed.first < allowed.count) {
      return allowed.use == use || allowed.use == Use::kReadWrite;
    }
  }
  return false;
}

}  // namespace

bool IsReadable(uint32_t msr) { return IsAllowed(msr, Use::kRead); }
bool IsWritable(uint32_t msr) { return IsAllowed(msr, Use::kWrite); }

bool MsrAccess::Read(uint32_t msr, uint64_t* value) const {
  return IsReadable(msr) && machine_.ReadMsr(msr, value);
}

bool MsrAccess::Write(uint32_t msr, uint64_t value) const {
  return IsWritable(msr) && machine_.WriteMsr(msr, value);
}

bool MsrAccess::Change(uint32_t msr, uint64_t value) const {
  uint64_t current = 0;
  if (Read(msr, &current) && current == value) return true;
  return Write(msr, value);
}

bool MsrAccess::WriteAndVerify(uint32_t msr, uint64_t value) const {
  uint64_t kept = 0;
  return Write(msr, value) && Read(msr, &kept) && kept == value;
}

bool MsrAccess::UserReads() const {
  return (machine_.ReadCr4() & msr::kCr4Pce) != 0;
}

bool MsrAccess::SetUserReads(bool is_allowed) const {
  if (UserReads() == is_allowed) return true;
  return machine_.WriteCr4(machine_.ReadCr4() ^ msr::kCr4Pce) &&
         UserReads() == is_allowed;
}

}  // namespace fleetperf::pmu
