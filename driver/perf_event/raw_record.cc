#include "driver/perf_event/raw_record.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {

absl::StatusOr<RawRecord> RawRecord::FromBytes(absl::string_view bytes,
                                               std::endian order) {
  RecordHeader header;
  if (bytes.size() < sizeof(header)) {
    return absl::DataLossError(absl::StrCat(
        "a record's header needs 8 bytes, and ", bytes.size(), " are left"));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (order != std::endian::native) {
    header.type = __builtin_bswap32(header.type);
    header.misc = __builtin_bswap16(header.misc);
    header.size = __builtin_bswap16(header.size);
  }
  if (header.size < sizeof(header) || header.size > bytes.size()) {
    return absl::DataLossError(absl::StrCat("a record of type ", header.type,
                                            " has size ", header.size, ", and ",
                                            bytes.size(), " bytes are left"));
  }
  return RawRecord(header, bytes.data());
}

}  // namespace fleetperf::perf_event
