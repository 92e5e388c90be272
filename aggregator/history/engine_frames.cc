#include "aggregator/history/engine_frames.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "aggregator/export/raw_names.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"
#include "values/life.h"

namespace fleetperf::aggregator {
namespace {

// Lives in memory.
constexpr size_t kMaxLives = 100'000;
// The store does not reach such numbers of epochs.
constexpr uint32_t kUnknownEpoch = uint32_t{1} << 31;

// Sorts samples by time. Of several at one time, the first one stays.
void SortByTime(EngineSamples* samples) {
  const auto is_not_before = [](const EngineSample& a, const EngineSample& b) {
    return a.unix_millis >= b.unix_millis;
  };
  if (std::adjacent_find(samples->begin(), samples->end(), is_not_before) ==
      samples->end()) {
    return;
  }
  std::stable_sort(samples->begin(), samples->end(),
                   [](const EngineSample& a, const EngineSample& b) {
                     return a.unix_millis < b.unix_millis;
                   });
  samples->erase(std::unique(samples->begin(), samples->end(),
                             [](const EngineSample& a, const EngineSample& b) {
                               return a.unix_millis == b.unix_millis;
                             }),
                 samples->end());
}

// Finds samples at times that never decrease.
class Finder {
 public:
  explicit Finder(EngineSamples* samples) : samples_(*samples) {
    SortByTime(samples);
  }
  std::optional<double> At(int64_t unix_millis) {
    while (next_ < samples_.size() &&
           samples_[next_].unix_millis < unix_millis) {
      ++next_;
    }
    if (next_ == samples_.size() ||
        samples_[next_].unix_millis != unix_millis) {
      return std::nullopt;
    }
    return samples_[next_].value;
  }

 private:
  const EngineSamples& samples_;
  size_t next_ = 0;
};

// Finds numbers of 64 bits; a malformed one is missing.
class NumberFinder {
 public:
  explicit NumberFinder(EngineNumbers* numbers)
      : low_(&numbers->low), high_(&numbers->high) {}
  std::optional<uint64_t> At(int64_t unix_millis) {
    const std::optional<double> low = low_.At(unix_millis);
    const std::optional<double> high = high_.At(unix_millis);
    if (!low.has_value()) return std::nullopt;
    return FromRaw(*low, high.value_or(0));
  }

 private:
  Finder low_;
  Finder high_;
};

std::optional<uint64_t> WholeNumber(std::optional<double> value) {
  return value.has_value() ? FromRaw(*value, 0) : std::nullopt;
}

std::optional<CollectedQuery::Column> ReadColumn(absl::string_view text) {
  CollectedQuery::Column column;
  column.wraps = absl::ConsumeSuffix(&text, "w");
  column.only_linked = absl::ConsumeSuffix(&text, "l");
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(parts.first, &column.counter_id) ||
      (parts.second != "4" && parts.second != "8")) {
    return std::nullopt;
  }
  column.value_size = parts.second == "4" ? 4 : 8;
  return column;
}

// Reads a text of ColumnsText.
std::optional<std::vector<CollectedQuery::Column>> ReadColumns(
    absl::string_view text, const perflib::CountersetRegistration& counterset) {
  if (text.empty() || text.size() > kMaxColumnsText) return std::nullopt;
  std::vector<CollectedQuery::Column> columns;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::optional<CollectedQuery::Column> column = ReadColumn(part);
    if (!column.has_value() ||
        counterset.FindCounter(column->counter_id) == nullptr) {
      return std::nullopt;
    }
    columns.push_back(*column);
  }
  return columns;
}

}  // namespace

struct EngineFrames::Tick {
  int64_t unix_millis = 0;
  perflib::Clocks clocks;
  uint32_t epoch_number = 0;
  std::optional<uint32_t> failure;
  size_t epoch_rank = 0;
};

// Consecutive ticks of a query, which make a frame.
struct EngineFrames::Span {
  uint32_t first = 0;
  uint32_t end = 0;
};

