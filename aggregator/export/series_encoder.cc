#include "aggregator/export/series_encoder.h"

#include <algorithm>

#include "aggregator/export/metric_names.h"
#include "base/status_macros.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

constexpr char kNameLabel[] = "__name__";

// Whether an older sample of the series may be needed.
bool NeedsLast(const ExportedCounter& counter) {
  return counter.formula.uses_two_samples();
}

}  // namespace

SeriesEncoder::SeriesEncoder(std::string machine, Labels labels,
                             const PathSet* paths, ExportedSchemas* schemas)
    : machine_(std::move(machine)),
      machine_labels_(std::move(labels)),
      paths_(paths),
      path_numbers_(paths != nullptr ? paths->NumbersFor(machine_)
                                     : std::vector<size_t>()),
      schemas_(*schemas) {}

bool SeriesEncoder::Selects(const CollectedQuery& query) {
  return paths_ == nullptr ||
         (paths_->MatchesMachine(machine_) &&
          !schemas_.Select(paths_, path_numbers_, query.schema)
               .counters.empty());
}

std::vector<bool> SeriesEncoder::WantedColumns(const CollectedQuery& query) {
  std::vector<bool> wanted(query.columns.size());
  for (const Counter& counter : MakeQuery(query).counters) {
    for (const size_t number : counter.columns.Numbers()) wanted[number] = true;
  }
  return wanted;
}

SeriesEncoder::Query& SeriesEncoder::QueryOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  std::unique_ptr<Query>& known = queries_[query];
  if (known == nullptr) known = std::make_unique<Query>(MakeQuery(*query));
  return *known;
}

SeriesEncoder::Query SeriesEncoder::MakeQuery(const CollectedQuery& query) {
  const ExportedSelection& selection =
      schemas_.Select(paths_, path_numbers_, query.schema);
  Query made{.schema = selection.schema, .selection = &selection};
  for (const size_t i : selection.counters) {
    const auto columns =
        FindSeriesColumns(query, selection.schema->counters[i].formula);
    if (columns.has_value()) made.counters.push_back({i, *columns});
  }
  return made;
}

std::vector<WalkedSeries>& SeriesEncoder::KeptOf(const Frame::Run& run) {
  return kept_.Of(*frame_->query->schema, run.instance,
                  query_->schema->counters.size());
}

void SeriesEncoder::KeepPresent() {
  if (frame_ == nullptr) return;
  present_[walker_.query()] = {.query = query_,
                               .lines = lines_.TakePresent(),
                               .unix_millis = unix_millis_.back()};
}

void SeriesEncoder::BeginFrame(const Frame& frame, uint32_t first_new) {
  KeepPresent();
  frame_ = &frame;
  query_ = &QueryOf(frame.query);
  walker_.BeginFrame(frame);
  lines_.Set(frame, std::move(present_[walker_.query()].lines));
  unix_millis_.clear();
  for (const perflib::Clocks& clocks : *frame.clocks) {
    unix_millis_.push_back(absl::ToUnixMillis(perflib::TimeOf(clocks)));
  }
  if (first_new == 0) return;
  KeepSeries(0, first_new);
  for (InstanceLine& line : lines_.lines()) lines_.Take(0, first_new, &line);
}

void SeriesEncoder::KeepSeries(uint32_t begin, uint32_t end) {
  for (size_t i = 0; i < frame_->runs.size(); ++i) {
    const Frame::Run& run = frame_->runs[i];
    if (run.tick_count == 0 || run.first_tick >= end ||
        run.first_tick + run.tick_count <= begin) {
      continue;
    }
    const uint32_t first = begin - std::min(begin, run.first_tick);
    const uint32_t ticks = std::min(run.tick_count, end - run.first_tick);
    std::vector<WalkedSeries>& kept = KeptOf(run);
    for (const Counter& counter : query_->counters) {
      const ExportedCounter& of = query_->schema->counters[counter.number];
      if (!NeedsLast(of)) continue;
      walker_.Follow(of.formula, SeriesRun(*frame_, i, counter.columns), first,
                     ticks, &kept[counter.number]);
    }
  }
}

WalkedSeries SeriesEncoder::SeriesBefore(size_t number,
                                         const Counter& counter) {
  const Frame::Run& run = frame_->runs[number];
  for (size_t i = number; run.first_tick > 0 && i > 0; --i) {
    const Frame::Run& earlier = frame_->runs[i - 1];
    if (earlier.instance->life != run.instance->life ||
        earlier.tick_count == 0) {
      continue;
    }
    return SeriesAfter(i - 1, earlier.tick_count, counter);
  }
  return KeptOf(run)[counter.number];
}

