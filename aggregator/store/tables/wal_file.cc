#include "aggregator/store/tables/wal_file.h"

#include <rocksdb/file_checksum.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/keys.h"
#include "base/coding.h"
#include "base/os/files.h"
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

size_t SizeAt(absl::string_view block, size_t begin) {
  return kHeaderSize + LittleEndian(block.substr(begin + 4, 2));
}

// Returns the type and the payload of the record at `begin`; std::nullopt if
// there is no valid one.
std::optional<absl::string_view> RecordAt(absl::string_view block,
                                          size_t begin) {
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
  return covered;
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

// Assembles writes from records. A gap is what is between two whole writes.
class Reader {
 public:
  using OnRecord = absl::FunctionRef<absl::Status(uint64_t, absl::string_view)>;
  using OnGap = absl::FunctionRef<void(const WalRange&, bool)>;

  Reader(OnRecord on_record, OnGap on_gap)
      : on_record_(on_record), on_gap_(on_gap) {}

  // Processes the file's next block.
  absl::Status Take(absl::string_view block) {
    const uint64_t offset = size_;
    size_ += block.size();
    for (size_t begin = 0, next = 0; begin < block.size(); begin = next) {
      if (block.size() - begin < kHeaderSize && block.size() == kBlockSize) {
        if (end_ == offset + begin) end_ = size_;  // unused, so not a gap
        break;
      }
      const auto record = RecordAt(block, begin);
      next = record.has_value() ? begin + SizeAt(block, begin)
                                : ResumeAfter(block, begin);
      const char type = record.has_value() ? record->front() : 0;
      const bool is_first = type == kFull || type == kFirst;
      if (is_first || !record.has_value()) DropWrite();
      if (is_first) begin_ = offset + begin;
      if (begin_.has_value()) {
        write_.append(record->data() + 1, record->size() - 1);
        if (type == kFull || type == kLast) RETURN_IF_ERROR(Use(offset + next));
      } else {
        is_blank_ = is_blank_ && IsBlank(block.substr(begin, next - begin));
      }
    }
    return absl::OkStatus();
  }

  void End() {
    DropWrite();
    EndGap(size_);
  }

 private:
  // Reports a write that is whole.
  absl::Status Use(uint64_t end) {
    const uint64_t begin = *begin_;
    EndGap(begin);
    end_ = end;
    const absl::Status status = on_record_(begin, write_);
    begin_ = std::nullopt;
    write_.clear();
    return status;
  }

  // Discards an incomplete write.
  void DropWrite() {
    if (!begin_.has_value()) return;
    is_blank_ = false;
    begin_ = std::nullopt;
    write_.clear();
  }

  void EndGap(uint64_t begin) {
    if (begin > end_)
      on_gap_({.offset = end_, .size = begin - end_}, is_blank_);
    is_blank_ = true;
  }

  const OnRecord on_record_;
  const OnGap on_gap_;
  uint64_t size_ = 0;              // of the blocks so far
  uint64_t end_ = 0;               // of the last whole write
  bool is_blank_ = true;           // whether the bytes since `end_` are zero
  std::optional<uint64_t> begin_;  // of a write whose end is not read yet
  std::string write_;              // the part of it so far
};

}  // namespace

absl::StatusOr<std::map<uint64_t, std::string>> FindWalFiles(
    const std::string& directory) {
  std::map<uint64_t, std::string> files;
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    absl::string_view name = entry.name;
    uint64_t number = 0;
    if (absl::ConsumeSuffix(&name, ".log") && absl::SimpleAtoi(name, &number)) {
      files[number] = absl::StrCat(directory, "/", entry.name);
    }
  }
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
    PutLittleEndian(Masked(Crc(covered)), 4, file);
    PutLittleEndian(payload.size(), 2, file);
    file->append(covered);
  } while (!write.empty());
}

}  // namespace fleetperf::aggregator
