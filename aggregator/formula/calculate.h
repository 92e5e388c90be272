// One calculated value from raw samples as they are printed in documents: two
// numbers and a clock each, without a block or a registration around them.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_CALCULATE_H_
#define FLEETPERF_AGGREGATOR_FORMULA_CALCULATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "aggregator/formula/value.h"

namespace fleetperf::aggregator {

// A raw sample as in Microsoft's "Calculating Counter Values".
struct PrintedSample {
  uint64_t data = 0;
  // The clock, the base or the object's time that the type uses.
  std::optional<uint64_t> time;
  std::optional<uint64_t> freq;
  std::optional<uint64_t> multi;
};

struct PrintedCounter {
  uint32_t type = 0;
  uint32_t older_type = 0;  // that of the older sample; nearly always the same
  uint8_t data_size = 8;    // bytes: 4 or 8
  uint8_t base_size = 8;
  bool wraps = false;  // RawValue::wraps
  std::optional<PrintedSample> older;
  PrintedSample newer;
};

// What is wrong with the samples themselves: "raw1.time is missing", or a
// number is too large for its size. Only what the calculation would use counts:
// where a status is all there is to say, nothing is needed. "" if all is well.
std::string DefectOf(const PrintedCounter& counter);

// By the same arithmetic as stored samples, of a counter without a defect.
CalculatedValue Calculate(const PrintedCounter& counter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_CALCULATE_H_
