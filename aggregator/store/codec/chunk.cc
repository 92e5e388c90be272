#include "aggregator/store/codec/chunk.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "aggregator/store/codec/number_codec.h"
#include "base/coding.h"
#include "base/status_macros.h"
#include "base/zstd.h"

namespace fleetperf::aggregator {
namespace {

// Limits of a chunk. A chunk that claims more is damaged.
constexpr uint64_t kMaxTicks = uint64_t{1} << 24;
constexpr uint64_t kMaxSections = 1 << 16;
constexpr uint64_t kMaxRuns = uint64_t{1} << 24;
constexpr uint64_t kMaxColumns = 1 << 16;
constexpr uint64_t kMaxValues = uint64_t{1} << 25;      // read at once
constexpr int64_t kMaxIntervalTime = int64_t{1} << 50;  // in ns: 13 days
constexpr uint64_t kMaxNames = uint64_t{1} << 28;       // bytes

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("damaged chunk in the store: ", what));
}

bool GetCount(absl::string_view* from, uint64_t max, uint64_t* count) {
  return GetVarint(from, count) && *count <= max;
}

// Adds the numbers to `*sum`. Returns false if the sum would exceed `max`.
bool Sum(absl::Span<const uint64_t> numbers, uint64_t max, uint64_t* sum) {
  for (const uint64_t number : numbers) {
    if (number > max - *sum) return false;
    *sum += number;
  }
  return true;
}

// Returns whether the numbers strictly ascend and all are less than `end`.
bool Ascend(const std::vector<uint64_t>& numbers, uint64_t end) {
  return (numbers.empty() || numbers.back() < end) &&
         std::adjacent_find(numbers.begin(), numbers.end(),
                            std::greater_equal<>()) == numbers.end();
}

bool GetText(absl::string_view* from, std::string* text) {
  uint64_t size = 0;
  absl::string_view bytes;
  if (!GetCount(from, kMaxNames, &size) || !GetBytes(from, &bytes)) {
    return false;
  }
  if (bytes.size() < size) return ZstdDecompress(bytes, size, text).ok();
  *text = std::string(bytes);
  return bytes.size() == size;
}

struct Instances {
  std::string names;
  std::vector<uint64_t> name_ends;
  std::vector<uint64_t> instance_ids;
  std::vector<uint64_t> occurrences;
  std::vector<uint64_t> definitions;
  std::vector<uint64_t> births;  // 1 if the instance is born, else 0

  Instance Get(size_t number, uint32_t epoch_number) const {
    const uint64_t begin = number > 0 ? name_ends[number - 1] : 0;
    return {.name = names.substr(begin, name_ends[number] - begin),
            .instance_id = static_cast<uint32_t>(instance_ids[number]),
            .occurrence = static_cast<uint32_t>(occurrences[number]),
            .life = MakeLife(epoch_number,
                             static_cast<uint32_t>(definitions[number])),
            .is_born = births[number] != 0};
  }
};

bool GetInstances(absl::string_view* from, uint64_t version,
                  Instances* instances) {
  uint64_t count = 0;
  if (!GetCount(from, kMaxRuns, &count) || !GetText(from, &instances->names) ||
      !GetNumbers(from, count, &instances->name_ends) ||
      !GetNumbers(from, count, &instances->instance_ids) ||
      !GetNumbers(from, count, &instances->occurrences) ||
      !GetNumbers(from, count, &instances->definitions)) {
    return false;
  }
  if (version == 1) {
    instances->births.resize(count);
  } else if (!GetNumbers(from, count, &instances->births)) {
    return false;
  }
  uint64_t end = 0;
  for (uint64_t& size : instances->name_ends) {
    if (size > instances->names.size() - end) return false;
    size = end += size;
  }
  return true;
}

// The index of a column: the location of its runs.
struct ColumnIndex {
  std::vector<uint64_t> missing;
  std::vector<uint64_t> firsts;
  std::vector<uint64_t> sizes;
};

bool GetColumnIndex(absl::string_view bytes, uint64_t runs, uint64_t values,
                    ColumnIndex* index) {
  uint64_t missing = 0;
  return GetCount(&bytes, values, &missing) &&
         GetNumbers(&bytes, missing, &index->missing) &&
         Ascend(index->missing, values) &&
         GetNumbers(&bytes, runs, &index->firsts) &&
         GetNumbers(&bytes, runs, &index->sizes) && bytes.empty();
}

}  // namespace

absl::StatusOr<Chunk> Chunk::Open(absl::string_view head, uint32_t epoch_number,
                                  ReadBody read_body) {
  Chunk chunk;
  chunk.epoch_number_ = epoch_number;
  chunk.read_body_ = std::move(read_body);
  if (!chunk.ParseHead(head)) return Damaged("invalid head");
  return chunk;
}

