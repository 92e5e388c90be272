#include "aggregator/store/codec/chunk_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/codec/fold.h"
#include "aggregator/store/codec/number_codec.h"
#include "base/coding.h"
#include "base/zstd.h"

namespace fleetperf::aggregator {
namespace {

uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

// Calls PutNumbers with the result of `number_of` for each of `items`.
template <typename Items, typename NumberOf>
void PutEach(const Items& items, const NumberOf& number_of, std::string* to) {
  std::vector<uint64_t> numbers;
  numbers.reserve(items.size());
  for (const auto& item : items) numbers.push_back(number_of(item));
  PutNumbers(numbers, to);
}

void PutClocks(const std::vector<perflib::Clocks>& clocks, std::string* to) {
  PutEach(
      clocks, [](const auto& c) { return Unsigned(c.perf_time_100nsec); }, to);
  // Both clocks usually advance by the same amount, so their difference is
  // mostly constant.
  PutEach(
      clocks,
      [](const auto& c) {
        return Unsigned(c.perf_time_stamp) - Unsigned(c.perf_time_100nsec);
      },
      to);
  PutEach(
      clocks, [](const auto& c) { return Unsigned(c.perf_freq); }, to);
}

// Consecutive names are usually similar, so they compress well.
void PutText(const std::string& text, std::string* to) {
  std::string compressed;
  ZstdCompress(text, &compressed);
  const bool is_smaller = compressed.size() < text.size();
  PutVarint(text.size(), to);
  PutBytes(is_smaller ? compressed : text, to);
}

// A run of the chunk. It may continue across pieces.
struct Run {
  size_t instance = 0;
  uint32_t first_tick = 0;
  uint32_t tick_count = 0;
};

// The source of some ticks of a run.
struct Segment {
  size_t run = 0;
  const Frame* frame = nullptr;
  size_t frame_run = 0;
  uint32_t begin = 0;  // in the frame's columns
  uint32_t tick_count = 0;
};

// The parts of a chunk after its clocks.
struct Parts {
  std::string sections;  // of the head
  std::string indexes;   // with the tables of instances and runs
  std::string values;
};

// Writes one section.
class SectionWriter {
 public:
  // Adds ticks of a frame of the section's query. `begin` is their position in
  // the chunk.
  void Add(const Frame& frame, uint32_t first_tick, uint32_t tick_count,
           uint32_t begin) {
    for (size_t i = 0; i < frame.runs.size(); ++i) {
      const Frame::Run& run = frame.runs[i];
      const uint32_t first = std::max(run.first_tick, first_tick);
      const uint32_t end =
          std::min(run.first_tick + run.tick_count, first_tick + tick_count);
      if (first >= end) continue;
      const uint32_t count = end - first;
      segments_.push_back(
          {.run = RunOf(run.instance.get(), begin + first - first_tick, count),
           .frame = &frame,
           .frame_run = i,
           .begin = run.begin + (first - run.first_tick),
           .tick_count = count});
    }
    for (const Frame::Failure& failure : frame.failures) {
      if (failure.tick >= first_tick &&
          failure.tick - first_tick < tick_count) {
        failures_.push_back(
            {failure.tick - first_tick + begin, failure.status});
      }
    }
    if (frame.interval_times.empty()) return;
    interval_times_.resize(begin);
    const auto times = frame.interval_times.begin() + first_tick;
    interval_times_.insert(interval_times_.end(), times, times + tick_count);
  }

