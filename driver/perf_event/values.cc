#include "driver/perf_event/values.h"

#include <limits>

#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {

std::optional<uint64_t> Scaled(uint64_t value, uint64_t time_enabled,
                               uint64_t time_running) {
  if (time_running == 0) return std::nullopt;
  if (time_running == time_enabled) return value;
  const unsigned __int128 scaled =
      static_cast<unsigned __int128>(value) * time_enabled / time_running;
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  return scaled > kMax ? kMax : static_cast<uint64_t>(scaled);
}

const GroupEntry* GroupValues::Find(uint64_t id) const {
  for (const GroupEntry& entry : entries_) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

// Layout: count of entries, time enabled, time running, then for each entry
// value, id, lost. All but the count and the values are optional.
bool GroupValues::Parse(absl::Span<const uint64_t> words, uint64_t format) {
  entries_.clear();
  time_enabled_.reset();
  time_running_.reset();
  const bool has_enabled = (format & read_format::kTotalTimeEnabled) != 0;
  const bool has_running = (format & read_format::kTotalTimeRunning) != 0;
  const bool has_id = (format & read_format::kId) != 0;
  const bool has_lost = (format & read_format::kLost) != 0;
  const size_t header = 1u + has_enabled + has_running;
  const size_t entry_size = 1u + has_id + has_lost;
  if (words.size() < header) return false;
  const uint64_t count = words[0];
  if (count > (words.size() - header) / entry_size) return false;

  const uint64_t* next = words.data() + 1;
  if (has_enabled) time_enabled_ = *next++;
  if (has_running) time_running_ = *next++;
  entries_.resize(count);
  for (GroupEntry& entry : entries_) {
    entry.value = *next++;
    if (has_id) entry.id = *next++;
    if (has_lost) entry.lost = *next++;
  }
  return true;
}

}  // namespace fleetperf::perf_event
