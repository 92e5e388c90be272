// Limits the requests of a certificate whose bodies or answers take memory, so
// that clients that send or read slowly cannot take all of it.

#ifndef FLEETPERF_AGGREGATOR_WEB_REQUEST_PLACES_H_
#define FLEETPERF_AGGREGATOR_WEB_REQUEST_PLACES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace fleetperf::aggregator::web {

// Thread-compatible; `streams` is thread-safe.
class RequestPlaces {
 public:
  // Of one caller (Identity::key). Streams do not end by themselves, and have
  // places of their own: 20 sessions have browsers with six connections each.
  static constexpr int kMaxRequests = 64;
  static constexpr int kMaxStreams = 128;

  // A place, released by its destructor. Must not outlive the object.
  class Place {
   public:
    // `streams` is nullptr unless the place is one of a stream.
    Place(int* taken, std::atomic<uint64_t>* streams)
        : taken_(*taken), streams_(streams) {
      ++taken_;
      if (streams_ != nullptr) ++*streams_;
    }
    ~Place() {
      --taken_;
      if (streams_ != nullptr) --*streams_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    int& taken_;
    std::atomic<uint64_t>* const streams_;
  };

  // Returns nullptr if the caller has all its places.
  std::unique_ptr<Place> Enter(const std::string& caller, bool is_stream) {
    // Callers without places remain: there are no more than certificates.
    std::unique_ptr<Taken>& taken = taken_[caller];
    if (taken == nullptr) taken = std::make_unique<Taken>();
    int& count = is_stream ? taken->streams : taken->requests;
    if (count == (is_stream ? kMaxStreams : kMaxRequests)) return nullptr;
    return std::make_unique<Place>(&count, is_stream ? &streams_ : nullptr);
  }

  // The number of streams of all callers.
  uint64_t streams() const { return streams_; }

 private:
  struct Taken {
    int requests = 0;
    int streams = 0;
  };

  absl::flat_hash_map<std::string, std::unique_ptr<Taken>> taken_;
  std::atomic<uint64_t> streams_ = 0;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_REQUEST_PLACES_H_