bool Chunk::ParseHead(absl::string_view head) {
  uint64_t ticks = 0;
  std::vector<uint64_t> times;
  std::vector<uint64_t> stamps;
  std::vector<uint64_t> freqs;
  uint64_t sections = 0;
  if (!GetVarint(&head, &version_) || version_ == 0 ||
      version_ > kChunkVersion || !GetCount(&head, kMaxTicks, &ticks) ||
      !GetNumbers(&head, ticks, &times) || !GetNumbers(&head, ticks, &stamps) ||
      !GetNumbers(&head, ticks, &freqs) ||
      !GetCount(&head, kMaxSections, &sections)) {
    return false;
  }
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>(ticks);
  for (size_t i = 0; i < ticks; ++i) {
    (*clocks)[i] = {
        .perf_time_stamp = static_cast<int64_t>(stamps[i] + times[i]),
        .perf_time_100nsec = static_cast<int64_t>(times[i]),
        .perf_freq = static_cast<int64_t>(freqs[i])};
  }
  clocks_ = std::move(clocks);
  uint64_t body_size = 0;
  for (; sections > 0; --sections) {
    if (!ParseSection(&head, &body_size)) return false;
  }
  return head.empty();
}

bool Chunk::GetIntervalTimes(absl::string_view* head, Section* section) const {
  if (version_ == 1) return true;
  uint64_t count = 0;
  std::vector<uint64_t> times;
  if (!GetCount(head, clocks_->size(), &count) ||
      (count != 0 && count != clocks_->size()) ||
      !GetNumbers(head, count, &times)) {
    return false;
  }
  section->interval_times.assign(times.begin(), times.end());
  return std::all_of(
      section->interval_times.begin(), section->interval_times.end(),
      [](int64_t time) { return time >= 0 && time <= kMaxIntervalTime; });
}

bool Chunk::ParseSection(absl::string_view* head, uint64_t* body_size) {
  Section section{.begin = *body_size};
  uint64_t shape = 0;
  uint64_t failures = 0;
  std::vector<uint64_t> ticks;
  std::vector<uint64_t> statuses;
  uint64_t columns = 0;
  if (!GetCount(head, UINT32_MAX, &shape) ||
      !GetCount(head, clocks_->size(), &failures) ||
      !GetNumbers(head, failures, &ticks) || !Ascend(ticks, clocks_->size()) ||
      !GetNumbers(head, failures, &statuses) ||
      !GetIntervalTimes(head, &section) ||
      !GetCount(head, kMaxRuns, &section.run_count) ||
      !GetVarint(head, &section.tables_size) ||
      !GetCount(head, kMaxColumns, &columns) ||
      !GetNumbers(head, columns, &section.index_sizes) ||
      !GetNumbers(head, columns, &section.values_sizes)) {
    return false;
  }
  section.shape = static_cast<uint32_t>(shape);
  for (size_t i = 0; i < failures; ++i) {
    section.failures.push_back(
        {static_cast<uint32_t>(ticks[i]), static_cast<uint32_t>(statuses[i])});
  }
  if (!Sum({section.tables_size}, kMaxBodySize, body_size) ||
      !Sum(section.index_sizes, kMaxBodySize, body_size) ||
      !Sum(section.values_sizes, kMaxBodySize, body_size)) {
    return false;
  }
  sections_.push_back(std::move(section));
  return true;
}

absl::StatusOr<Frame> Chunk::Read(
    size_t number, std::shared_ptr<const CollectedQuery> query,
    const std::vector<bool>& columns, const TickRange& ticks,
    const std::function<bool(const Instance&)>& wants) const {
  const Section& section = sections_[number];
  const size_t column_count = section.index_sizes.size();
  // A section without runs has no columns.
  if (column_count != (section.run_count > 0 ? query->columns.size() : 0)) {
    return Damaged("columns do not match the query");
  }
  Frame frame;
  frame.query = std::move(query);
  frame.clocks = clocks_;
  frame.failures = section.failures;
  frame.epoch_number = epoch_number_;
  frame.interval_times = section.interval_times;
  Runs runs;
  RETURN_IF_ERROR(ReadRuns(section, ticks, wants, &frame, &runs));
  frame.columns.resize(column_count);
  uint64_t begin = section.begin + section.tables_size;
  uint64_t values = 0;
  for (size_t column = 0; column < column_count; ++column) {
    if (columns[column] && !frame.runs.empty()) {
      RETURN_IF_ERROR(ReadColumn(section, column, begin, runs, frame,
                                 &frame.columns[column]));
      values += frame.columns[column].values.size();
      if (values > kMaxValues) return Damaged("too many values");
    }
    begin += section.index_sizes[column] + section.values_sizes[column];
  }
  return frame;
}

