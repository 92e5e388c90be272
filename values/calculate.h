// Calculates one value from raw samples as printed in documents: two numbers
// and a clock each, without a block or a registration.

#ifndef FLEETPERF_VALUES_CALCULATE_H_
#define FLEETPERF_VALUES_CALCULATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "values/value.h"

namespace fleetperf {

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
  uint32_t older_type = 0;  // type of the older sample; almost always the same
  uint8_t data_size = 8;    // bytes: 4 or 8
  uint8_t base_size = 8;
  bool wraps = false;  // RawValue::wraps
  std::optional<PrintedSample> older;
  PrintedSample newer;
};

// Describes a defect of the samples, such as "raw1.time is missing" or a number
// that is too large for its size. Only numbers that the calculation would use
// are checked: if the result is a status anyway, none are. Empty if there is no
// defect.
std::string DefectOf(const PrintedCounter& counter);

// Calculates the value of a counter without a defect, by the arithmetic of
// stored samples.
CalculatedValue Calculate(const PrintedCounter& counter);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_CALCULATE_H_
