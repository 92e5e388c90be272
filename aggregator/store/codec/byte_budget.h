// A limit of memory that several objects share.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_BYTE_BUDGET_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_BYTE_BUDGET_H_

#include <atomic>
#include <cstddef>

namespace fleetperf::aggregator {

// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(size_t bytes) : left_(bytes) {}

  // Returns false if too few bytes are left.
  bool Take(size_t bytes) {
    size_t left = left_;
    while (bytes <= left) {
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    }
    return false;
  }
  void Return(size_t bytes) { left_ += bytes; }

 private:
  std::atomic<size_t> left_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_BYTE_BUDGET_H_
