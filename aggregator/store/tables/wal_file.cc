#include "aggregator/store/tables/wal_file.h"

#include <rocksdb/file_checksum.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// A file consists of blocks of this size. A write is stored in one or more
// records. No record crosses the end of a block. If less than a header is left
// in a block, that space is unused.
constexpr size_t kBlockSize = 32 * 1024;
// The header has a masked CRC-32C checksum and the payload's size in two bytes,
// both little-endian, and the type.
constexpr size_t kHeaderSize = 7;
enum RecordType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

uint32_t Crc(absl::string_view bytes) {
  static rocksdb::FileChecksumGenFactory& factory =
      *rocksdb::GetFileChecksumGenCrc32cFactory();
  const auto generator = factory.CreateFileChecksumGenerator({});
  generator->Update(bytes.data(), bytes.size());
  generator->Finalize();
  const std::string checksum = generator->GetChecksum();
  absl::string_view rest = checksum;
  uint32_t crc = 0;
  GetBigEndian(&rest, &crc);
  return crc;
}

uint32_t Masked(uint32_t crc) {
  return (crc >> 15 | crc << 17) + uint32_t{0xA282EAD8};
}

struct Record {
  RecordType type = kFull;
  absl::string_view payload;
};

size_t SizeAt(absl::string_view block, size_t begin) {
  return kHeaderSize + LittleEndian(block.substr(begin + 4, 2));
}

// Returns std::nullopt if there is no valid record at `begin`.
std::optional<Record> RecordAt(absl::string_view block, size_t begin) {
  if (block.size() - begin < kHeaderSize) return std::nullopt;
  const size_t size = SizeAt(block, begin);
  const auto type = static_cast<uint8_t>(block[begin + 6]);
  if (size > block.size() - begin || type < kFull || type > kLast) {
    return std::nullopt;
  }
  const absl::string_view covered = block.substr(begin + 6, size - 6);
  if (Masked(Crc(covered)) != LittleEndian(block.substr(begin, 4))) {
    return std::nullopt;
  }
  return Record{static_cast<RecordType>(type), covered.substr(1)};
}

// Returns the position at which reading resumes after an invalid record. If the
// record's size leads to a valid record, perhaps via other invalid records,
// that is the record's end. Otherwise it is the end of the block: records are
// never searched for at arbitrary positions, which may lie inside an agent's
// data.
size_t ResumeAfter(absl::string_view block, size_t begin) {
  size_t next = begin;
  do {
    if (block.size() - next < kHeaderSize) return block.size();
    next += SizeAt(block, next);
    if (next >= block.size()) return block.size();
  } while (!RecordAt(block, next).has_value());
  return begin + SizeAt(block, begin);
}

bool IsBlank(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char byte) { return byte == '\0'; });
}

// Assembles writes from records.
class Reader {
 public:
  using OnRecord = absl::FunctionRef<absl::Status(uint64_t, absl::string_view)>;
  using OnGap = absl::FunctionRef<void(const WalRange&, bool)>;

  Reader(OnRecord on_record, OnGap on_gap)
      : on_record_(on_record), on_gap_(on_gap) {}

  // Processes the file's next block.
  absl::Status Take(absl::string_view block) {
    size_t begin = 0;
    while (begin < block.size()) {
      const absl::string_view rest = block.substr(begin);
      if (rest.size() < kHeaderSize && block.size() == kBlockSize) break;
      const auto record = RecordAt(block, begin);
      const size_t next = record.has_value()
                              ? begin + kHeaderSize + record->payload.size()
                              : ResumeAfter(block, begin);
      const absl::string_view bytes = block.substr(begin, next - begin);
      if (record.has_value()) {
        RETURN_IF_ERROR(Add(*record, bytes, offset_ + begin));
      } else {
        DropWrite();
        AddToGap(offset_ + begin, bytes);
      }
      begin = next;
    }
    offset_ += block.size();
    return absl::OkStatus();
  }

  void End() {
    DropWrite();
    EndGap(offset_);
  }

