#include "agent/deliver/spool/record_log.h"

#include <google/protobuf/message_lite.h>
#include <zlib.h>

#include <cstddef>

#include "perflib/bytes.h"

namespace fleetperf::agent {
namespace {

struct Header {
  uint32_t checksum;
  uint32_t body_checksum;
  uint32_t number;
  uint32_t body_size;
  uint32_t payload_size;
};

uint32_t Checksum(absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The checksum of the header's fields after `checksum`.
uint32_t ChecksumOf(const Header& header) {
  constexpr size_t kFrom = offsetof(Header, body_checksum);
  return Checksum(
      {reinterpret_cast<const char*>(&header) + kFrom, sizeof header - kFrom});
}

}  // namespace

void AppendRecord(uint32_t number, const google::protobuf::MessageLite& body,
                  uint32_t payload_size, std::string* bytes) {
  const size_t start = bytes->size();
  Header header = {.number = number,
                   .body_size = static_cast<uint32_t>(body.ByteSizeLong()),
                   .payload_size = payload_size};
  bytes->resize(start + sizeof header + header.body_size);
  char* body_bytes = bytes->data() + start + sizeof header;
  body.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(body_bytes));
  header.body_checksum = Checksum({body_bytes, header.body_size});
  header.checksum = ChecksumOf(header);
  perflib::StoreAt(header, start, bytes);
}

RecordReader::RecordReader(File file, absl::string_view bytes)
    : file_(file),
      bytes_(bytes),
      // Some file systems extend a file with zeros before a power cut.
      end_(bytes.find_last_not_of('\0') + 1) {}

std::optional<RecordReader::Record> RecordReader::Next() {
  const auto skip = [&](size_t size) {
    position_ += size;
    has_skipped_ = true;
    // A rewound file has arbitrary bytes after its newest record.
    has_damage_ = has_damage_ || file_ == File::kAppended;
  };
  while (position_ < end_ && bytes_.size() - position_ >= sizeof(Header)) {
    const auto header = perflib::LoadAt<Header>(bytes_, position_);
    if (header.checksum != ChecksumOf(header) ||
        header.number <= last_number_) {
      skip(1);  // the next record may begin anywhere
      continue;
    }
    const uint64_t size = uint64_t{header.body_size} + header.payload_size;
    if (size > bytes_.size() - position_ - sizeof header) {
      // Cut off. After skipped bytes it may only look like a header.
      if (!has_skipped_) break;
      skip(1);
      continue;
    }
    const size_t body_offset = position_ + sizeof header;
    const absl::string_view body = bytes_.substr(body_offset, header.body_size);
    if (header.body_checksum != Checksum(body)) {
      skip(sizeof header + size);
      continue;
    }
    position_ = body_offset + size;
    const bool may_begin = file_ == File::kRewound && last_number_ == 0;
    has_damage_ = has_damage_ || has_skipped_ ||
                  (header.number != last_number_ + 1 && !may_begin);
    last_number_ = header.number;
    return Record{.body = body, .payload_offset = body_offset + body.size()};
  }
  position_ = end_;
  return std::nullopt;
}

}  // namespace fleetperf::agent