// The samples of one query.
struct EngineFrames::Lane {
  size_t counterset = 0;
  std::shared_ptr<const CollectedQuery> query;
  std::vector<bool> wanted;  // its columns that are needed
  EngineQuery* raw = nullptr;
  std::vector<Tick> ticks;  // by time; after SortTicks in order
  // The ticks by time, as their positions in order.
  std::vector<std::pair<int64_t, uint32_t>> places;
  std::vector<Span> spans;
  std::vector<Frame> frames;        // of the spans
  std::vector<uint32_t> positions;  // of their values so far
};

EngineFrames::EngineFrames(const ReadableStore::ReadRequest* request,
                           const std::map<uint32_t, uint64_t>& known_epochs)
    : request_(*request) {
  for (const auto& [number, epoch] : known_epochs) {
    known_epochs_[static_cast<uint64_t>(RawLow(epoch))] = number;
  }
}

std::shared_ptr<const CollectedQuery> EngineFrames::QueryOf(
    const EngineSeries::QueryKey& key, const std::string& columns) {
  const auto& [counterset, interval, fingerprint] = key;
  const auto [entry, is_new] =
      queries_.try_emplace({counterset, interval, columns});
  if (!is_new) return entry->second;
  CollectedQuery query;
  query.machine = request_.machine;
  query.schema = (*request_.selected)[counterset].schema;
  auto read = ReadColumns(columns, query.schema->registration);
  if (!read.has_value() ||
      !absl::ParseDuration(absl::StrCat(interval, "s"), &query.interval) ||
      query.interval < kMinCollectionInterval ||
      query.interval > kMaxCollectionInterval) {
    return nullptr;
  }
  query.columns = *std::move(read);
  if (request_.filter && !request_.filter(query)) return nullptr;
  return entry->second = std::make_shared<const CollectedQuery>(query);
}

uint32_t EngineFrames::EpochNumberOf(uint64_t epoch) const {
  const auto known = known_epochs_.find(epoch);
  if (known != known_epochs_.end()) return known->second;
  return kUnknownEpoch | static_cast<uint32_t>(epoch ^ (epoch >> 31));
}

std::optional<EngineFrames::Lane> EngineFrames::MakeLane(
    const EngineSeries::QueryKey& key, int64_t begin, int64_t end,
    EngineQuery* raw) {
  Lane lane{.counterset = std::get<0>(key),
            .query = QueryOf(key, raw->columns),
            .raw = raw};
  if (lane.query == nullptr) return std::nullopt;
  lane.wanted = request_.columns
                    ? request_.columns(*lane.query)
                    : std::vector<bool>(lane.query->columns.size(), true);
  NumberFinder perf_time(&raw->perf_time);
  NumberFinder perf_freq(&raw->perf_freq);
  Finder perf_time_100ns(&raw->perf_time_100ns);
  Finder status(&raw->status);
  SortByTime(&raw->epoch);
  for (const EngineSample& sample : raw->epoch) {
    const int64_t at = sample.unix_millis;
    const auto stamp = perf_time.At(at);
    const auto freq = perf_freq.At(at);
    const auto time = perf_time_100ns.At(at);
    const auto epoch = WholeNumber(sample.value);
    if (!stamp.has_value() || !freq.has_value() || !time.has_value() ||
        !epoch.has_value()) {
      continue;
    }
    const auto exact_time = PerfTime100NSecFromRaw(*time, at);
    if (!exact_time.has_value() || *exact_time < begin || *exact_time >= end) {
      continue;
    }
    Tick& tick = lane.ticks.emplace_back();
    tick.unix_millis = at;
    tick.clocks = {.perf_time_stamp = static_cast<int64_t>(*stamp),
                   .perf_time_100nsec = *exact_time,
                   .perf_freq = static_cast<int64_t>(*freq)};
    tick.epoch_number = EpochNumberOf(*epoch);
    const auto failure = WholeNumber(status.At(at));
    if (failure.has_value()) tick.failure = static_cast<uint32_t>(*failure);
  }
  if (lane.ticks.empty()) return std::nullopt;
  return lane;
}

