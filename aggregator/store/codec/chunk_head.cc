#include "aggregator/store/codec/chunk_head.h"

#include <algorithm>
#include <utility>

#include "aggregator/store/codec/chunk_format.h"
#include "aggregator/store/codec/number_codec.h"
#include "base/coding.h"

namespace fleetperf::aggregator {
namespace {

// Limits of a head. A head that claims more is damaged.
constexpr uint64_t kMaxTicks = uint64_t{1} << 24;
constexpr uint64_t kMaxSections = 1 << 16;
constexpr uint64_t kMaxColumns = 1 << 16;
constexpr uint64_t kMaxListed = uint64_t{1} << 25;  // in a list of all sections
constexpr uint64_t kMaxIntervalTime = uint64_t{1} << 50;  // in ns: 13 days

}  // namespace

absl::StatusOr<std::shared_ptr<const ChunkHead>> ChunkHead::Parse(
    absl::string_view head) {
  std::shared_ptr<ChunkHead> parsed(new ChunkHead);
  if (!parsed->ParseAll(head)) return DamagedChunk("invalid head");
  return std::shared_ptr<const ChunkHead>(std::move(parsed));
}

bool ChunkHead::ParseAll(absl::string_view head) {
  uint64_t version = 0;
  uint64_t sections = 0;
  if (!GetVarint(&head, &version) || version != kChunkVersion ||
      !GetCount(&head, kMaxTicks, &ticks_) ||
      !GetClocksFold(&head, &clocks_fold_)) {
    return false;
  }
  clock_lists_ = head;
  for (int list = 0; list < 3; ++list) {
    if (!SkipNumbers(&head, ticks_)) return false;
  }
  uint64_t has_indexes = 0;
  if (!GetCount(&head, 1, &has_indexes) ||
      !GetCount(&head, kMaxSections, &sections)) {
    return false;
  }
  if (clocks_fold_.has_value()) {
    if (ticks_ < 2) return false;
    SetEnds(clock_lists_);
  }
  // A section has more than four bytes.
  sections_.reserve(std::min<uint64_t>(sections, head.size() / 4));
  Scratch scratch;
  for (; sections > 0; --sections) {
    if (!ParseSection(&head, &scratch)) return false;
  }
  columns_.shrink_to_fit();
  failures_.shrink_to_fit();
  interval_times_.shrink_to_fit();
  if (has_indexes == 0) {
    values_begin_ = indexes_size_;
    return head.empty();
  }
  indexes_ = head;
  return indexes_.size() == indexes_size_;
}

void ChunkHead::SetEnds(absl::string_view lists) {
  uint64_t time = 0;
  uint64_t stamp = 0;
  absl::string_view rest;
  // SkipNumbers found the lists to be whole.
  if (!GetVarint(&lists, &time) || !GetBytes(&lists, &rest) ||
      !GetVarint(&lists, &stamp)) {
    return;
  }
  stamp += time;
  const auto clocks = [&](int64_t since_stamp, int64_t since_time) {
    return perflib::Clocks{
        .perf_time_stamp =
            static_cast<int64_t>(stamp + static_cast<uint64_t>(since_stamp)),
        .perf_time_100nsec =
            static_cast<int64_t>(time + static_cast<uint64_t>(since_time)),
        .perf_freq = perflib::kLinuxPerfFreq};
  };
  ends_ = std::make_shared<const std::vector<perflib::Clocks>>(
      std::vector<perflib::Clocks>{
          clocks(0, 0), clocks(clocks_fold_->length, clocks_fold_->last)});
}

size_t ChunkHead::size() const {
  const size_t ends =
      ends_ == nullptr ? 0 : sizeof *ends_ + 2 * sizeof(perflib::Clocks);
  return sizeof *this + ends + sections_.capacity() * sizeof(Section) +
         columns_.capacity() * sizeof(Column) +
         failures_.capacity() * sizeof(Frame::Failure) +
         interval_times_.capacity() * sizeof(int64_t);
}

absl::StatusOr<ChunkHead::Clocks> ChunkHead::DecodeClocks() const {
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>(ticks_);
  absl::string_view lists = clock_lists_;
  std::vector<uint64_t> numbers;
  const auto read = [&](const auto& set) {
    if (!GetNumbers(&lists, ticks_, &numbers)) return false;
    for (size_t i = 0; i < ticks_; ++i) set((*clocks)[i], numbers[i]);
    return true;
  };
  const auto set_time = [](perflib::Clocks& tick, uint64_t time) {
    tick.perf_time_100nsec = static_cast<int64_t>(time);
  };
  const auto set_stamp = [](perflib::Clocks& tick, uint64_t since_time) {
    tick.perf_time_stamp = static_cast<int64_t>(
        static_cast<uint64_t>(tick.perf_time_100nsec) + since_time);
  };
  const auto set_freq = [](perflib::Clocks& tick, uint64_t freq) {
    tick.perf_freq = static_cast<int64_t>(freq);
  };
  if (!read(set_time) || !read(set_stamp) || !read(set_freq)) {
    return DamagedChunk("invalid clocks");
  }
  return Clocks(std::move(clocks));
}

bool ChunkHead::GetIntervalTimes(absl::string_view* head,
                                 std::vector<uint64_t>* numbers,
                                 Section* section) {
  uint64_t count = 0;
  if (!GetCount(head, ticks_, &count) || (count != 0 && count != ticks_) ||
      !GetNumbers(head, count, numbers) ||
      !PlaceNext(count, interval_times_, &section->interval_times)) {
    return false;
  }
  interval_times_.insert(interval_times_.end(), numbers->begin(),
                         numbers->end());
  return std::all_of(numbers->begin(), numbers->end(),
                     [](uint64_t time) { return time <= kMaxIntervalTime; });
}

bool ChunkHead::GetFailures(absl::string_view* head,
                            std::vector<uint64_t>* numbers, Section* section) {
  uint64_t count = 0;
  if (!GetCount(head, ticks_, &count) || !GetNumbers(head, count, numbers) ||
      !Ascend(*numbers, ticks_) ||
      !PlaceNext(count, failures_, &section->failures)) {
    return false;
  }
  for (const uint64_t tick : *numbers) {
    failures_.push_back({.tick = static_cast<uint32_t>(tick)});
  }
  if (!GetNumbers(head, count, numbers)) return false;
  for (size_t i = 0; i < count; ++i) {
    failures_[section->failures.begin + i].status =
        static_cast<uint32_t>((*numbers)[i]);
  }
  return true;
}

bool ChunkHead::ParseSection(absl::string_view* head, Scratch* scratch) {
  Section section;
  uint64_t shape = 0;
  uint64_t runs = 0;
  uint64_t tables = 0;
  if (!GetCount(head, UINT32_MAX, &shape) ||
      !GetFailures(head, &scratch->numbers, &section) ||
      !GetIntervalTimes(head, &scratch->numbers, &section) ||
      !GetCount(head, kMaxRuns, &runs) || !GetVarint(head, &tables) ||
      !Append(tables, &indexes_size_, &section.tables) ||
      !GetColumns(head, scratch, &section)) {
    return false;
  }
  section.shape = static_cast<uint32_t>(shape);
  section.run_count = static_cast<uint32_t>(runs);
  sections_.push_back(std::move(section));
  return true;
}

bool ChunkHead::GetColumns(absl::string_view* head, Scratch* scratch,
                           Section* section) {
  uint64_t count = 0;
  if (!GetCount(head, kMaxColumns, &count) ||
      !GetNumbers(head, count, &scratch->sizes) ||  // of the indexes
      !GetNumbers(head, count, &scratch->numbers) ||
      !PlaceNext(count, columns_, &section->columns)) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    Column& column = columns_.emplace_back();
    if (!Append(scratch->sizes[i], &indexes_size_, &column.index) ||
        !Append(scratch->numbers[i], &values_size_, &column.values)) {
      return false;
    }
  }
  return true;
}

bool ChunkHead::Append(uint64_t size, uint64_t* all, Part* part) {
  if (size > kMaxBodySize - *all) return false;
  *part = {.begin = static_cast<uint32_t>(*all),
           .size = static_cast<uint32_t>(size)};
  *all += size;
  return true;
}

template <typename T>
bool ChunkHead::PlaceNext(uint64_t count, const std::vector<T>& list,
                          Part* part) {
  if (count > kMaxListed - list.size()) return false;
  *part = {.begin = static_cast<uint32_t>(list.size()),
           .size = static_cast<uint32_t>(count)};
  return true;
}

}  // namespace fleetperf::aggregator