WalkedSeries SeriesEncoder::SeriesAfter(size_t number, uint32_t ticks,
                                        const Counter& counter) {
  if (ticks == 0) return SeriesBefore(number, counter);
  const SeriesRun run(*frame_, number, counter.columns);
  WalkedSeries series = KeptOf(frame_->runs[number])[counter.number];
  if (series.IsAt(run, ticks - 1)) return series;
  series = {};
  if (ticks < kMaxSamplesRead) series = SeriesBefore(number, counter);
  walker_.Follow(query_->schema->counters[counter.number].formula, run, 0,
                 ticks, &series);
  return series;
}

absl::Status SeriesEncoder::AddTicks(uint32_t begin, uint32_t end, Add add) {
  for (InstanceLine& line : lines_.lines()) {
    const auto& parts = lines_.Take(begin, end, &line);
    if (parts.empty()) continue;
    for (const Counter& counter : query_->counters) {
      const ExportedCounter& of = query_->schema->counters[counter.number];
      if (!Selects(line, of)) continue;
      samples_.clear();
      for (const InstanceLine::Part& part : parts) {
        AddValues(part, counter, of);
      }
      if (samples_.empty()) continue;
      RETURN_IF_ERROR(add(LabelsOf(&line, of), samples_));
    }
  }
  // An instance with several lines still needs what was kept before.
  KeepSeries(begin, end);
  return absl::OkStatus();
}

bool SeriesEncoder::Selects(const InstanceLine& line,
                            const ExportedCounter& counter) const {
  const auto& selected = query_->selection->selected;
  return !selected.has_value() ||
         selected->Selects(counter.formula.counter_id, line.instance->name,
                           line.index);
}

absl::Status SeriesEncoder::End(Add add) {
  KeepPresent();
  for (auto& [number, present] : present_) {
    query_ = present.query;
    const ExportSample end = {present.unix_millis + 1, StaleMarker()};
    for (InstanceLine& line : present.lines) {
      for (const Counter& counter : query_->counters) {
        const ExportedCounter& of = query_->schema->counters[counter.number];
        if (!Selects(line, of)) continue;
        RETURN_IF_ERROR(add(LabelsOf(&line, of), {&end, 1}));
      }
    }
  }
  present_.clear();
  frame_ = nullptr;
  return absl::OkStatus();
}

void SeriesEncoder::AddValues(const InstanceLine::Part& part,
                              const Counter& counter,
                              const ExportedCounter& of) {
  if (part.is_end) {
    samples_.push_back({unix_millis_[part.begin], StaleMarker()});
    return;
  }
  const SeriesRun run(*frame_, part.run, counter.columns);
  const uint32_t first = part.begin - run.first_tick();
  WalkedSeries series;
  if (NeedsLast(of)) series = SeriesAfter(part.run, first, counter);
  const auto add = [&](uint32_t tick, const CalculatedValue& value) {
    if (!value.ok()) return;
    samples_.push_back(
        {unix_millis_[run.first_tick() + tick], value.value * of.factor});
  };
  walker_.ForEachGrowth(
      of.formula, run, first, part.end - run.first_tick(), &series,
      [&](const WalkedGrowth& walked) {
        add(walked.tick, walked.ValueOf(of.formula));
      },
      [&](const WalkedSample& walked) {
        add(walked.tick,
            ValueOfSample(of.formula, walked.sample, walked.piece));
      });
}

// The label of the metric's name is the only one that the counters of an
// instance do not share.
absl::string_view SeriesEncoder::LabelsOf(InstanceLine* line,
                                          const ExportedCounter& counter) {
  if (!line->has_labels) {
    std::optional<absl::string_view> instance;
    if (query_->schema->schema->registration.HasInstances()) {
      instance = line->instance->name;
    }
    const Labels all =
        SeriesLabels(machine_labels_, {.name = "any"}, instance, line->index);
    line->labels_before =
        EncodeLabels(Labels(all.begin(), all.lower_bound(kNameLabel)));
    line->labels_after =
        EncodeLabels(Labels(all.upper_bound(kNameLabel), all.end()));
    line->has_labels = true;
  }
  labels_.assign(line->labels_before);
  labels_.append(counter.name_label);
  labels_.append(line->labels_after);
  return labels_;
}

}  // namespace fleetperf::aggregator
