#include "aggregator/samples/batch_fields.h"

#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

absl::Status CheckReadable(const FieldReader& reader,
                           absl::string_view message) {
  if (reader.ok()) return absl::OkStatus();
  return Malformed("a ", message, " cannot be read");
}

absl::Status BlockFields::Read(absl::string_view message) {
  using Fields = v1::BlockColumns;
  FieldReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case Fields::kPerfTime100NsecFieldNumber:
        reader.TakePacked(&perf_time_100nsec);
        break;
      case Fields::kPerfTimeStampFieldNumber:
        reader.TakePacked(&perf_time_stamp);
        break;
      case Fields::kPerfFreqFieldNumber:
        reader.TakePacked(&perf_freq);
        break;
      case Fields::kQueriesFieldNumber:
        queries.push_back(reader.Bytes());
        break;
      default:  // a field of a later version
        break;
    }
  }
  return CheckReadable(reader, "BlockColumns");
}

absl::Status QueryFields::Read(absl::string_view message) {
  using Fields = v1::QueryColumns;
  query = 0;
  instances = first_block = block_count = {};
  columns.clear();
  failures.clear();
  FieldReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case Fields::kQueryFieldNumber:
        query = static_cast<uint32_t>(reader.Varint());
        break;
      case Fields::kInstancesFieldNumber:
        reader.TakePacked(&instances);
        break;
      case Fields::kFirstBlockFieldNumber:
        reader.TakePacked(&first_block);
        break;
      case Fields::kBlockCountFieldNumber:
        reader.TakePacked(&block_count);
        break;
      case Fields::kColumnsFieldNumber:
        columns.push_back(reader.Bytes());
        break;
      case Fields::kFailuresFieldNumber:
        failures.push_back(reader.Bytes());
        break;
      default:  // a field of a later version
        break;
    }
  }
  return CheckReadable(reader, "QueryColumns");
}

absl::Status ColumnFields::Read(absl::string_view message) {
  using Fields = v1::Column;
  FieldReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case Fields::kFirstFieldNumber:
        reader.TakePacked(&first);
        break;
      case Fields::kDifferencesFieldNumber:
        reader.TakePacked(&differences);
        break;
      case Fields::kMissingFieldNumber:
        reader.TakePacked(&missing);
        break;
      default:  // a field of a later version
        break;
    }
  }
  return CheckReadable(reader, "Column");
}

absl::Status ReadFailure(absl::string_view message, Frame::Failure* failure) {
  using Fields = v1::QueryFailure;
  FieldReader reader(message);
  while (reader.Next()) {
    if (reader.field() == Fields::kBlockFieldNumber) {
      failure->tick = static_cast<uint32_t>(reader.Varint());
    } else if (reader.field() == Fields::kStatusFieldNumber) {
      failure->status = static_cast<uint32_t>(reader.Varint());
    }
  }
  return CheckReadable(reader, "QueryFailure");
}

}  // namespace fleetperf::aggregator