// Orders epochs by their first ticks, but epochs of the store by their numbers.
void EngineFrames::SortTicks(std::vector<Lane>* lanes) const {
  std::map<uint32_t, int64_t> first;  // times by epoch
  for (const Lane& lane : *lanes) {
    for (const Tick& tick : lane.ticks) {
      const int64_t time = tick.clocks.perf_time_100nsec;
      const auto entry = first.try_emplace(tick.epoch_number, time).first;
      entry->second = std::min(entry->second, time);
    }
  }
  std::vector<uint32_t> epochs;
  for (const auto& [number, time] : first) epochs.push_back(number);
  std::sort(epochs.begin(), epochs.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(first[a], a) < std::pair(first[b], b);
  });
  // The numbers of those of the store come first in the map, in order.
  auto known = first.begin();
  std::map<uint32_t, size_t> ranks;
  for (size_t rank = 0; rank < epochs.size(); ++rank) {
    const bool is_known = epochs[rank] < kUnknownEpoch;
    ranks[is_known ? (known++)->first : epochs[rank]] = rank;
  }
  for (Lane& lane : *lanes) {
    std::vector<uint32_t> order(lane.ticks.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      lane.ticks[i].epoch_rank = ranks[lane.ticks[i].epoch_number];
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const Tick& one = lane.ticks[a];
      const Tick& other = lane.ticks[b];
      return std::pair(one.epoch_rank, one.clocks.perf_time_stamp) <
             std::pair(other.epoch_rank, other.clocks.perf_time_stamp);
    });
    std::vector<Tick> sorted;
    sorted.reserve(order.size());
    lane.places.resize(order.size());
    for (uint32_t position = 0; position < order.size(); ++position) {
      const Tick& tick = lane.ticks[order[position]];
      lane.places[order[position]] = {tick.unix_millis, position};
      sorted.push_back(tick);
    }
    lane.ticks = std::move(sorted);
  }
}

std::shared_ptr<const Instance> EngineFrames::InstanceOf(
    const EngineQuery::InstanceKey& key, uint64_t life, bool is_born) {
  if (instances_.size() > kMaxLives) instances_.clear();
  std::shared_ptr<const Instance>& instance = instances_[{key, life, is_born}];
  if (instance == nullptr) {
    instance = std::make_shared<const Instance>(
        Instance{.name = std::get<0>(key),
                 .instance_id = std::get<1>(key),
                 .occurrence = std::get<2>(key),
                 .life = life,
                 .is_born = is_born});
  }
  return instance;
}

void EngineFrames::MakeFrames(Lane* lane) {
  for (const Span& span : lane->spans) {
    Frame& frame = lane->frames.emplace_back();
    frame.query = lane->query;
    frame.epoch_number = lane->ticks[span.first].epoch_number;
    frame.columns.resize(lane->query->columns.size());
    std::vector<perflib::Clocks> clocks;
    for (uint32_t i = span.first; i < span.end; ++i) {
      const Tick& tick = lane->ticks[i];
      clocks.push_back(tick.clocks);
      if (!tick.failure.has_value()) continue;
      frame.failures.push_back(
          {.tick = i - span.first, .status = *tick.failure});
    }
    frame.clocks =
        std::make_shared<const std::vector<perflib::Clocks>>(std::move(clocks));
  }
  lane->positions.assign(lane->spans.size(), 0);
  for (auto& [key, raw] : lane->raw->instances) AddInstance(key, &raw, lane);
}

