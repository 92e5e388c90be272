// Raw samples as query --raw and explain print them.

#ifndef FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_
#define FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_

#include "absl/time/time.h"
#include "aggregator/cli/output.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

// The time of its block.
absl::Time TimeOf(const v1::RawSample& sample);

// Numbers of 64 bits that may be large are texts: JSON's readers round them.
Record RawFields(const v1::RawSample& sample);

// The same with its series before it.
Record RawRecord(const v1::Series& series, const v1::RawSample& sample);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_
