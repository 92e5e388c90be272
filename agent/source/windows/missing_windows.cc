#include <iterator>
#include <string>
#include <vector>

#include "agent/source/missing.h"
#include "driver/hardware/reader.h"

namespace fleetperf::agent {
namespace {

// Countersets of V1 are missing together, or because of their own provider.
constexpr char kNoV1[] =
    "Its V1 provider did not answer, or is disabled: compare perfmon, look for "
    "\"Disable Performance Counters\" in the provider's registry key, and mend "
    "the name tables with: lodctr /R";

constexpr WellKnownCounterset kPerfLib[] = {
    {"Process V2", kNoV1},
    {"System", kNoV1},
    {"Memory", kNoV1},
    {"Paging File", kNoV1},
    {"PhysicalDisk", kNoV1},
    {"LogicalDisk", kNoV1},
    {"Network Interface", kNoV1},
    {"TCPv4", kNoV1},
};

}  // namespace

absl::Span<const WellKnownCounterset> WellKnownCountersets() {
  static const auto* const kWhyNoHardware =
      new std::string(hardware::OpenHardwareReader().status().message());
  static const auto* const kAll = [] {
    auto* const all = new std::vector<WellKnownCounterset>(std::begin(kPerfLib),
                                                           std::end(kPerfLib));
    all->push_back({"Hardware Counters", *kWhyNoHardware});
    return all;
  }();
  return *kAll;
}

// PerfLib grants all values of a counterset or none.
std::string MissingRights(absl::string_view) { return ""; }

}  // namespace fleetperf::agent
