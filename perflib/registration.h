// The definition of a counterset: the registration information that
// PerfQueryCounterSetRegistrationInfo returns in parts.

#ifndef FLEETPERF_PERFLIB_REGISTRATION_H_
#define FLEETPERF_PERFLIB_REGISTRATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// The limit of DefaultScale, a positive or negative power of ten, as in
// PdhSetCounterScaleFactor.
inline constexpr int32_t kMaxScale = 7;

constexpr bool IsScale(int32_t default_scale) {
  return default_scale >= -kMaxScale && default_scale <= kMaxScale;
}
// Invalid scales count as 0.
constexpr int32_t ScaleOr0(int32_t default_scale) {
  return IsScale(default_scale) ? default_scale : 0;
}

struct CounterRegistration {
  uint32_t counter_id = 0;
  uint32_t type = 0;
  uint64_t attrib = 0;
  uint32_t detail_level = kDetailNovice;
  int32_t default_scale = 0;  // a power of ten; see IsScale
  // Other counters of the same counterset that the formula needs, or
  // kNoCounter.
  uint32_t base_counter_id = kNoCounter;
  uint32_t perf_time_id = kNoCounter;
  uint32_t perf_freq_id = kNoCounter;
  uint32_t multi_id = kNoCounter;
  uint32_t aggregate_function = 0;
  std::string name;  // English; base counters often have none
  std::string help;

  bool operator==(const CounterRegistration&) const = default;
};

struct CountersetRegistration {
  Guid guid;
  std::string name;  // English
  std::string help;
  std::string provider_name;
  uint32_t detail_level = kDetailNovice;
  uint32_t instance_type = kCountersetSingleInstance;
  std::vector<CounterRegistration> counters;

  bool operator==(const CountersetRegistration&) const = default;

  bool HasInstances() const {
    return (instance_type & kCountersetMultipleInstances) != 0;
  }

  // Returns null if there is no such counter.
  const CounterRegistration* FindCounter(uint32_t counter_id) const;

  // Returns the bytes of all fields that affect the meaning of raw values,
  // without display texts. Registrations with equal bytes have the same
  // columns. Used to detect a counterset whose types changed with an update.
  std::string CanonicalBytes() const;
};

// The readers below check every size as the block reader does. Errors name
// structure, field, offset, value and limit. Bytes beyond a structure's own
// size are ignored.

// kCountersetStruct: everything but the strings.
absl::StatusOr<CountersetRegistration> ReadCountersetStruct(
    absl::string_view bytes);
// kCounterStruct: one counter, without its strings.
absl::StatusOr<CounterRegistration> ReadCounterStruct(absl::string_view bytes);
// kCountersetName, kCountersetHelp, kProviderName, kCountersetEnglishName: a
// string in UTF-8.
absl::StatusOr<std::string> ReadString(absl::string_view bytes);

struct CounterString {
  uint32_t counter_id;
  std::string text;  // UTF-8
};
// kCounterNames, kCounterHelp, kCounterEnglishNames. Entries whose offset is
// kNoString are left out. Strings may overlap. If the result exceeds a small
// multiple of bytes.size(), returns an error.
absl::StatusOr<std::vector<CounterString>> ReadStringBuffer(
    absl::string_view bytes);
// kProviderGuid
absl::StatusOr<Guid> ReadGuid(absl::string_view bytes);

// The inverses, in PerfLib's layout.
std::string WriteCountersetStruct(const CountersetRegistration& registration);
std::string WriteCounterStruct(const CounterRegistration& counter);
std::string WriteString(absl::string_view utf8);
// An empty text is written as kNoString.
std::string WriteStringBuffer(const std::vector<CounterString>& strings);
std::string WriteGuid(const Guid& guid);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_REGISTRATION_H_
