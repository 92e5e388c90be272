#include "aggregator/peers/frame_join.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/frame_slice.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The limit of all samples of a join.
constexpr size_t kMaxJoinedBytes = 256 << 20;

// The bytes of a frame in memory, and of what is kept of each of its ticks.
size_t BytesOf(const Frame& frame) {
  constexpr size_t kBytesOfTick = sizeof(perflib::Clocks) + 64;
  size_t bytes = sizeof(Frame) + frame.clocks->size() * kBytesOfTick +
                 frame.runs.size() * sizeof(Frame::Run) +
                 frame.failures.size() * sizeof(Frame::Failure) +
                 frame.interval_times.size() * sizeof(int64_t);
  for (const FrameColumn& column : frame.columns) {
    bytes += sizeof(FrameColumn) + column.values.size() * sizeof(uint64_t) +
             column.missing.size() * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace

void FrameJoin::BeginStore(const std::map<uint32_t, uint64_t>* epochs) {
  ++store_;
  epochs_ = epochs;
  instances_.clear();
  lanes_of_store_.clear();
}

absl::Status FrameJoin::Add(const Frame& frame) {
  if (frame.clocks->empty()) return absl::OkStatus();
  bytes_ += BytesOf(frame);
  if (bytes_ > kMaxJoinedBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "several aggregators hold samples of ", frame.query->machine,
        ", more than ", kMaxJoinedBytes >> 20,
        " MiB together; select a shorter range or fewer counters"));
  }
  Frame& added = LaneOf(*frame.query)->frames.emplace_back(frame);
  added.epoch_number = EpochNumber(frame.epoch_number);
  for (Frame::Run& run : added.runs) {
    run.instance = JoinedInstance(run.instance);
  }
  return absl::OkStatus();
}

FrameJoin::Lane* FrameJoin::LaneOf(const CollectedQuery& query) {
  const size_t number = QueryOf(query);
  Lane*& lane = lanes_of_store_[number];
  if (lane == nullptr) {
    auto& of_schema = lanes_[query.schema->hash];
    lane = of_schema.emplace_back(std::make_unique<Lane>()).get();
    lane->query = number;
  }
  return lane;
}

std::shared_ptr<const Instance> FrameJoin::JoinedInstance(
    const std::shared_ptr<const Instance>& instance) {
  std::shared_ptr<const Instance>& known = instances_[instance];
  if (known == nullptr) {
    Instance joined = *instance;
    joined.life = MakeLife(EpochNumber(EpochOfLife(joined.life)),
                           DefinitionOfLife(joined.life));
    known = std::make_shared<const Instance>(std::move(joined));
  }
  return known;
}

uint32_t FrameJoin::EpochNumber(uint32_t number) {
  const auto epoch = epochs_->find(number);
  uint32_t& joined = epoch != epochs_->end() ? known_epochs_[epoch->second]
                                             : other_epochs_[{store_, number}];
  if (joined == 0) joined = ++last_epoch_;
  return joined;
}

size_t FrameJoin::QueryOf(const CollectedQuery& query) {
  const auto known =
      std::find_if(queries_.begin(), queries_.end(), [&](const auto& other) {
        return other->schema->hash == query.schema->hash &&
               other->interval == query.interval &&
               other->thinned_from == query.thinned_from &&
               other->columns == query.columns;
      });
  const auto number = static_cast<size_t>(known - queries_.begin());
  if (known == queries_.end()) {
    queries_.push_back(std::make_shared<const CollectedQuery>(query));
  }
  return number;
}

absl::Status FrameJoin::Run(
    absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  for (const auto& [hash, of_schema] : lanes_) {
    Lanes lanes;
    for (const auto& lane : of_schema) lanes.push_back(lane.get());
    RETURN_IF_ERROR(RunLanes(std::move(lanes), on_frame));
  }
  return absl::OkStatus();
}

absl::Status FrameJoin::RunLanes(
    Lanes lanes, absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  while (!lanes.empty()) {
    const auto first = std::min_element(lanes.begin(), lanes.end(),
                                        [](const Lane* a, const Lane* b) {
                                          return a->ComesBefore(*b, b->next);
                                        });
    RETURN_IF_ERROR(Emit(*first, lanes, on_frame));
    if ((*first)->frames.empty()) lanes.erase(first);
  }
  return absl::OkStatus();
}

bool FrameJoin::Lane::ComesBefore(const Lane& other, uint32_t tick) const {
  const Frame& a = frames.front();
  const Frame& b = other.frames.front();
  const perflib::Clocks& clocks = (*a.clocks)[next];
  const perflib::Clocks& others = (*b.clocks)[tick];
  return a.epoch_number == b.epoch_number
             ? clocks.perf_time_stamp < others.perf_time_stamp
             : clocks.perf_time_100nsec < others.perf_time_100nsec;
}

// Passes on the next ticks of the lane's first frame: at least one, up to one
// that the next tick of another lane comes before.
absl::Status FrameJoin::Emit(
    Lane* lane, const Lanes& lanes,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  const Frame& frame = lane->frames.front();
  const std::vector<perflib::Clocks>& clocks = *frame.clocks;
  const auto is_new = [&](uint32_t tick) {
    const Tick key(lane->query, clocks[tick].perf_time_100nsec,
                   clocks[tick].perf_time_stamp);
    return emitted_.try_emplace(key, lane).first->second == lane;
  };
  const auto ticks = static_cast<uint32_t>(clocks.size());
  uint32_t end = lane->next + 1;
  const auto is_behind_others = [&](uint32_t tick) {
    return std::any_of(lanes.begin(), lanes.end(), [&](const Lane* other) {
      return other != lane && other->ComesBefore(*lane, tick);
    });
  };
  while (end < ticks && !is_behind_others(end)) ++end;
  for (uint32_t tick = lane->next; tick < end;) {
    const uint32_t first = tick;
    while (tick < end && is_new(tick)) ++tick;
    if (tick > first) {
      RETURN_IF_ERROR(on_frame(
          first == 0 && tick == ticks ? frame : Slice(frame, first, tick)));
    }
    if (tick < end) ++tick;  // is there already
  }
  lane->next = end;
  if (end == ticks) {
    lane->frames.pop_front();
    lane->next = 0;
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