absl::Status Chunk::ReadRuns(const Section& section, const TickRange& ticks,
                             const std::function<bool(const Instance&)>& wants,
                             Frame* frame, Runs* runs) const {
  std::string bytes;
  RETURN_IF_ERROR(read_body_(section.begin, section.tables_size, &bytes));
  absl::string_view rest = bytes;
  Instances table;
  std::vector<uint64_t> numbers;
  std::vector<uint64_t> first_ticks;
  std::vector<uint64_t> tick_counts;
  if (!GetInstances(&rest, version_, &table) ||
      !GetNumbers(&rest, section.run_count, &numbers) ||
      !GetNumbers(&rest, section.run_count, &first_ticks) ||
      !GetNumbers(&rest, section.run_count, &tick_counts) || !rest.empty()) {
    return Damaged("invalid instances");
  }
  // Null if the instance is not wanted or was not looked up yet.
  std::vector<std::shared_ptr<const Instance>> instances(
      table.name_ends.size());
  std::vector<bool> is_asked(instances.size());
  const auto find = [&](size_t i) {
    if (!is_asked[i]) {
      is_asked[i] = true;
      Instance instance = table.Get(i, epoch_number_);
      if (!wants || wants(instance)) {
        instances[i] = std::make_shared<const Instance>(std::move(instance));
      }
    }
    return instances[i];
  };
  uint64_t wanted_values = 0;
  for (size_t i = 0; i < section.run_count; ++i) {
    if (numbers[i] >= instances.size() || tick_counts[i] == 0 ||
        first_ticks[i] >= clocks_->size() ||
        tick_counts[i] > clocks_->size() - first_ticks[i]) {
      return Damaged("invalid runs");
    }
    runs->begins.push_back(runs->values);
    runs->values += tick_counts[i];
    if (runs->values > kMaxValues) return Damaged("too many values");
    if (first_ticks[i] > ticks.last ||
        first_ticks[i] + tick_counts[i] <= ticks.first) {
      continue;
    }
    auto instance = find(numbers[i]);
    if (instance == nullptr) continue;
    runs->numbers.push_back(i);
    frame->runs.push_back({.instance = std::move(instance),
                           .first_tick = static_cast<uint32_t>(first_ticks[i]),
                           .tick_count = static_cast<uint32_t>(tick_counts[i]),
                           .begin = static_cast<uint32_t>(wanted_values)});
    wanted_values += tick_counts[i];
  }
  return absl::OkStatus();
}

absl::Status Chunk::ReadColumn(const Section& section, size_t column,
                               uint64_t begin, const Runs& runs,
                               const Frame& frame, FrameColumn* to) const {
  std::string bytes;
  const uint64_t index_size = section.index_sizes[column];
  RETURN_IF_ERROR(read_body_(begin, index_size, &bytes));
  ColumnIndex index;
  if (!GetColumnIndex(bytes, section.run_count, runs.values, &index)) {
    return Damaged("invalid column index");
  }
  // The end of each run, relative to the end of the index.
  uint64_t end = 0;
  std::vector<uint64_t>& ends = index.sizes;
  for (uint64_t& size : ends) {
    if (size > section.values_sizes[column] - end) {
      return Damaged("invalid run sizes in a column");
    }
    size = end += size;
  }
  const auto begin_of = [&](size_t run) { return run > 0 ? ends[run - 1] : 0; };
  const size_t first = runs.numbers.front();
  const size_t last = runs.numbers.back();
  const uint64_t offset = begin_of(first);
  to->constant = ends[last] == offset && index.missing.empty();
  if (to->constant) {
    for (const size_t run : runs.numbers) {
      to->values.push_back(index.firsts[run]);
    }
    return absl::OkStatus();
  }
  // Most reads select either all runs or few adjacent ones, so one read covers
  // the range of selected runs.
  RETURN_IF_ERROR(
      read_body_(begin + index_size + offset, ends[last] - offset, &bytes));
  to->values.resize(frame.runs.back().begin + frame.runs.back().tick_count);
  auto missing = index.missing.begin();
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const size_t run = runs.numbers[i];
    const Frame::Run& ticks = frame.runs[i];
    const absl::Span<uint64_t> values =
        absl::MakeSpan(to->values).subspan(ticks.begin, ticks.tick_count);
    values[0] = index.firsts[run];
    const uint64_t size = ends[run] - begin_of(run);
    if (!DecodeChanges(
            absl::string_view(bytes).substr(begin_of(run) - offset, size),
            values)) {
      return Damaged("invalid values in a run");
    }
    missing = std::lower_bound(missing, index.missing.end(), runs.begins[run]);
    for (; missing != index.missing.end() &&
           *missing < runs.begins[run] + ticks.tick_count;
         ++missing) {
      to->missing.push_back(static_cast<uint32_t>(*missing - runs.begins[run]) +
                            ticks.begin);
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
