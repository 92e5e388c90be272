#include "aggregator/store/tables/sst_blocks.h"

#include <optional>
#include <utility>

#include "base/coding.h"

namespace fleetperf::aggregator {
namespace {

// Each 16th entry of a block has its key as a whole, and its offset in the
// restarts at the end of the block.
constexpr size_t kRestartInterval = 16;
constexpr size_t kNumberSize = 4;  // of a restart
constexpr char kNotCompressed = 0;
constexpr char kLz4 = 4;
constexpr uint64_t kIsValue = 1;

// Reads a size of LZ4's format, of which `size` has the first part: if that is
// 15, bytes follow, the last of which is not 255.
bool GetLz4Size(absl::string_view* from, size_t* size) {
  if (*size < 15) return true;
  for (uint8_t byte = 255; byte == 255;) {
    if (from->empty()) return false;
    byte = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    *size += byte;
  }
  return true;
}

// Decompresses a block of LZ4 and removes it from the front of `from`. Returns
// std::nullopt if it does not have `size` bytes exactly.
std::optional<std::string> DecompressLz4(absl::string_view* from, size_t size) {
  std::string to;
  while (!from->empty()) {
    const auto token = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    size_t literals = token >> 4;
    if (!GetLz4Size(from, &literals) || literals > from->size() ||
        literals > size - to.size()) {
      return std::nullopt;
    }
    to.append(from->data(), literals);
    from->remove_prefix(literals);
    if (to.size() == size) return to;
    // A copy of earlier bytes, which may overlap itself.
    if (from->size() < 2) return std::nullopt;
    const size_t distance = LittleEndian(from->substr(0, 2));
    from->remove_prefix(2);
    size_t copied = token & 15;
    if (!GetLz4Size(from, &copied)) return std::nullopt;
    copied += 4;
    if (distance == 0 || distance > to.size() || copied > size - to.size()) {
      return std::nullopt;
    }
    for (; copied > 0; --copied) to.push_back(to[to.size() - distance]);
  }
  return std::nullopt;
}

// Parses the block at the start of a string.
class BlockParser {
 public:
  BlockParser(absl::string_view bytes,
              absl::FunctionRef<void(const SstEntry&)> use)
      : bytes_(bytes), rest_(bytes), use_(use) {}

  // Returns std::nullopt if there is no block.
  std::optional<SstBlock> Parse() {
    SstBlock block;
    for (size_t entries = 0;; ++entries) {
      // The first restart is 0. An entry does not begin with this number,
      // because no key is empty.
      if (entries > 0 && NumberAt(rest_) == 0) break;
      if (entries % kRestartInterval == 0) {
        restarts_.push_back(bytes_.size() - rest_.size());
      }
      if (!ParseEntry(entries % kRestartInterval == 0)) return std::nullopt;
      if (entries == 0) block.first_key = key_;
    }
    if (!SkipRestarts()) return std::nullopt;
    block.size = bytes_.size() - rest_.size();
    block.last_key = std::move(key_);
    return block;
  }

 private:
  static std::optional<uint64_t> NumberAt(absl::string_view bytes) {
    if (bytes.size() < kNumberSize) return std::nullopt;
    return LittleEndian(bytes.substr(0, kNumberSize));
  }

  bool ParseEntry(bool is_whole) {
    uint64_t shared = 0;
    uint64_t own = 0;
    uint64_t value_size = 0;
    if (!GetVarint(&rest_, &shared) || !GetVarint(&rest_, &own) ||
        !GetVarint(&rest_, &value_size) || (is_whole && shared != 0) ||
        shared > key_.size() || own > rest_.size() ||
        value_size > rest_.size() - own || shared + own <= kSstChangeSize) {
      return false;
    }
    key_.resize(shared);
    key_.append(rest_.data(), own);
    const absl::string_view key = key_;
    const uint64_t change =
        LittleEndian(key.substr(key.size() - kSstChangeSize, kSstChangeSize));
    use_({.key = key.substr(0, key.size() - kSstChangeSize),
          .change = change >> 8,
          .is_value = (change & 0xFF) == kIsValue,
          .value = rest_.substr(own, value_size)});
    rest_.remove_prefix(own + value_size);
    return true;
  }

  bool SkipRestarts() {
    restarts_.push_back(restarts_.size());  // their number follows
    for (const uint64_t number : restarts_) {
      if (NumberAt(rest_) != number) return false;
      rest_.remove_prefix(kNumberSize);
    }
    return true;
  }

  const absl::string_view bytes_;
  absl::string_view rest_;
  const absl::FunctionRef<void(const SstEntry&)> use_;
  std::string key_;  // of the last entry
  std::vector<uint64_t> restarts_;
};

bool HasTrailer(absl::string_view rest, char compression) {
  return rest.size() >= kSstTrailerSize && rest[0] == compression;
}

// Returns the block at the start of `file`; std::nullopt if there is none.
std::optional<SstBlock> ReadBlock(
    absl::string_view file, absl::FunctionRef<void(const SstEntry&)> use) {
  // The largest block: a page of a chunk, and names and definitions.
  constexpr uint64_t kMaxSize = 256 << 20;
  absl::string_view rest = file;
  uint64_t size = 0;
  if (GetVarint(&rest, &size) && size <= kMaxSize) {
    const auto content = DecompressLz4(&rest, size);
    if (content.has_value() && HasTrailer(rest, kLz4)) {
      auto block = BlockParser(*content, use).Parse();
      if (block.has_value() && block->size == content->size()) {
        block->size = file.size() - rest.size();
        return block;
      }
    }
  }
  auto block = BlockParser(file, use).Parse();
  if (block.has_value() &&
      HasTrailer(file.substr(block->size), kNotCompressed)) {
    return block;
  }
  return std::nullopt;
}

}  // namespace

std::vector<SstBlock> ReadSstBlocks(
    absl::string_view file, absl::FunctionRef<void(const SstEntry&)> use) {
  std::vector<SstBlock> blocks;
  for (uint64_t offset = 0;;) {
    std::optional<SstBlock> block = ReadBlock(file.substr(offset), use);
    if (!block.has_value()) return blocks;
    block->offset = offset;
    offset += block->size + kSstTrailerSize;
    blocks.push_back(*std::move(block));
  }
}

}  // namespace fleetperf::aggregator
