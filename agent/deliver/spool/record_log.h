// The framing of records in a file, after leveldb's:
//
//   checksum of the header's rest (4) | checksum of the body (4) | number (4) |
//   size of the body (4) | size of the payload (4) | body | payload
//
// Integers are little-endian; checksums are CRC-32. Record numbers are
// consecutive, so missing records are detected. The header's own checksum
// distinguishes a record that a crash cut off from a damaged one, and locates
// the record after a damaged body. The body has the checksums of the payload.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_RECORD_LOG_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_RECORD_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace fleetperf::agent {

// Appends a record without its payload to `bytes`. The caller appends the
// payload.
void AppendRecord(uint32_t number, const google::protobuf::MessageLite& body,
                  uint32_t payload_size, std::string* bytes);

// Reads the intact records in `bytes`, which must outlive the reader.
// Thread-compatible.
class RecordReader {
 public:
  enum class File {
    kAppended,  // starts at record 1
    kRewound,   // may have older records after the newest
  };

  RecordReader(File file, absl::string_view bytes);

  struct Record {
    absl::string_view body;
    uint64_t payload_offset;  // in `bytes`
  };
  // Returns std::nullopt at the end.
  std::optional<Record> Next();

  // Whether damaged or missing records were skipped so far. A record cut off by
  // the end of the file, or overwritten by newer ones, does not count.
  bool has_damage() const { return has_damage_; }

 private:
  const File file_;
  const absl::string_view bytes_;
  size_t position_ = 0;
  const size_t end_;  // only zeros follow
  uint32_t last_number_ = 0;
  bool has_skipped_ = false;
  bool has_damage_ = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_RECORD_LOG_H_
