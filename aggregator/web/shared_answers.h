// Answers that equal requests share for a short time.

#ifndef FLEETPERF_AGGREGATOR_WEB_SHARED_ANSWERS_H_
#define FLEETPERF_AGGREGATOR_WEB_SHARED_ANSWERS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/web/reply.h"

namespace fleetperf::aggregator::web {

// An answer lives in proportion to the time that it took, so that making the
// same one again and again takes a small part of a processor, whatever the
// number of users. For answers that do not depend on the caller. Thread-safe.
class SharedAnswers {
 public:
  static constexpr int kLifeTimesCost = 200;
  static constexpr absl::Duration kLongestLife = absl::Seconds(5);
  // The limit of requests and answers together. Beyond it, the answers that end
  // first are not kept.
  static constexpr size_t kMaxBytes = 32 << 20;

  // Returns the answer to an equal request; nullptr if there is none. `now` is
  // Clock::Monotonic().
  Reply::Bytes Find(const std::string& request, absl::Duration now) const {
    absl::MutexLock lock(&mutex_);
    const auto found = answers_.find(request);
    if (found == answers_.end() || found->second.end <= now) return nullptr;
    return found->second.bytes;
  }

  // Keeps an answer, which took `cost`.
  void Add(const std::string& request, Reply::Bytes bytes, absl::Duration cost,
           absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(answers_, [&](const auto& entry) {
      if (entry.second.end > now && entry.first != request) return false;
      bytes_ -= SizeOf(entry);
      return true;
    });
    const size_t size = request.size() + bytes->size();
    if (size > kMaxBytes) return;
    while (size > kMaxBytes - bytes_) {
      const auto first = std::min_element(answers_.begin(), answers_.end(),
                                          [](const auto& a, const auto& b) {
                                            return a.second.end < b.second.end;
                                          });
      bytes_ -= SizeOf(*first);
      answers_.erase(first);
    }
    bytes_ += size;
    answers_[request] = {
        .bytes = std::move(bytes),
        .end = now + std::min(cost * kLifeTimesCost, kLongestLife)};
  }

 private:
  struct Answer {
    Reply::Bytes bytes;
    absl::Duration end;
  };
  using Answers = absl::flat_hash_map<std::string, Answer>;

  static size_t SizeOf(const Answers::value_type& entry) {
    return entry.first.size() + entry.second.bytes->size();
  }

  mutable absl::Mutex mutex_;
  Answers answers_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_SHARED_ANSWERS_H_
