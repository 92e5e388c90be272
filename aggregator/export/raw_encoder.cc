#include "aggregator/export/raw_encoder.h"

#include <algorithm>
#include <utility>

#include "aggregator/export/raw_names.h"
#include "aggregator/samples/series_run.h"
#include "base/status_macros.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {
namespace {

const std::string& LabelsOf(const Labels& query_labels, InstanceLine* line) {
  if (!line->has_labels) {
    line->labels_after =
        EncodeLabels(RawInstanceLabels(query_labels, *line->instance));
    line->has_labels = true;
  }
  return line->labels_after;
}

}  // namespace

RawEncoder::RawEncoder(std::string machine, const PathSet* paths,
                       ExportedSchemas* schemas, RawEpochs* epochs)
    : machine_(std::move(machine)),
      paths_(paths),
      path_numbers_(paths != nullptr ? paths->NumbersFor(machine_)
                                     : std::vector<size_t>()),
      schemas_(*schemas),
      epochs_(*epochs) {}

std::vector<bool> RawEncoder::WantedColumns(const CollectedQuery& query) const {
  std::vector<bool> wanted(query.columns.size(), paths_ == nullptr);
  if (paths_ == nullptr) return wanted;
  Query made{.schema = &schemas_.GetRaw(query.schema)};
  SetColumns(query, &made);
  for (const Column& column : made.columns) wanted[column.number] = true;
  return wanted;
}

RawEncoder::Query& RawEncoder::QueryOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  Query*& known = known_[query];
  if (known != nullptr) return *known;
  Query made{.schema = &schemas_.GetRaw(query->schema),
             .labels = RawLabels(machine_, *query)};
  Labels of_epoch = made.labels;
  of_epoch.emplace(kColumnsLabel, ColumnsText(*query));
  made.epoch_labels = EncodeLabels(of_epoch);
  std::unique_ptr<Query>& equal = queries_[made.epoch_labels];
  if (equal == nullptr) {
    made.tick_labels = EncodeLabels(made.labels);
    SetColumns(*query, &made);
    equal = std::make_unique<Query>(std::move(made));
  }
  return *(known = equal.get());
}

void RawEncoder::SetColumns(const CollectedQuery& query, Query* made) const {
  if (ColumnsText(query).size() > kMaxColumnsText) return;
  const auto& counters = query.schema->registration.counters;
  absl::flat_hash_map<uint32_t, size_t> positions;  // by id
  for (size_t i = 0; i < counters.size(); ++i) {
    positions.try_emplace(counters[i].counter_id, i);
  }
  for (size_t i = 0; i < query.columns.size(); ++i) {
    // Formulas use the first column of a counter.
    const auto position = positions.find(query.columns[i].counter_id);
    if (position == positions.end()) continue;
    made->columns.push_back(
        {.number = i, .name = &made->schema->counters[position->second]});
    positions.erase(position);
  }
  if (paths_ == nullptr) return;
  const auto& selected =
      schemas_.Select(paths_, path_numbers_, query.schema).selected;
  if (selected.has_value()) SetNeeded(query, *selected, &made->columns);
  std::erase_if(made->columns,
                [](const Column& column) { return column.needed_by.empty(); });
}

void RawEncoder::SetNeeded(const CollectedQuery& query,
                           const SelectedCounterset& selected,
                           std::vector<Column>* all) {
  const perflib::CountersetRegistration& registration =
      query.schema->registration;
  for (const Selection& selection : selected.selections) {
    for (const uint32_t id : selection.counter_ids) {
      const perflib::CounterRegistration* counter =
          registration.FindCounter(id);
      if (counter == nullptr) continue;
      const auto columns =
          FindSeriesColumns(query, FormulaOf(registration, *counter));
      if (!columns.has_value()) continue;
      const std::vector<size_t> numbers = columns->Numbers();
      for (Column& column : *all) {
        const bool is_needed =
            std::count(numbers.begin(), numbers.end(), column.number) > 0;
        std::vector<const Selection*>& needed_by = column.needed_by;
        if (is_needed &&
            (needed_by.empty() || needed_by.back() != &selection)) {
          needed_by.push_back(&selection);
        }
      }
    }
  }
}

bool RawEncoder::Selects(const InstanceLine& line, const Column& column) {
  return column.needed_by.empty() ||
         std::any_of(column.needed_by.begin(), column.needed_by.end(),
                     [&](const Selection* selection) {
                       return selection->MatchesInstance(line.instance->name);
                     });
}

void RawEncoder::KeepPresent() {
  if (query_ == nullptr) return;
  query_->present = lines_.TakePresent();
  query_->last_unix_millis = unix_millis_.back();
  query_ = nullptr;
}

void RawEncoder::BeginFrame(const Frame& frame, uint32_t first_new) {
  KeepPresent();
  frame_ = &frame;
  query_ = &QueryOf(frame.query);
  lines_.Set(frame, std::move(query_->present));
  unix_millis_.clear();
  for (const perflib::Clocks& clocks : *frame.clocks) {
    unix_millis_.push_back(absl::ToUnixMillis(perflib::TimeOf(clocks)));
  }
  if (first_new == 0) return;
  for (InstanceLine& line : lines_.lines()) lines_.Take(0, first_new, &line);
}

absl::Status RawEncoder::AddTicks(uint32_t begin, uint32_t end, Add add) {
  if (query_->columns.empty()) return absl::OkStatus();
  for (InstanceLine& line : lines_.lines()) {
    const auto& parts = lines_.Take(begin, end, &line);
    if (!parts.empty()) RETURN_IF_ERROR(AddInstance(parts, &line, add));
  }
  return AddTickSeries(begin, end, add);
}

