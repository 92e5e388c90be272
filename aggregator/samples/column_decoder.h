// Decodes columns of a batch that batch_decoder.h has decoded before, for
// readers of some of its values.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_COLUMN_DECODER_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_COLUMN_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Decodes some columns and runs of a frame. `encoded` is one of
// DecodedBatch::encoded, `runs` are all runs of that frame, and `run_numbers`
// selects from them, in ascending order. Sets the runs of `frame`, and the
// columns for which `wanted` is true by number; the others stay empty.
absl::Status DecodeColumns(absl::string_view encoded,
                           const std::vector<Frame::Run>& runs,
                           const std::vector<uint32_t>& run_numbers,
                           const std::vector<bool>& wanted, Frame* frame);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_COLUMN_DECODER_H_