// Adds the runs of an instance to the frames, and its values.
void EngineFrames::AddInstance(const EngineQuery::InstanceKey& key,
                               EngineInstance* raw, Lane* lane) {
  // The presence in each tick, plus 1; 0: absent.
  std::vector<uint64_t> seen(lane->ticks.size());
  Finder presence(&raw->presence);
  for (const auto& [unix_millis, position] : lane->places) {
    const auto number = WholeNumber(presence.At(unix_millis));
    if (!number.has_value() || lane->ticks[position].failure.has_value()) {
      continue;
    }
    seen[position] = *number + 1;
  }
  struct RunOfFrame {
    size_t frame;
    uint32_t first;  // of the lane's ticks
    uint32_t ticks;
  };
  std::vector<RunOfFrame> runs;
  for (size_t i = 0; i < lane->spans.size(); ++i) {
    const Span& span = lane->spans[i];
    for (uint32_t tick = span.first; tick < span.end;) {
      const uint32_t first = tick++;
      if (seen[first] == 0) continue;
      while (tick < span.end && seen[tick] == seen[first]) ++tick;
      const uint64_t number = seen[first] - 1;
      const auto instance =
          InstanceOf(key,
                     MakeLife(lane->frames[i].epoch_number,
                              static_cast<uint32_t>(number / 2)),
                     /*is_born=*/number % 2 == 1);
      if (request_.instances && !request_.instances(*lane->query, *instance)) {
        continue;
      }
      lane->frames[i].runs.push_back({.instance = instance,
                                      .first_tick = first - span.first,
                                      .tick_count = tick - first,
                                      .begin = lane->positions[i]});
      lane->positions[i] += tick - first;
      runs.push_back({i, first, tick - first});
    }
  }
  if (runs.empty()) return;
  std::vector<std::optional<uint64_t>> values(lane->ticks.size());
  std::set<uint32_t> done;
  for (size_t c = 0; c < lane->query->columns.size(); ++c) {
    const uint32_t id = lane->query->columns[c].counter_id;
    // Of several columns of a counter, readers use the first one.
    if (!lane->wanted[c] || !done.insert(id).second) continue;
    NumberFinder numbers(&raw->columns[id]);
    for (const auto& [unix_millis, position] : lane->places) {
      values[position] = numbers.At(unix_millis);
    }
    for (const RunOfFrame& run : runs) {
      FrameColumn& column = lane->frames[run.frame].columns[c];
      for (uint32_t tick = run.first; tick < run.first + run.ticks; ++tick) {
        if (!values[tick].has_value()) {
          column.missing.push_back(static_cast<uint32_t>(column.values.size()));
        }
        column.values.push_back(values[tick].value_or(0));
      }
    }
  }
}

absl::Status EngineFrames::Make(
    int64_t begin, int64_t end, EngineSeries* series,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  std::vector<Lane> lanes;
  for (auto& [key, raw] : series->queries()) {
    std::optional<Lane> lane = MakeLane(key, begin, end, &raw);
    if (lane.has_value()) lanes.push_back(*std::move(lane));
  }
  SortTicks(&lanes);
  const auto end_of = [&](size_t of_counterset, size_t from) {
    while (from < lanes.size() && lanes[from].counterset == of_counterset) {
      ++from;
    }
    return from;
  };
  // The frames of a counterset's queries, by the order of their ticks if they
  // may share series.
  for (size_t from = 0; from < lanes.size();) {
    const size_t to = end_of(lanes[from].counterset, from);
    bool are_rivals = false;
    for (size_t a = from; a < to; ++a) {
      for (size_t b = a + 1; b < to; ++b) {
        are_rivals =
            are_rivals || ShareSeries(*lanes[a].query, *lanes[b].query);
      }
    }
    // By rank and PerfTimeStamp, or else by lane.
    std::vector<std::tuple<size_t, size_t, int64_t, size_t, uint32_t>> order;
    for (size_t i = from; i < to; ++i) {
      for (uint32_t tick = 0; tick < lanes[i].ticks.size(); ++tick) {
        const Tick& of = lanes[i].ticks[tick];
        order.emplace_back(are_rivals ? 0 : i, of.epoch_rank,
                           of.clocks.perf_time_stamp, i, tick);
      }
    }
    std::stable_sort(order.begin(), order.end());
    std::vector<std::pair<size_t, size_t>> frames;  // lane, number of the span
    size_t last_rank = 0;
    for (const auto& [group, rank, stamp, i, tick] : order) {
      std::vector<Span>& spans = lanes[i].spans;
      if (frames.empty() || frames.back().first != i || last_rank != rank) {
        frames.emplace_back(i, spans.size());
        spans.push_back({.first = tick, .end = tick});
      }
      spans.back().end = tick + 1;
      last_rank = rank;
    }
    for (size_t i = from; i < to; ++i) MakeFrames(&lanes[i]);
    for (const auto& [i, number] : frames) {
      RETURN_IF_ERROR(on_frame(lanes[i].frames[number]));
    }
    from = to;
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
