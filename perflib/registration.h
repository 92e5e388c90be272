// The definition of a counterset: the registration information that
// PerfQueryCounterSetRegistrationInfo returns in parts.

#ifndef FLEETPERF_PERFLIB_REGISTRATION_H_
#define FLEETPERF_PERFLIB_REGISTRATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// The limit of DefaultScale, a positive or negative power of ten, of
// PERF_COUNTER_REG_INFO. PdhSetCounterScaleFactor accepts only up to 7.
inline constexpr int32_t kMaxScale = 10;

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
  // Patterns of the names of aggregate instances that a plan adds to those of
  // aggregates.h; ascending. Not part of what a provider registers.
  std::vector<std::string> aggregates;

  bool operator==(const CountersetRegistration&) const = default;

  bool HasInstances() const {
    return (instance_type & kCountersetMultipleInstances) != 0;
  }

  // Returns null if there is no such counter.
  const CounterRegistration* FindCounter(uint32_t counter_id) const;

  // Returns the bytes of all fields that affect the meaning of raw values and
  // instances, without display texts. Registrations with equal bytes have the
  // same columns. Used to detect a counterset whose types changed with an
  // update.
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

// A counter in the table of a counterset that a program serves itself. Its
// position in the table is its column.
struct CounterSpec {
  uint32_t id;
  uint32_t type;
  absl::string_view name;  // empty for a counter that only supports others
  absl::string_view help;
  // Ids of the counters that its formula needs.
  uint32_t base_id = kNoCounter;
  uint32_t time_id = kNoCounter;
  uint32_t freq_id = kNoCounter;
  // If not 0, the displayed value is value * 10^scale.
  int32_t scale = 0;
};

// Returns the registration of such a counterset. `guid` must be valid and in
// the form accepted by ParseGuid.
CountersetRegistration MakeRegistration(absl::string_view guid,
                                        absl::string_view name,
                                        absl::string_view help,
                                        absl::string_view provider_name,
                                        uint32_t instance_type,
                                        absl::Span<const CounterSpec> counters);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_REGISTRATION_H_
