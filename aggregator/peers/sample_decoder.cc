#include "aggregator/peers/sample_decoder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

using Response = v1::ReadSamplesResponse;

// The limit of queries, instances, epochs and losses in memory: of a million
// instances.
constexpr size_t kMaxKeptBytes = 128 << 20;
// The limit of a query's columns: of all counters of the largest counterset, if
// they are thinned.
constexpr size_t kMaxColumns = kMaxCounters * kColumnRoles;

absl::Status MalformedSamples(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("a peer's samples are malformed: ", what));
}

// Undoes AddDifferences of the encoder.
template <typename Use>
void ForEachSum(const google::protobuf::RepeatedField<int64_t>& differences,
                Use use) {
  uint64_t value = 0;
  for (const int64_t difference : differences) {
    value += static_cast<uint64_t>(difference);
    use(value);
  }
}

// Whether numbers are ascending and below `end`.
bool AreAscending(const google::protobuf::RepeatedField<uint32_t>& numbers,
                  uint64_t end) {
  uint64_t next = 0;
  for (const uint32_t number : numbers) {
    if (number < next || number >= end) return false;
    next = uint64_t{number} + 1;
  }
  return true;
}

absl::Status DecodeClocks(const Response::Frame& proto, Frame* frame) {
  const int ticks = proto.perf_time_stamps_size();
  if (ticks == 0 || proto.perf_times_100nsec_size() != ticks ||
      proto.perf_freqs_size() != ticks) {
    return MalformedSamples("columns of clocks");
  }
  std::vector<perflib::Clocks> clocks(static_cast<size_t>(ticks));
  auto next = clocks.begin();
  ForEachSum(proto.perf_time_stamps(), [&](uint64_t value) {
    (next++)->perf_time_stamp = static_cast<int64_t>(value);
  });
  next = clocks.begin();
  ForEachSum(proto.perf_times_100nsec(), [&](uint64_t value) {
    (next++)->perf_time_100nsec = static_cast<int64_t>(value);
  });
  next = clocks.begin();
  ForEachSum(proto.perf_freqs(), [&](uint64_t value) {
    (next++)->perf_freq = static_cast<int64_t>(value);
  });
  frame->clocks =
      std::make_shared<const std::vector<perflib::Clocks>>(std::move(clocks));
  return absl::OkStatus();
}

absl::Status DecodeFailures(const Response::Frame& proto, Frame* frame) {
  const size_t ticks = frame->clocks->size();
  if (proto.failed_ticks_size() != proto.failure_statuses_size() ||
      !AreAscending(proto.failed_ticks(), ticks)) {
    return MalformedSamples("failed ticks");
  }
  for (int i = 0; i < proto.failed_ticks_size(); ++i) {
    frame->failures.push_back(
        {.tick = proto.failed_ticks(i), .status = proto.failure_statuses(i)});
  }
  const auto times = static_cast<size_t>(proto.interval_times_size());
  if (times != 0 && times != ticks) return MalformedSamples("interval times");
  frame->interval_times.assign(proto.interval_times().begin(),
                               proto.interval_times().end());
  return absl::OkStatus();
}

}  // namespace

v1::ReadSamplesRequest RequestToPeer(
    const ReadableStore::ReadRequest& request) {
  v1::ReadSamplesRequest proto;
  proto.set_machine(request.machine);
  proto.set_from(perflib::PerfTime100NSecFromTime(request.from));
  proto.set_to(perflib::PerfTime100NSecFromTime(request.to));
  for (const SelectedCounterset& selected : *request.selected) {
    v1::ReadSamplesRequest::Counterset* counterset = proto.add_countersets();
    counterset->set_schema_hash(selected.schema->hash);
    for (const Selection& selection : selected.selections) {
      v1::ReadSamplesRequest::Selection* to = counterset->add_selections();
      if (selection.instance.has_value()) {
        to->set_instance(selection.instance->text());
      }
      to->mutable_counters()->Add(selection.counter_ids.begin(),
                                  selection.counter_ids.end());
    }
  }
  return proto;
}

absl::Status SampleDecoder::Decode(
    const Response& response,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  for (const Response::Epoch& epoch : response.epochs()) {
    RETURN_IF_ERROR(Keep(0));
    epochs_[epoch.number()] = epoch.epoch();
  }
  for (const Response::Query& query : response.queries()) {
    RETURN_IF_ERROR(AddQuery(query));
  }
  for (const Response::Instance& proto : response.instances()) {
    RETURN_IF_ERROR(AddInstance(proto));
  }
  for (const Response::Frame& proto : response.frames()) {
    ASSIGN_OR_RETURN(const Frame frame, DecodeFrame(proto));
    RETURN_IF_ERROR(on_frame(frame));
  }
  for (const Response::Loss& proto : response.losses()) {
    RETURN_IF_ERROR(Keep(0));  // by the caller
    on_loss({.machine = request_.machine,
             .start = absl::FromUnixNanos(proto.start()),
             .end = absl::FromUnixNanos(proto.end()),
             .ticks = proto.ticks(),
             .cause = fleetperf::FromProto(
                 static_cast<v1::LossCause>(proto.cause()))});
  }
  return absl::OkStatus();
}

absl::Status SampleDecoder::Keep(size_t bytes) {
  constexpr size_t kBytesOfEntry = 100;
  kept_bytes_ += kBytesOfEntry + bytes;
  if (kept_bytes_ <= kMaxKeptBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "the samples have too many instances or losses; select a shorter range "
      "or fewer instances");
}