 private:
  absl::Status Add(const Record& record, absl::string_view bytes,
                   uint64_t offset) {
    const bool begins = record.type == kFull || record.type == kFirst;
    if (begins) {
      DropWrite();
      write_begin_ = offset;
    } else if (!write_begin_.has_value()) {
      AddToGap(offset, bytes);  // the end of a write without a beginning
      return absl::OkStatus();
    }
    write_.append(record.payload.data(), record.payload.size());
    if (record.type == kFirst || record.type == kMiddle) {
      return absl::OkStatus();
    }
    EndGap(*write_begin_);
    const uint64_t begin = *write_begin_;
    write_begin_ = std::nullopt;
    const absl::Status status = on_record_(begin, write_);
    write_.clear();
    return status;
  }

  // Discards an incomplete write.
  void DropWrite() {
    if (!write_begin_.has_value()) return;
    if (!gap_begin_.has_value()) gap_begin_ = *write_begin_;
    is_blank_ = false;
    write_begin_ = std::nullopt;
    write_.clear();
  }

  void AddToGap(uint64_t offset, absl::string_view bytes) {
    if (!gap_begin_.has_value()) gap_begin_ = offset;
    is_blank_ = is_blank_ && IsBlank(bytes);
  }

  void EndGap(uint64_t end) {
    if (gap_begin_.has_value()) {
      on_gap_({.offset = *gap_begin_, .size = end - *gap_begin_}, is_blank_);
    }
    gap_begin_ = std::nullopt;
    is_blank_ = true;
  }

  const OnRecord on_record_;
  const OnGap on_gap_;
  uint64_t offset_ = 0;
  std::optional<uint64_t> write_begin_;
  std::string write_;  // the part read so far
  std::optional<uint64_t> gap_begin_;
  bool is_blank_ = true;
};

}  // namespace

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return number;
}

absl::StatusOr<std::vector<WalFile>> FindWalFiles(
    const std::string& directory) {
  std::vector<WalFile> files;
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return files;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    uint64_t number = 0;
    if (path.extension() == ".log" &&
        absl::SimpleAtoi(path.stem().string(), &number)) {
      files.push_back({.number = number, .path = path.string()});
    }
  }
  if (error) {
    return StatusFromErrorCode(error, absl::StrCat("cannot read ", directory));
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return files;
}

absl::Status ReadWalFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(uint64_t, absl::string_view)> on_record,
    absl::FunctionRef<void(const WalRange&, bool)> on_gap) {
  std::ifstream file(path, std::ios::binary);
  Reader reader(on_record, on_gap);
  std::string block(kBlockSize, '\0');
  while (file.good()) {
    file.read(block.data(), kBlockSize);
    const auto size = static_cast<size_t>(file.gcount());
    RETURN_IF_ERROR(reader.Take(absl::string_view(block).substr(0, size)));
  }
  if (!file.eof()) {
    return absl::UnavailableError(absl::StrCat("cannot read ", path));
  }
  reader.End();
  return absl::OkStatus();
}

void AppendWalRecord(absl::string_view write, std::string* file) {
  bool is_first = true;
  do {
    size_t left = kBlockSize - file->size() % kBlockSize;
    if (left < kHeaderSize) {
      file->append(left, '\0');
      left = kBlockSize;
    }
    const absl::string_view payload = write.substr(0, left - kHeaderSize);
    write.remove_prefix(payload.size());
    const bool is_last = write.empty();
    const RecordType type =
        is_first ? (is_last ? kFull : kFirst) : (is_last ? kLast : kMiddle);
    is_first = false;
    const std::string covered =
        absl::StrCat(std::string(1, static_cast<char>(type)), payload);
    uint64_t header = Masked(Crc(covered)) | uint64_t{payload.size()} << 32;
    for (size_t i = 0; i + 1 < kHeaderSize; ++i, header >>= 8) {
      file->push_back(static_cast<char>(header & 0xFF));
    }
    file->append(covered);
  } while (!write.empty());
}

}  // namespace fleetperf::aggregator
