#include "driver/perf_event/sample_fields.h"

namespace fleetperf::perf_event {
namespace {

// Bits of a C struct's bit fields, which start at bit 0 on a little-endian
// machine and at bit 63 on a big-endian one.
class BitFields {
 public:
  BitFields(uint64_t value, bool big_endian)
      : value_(value), big_endian_(big_endian) {}

  uint64_t Next(int bits) {
    const int shift = big_endian_ ? 64 - at_ - bits : at_;
    at_ += bits;
    return value_ >> shift & ((uint64_t{1} << bits) - 1);
  }

 private:
  const uint64_t value_;
  const bool big_endian_;
  int at_ = 0;
};

}  // namespace

size_t ReadValues::HeadWords(uint64_t read_format) {
  constexpr uint64_t kHead = read_format::kGroup |
                             read_format::kTotalTimeEnabled |
                             read_format::kTotalTimeRunning;
  return static_cast<size_t>(std::popcount(read_format & kHead));
}

size_t ReadValues::EntryWords(uint64_t read_format) {
  constexpr uint64_t kEntry = read_format::kId | read_format::kLost;
  return 1 + static_cast<size_t>(std::popcount(read_format & kEntry));
}

GroupEntry ReadValues::operator[](size_t index) const {
  GroupEntry entry;
  size_t at = HeadWords(read_format_);
  if (is_group()) {
    at += index * EntryWords(read_format_);
    entry.value = words_[at++];
  } else {
    // The value of an event alone is before the times.
    entry.value = words_[0];
    ++at;
  }
  if (Has(read_format::kId)) entry.id = words_[at++];
  if (Has(read_format::kLost)) entry.lost = words_[at];
  return entry;
}

BranchEntry BranchStack::operator[](size_t index) const {
  const size_t at = index * kEntryWords;
  BitFields flags(entries_[at + 2], big_endian_);
  BranchEntry entry;
  entry.from = entries_[at];
  entry.to = entries_[at + 1];
  entry.mispredicted = flags.Next(1) != 0;
  entry.predicted = flags.Next(1) != 0;
  entry.in_transaction = flags.Next(1) != 0;
  entry.abort = flags.Next(1) != 0;
  entry.cycles = static_cast<uint16_t>(flags.Next(16));
  entry.type = static_cast<BranchType>(flags.Next(4));
  entry.speculation = static_cast<BranchSpeculation>(flags.Next(2));
  entry.new_type = static_cast<NewBranchType>(flags.Next(4));
  entry.privilege = static_cast<BranchPrivilege>(flags.Next(3));
  return entry;
}

}  // namespace fleetperf::perf_event