absl::Status SampleDecoder::AddInstance(const Response::Instance& proto) {
  RETURN_IF_ERROR(CheckName("an instance", proto.name()));
  RETURN_IF_ERROR(Keep(proto.name().size()));
  instances_.push_back(std::make_shared<const Instance>(
      Instance{.name = proto.name(),
               .instance_id = proto.instance_id(),
               .occurrence = proto.occurrence(),
               .life = proto.life(),
               .is_born = proto.born()}));
  return absl::OkStatus();
}

absl::Status SampleDecoder::AddQuery(const Response::Query& proto) {
  RETURN_IF_ERROR(Keep(static_cast<size_t>(proto.columns_size()) *
                       sizeof(CollectedQuery::Column)));
  if (static_cast<size_t>(proto.columns_size()) > kMaxColumns) {
    return MalformedSamples("number of a query's columns");
  }
  if (proto.counterset() >= request_.selected->size()) {
    return MalformedSamples("counterset of a query");
  }
  auto query = std::make_shared<CollectedQuery>();
  query->machine = request_.machine;
  query->schema = (*request_.selected)[proto.counterset()].schema;
  query->interval = absl::Nanoseconds(proto.interval_nanos());
  query->thinned_from = absl::Nanoseconds(proto.thinned_from_nanos());
  if (query->interval <= absl::ZeroDuration() ||
      query->interval > kMaxInterval ||
      query->thinned_from < absl::ZeroDuration() ||
      query->thinned_from > kMaxInterval) {
    return MalformedSamples("interval of a query");
  }
  for (const Response::Column& column : proto.columns()) {
    if ((column.value_size() != 4 && column.value_size() != 8) ||
        column.role() >= kColumnRoles ||
        !HasCounter(proto.counterset(), column.counter_id())) {
      return MalformedSamples("column of a query");
    }
    query->columns.push_back({.counter_id = column.counter_id(),
                              .value_size = column.value_size(),
                              .only_linked = column.only_linked(),
                              .wraps = column.wraps(),
                              .role = static_cast<ColumnRole>(column.role())});
  }
  std::vector<bool> wanted = request_.columns
                                 ? request_.columns(*query)
                                 : std::vector<bool>(query->columns.size());
  queries_.push_back({std::move(query), std::move(wanted)});
  return absl::OkStatus();
}

bool SampleDecoder::HasCounter(uint32_t counterset, uint32_t counter_id) {
  const auto [known, is_new] = counters_.try_emplace(counterset);
  if (is_new) {
    const auto& schema = *(*request_.selected)[counterset].schema;
    for (const auto& counter : schema.registration.counters) {
      known->second.insert(counter.counter_id);
    }
  }
  return known->second.contains(counter_id);
}

absl::StatusOr<Frame> SampleDecoder::DecodeFrame(
    const Response::Frame& proto) const {
  if (proto.query() >= queries_.size()) {
    return MalformedSamples("query of a frame");
  }
  const Query& query = queries_[proto.query()];
  Frame frame{.query = query.query, .epoch_number = proto.epoch()};
  RETURN_IF_ERROR(DecodeClocks(proto, &frame));
  RETURN_IF_ERROR(DecodeFailures(proto, &frame));
  uint64_t positions = 0;
  RETURN_IF_ERROR(DecodeRuns(proto, &frame, &positions));
  RETURN_IF_ERROR(DecodeColumns(proto, query, positions, &frame));
  return frame;
}

absl::Status SampleDecoder::DecodeRuns(const Response::Frame& proto,
                                       Frame* frame,
                                       uint64_t* positions) const {
  const int runs = proto.run_instances_size();
  if (proto.run_first_ticks_size() != runs ||
      proto.run_tick_counts_size() != runs) {
    return MalformedSamples("columns of runs");
  }
  const size_t ticks = frame->clocks->size();
  for (int i = 0; i < runs; ++i) {
    const uint32_t first = proto.run_first_ticks(i);
    const uint32_t count = proto.run_tick_counts(i);
    if (proto.run_instances(i) >= instances_.size() || first >= ticks ||
        count == 0 || count > ticks - first) {
      return MalformedSamples("run");
    }
    frame->runs.push_back({.instance = instances_[proto.run_instances(i)],
                           .first_tick = first,
                           .tick_count = count,
                           .begin = static_cast<uint32_t>(*positions)});
    *positions += count;
    if (*positions > std::numeric_limits<uint32_t>::max()) {
      return MalformedSamples("number of values");
    }
  }
  return absl::OkStatus();
}

absl::Status SampleDecoder::DecodeColumns(const Response::Frame& proto,
                                          const Query& query,
                                          uint64_t positions,
                                          Frame* frame) const {
  frame->columns.resize(query.query->columns.size());
  for (const Response::Values& values : proto.columns()) {
    if (values.column() >= frame->columns.size()) {
      return MalformedSamples("column");
    }
    FrameColumn& column = frame->columns[values.column()];
    const uint64_t expected =
        values.constant() ? frame->runs.size() : positions;
    if (!column.values.empty() ||
        static_cast<uint64_t>(values.values_size()) != expected ||
        !AreAscending(values.missing(), positions)) {
      return MalformedSamples("values of a column");
    }
    column.constant = values.constant();
    column.values.reserve(expected);
    ForEachSum(values.values(),
               [&](uint64_t value) { column.values.push_back(value); });
    column.missing.assign(values.missing().begin(), values.missing().end());
  }
  for (size_t i = 0; i < frame->columns.size(); ++i) {
    if (query.wanted[i] && positions > 0 && frame->columns[i].values.empty()) {
      return MalformedSamples("a column is missing");
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
