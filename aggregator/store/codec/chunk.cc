#include "aggregator/store/codec/chunk.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/types/span.h"
#include "aggregator/store/codec/number_codec.h"
#include "base/coding.h"
#include "base/status_macros.h"
#include "base/zstd.h"

namespace fleetperf::aggregator {
namespace {

// Limits of a chunk. A chunk that claims more is damaged.
constexpr uint64_t kMaxValues = uint64_t{1} << 25;  // read at once
constexpr uint64_t kMaxNames = uint64_t{1} << 28;   // bytes

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

bool GetInstances(absl::string_view* from, Instances* instances) {
  uint64_t count = 0;
  if (!GetCount(from, kMaxRuns, &count) || !GetText(from, &instances->names) ||
      !GetNumbers(from, count, &instances->name_ends) ||
      !GetNumbers(from, count, &instances->instance_ids) ||
      !GetNumbers(from, count, &instances->occurrences) ||
      !GetNumbers(from, count, &instances->definitions) ||
      !GetNumbers(from, count, &instances->births)) {
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
  // The end of each run's values, relative to the end of the index.
  std::vector<uint64_t> ends;

  uint64_t BeginOf(size_t run) const { return run > 0 ? ends[run - 1] : 0; }
  uint64_t SizeOf(size_t run) const { return ends[run] - BeginOf(run); }
};

// Leaves the folds of runs, if there are any, in `bytes`.
bool GetColumnIndex(absl::string_view* bytes, uint64_t runs, uint64_t values,
                    uint64_t values_size, ColumnIndex* index) {
  uint64_t missing = 0;
  if (!GetCount(bytes, values, &missing) ||
      !GetNumbers(bytes, missing, &index->missing) ||
      !Ascend(index->missing, values) ||
      !GetNumbers(bytes, runs, &index->firsts) ||
      !GetNumbers(bytes, runs, &index->ends)) {
    return false;
  }
  uint64_t end = 0;
  for (uint64_t& size : index->ends) {
    if (size > values_size - end) return false;
    size = end += size;
  }
  return true;
}

}  // namespace

absl::StatusOr<Chunk> Chunk::Open(absl::string_view head, uint32_t epoch_number,
                                  ReadBody read_body) {
  ASSIGN_OR_RETURN(auto parsed, ChunkHead::Parse(head));
  return Chunk(std::move(parsed), epoch_number, std::move(read_body));
}

absl::StatusOr<Chunk::Clocks> Chunk::ReadClocks() {
  if (clocks_ == nullptr) {
    ASSIGN_OR_RETURN(clocks_, head_->DecodeClocks());
  }
  return clocks_;
}

absl::StatusOr<absl::string_view> Chunk::ReadIndex(const Part& part) const {
  const absl::string_view indexes = head_->indexes_;
  if (indexes.empty()) return read_body_(part.begin, part.size);
  return indexes.substr(part.begin, part.size);
}

absl::StatusOr<absl::string_view> Chunk::ReadValues(const Part& of,
                                                    uint64_t offset,
                                                    uint64_t size) const {
  return read_body_(head_->values_begin_ + of.begin + offset, size);
}

absl::StatusOr<Frame> Chunk::Read(
    size_t number, std::shared_ptr<const CollectedQuery> query,
    const std::vector<bool>& columns, const TickRange& ticks,
    const std::function<bool(const Instance&)>& wants) {
  const Section& section = head_->sections_[number];
  Runs runs;
  ASSIGN_OR_RETURN(Frame frame,
                   BeginFrame(section, std::move(query), ticks, wants, &runs));
  ASSIGN_OR_RETURN(frame.clocks, ReadClocks());
  uint64_t values = 0;
  for (size_t column = 0; column < frame.columns.size(); ++column) {
    if (columns[column] && !frame.runs.empty()) {
      RETURN_IF_ERROR(
          ReadColumn(section, column, runs, frame, &frame.columns[column]));
      values += frame.columns[column].values.size();
      if (values > kMaxValues) return DamagedChunk("too many values");
    }
  }
  return frame;
}

absl::StatusOr<std::optional<Frame>> Chunk::ReadFolded(
    size_t number, std::shared_ptr<const CollectedQuery> query,
    const std::vector<bool>& columns, bool includes_all_ticks,
    const std::function<bool(const Instance&)>& wants) {
  const Section& section = head_->sections_[number];
  if (head_->ends_ == nullptr || section.failures.size > 0 ||
      query->is_thinned() || !head_->clocks_fold_->IsSoundAt(query->interval)) {
    return std::optional<Frame>();
  }
  Runs runs;
  ASSIGN_OR_RETURN(Frame frame,
                   BeginFrame(section, std::move(query), {}, wants, &runs));
  if (!includes_all_ticks && !runs.are_whole) return std::optional<Frame>();
  frame.clocks = head_->ends_;
  frame.fold = Frame::Fold{.ticks = static_cast<uint32_t>(head_->ticks_ - 1),
                           .length = 100 * head_->clocks_fold_->length,
                           .longest = 100 * head_->clocks_fold_->longest};
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    Frame::Run& run = frame.runs[i];
    if (run.tick_count != head_->ticks_) return std::optional<Frame>();
    run.tick_count = 2;
    run.begin = static_cast<uint32_t>(2 * i);
  }
  for (size_t column = 0; column < frame.columns.size(); ++column) {
    if (columns[column] && !frame.runs.empty()) {
      ASSIGN_OR_RETURN(const bool is_folded,
                       FoldColumn(section, column, runs, *frame.query,
                                  &frame.columns[column]));
      if (!is_folded) return std::optional<Frame>();
    }
  }
  return std::optional<Frame>(std::move(frame));
}

absl::StatusOr<Frame> Chunk::BeginFrame(
    const Section& section, std::shared_ptr<const CollectedQuery> query,
    const TickRange& ticks, const std::function<bool(const Instance&)>& wants,
    Runs* runs) const {
  const size_t columns = section.columns.size;
  // A section without runs has no columns.
  if (columns != (section.run_count > 0 ? query->columns.size() : 0)) {
    return DamagedChunk("columns do not match the query");
  }
  Frame frame;
  frame.query = std::move(query);
  frame.failures = ChunkHead::CopyOf(head_->failures_, section.failures);
  frame.epoch_number = epoch_number_;
  frame.interval_times =
      ChunkHead::CopyOf(head_->interval_times_, section.interval_times);
  RETURN_IF_ERROR(ReadRuns(section, ticks, wants, &frame, runs));
  frame.columns.resize(columns);
  return frame;
}

absl::Status Chunk::ReadRuns(const Section& section, const TickRange& ticks,
                             const std::function<bool(const Instance&)>& wants,
                             Frame* frame, Runs* runs) const {
  ASSIGN_OR_RETURN(absl::string_view rest, ReadIndex(section.tables));
  Instances table;
  std::vector<uint64_t> numbers;
  std::vector<uint64_t> first_ticks;
  std::vector<uint64_t> tick_counts;
  if (!GetInstances(&rest, &table) ||
      !GetNumbers(&rest, section.run_count, &numbers) ||
      !GetNumbers(&rest, section.run_count, &first_ticks) ||
      !GetNumbers(&rest, section.run_count, &tick_counts) || !rest.empty()) {
    return DamagedChunk("invalid instances");
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
        first_ticks[i] >= head_->ticks_ ||
        tick_counts[i] > head_->ticks_ - first_ticks[i]) {
      return DamagedChunk("invalid runs");
    }
    runs->are_whole = runs->are_whole && tick_counts[i] == head_->ticks_;
    runs->begins.push_back(runs->values);
    runs->values += tick_counts[i];
    if (runs->values > kMaxValues) return DamagedChunk("too many values");
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
                               const Runs& runs, const Frame& frame,
                               FrameColumn* to) const {
  const Column& part = head_->columns_[section.columns.begin + column];
  ASSIGN_OR_RETURN(absl::string_view bytes, ReadIndex(part.index));
  ColumnIndex index;
  if (!GetColumnIndex(&bytes, section.run_count, runs.values, part.values.size,
                      &index)) {
    return DamagedChunk("invalid column index");
  }
  const size_t first = runs.numbers.front();
  const size_t last = runs.numbers.back();
  const uint64_t offset = index.BeginOf(first);
  to->constant = index.ends[last] == offset && index.missing.empty();
  if (to->constant) {
    for (const size_t run : runs.numbers) {
      to->values.push_back(index.firsts[run]);
    }
    return absl::OkStatus();
  }
  // Most reads select either all runs or few adjacent ones, so one read covers
  // the range of selected runs.
  ASSIGN_OR_RETURN(bytes,
                   ReadValues(part.values, offset, index.ends[last] - offset));
  to->values.resize(frame.runs.back().begin + frame.runs.back().tick_count);
  auto missing = index.missing.begin();
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const size_t run = runs.numbers[i];
    const Frame::Run& ticks = frame.runs[i];
    const absl::Span<uint64_t> values =
        absl::MakeSpan(to->values).subspan(ticks.begin, ticks.tick_count);
    values[0] = index.firsts[run];
    if (!DecodeChanges(
            bytes.substr(index.BeginOf(run) - offset, index.SizeOf(run)),
            values)) {
      return DamagedChunk("invalid values in a run");
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

// Folds of large runs are in the index. Those of other runs are calculated from
// the samples.
absl::StatusOr<bool> Chunk::FoldColumn(const Section& section, size_t column,
                                       const Runs& runs,
                                       const CollectedQuery& query,
                                       FrameColumn* to) {
  const FoldKind kind = FoldKindOf(query, column);
  if (kind == FoldKind::kNone) return false;
  const Column& part = head_->columns_[section.columns.begin + column];
  ASSIGN_OR_RETURN(absl::string_view bytes, ReadIndex(part.index));
  ColumnIndex index;
  if (!GetColumnIndex(&bytes, section.run_count, runs.values, part.values.size,
                      &index)) {
    return DamagedChunk("invalid column index");
  }
  if (!index.missing.empty()) return false;
  std::vector<RunToFold> folded;
  std::vector<size_t> place(section.run_count);  // in `folded`
  for (size_t run = 0; run < section.run_count; ++run) {
    if (!HasRunFold(kind, index.SizeOf(run))) continue;
    const bool is_last = run + 1 == section.run_count;
    const uint64_t end = is_last ? runs.values : runs.begins[run + 1];
    place[run] = folded.size();
    folded.push_back({index.firsts[run], end - runs.begins[run] - 1});
  }
  std::vector<std::optional<RunFold>> folds;
  if (!GetRunFolds(kind, folded, &bytes, &folds) || !bytes.empty()) {
    return DamagedChunk("invalid folds of a column");
  }
  to->constant =
      std::all_of(runs.numbers.begin(), runs.numbers.end(),
                  [&](size_t run) { return index.SizeOf(run) == 0; });
  for (const size_t run : runs.numbers) {
    const uint64_t first = index.firsts[run];
    to->values.push_back(first);
    if (to->constant) continue;
    const uint64_t size = index.SizeOf(run);
    std::optional<RunFold> fold;
    if (size == 0) {
      fold = FoldConstantRun(kind, first, head_->ticks_ - 1);
    } else if (HasRunFold(kind, size)) {
      fold = folds[place[run]];
    } else {
      ASSIGN_OR_RETURN(fold, FoldSamples(kind, section.columns.begin + column,
                                         run, first, index.BeginOf(run), size));
    }
    if (!fold.has_value()) return false;
    to->values.push_back(fold->last);
    if (kind == FoldKind::kTotals) to->totals.push_back(fold->total);
  }
  return true;
}

absl::StatusOr<std::optional<RunFold>> Chunk::FoldSamples(
    FoldKind kind, size_t column, size_t run, uint64_t first, uint64_t begin,
    uint64_t size) {
  if (folds_ != nullptr) {
    const auto known = folds_->Find(column, run);
    if (known.has_value()) return *known;
  }
  ASSIGN_OR_RETURN(const absl::string_view bytes,
                   ReadValues(head_->columns_[column].values, begin, size));
  numbers_.resize(head_->ticks_);
  numbers_[0] = first;
  if (!DecodeChanges(bytes, absl::MakeSpan(numbers_))) {
    return DamagedChunk("invalid values in a run");
  }
  const std::optional<RunFold> fold = FoldRun(kind, numbers_);
  if (folds_ != nullptr) folds_->Add(column, run, fold);
  return fold;
}

}  // namespace fleetperf::aggregator