  void Finish(uint32_t shape, const CollectedQuery& query, size_t ticks,
              Parts* to) {
    std::stable_sort(
        segments_.begin(), segments_.end(),
        [](const Segment& a, const Segment& b) { return a.run < b.run; });
    std::string* const head = &to->sections;
    PutVarint(shape, head);
    PutVarint(failures_.size(), head);
    PutEach(
        failures_, [](const auto& f) { return f.tick; }, head);
    PutEach(
        failures_, [](const auto& f) { return f.status; }, head);
    if (!interval_times_.empty()) interval_times_.resize(ticks);
    PutVarint(interval_times_.size(), head);
    PutEach(
        interval_times_, [](int64_t time) { return Unsigned(time); }, head);
    const size_t begin = to->indexes.size();
    PutInstances(&to->indexes);
    PutRuns(&to->indexes);
    PutVarint(runs_.size(), head);
    PutVarint(to->indexes.size() - begin, head);
    // A frame without runs has no columns.
    const size_t columns = runs_.empty() ? 0 : query.columns.size();
    std::vector<uint64_t> index_sizes;
    std::vector<uint64_t> values_sizes;
    for (size_t column = 0; column < columns; ++column) {
      const size_t index = to->indexes.size();
      const size_t values = to->values.size();
      PutColumn(column, FoldKindOf(query, column), to);
      index_sizes.push_back(to->indexes.size() - index);
      values_sizes.push_back(to->values.size() - values);
    }
    PutVarint(columns, head);
    PutNumbers(index_sizes, head);
    PutNumbers(values_sizes, head);
  }

 private:
  // Returns the run for these ticks of the instance. Extends the instance's
  // newest run if the ticks follow it, else starts a new one.
  size_t RunOf(const Instance* instance, uint32_t first_tick, uint32_t count) {
    const auto [entry, is_new] =
        newest_run_.try_emplace(instance->life, runs_.size());
    if (is_new) {
      instances_.push_back(instance);
      runs_.push_back({instances_.size() - 1, first_tick, count});
      return runs_.size() - 1;
    }
    Run& newest = runs_[entry->second];
    if (newest.first_tick + newest.tick_count == first_tick) {
      newest.tick_count += count;
    } else {
      runs_.push_back({newest.instance, first_tick, count});
      entry->second = runs_.size() - 1;
    }
    return entry->second;
  }

  void PutInstances(std::string* to) const {
    PutVarint(instances_.size(), to);
    std::string names;
    for (const Instance* instance : instances_) names.append(instance->name);
    PutText(names, to);
    const auto put = [&](const auto& number_of) {
      PutEach(instances_, number_of, to);
    };
    put([](const Instance* i) { return i->name.size(); });
    put([](const Instance* i) { return i->instance_id; });
    put([](const Instance* i) { return i->occurrence; });
    put([](const Instance* i) { return DefinitionOfLife(i->life); });
    put([](const Instance* i) { return i->is_born ? 1 : 0; });
  }

  void PutRuns(std::string* to) const {
    PutEach(
        runs_, [](const Run& run) { return run.instance; }, to);
    PutEach(
        runs_, [](const Run& run) { return run.first_tick; }, to);
    PutEach(
        runs_, [](const Run& run) { return run.tick_count; }, to);
  }

  void PutColumn(size_t column, FoldKind kind, Parts* to) {
    firsts_.clear();
    sizes_.clear();
    missing_.clear();
    to_fold_.clear();
    folds_.clear();
    uint64_t begin = 0;
    for (size_t i = 0; i < segments_.size();) {
      size_t end = i;
      while (end < segments_.size() && segments_[end].run == segments_[i].run) {
        ++end;
      }
      const size_t size = to->values.size();
      PutRun(column, absl::MakeConstSpan(segments_).subspan(i, end - i), begin,
             &to->values);
      sizes_.push_back(to->values.size() - size);
      if (HasRunFold(kind, sizes_.back())) {
        to_fold_.push_back({numbers_[0], numbers_.size() - 1});
        folds_.push_back(FoldRun(kind, numbers_));
      }
      begin += runs_[segments_[i].run].tick_count;
      i = end;
    }
    PutVarint(missing_.size(), &to->indexes);
    PutNumbers(missing_, &to->indexes);
    PutNumbers(firsts_, &to->indexes);
    PutNumbers(sizes_, &to->indexes);
    if (missing_.empty()) PutRunFolds(kind, to_fold_, folds_, &to->indexes);
  }

