#include "driver/perf_event/ring.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {

absl::StatusOr<RingMemory> RingMemory::Find(char* mapping, size_t size,
                                            size_t page_size) {
  auto* const page = reinterpret_cast<MmapPage*>(mapping);
  uint64_t offset = page->data_offset;
  uint64_t length = page->data_size;
  if (offset == 0 && length == 0) {  // Linux before 4.1
    offset = page_size;
    length = size - page_size;
  }
  if (offset < page_size || offset > size || length > size - offset ||
      offset % 8 != 0 || length < 8 || !std::has_single_bit(length)) {
    return absl::DataLossError(
        absl::StrCat("the mapped page of an event names a ring of ", length,
                     " bytes at byte ", offset, ", which a mapping of ", size,
                     " bytes cannot hold"));
  }
  return RingMemory{page, {mapping + offset, static_cast<size_t>(length)}};
}

const char* RingBytes::Joined(size_t offset, size_t size) {
  const size_t first = size_ - offset;
  joined_.resize(size);
  std::memcpy(joined_.data(), data_ + offset, first);
  std::memcpy(joined_.data() + first, data_, size - first);
  return joined_.data();
}

Ring::Ring(const RingMemory& memory)
    : page_(memory.page),
      bytes_(memory.data),
      head_(memory.page->data_tail),
      tail_(head_),
      next_(head_) {}

bool Ring::Refresh() {
  status_ = absl::OkStatus();
  // Records must not be read before the position that covers them.
  head_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  if (head_ == tail_) return false;
  if (tail_ % 8 == 0 && head_ - tail_ <= bytes_.size()) return true;
  Drop("its positions cannot be");
  return false;
}

void Ring::Drop(absl::string_view why) {
  status_ = absl::DataLossError(
      absl::StrCat("a ring of perf_event is damaged at byte ", tail_, ": ", why,
                   "; ", head_ - tail_, " bytes are dropped"));
  // Records begin at multiples of 8.
  head_ = head_ / 8 * 8;
  next_ = head_;
  Release();
}

BackwardRing::BackwardRing(const RingMemory& memory)
    : page_(memory.page), bytes_(memory.data) {}

void BackwardRing::Start() {
  position_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  // The first position is 0, so that 0 was the newest one before any record.
  const uint64_t written = newest_ - position_;
  newest_ = position_;
  wrapped_ = written > bytes_.size();
  left_ = std::min<uint64_t>(written, bytes_.size());
  status_ = absl::OkStatus();
  if (position_ % 8 != 0) {
    status_ = absl::DataLossError(absl::StrCat(
        "a ring of perf_event is damaged: its position is ", position_));
    left_ = 0;
  }
}

std::optional<RawRecord> BackwardRing::Next() {
  if (left_ == 0) return std::nullopt;
  const std::optional<RawRecord> record = bytes_.At(position_, bytes_.size());
  if (record && record->size() <= left_) {
    position_ += record->size();
    left_ -= record->size();
    return record;
  }
  if (!record || !wrapped_) {
    status_ = absl::DataLossError(
        absl::StrCat("a ring of perf_event is damaged at byte ", position_,
                     ": a record has a wrong size"));
  }
  left_ = 0;
  return std::nullopt;
}

AuxBytes AuxRing::At(uint64_t offset, uint64_t size) const {
  const auto start = static_cast<size_t>(offset & (data_.size() - 1));
  const auto all = static_cast<size_t>(std::min<uint64_t>(size, data_.size()));
  const size_t first = std::min(all, data_.size() - start);
  return {{data_.data() + start, first}, {data_.data(), all - first}};
}

absl::StatusOr<AuxBytes> AuxRing::Read() {
  const uint64_t head = __atomic_load_n(&page_->aux_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = page_->aux_tail;
  if (head - tail > data_.size()) {
    __atomic_store_n(&page_->aux_tail, head, __ATOMIC_RELEASE);
    read_ = 0;
    return absl::DataLossError(absl::StrCat(
        "an AUX area of ", data_.size(),
        " bytes is damaged: it was written to ", head, " and read to ", tail));
  }
  read_ = head - tail;
  return At(tail, read_);
}

void AuxRing::Release(uint64_t bytes) {
  bytes = std::min(bytes, read_);
  read_ -= bytes;
  __atomic_store_n(&page_->aux_tail, page_->aux_tail + bytes, __ATOMIC_RELEASE);
}

}  // namespace fleetperf::perf_event
