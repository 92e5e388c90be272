// Translates objects of PerfLib V1 into countersets of V2, so that formulas,
// paths and stores need not know V1.
//
// Counter ids: that of a definition is its position in the object, because
// title indexes differ between machines and bases may share one. Values that
// have no definition get ids of their own, and no name:
// - the second value of a multi timer: kV1SecondValue + its position
// - PerfTime and PerfFreq of the object: kV1ObjectTime and kV1ObjectFreq
//
// Links: a counter whose type needs a base has the definition that follows, if
// that is a base. A multi timer has the PERF_COUNTER_MULTI_BASE that follows,
// otherwise its second value. Types that are measured in the object's time, and
// PERF_ELAPSED_TIME, have the object's time and frequency;
// PERF_PRECISION_OBJECT_TIMER only if no base follows.

#ifndef FLEETPERF_PERFLIB_V1_COUNTERSET_H_
#define FLEETPERF_PERFLIB_V1_COUNTERSET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/registration.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"

namespace fleetperf::perflib {

// The name of the provider in these registrations.
inline constexpr char kV1ProviderName[] = "PerfLib V1";

inline constexpr uint32_t kV1SecondValue = 0x1000'0000;
inline constexpr uint32_t kV1ObjectTime = 0x2000'0000;
inline constexpr uint32_t kV1ObjectFreq = 0x2000'0001;

// Returns the GUID of the counterset with this English name: the same on every
// machine. A UUID of version 8, whose bits are the 128-bit FNV-1a hash of
// "fleetperf PerfLib V1 " and the name in lower case (ASCII only).
Guid V1CountersetGuid(absl::string_view english_name);

// The counters that the ids of a registration stand for. Title indexes are
// those of one machine.
struct V1Shape {
  struct Counter {
    uint32_t name_index = 0;
    uint32_t type = 0;

    bool operator==(const Counter&) const = default;
  };

  uint32_t object_index = 0;  // ObjectNameTitleIndex
  bool has_instances = false;
  std::vector<Counter> counters;

  // Returns whether the object has this shape. If not, the ids of the
  // registration mean other counters. Does not allocate.
  bool Matches(const ParsedV1Data& data, const V1Object& object) const;
};

V1Shape V1ShapeOf(const ParsedV1Data& data, const V1Object& object);

// Returns the registration of an object. Returns NotFound if `names` does not
// have the object's name. Counters without a name in it get "counter N", where
// N is the title index.
absl::StatusOr<CountersetRegistration> V1Registration(const ParsedV1Data& data,
                                                      const V1Object& object,
                                                      const V1Names& names,
                                                      const V1Names& help);

// Reads the values of one object of `data` by the ids of its registration.
// Views its arguments, which must outlive it. Thread-compatible.
class V1Values {
 public:
  // `registration` must be of the object, perhaps of earlier data with the same
  // shape.
  V1Values(const ParsedV1Data& data, const V1Object& object,
           const CountersetRegistration& registration);

  V1Value Get(const V1Instance& instance, uint32_t counter_id) const;

  // Returns UniqueID, if the provider gives one; otherwise the value of the
  // counter "ID Thread" or else "ID Process", if the object has one; otherwise
  // 0.
  uint32_t InstanceId(const V1Instance& instance) const;

 private:
  const ParsedV1Data& data_;
  const V1Object& object_;
  const absl::Span<const PerfCounterDefinition> counters_;
  std::optional<uint32_t> id_counter_;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_COUNTERSET_H_
