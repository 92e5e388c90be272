#include "perflib/v1/counterset.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"

namespace fleetperf::perflib {
namespace {

constexpr absl::uint128 kFnvOffset =
    absl::MakeUint128(0x6c62272e07bb0142, 0x62b821756295c58d);
constexpr absl::uint128 kFnvPrime =
    absl::MakeUint128(0x0000000001000000, 0x000000000000013b);

absl::uint128 Fnv1a(absl::string_view text) {
  absl::uint128 hash = kFnvOffset;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= kFnvPrime;
  }
  return hash;
}

bool NeedsBase(uint32_t type) {
  switch (type) {
    case kPerfRawFraction:
    case kPerfLargeRawFraction:
    case kPerfSampleFraction:
    case kPerfAverageTimer:
    case kPerfAverageBulk:
    case kPerfPrecisionSystemTimer:
    case kPerfPrecision100NsTimer:
    case kPerfPrecisionObjectTimer:
      return true;
    default:
      return false;
  }
}

bool UsesObjectTime(const CounterRegistration& counter) {
  switch (counter.type) {
    case kPerfObjTimeTimer:
    case kPerfElapsedTime:
    case kPerfCounterObjTimeQueuelenType:
      return true;
    case kPerfPrecisionObjectTimer:
      return counter.base_counter_id == kNoCounter;
    default:
      return false;
  }
}

V1Shape::Counter ShapeOf(const PerfCounterDefinition& definition) {
  return {definition.counter_name_title_index, definition.counter_type};
}

// A thread's id is more specific than its process' id.
std::optional<uint32_t> IdCounter(const CountersetRegistration& registration) {
  for (const absl::string_view name : {"ID Thread", "ID Process"}) {
    for (const CounterRegistration& counter : registration.counters) {
      if (counter.name == name) return counter.counter_id;
    }
  }
  return std::nullopt;
}

CounterRegistration SupportingCounter(uint32_t id, uint32_t type) {
  return {.counter_id = id, .type = type};
}

// The counters of an object, in the order of its definitions.
class CounterList {
 public:
  CounterList(absl::Span<const PerfCounterDefinition> definitions,
              const V1Names& names, const V1Names& help)
      : definitions_(definitions), names_(names), help_(help) {}

  std::vector<CounterRegistration> Make() {
    bool uses_object_time = false;
    for (uint32_t i = 0; i < definitions_.size(); ++i) {
      CounterRegistration counter = Describe(i);
      const uint32_t type = counter.type;
      if (NeedsBase(type) && NextIsBase(i)) counter.base_counter_id = i + 1;
      if (IsMultiTimer(type)) counter.multi_id = MultiOf(i);
      if (UsesObjectTime(counter)) {
        counter.perf_time_id = kV1ObjectTime;
        counter.perf_freq_id = kV1ObjectFreq;
        uses_object_time = true;
      }
      counters_.push_back(std::move(counter));
    }
    counters_.insert(counters_.end(), second_values_.begin(),
                     second_values_.end());
    if (uses_object_time) {
      for (const uint32_t id : {kV1ObjectTime, kV1ObjectFreq}) {
        counters_.push_back(SupportingCounter(id, kPerfCounterLargeRawcount));
      }
    }
    return std::move(counters_);
  }

 private:
  CounterRegistration Describe(uint32_t i) const {
    const PerfCounterDefinition& definition = definitions_[i];
    CounterRegistration counter = {
        .counter_id = i,
        .type = definition.counter_type,
        .detail_level = definition.detail_level,
        .default_scale = ScaleOr0(definition.default_scale)};
    if (IsBaseType(counter.type)) return counter;  // not shown
    const uint32_t index = definition.counter_name_title_index;
    counter.name = std::string(names_.Find(index));
    if (counter.name.empty()) counter.name = absl::StrCat("counter ", index);
    counter.help = std::string(help_.Find(definition.counter_help_title_index));
    return counter;
  }

  bool NextIsBase(uint32_t i) const {
    return i + 1 < definitions_.size() &&
           IsBaseType(definitions_[i + 1].counter_type);
  }

  uint32_t MultiOf(uint32_t i) {
    if (i + 1 < definitions_.size() &&
        definitions_[i + 1].counter_type == kPerfCounterMultiBase) {
      return i + 1;
    }
    const uint32_t id = kV1SecondValue + i;
    second_values_.push_back(SupportingCounter(id, kPerfCounterRawcount));
    return id;
  }