  void PutRun(size_t column, absl::Span<const Segment> segments, uint64_t begin,
              std::string* to) {
    if (const auto same = Constant(column, segments)) {
      firsts_.push_back(*same);
      return;
    }
    numbers_.clear();
    for (const Segment& segment : segments) {
      const FrameColumn& from = segment.frame->columns[column];
      if (from.constant) {
        numbers_.insert(numbers_.end(), segment.tick_count,
                        from.values[segment.frame_run]);
      } else {
        const auto values = from.values.begin() + segment.begin;
        numbers_.insert(numbers_.end(), values, values + segment.tick_count);
      }
      NoteMissing(from, segment, begin);
    }
    firsts_.push_back(numbers_[0]);
    EncodeChanges(numbers_, to);
  }

  // Returns the value if it is the same in all segments and none is missing.
  static std::optional<uint64_t> Constant(size_t column,
                                          absl::Span<const Segment> segments) {
    const auto value_of = [&](const Segment& segment) {
      return segment.frame->columns[column].values[segment.frame_run];
    };
    for (const Segment& segment : segments) {
      const FrameColumn& from = segment.frame->columns[column];
      if (!from.constant || !from.missing.empty()) return std::nullopt;
      if (value_of(segment) != value_of(segments[0])) return std::nullopt;
    }
    return value_of(segments[0]);
  }

  // Replaces each missing value with the value before it, which compresses
  // best. The segment's numbers are the last ones in numbers_.
  void NoteMissing(const FrameColumn& from, const Segment& segment,
                   uint64_t begin) {
    if (from.missing.empty()) return;
    const size_t first = numbers_.size() - segment.tick_count;
    auto position = std::lower_bound(from.missing.begin(), from.missing.end(),
                                     segment.begin);
    for (; position != from.missing.end() &&
           *position < segment.begin + segment.tick_count;
         ++position) {
      const size_t at = first + (*position - segment.begin);
      numbers_[at] = at > 0 ? numbers_[at - 1] : 0;
      missing_.push_back(begin + at);
    }
  }

  absl::flat_hash_map<uint64_t, size_t> newest_run_;  // by life
  std::vector<const Instance*> instances_;
  std::vector<Run> runs_;
  std::vector<Segment> segments_;
  std::vector<Frame::Failure> failures_;
  std::vector<int64_t> interval_times_;  // by tick; empty: none

  // State of the column being written.
  std::vector<uint64_t> firsts_;
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> missing_;
  std::vector<RunToFold> to_fold_;
  std::vector<std::optional<RunFold>> folds_;  // of these
  std::vector<uint64_t> numbers_;              // of one run
};

}  // namespace

void ChunkBuilder::Add(absl::Span<const std::shared_ptr<const Frame>> frames,
                       uint32_t first_tick, uint32_t tick_count) {
  const auto begin = static_cast<uint32_t>(clocks_.size());
  const auto clocks = frames[0]->clocks->begin() + first_tick;
  clocks_.insert(clocks_.end(), clocks, clocks + tick_count);
  sections_.resize(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    sections_[i].push_back({frames[i], first_tick, tick_count, begin});
    values_ += frames[i]->runs.size() * frames[i]->columns.size() * tick_count;
  }
}

EncodedChunk ChunkBuilder::Finish(
    absl::FunctionRef<uint32_t(const CollectedQuery&)> shape_of) const {
  Parts parts;
  for (const Section& section : sections_) {
    const CollectedQuery& query = *section[0].frame->query;
    SectionWriter writer;
    for (const Piece& piece : section) {
      writer.Add(*piece.frame, piece.first_tick, piece.tick_count, piece.begin);
    }
    writer.Finish(shape_of(query), query, clocks_.size(), &parts);
  }
  const bool is_small = parts.indexes.size() <= kMaxIndexesInHead;
  EncodedChunk chunk;
  PutVarint(kChunkVersion, &chunk.head);
  PutVarint(clocks_.size(), &chunk.head);
  PutClocksFold(FoldClocks(clocks_), &chunk.head);
  PutClocks(clocks_, &chunk.head);
  PutVarint(is_small ? 1 : 0, &chunk.head);
  PutVarint(sections_.size(), &chunk.head);
  chunk.head.append(parts.sections);
  if (is_small) {
    chunk.head.append(parts.indexes);
    chunk.body = std::move(parts.values);
  } else {
    chunk.body = std::move(parts.indexes);
    chunk.body.append(parts.values);
  }
  return chunk;
}

}  // namespace fleetperf::aggregator
