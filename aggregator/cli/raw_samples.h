// The output of raw samples in query --raw and explain.

#ifndef FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_
#define FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_

#include "absl/time/time.h"
#include "aggregator/cli/output.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

// Returns the time of the sample's block.
absl::Time TimeOf(const v1::RawSample& sample);

// 64-bit numbers that may be large are strings, because JSON parsers round
// them.
Record RawFields(const v1::RawSample& sample);

// Same, preceded by the fields of the series.
Record RawRecord(const v1::Series& series, const v1::RawSample& sample);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_RAW_SAMPLES_H_
