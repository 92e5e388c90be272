// Reads the records that the kernel writes to memory: a ring that keeps what
// was not read yet, or one that overwrites its oldest records.
//
// A ring is bytes from outside. A record whose size is less than that of a
// header, no multiple of 8 or larger than what was written, and positions that
// cannot be, are errors: the ring reports DataLoss, drops everything that was
// written up to then, and continues with what is written later. No reading
// happens outside of the ring, and each call ends.
//
// The classes work on any memory, so that tests supply the ring. Not
// thread-safe: one reader at a time; the kernel writes concurrently.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_RING_H_
#define FLEETPERF_DRIVER_PERF_EVENT_RING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "driver/perf_event/mmap_page.h"
#include "driver/perf_event/raw_record.h"

namespace fleetperf::perf_event {

// Where a ring's bytes are.
struct RingMemory {
  MmapPage* page;
  // A power of two bytes, at least 8, aligned to 8.
  absl::Span<const char> data;

  // Finds the ring in a mapping of an event: `size` bytes whose first page of
  // `page_size` bytes is a MmapPage. DataLoss: the page names a place outside
  // of the mapping, or a size that is no power of two.
  static absl::StatusOr<RingMemory> Find(char* mapping, size_t size,
                                         size_t page_size);
};

// Copies records that continue at the start of the ring, so that all records
// are contiguous.
class RingBytes {
 public:
  explicit RingBytes(absl::Span<const char> data)
      : data_(data.data()), size_(data.size()) {}

  size_t size() const { return size_; }

  // Returns the record at `position`, which is a multiple of 8, or nothing if
  // its size is wrong or larger than `available`.
  std::optional<RawRecord> At(uint64_t position, uint64_t available) {
    const size_t offset = static_cast<size_t>(position & (size_ - 1));
    RecordHeader header;
    std::memcpy(&header, data_ + offset, sizeof(header));
    if (ABSL_PREDICT_FALSE(header.size < sizeof(header) ||
                           header.size % 8 != 0 || header.size > available)) {
      return std::nullopt;
    }
    if (ABSL_PREDICT_FALSE(offset + header.size > size_)) {
      return RawRecord(header, Joined(offset, header.size));
    }
    return RawRecord(header, data_ + offset);
  }

 private:
  // Copies the two parts into `joined_`.
  const char* Joined(size_t offset, size_t size);

  const char* data_;
  size_t size_;
  std::vector<char> joined_;
};

// A ring to which the kernel appends, and in which it drops new records while
// there is no room: kLost records and read_format::kLost count them.
class Ring {
 public:
  explicit Ring(const RingMemory& memory);

  // Releases the record that the previous call returned, and returns the oldest
  // one that is left, or nothing if there is none or the ring is damaged: see
  // status(). The record is valid until the next call, and its bytes stay in
  // the ring until then.
  std::optional<RawRecord> Next() {
    Release();
    if (ABSL_PREDICT_FALSE(tail_ == head_) && !Refresh()) return std::nullopt;
    std::optional<RawRecord> record = bytes_.At(tail_, head_ - tail_);
    if (ABSL_PREDICT_FALSE(!record)) {
      Drop("a record has a wrong size");
      return std::nullopt;
    }
    next_ = tail_ + record->size();
    return record;
  }

  // Gives the space of the record that Next returned back to the kernel.
  void Release() {
    if (tail_ == next_) return;
    tail_ = next_;
    // The kernel must not write before the reads of the record are done.
    __atomic_store_n(&page_->data_tail, tail_, __ATOMIC_RELEASE);
  }

  // Makes Next return the same record again, unless it was released. So does
  // destroying the Ring and creating another one for the same memory.
  void Rewind() { next_ = tail_; }

  // OK, or DataLoss with the number of dropped bytes if the last call of Next
  // that returned nothing found damage.
  const absl::Status& status() const { return status_; }

  // Bytes that are written and not released.
  uint64_t unread() const {
    return __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE) - tail_;
  }
  size_t size() const { return bytes_.size(); }

 private:
  // Returns whether there are records between tail_ and head_ now.
  bool Refresh();
  ABSL_ATTRIBUTE_NOINLINE void Drop(absl::string_view why);

  MmapPage* page_;
  RingBytes bytes_;
  uint64_t head_;
  uint64_t tail_;  // of the record that Next returned, or the next one
  uint64_t next_;  // end of the record that Next returned, or tail_
  absl::Status status_;
};

// A ring of an event with flag::kWriteBackward, mapped read-only. The kernel
// writes each record before the one that it wrote previously, and overwrites
// the oldest ones. Writing must be paused while records are read: see
// FlightRecorder.
class BackwardRing {
 public:
  explicit BackwardRing(const RingMemory& memory);

  // Starts to read what was written since the last call of Start.
  void Start();
  // Returns the newest record that was not returned since Start, or nothing
  // after the oldest one that is complete, or if the ring is damaged: see
  // status(). The record is valid until the next call.
  std::optional<RawRecord> Next();

  // OK, or DataLoss after damage, which hides all older records.
  const absl::Status& status() const { return status_; }

 private:
  const MmapPage* page_;
  RingBytes bytes_;
  uint64_t position_ = 0;
  uint64_t left_ = 0;     // bytes from position_ to the oldest one
  bool wrapped_ = false;  // the oldest record is incomplete
  uint64_t newest_ = 0;   // head at the last Start
  absl::Status status_;
};

// Bytes in their order. The second part is what continues at the start of the
// area.
struct AuxBytes {
  absl::string_view first;
  absl::string_view second;

  uint64_t size() const { return first.size() + second.size(); }
};

// Reads the AUX area: bytes of a hardware trace, such as Intel PT's. The kernel
// stops writing while there is no space.
class AuxRing {
 public:
  // `data` has a power of two bytes.
  AuxRing(MmapPage* page, absl::Span<const char> data)
      : page_(page), data_(data) {}

  // Returns what was written and not released. DataLoss: positions that cannot
  // be; all of it is released.
  absl::StatusOr<AuxBytes> Read();
  // Gives the first `bytes` of what Read returned, or all of it if that is
  // less, back to the kernel.
  void Release(uint64_t bytes);

  // Returns the bytes that a kAux record of the ring announces, as far as the
  // area still holds them.
  AuxBytes At(uint64_t offset, uint64_t size) const;

  size_t size() const { return data_.size(); }

 private:
  MmapPage* page_;
  absl::Span<const char> data_;
  uint64_t read_ = 0;  // size of what Read returned
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_RING_H_
