// Converts a block to the records that decode prints.

#ifndef FLEETPERF_CLI_DECODE_RECORDS_H_
#define FLEETPERF_CLI_DECODE_RECORDS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "cli/capture_types.h"
#include "cli/output.h"
#include "perflib/block_reader.h"

namespace fleetperf::cli {

using UseRecord = absl::FunctionRef<void(const Record&)>;

// For programs: the block itself, then its error returns and values, each with
// its own fields. Values have the block's clocks and, as far as `types` has
// them, what their formula needs.
void ForEachDecodedObject(const std::string& file,
                          const perflib::ParsedBlock& block,
                          const CaptureTypes& types, UseRecord use);

// For tables, in which all rows have the same columns: the objects for
// programs, and each result and instance without a value.
void ForEachDecodedRow(const perflib::ParsedBlock& block, UseRecord use);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_DECODE_RECORDS_H_
