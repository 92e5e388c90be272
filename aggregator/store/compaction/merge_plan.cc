#include "aggregator/store/compaction/merge_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fleetperf::aggregator {
namespace {

// Chunks received further apart than this are not merged, since data is removed
// by its time of receipt.
constexpr absl::Duration kMaxReceiptGap = absl::Hours(2);

}  // namespace

void MergePlan::Add(const ChunkKey& key, std::vector<uint32_t> shapes,
                    absl::Time received) {
  std::vector<Line>& lines = lines_[{key.machine, key.epoch_number}];
  for (Line& line : lines) {
    if (line.shapes == shapes && line.chunks.front().hour == key.hour &&
        GapOf(line, received) <= kMaxReceiptGap) {
      line.chunks.push_back(key);
      line.first_received = std::min(line.first_received, received);
      line.last_received = std::max(line.last_received, received);
      return;
    }
  }
  std::erase_if(lines, [&](Line& line) {
    if (!Conflict(line.shapes, shapes)) return false;
    Complete(&line);
    return true;
  });
  lines.push_back({.shapes = std::move(shapes),
                   .chunks = {key},
                   .first_received = received,
                   .last_received = received});
}

std::vector<MergePlan::Group> MergePlan::Take(absl::Time idle_since) {
  for (auto lines = lines_.begin(); lines != lines_.end();) {
    std::erase_if(lines->second, [&](Line& line) {
      if (line.last_received >= idle_since) return false;
      Complete(&line);
      return true;
    });
    lines = lines->second.empty() ? lines_.erase(lines) : std::next(lines);
  }
  return std::exchange(complete_, {});
}

absl::Duration MergePlan::GapOf(const Line& line, absl::Time received) {
  return std::max(line.last_received, received) -
         std::min(line.first_received, received);
}

bool MergePlan::Conflict(const std::vector<uint32_t>& a,
                         const std::vector<uint32_t>& b) const {
  return std::any_of(a.begin(), a.end(), [&](uint32_t one) {
    return std::any_of(b.begin(), b.end(), [&](uint32_t other) {
      return one == other || share_series_(one, other);
    });
  });
}

void MergePlan::Complete(Line* line) {
  if (line->chunks.size() > 1) complete_.push_back(std::move(line->chunks));
}

}  // namespace fleetperf::aggregator