absl::Status RawEncoder::AddInstance(
    const std::vector<InstanceLine::Part>& parts, InstanceLine* line, Add add) {
  bool is_selected = false;
  for (const Column& column : query_->columns) {
    if (!Selects(*line, column)) continue;
    is_selected = true;
    ClearSamples();
    for (const InstanceLine::Part& part : parts) {
      if (part.is_end) {
        low_.push_back({unix_millis_[part.begin], StaleMarker()});
      } else {
        AppendColumn(part, frame_->columns[column.number]);
      }
    }
    RETURN_IF_ERROR(
        AddSamples(*column.name, LabelsOf(query_->labels, line), add));
  }
  if (!is_selected) return absl::OkStatus();
  ClearSamples();
  for (const InstanceLine::Part& part : parts) {
    if (part.is_end) {
      low_.push_back({unix_millis_[part.begin], StaleMarker()});
      continue;
    }
    const uint64_t presence = PresenceOf(*frame_->runs[part.run].instance);
    for (uint32_t tick = part.begin; tick < part.end; ++tick) {
      Append(unix_millis_[tick], presence);
    }
  }
  return AddSamples(query_->schema->presence, LabelsOf(query_->labels, line),
                    add);
}

void RawEncoder::AppendColumn(const InstanceLine::Part& part,
                              const FrameColumn& column) {
  const Frame::Run& run = frame_->runs[part.run];
  for (uint32_t tick = part.begin; tick < part.end; ++tick) {
    const uint32_t in_run = tick - run.first_tick;
    if (column.IsMissing(run.begin + in_run)) continue;
    Append(unix_millis_[tick], frame_->Value(column, part.run, in_run));
  }
}

absl::Status RawEncoder::AddTickSeries(uint32_t begin, uint32_t end, Add add) {
  const ExportedRawSchema& schema = *query_->schema;
  RETURN_IF_ERROR(AddClock(schema.perf_time, &perflib::Clocks::perf_time_stamp,
                           begin, end, add));
  RETURN_IF_ERROR(
      AddClock(schema.perf_freq, &perflib::Clocks::perf_freq, begin, end, add));
  RETURN_IF_ERROR(AddClock(schema.perf_time_100ns,
                           &perflib::Clocks::perf_time_100nsec, begin, end,
                           add));
  ClearSamples();
  for (const Frame::Failure& failure : frame_->failures) {
    if (failure.tick < begin || failure.tick >= end) continue;
    Append(unix_millis_[failure.tick], failure.status);
  }
  RETURN_IF_ERROR(AddSamples(schema.status, query_->tick_labels, add));
  ClearSamples();
  const double epoch = epochs_.Of(machine_, frame_->epoch_number);
  for (uint32_t tick = begin; tick < end; ++tick) {
    low_.push_back({unix_millis_[tick], epoch});
  }
  return AddSamples(schema.epoch, query_->epoch_labels, add);
}

absl::Status RawEncoder::AddClock(const ExportedRawName& name,
                                  int64_t perflib::Clocks::*clock,
                                  uint32_t begin, uint32_t end, Add add) {
  ClearSamples();
  for (uint32_t tick = begin; tick < end; ++tick) {
    Append(unix_millis_[tick],
           static_cast<uint64_t>((*frame_->clocks)[tick].*clock));
  }
  return AddSamples(name, query_->tick_labels, add);
}

absl::Status RawEncoder::End(Add add) {
  KeepPresent();
  for (auto& [labels, query] : queries_) {
    RETURN_IF_ERROR(EndQuery(query.get(), add));
  }
  return absl::OkStatus();
}

absl::Status RawEncoder::EndQuery(Query* query, Add add) {
  if (!query->last_unix_millis.has_value() || query->columns.empty()) {
    return absl::OkStatus();
  }
  const ExportedRawSchema& schema = *query->schema;
  ClearSamples();
  low_.push_back({*query->last_unix_millis + 1, StaleMarker()});
  for (InstanceLine& line : query->present) {
    const std::string& labels = LabelsOf(query->labels, &line);
    bool is_selected = false;
    for (const Column& column : query->columns) {
      if (!Selects(line, column)) continue;
      is_selected = true;
      RETURN_IF_ERROR(AddSamples(*column.name, labels, add));
    }
    if (is_selected) RETURN_IF_ERROR(AddSamples(schema.presence, labels, add));
  }
  for (const ExportedRawName* clock :
       {&schema.perf_time, &schema.perf_freq, &schema.perf_time_100ns}) {
    RETURN_IF_ERROR(AddSamples(*clock, query->tick_labels, add));
  }
  return AddSamples(schema.epoch, query->epoch_labels, add);
}

void RawEncoder::ClearSamples() {
  low_.clear();
  high_.clear();
}

void RawEncoder::Append(int64_t unix_millis, uint64_t value) {
  low_.push_back({unix_millis, RawLow(value)});
  const double high = RawHigh(value);
  if (high != 0) high_.push_back({unix_millis, high});
}

absl::Status RawEncoder::AddSamples(const ExportedRawName& name,
                                    absl::string_view labels, Add add) {
  const auto add_one = [&](const std::string& metric,
                           const std::vector<ExportSample>& samples) {
    if (metric.empty() || samples.empty()) return absl::OkStatus();
    labels_.assign(metric);
    labels_.append(labels.data(), labels.size());
    return add(labels_, samples);
  };
  RETURN_IF_ERROR(add_one(name.high, high_));
  return add_one(name.low, low_);
}

}  // namespace fleetperf::aggregator