  const absl::Span<const PerfCounterDefinition> definitions_;
  const V1Names& names_;
  const V1Names& help_;
  std::vector<CounterRegistration> counters_;
  std::vector<CounterRegistration> second_values_;
};

}  // namespace

Guid V1CountersetGuid(absl::string_view english_name) {
  absl::uint128 hash = Fnv1a(absl::AsciiStrToLower(
      absl::StrCat("fleetperf PerfLib V1 ", english_name)));
  // RFC 9562: the version is 8, the variant 10.
  hash &= ~(absl::MakeUint128(0xF000, uint64_t{3} << 62));
  hash |= absl::MakeUint128(0x8000, uint64_t{2} << 62);
  const uint64_t high = absl::Uint128High64(hash);
  const uint64_t low = absl::Uint128Low64(hash);
  Guid guid = {.data1 = static_cast<uint32_t>(high >> 32),
               .data2 = static_cast<uint16_t>(high >> 16),
               .data3 = static_cast<uint16_t>(high)};
  for (size_t i = 0; i < 8; ++i) {
    guid.data4[i] = static_cast<uint8_t>(low >> (8 * (7 - i)));
  }
  return guid;
}

bool V1Shape::Matches(const ParsedV1Data& data, const V1Object& object) const {
  const auto definitions = data.Counters(object);
  return object.header.object_name_title_index == object_index &&
         object.HasInstances() == has_instances &&
         std::equal(definitions.begin(), definitions.end(), counters.begin(),
                    counters.end(),
                    [](const PerfCounterDefinition& definition,
                       const Counter& counter) {
                      return ShapeOf(definition) == counter;
                    });
}

V1Shape V1ShapeOf(const ParsedV1Data& data, const V1Object& object) {
  V1Shape shape = {.object_index = object.header.object_name_title_index,
                   .has_instances = object.HasInstances()};
  for (const PerfCounterDefinition& definition : data.Counters(object)) {
    shape.counters.push_back(ShapeOf(definition));
  }
  return shape;
}

absl::StatusOr<CountersetRegistration> V1Registration(const ParsedV1Data& data,
                                                      const V1Object& object,
                                                      const V1Names& names,
                                                      const V1Names& help) {
  const PerfObjectType& header = object.header;
  const absl::string_view name = names.Find(header.object_name_title_index);
  if (name.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "object ", header.object_name_title_index, " has no English name"));
  }
  CountersetRegistration registration = {
      .guid = V1CountersetGuid(name),
      .name = std::string(name),
      .help = std::string(help.Find(header.object_help_title_index)),
      .provider_name = kV1ProviderName,
      .detail_level = header.detail_level,
      .instance_type = object.HasInstances() ? kCountersetMultipleInstances
                                             : kCountersetSingleInstance,
      .counters = CounterList(data.Counters(object), names, help).Make()};
  return registration;
}

V1Values::V1Values(const ParsedV1Data& data, const V1Object& object,
                   const CountersetRegistration& registration)
    : data_(data),
      object_(object),
      counters_(data.Counters(object)),
      id_counter_(IdCounter(registration)) {}

V1Value V1Values::Get(const V1Instance& instance, uint32_t counter_id) const {
  if (counter_id == kV1ObjectTime) {
    return {static_cast<uint64_t>(object_.header.perf_time), 8};
  }
  if (counter_id == kV1ObjectFreq) {
    return {static_cast<uint64_t>(object_.header.perf_freq), 8};
  }
  const bool second = counter_id >= kV1SecondValue;
  const uint32_t position = second ? counter_id - kV1SecondValue : counter_id;
  if (position >= counters_.size()) return {};
  return second ? data_.SecondValueOf(instance, counters_[position])
                : data_.ValueOf(instance, counters_[position]);
}

uint32_t V1Values::InstanceId(const V1Instance& instance) const {
  if (instance.unique_id != kNoUniqueId) {
    return static_cast<uint32_t>(instance.unique_id);
  }
  if (!id_counter_.has_value()) return 0;
  return static_cast<uint32_t>(Get(instance, *id_counter_).value);
}

}  // namespace fleetperf::perflib
