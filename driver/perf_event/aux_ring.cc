#include "driver/perf_event/aux_ring.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {

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
