// Pages of lists.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_PAGE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_PAGE_H_

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/rpc/channel.h"

namespace fleetperf::aggregator {

inline constexpr uint32_t kDefaultPageSize = 1000;
inline constexpr uint32_t kMaxPageSize = 10'000;
// Limits of a page, and of the answer to a request without pages. The item that
// exceeds the limit is the last one. No item is larger than the rest of
// kMaxMessageBytes.
inline constexpr size_t kPageBytes = 4 << 20;
inline constexpr size_t kAnswerBytes = 8 << 20;
static_assert(kAnswerBytes <= kMaxMessageBytes / 2);
inline constexpr uint32_t kAnyNumber = std::numeric_limits<uint32_t>::max();

// Counts the items and bytes of a page.
class Page {
 public:
  // `page_size` is that of a request.
  explicit Page(uint32_t page_size)
      : Page(page_size,
             page_size == 0 ? kAnyNumber : std::min(page_size, kMaxPageSize)) {}
  // Limits the page to `max_items`.
  Page(uint32_t page_size, uint32_t max_items)
      : max_items_(max_items),
        max_bytes_(page_size == 0 ? kAnswerBytes : kPageBytes) {}

  bool is_full() const { return items_ >= max_items_ || bytes_ > max_bytes_; }
  void Add(const google::protobuf::Message& item) {
    ++items_;
    bytes_ += item.ByteSizeLong();
  }

 private:
  const uint32_t max_items_;
  const size_t max_bytes_;
  size_t items_ = 0;
  size_t bytes_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_PAGE_H_
