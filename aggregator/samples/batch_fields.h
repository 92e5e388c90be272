// The fields of the messages that a batch has its samples in: v1::BlockColumns,
// v1::QueryColumns, v1::Column and v1::QueryFailure. They are found without
// parsing the numbers in packed fields.
//
// The methods read a serialized message, which the fields refer to, and return
// InvalidArgument if it cannot be read. Unknown fields, of later versions, are
// skipped. Only QueryFields can read several messages.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_BATCH_FIELDS_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_BATCH_FIELDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/wire_reader.h"

namespace fleetperf::aggregator {

// The error of a malformed batch.
template <typename... Parts>
absl::Status Malformed(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Returns an error, with the name of the message, if the reader failed.
absl::Status CheckReadable(const FieldReader& reader,
                           absl::string_view message);

// The fields of a v1::BlockColumns.
struct BlockFields {
  absl::string_view perf_time_100nsec;
  absl::string_view perf_time_stamp;
  absl::string_view perf_freq;
  std::vector<absl::string_view> queries;

  absl::Status Read(absl::string_view message);
};

// The fields of a v1::QueryColumns.
struct QueryFields {
  uint32_t query = 0;
  absl::string_view instances;
  absl::string_view first_block;
  absl::string_view block_count;
  std::vector<absl::string_view> columns;
  std::vector<absl::string_view> failures;

  absl::Status Read(absl::string_view message);
};

// The fields of a v1::Column.
struct ColumnFields {
  absl::string_view first;
  absl::string_view differences;
  absl::string_view missing;

  absl::Status Read(absl::string_view message);
};

absl::Status ReadFailure(absl::string_view message, Frame::Failure* failure);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_BATCH_FIELDS_H_
