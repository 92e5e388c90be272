#include "aggregator/store/body_memo.h"

#include <algorithm>

namespace fleetperf::aggregator {
namespace {

// The run of a counter in an hour with a tick a second mostly takes less.
// Reading a larger part takes much longer than finding its block.
constexpr size_t kMaxPart = 8192;
// The bytes of an entry of the map, about.
constexpr size_t kBytesOfPlace = 96;

}  // namespace

BodyMemo::~BodyMemo() {
  absl::MutexLock lock(&mutex_);
  budget_.Return(taken_);
}

std::optional<absl::string_view> BodyMemo::Find(uint64_t offset,
                                                uint64_t size) const {
  absl::MutexLock lock(&mutex_);
  const auto found = parts_.find({offset, size});
  if (found == parts_.end()) return std::nullopt;
  return absl::string_view(found->second.get(), size);
}

void BodyMemo::Add(uint64_t offset, absl::string_view part) {
  if (part.size() > kMaxPart) return;
  absl::MutexLock lock(&mutex_);
  const size_t bytes = kBytesOfPlace + part.size();
  if (parts_.contains({offset, part.size()}) || !budget_.Take(bytes)) return;
  taken_ += bytes;
  auto kept = std::make_unique<char[]>(part.size());
  std::copy(part.begin(), part.end(), kept.get());
  parts_.emplace(Key(offset, part.size()), std::move(kept));
}

}  // namespace fleetperf::aggregator
