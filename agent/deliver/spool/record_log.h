// The framing of records in a file, after leveldb's:
//
//   checksum of the header's rest (4) | checksum of the body (4) | number (4) |
//   size of the body (4) | size of the payload (4) | body | payload
//
// Numbers are little-endian and checksums CRC-32. Each record's number is one
// more than that of the record before, so that missing ones are noticed. The
// header has a checksum of its own: a record that a crash cut off is told from
// a damaged one, and the record after one with a damaged body is found at once.
// Payloads have checksums in the body.

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

// Appends a record to `bytes`. Its payload has to follow.
void AppendRecord(uint32_t number, const google::protobuf::MessageLite& body,
                  uint32_t payload_size, std::string* bytes);

// Reads the intact records of a file's bytes, which outlive the reader.
class RecordReader {
 public:
  enum class File {
    kAppended,  // begins with record 1
    kRewound,   // has older records behind the newest
  };

  RecordReader(File file, absl::string_view bytes);

  struct Record {
    absl::string_view body;
    uint64_t payload_offset;  // in the file
  };
  // Nothing at the end.
  std::optional<Record> Next();

  // Whether records were skipped so far: damaged or missing ones, but not one
  // that the file's end or older records cut off.
  bool has_damage() const { return has_damage_; }

 private:
  const File file_;
  const absl::string_view bytes_;
  size_t position_ = 0;
  const size_t end_;  // behind it, there are only zeros
  uint32_t last_number_ = 0;
  bool has_skipped_ = false;
  bool has_damage_ = false;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_RECORD_LOG_H_
