#include "aggregator/peers/sample_encoder.h"

#include <algorithm>
#include <utility>

#include "aggregator/peers/frame_slice.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limit of a part, unless a single item is larger.
constexpr size_t kMaxBytesOfPart = 1 << 20;
// The limit of numbers in a frame, which take at most 10 bytes each. A tick
// with more is a frame of its own.
constexpr size_t kMaxNumbersOfFrame = kMaxBytesOfPart / 10;
// The bytes that an item adds to a part besides its own.
constexpr size_t kBytesOfItem = 6;

// Appends a column of differences, modulo 2^64.
template <typename Values, typename Get>
void AddDifferences(const Values& values, Get get,
                    google::protobuf::RepeatedField<int64_t>* to) {
  uint64_t previous = 0;
  for (const auto& value : values) {
    const auto bits = static_cast<uint64_t>(get(value));
    to->Add(static_cast<int64_t>(bits - std::exchange(previous, bits)));
  }
}

size_t CountNumbers(const Frame& frame) {
  size_t numbers = 3 * (frame.clocks->size() + frame.runs.size());
  for (const FrameColumn& column : frame.columns) {
    numbers += column.values.size();
  }
  return numbers;
}

}  // namespace

absl::Status SampleEncoder::SendEpochs(
    const std::map<uint32_t, uint64_t>& epochs) {
  for (const auto& [number, epoch] : epochs) {
    v1::ReadSamplesResponse::Epoch proto;
    proto.set_number(number);
    proto.set_epoch(epoch);
    RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
    *response_.add_epochs() = std::move(proto);
  }
  return Finish();
}

absl::Status SampleEncoder::Add(const Frame& frame) {
  RETURN_IF_ERROR(added_losses_);
  const auto ticks = static_cast<uint32_t>(frame.clocks->size());
  if (ticks == 0) return absl::OkStatus();
  const auto ticks_at_a_time = static_cast<uint32_t>(
      std::max<size_t>(1, ticks * kMaxNumbersOfFrame / CountNumbers(frame)));
  for (uint32_t first = 0; first < ticks;) {
    const uint32_t end = first + std::min(ticks_at_a_time, ticks - first);
    RETURN_IF_ERROR(AddPart(Slice(frame, first, end)));
    first = end;
  }
  return absl::OkStatus();
}

absl::Status SampleEncoder::AddPart(const Frame& frame) {
  ASSIGN_OR_RETURN(const uint32_t query, NumberOf(frame.query));
  v1::ReadSamplesResponse::Frame proto;
  proto.set_query(query);
  proto.set_epoch(frame.epoch_number);
  AddDifferences(
      *frame.clocks,
      [](const perflib::Clocks& clocks) { return clocks.perf_time_stamp; },
      proto.mutable_perf_time_stamps());
  AddDifferences(
      *frame.clocks,
      [](const perflib::Clocks& clocks) { return clocks.perf_time_100nsec; },
      proto.mutable_perf_times_100nsec());
  AddDifferences(
      *frame.clocks,
      [](const perflib::Clocks& clocks) { return clocks.perf_freq; },
      proto.mutable_perf_freqs());
  for (const Frame::Run& run : frame.runs) {
    ASSIGN_OR_RETURN(const uint32_t instance, NumberOf(run.instance));
    proto.add_run_instances(instance);
    proto.add_run_first_ticks(run.first_tick);
    proto.add_run_tick_counts(run.tick_count);
  }
  for (size_t i = 0; i < frame.columns.size(); ++i) {
    const FrameColumn& column = frame.columns[i];
    if (column.values.empty()) continue;
    v1::ReadSamplesResponse::Values* values = proto.add_columns();
    values->set_column(static_cast<uint32_t>(i));
    values->set_constant(column.constant);
    AddDifferences(
        column.values, [](uint64_t value) { return value; },
        values->mutable_values());
    values->mutable_missing()->Add(column.missing.begin(),
                                   column.missing.end());
  }
  for (const Frame::Failure& failure : frame.failures) {
    proto.add_failed_ticks(failure.tick);
    proto.add_failure_statuses(failure.status);
  }
  proto.mutable_interval_times()->Add(frame.interval_times.begin(),
                                      frame.interval_times.end());
  RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
  *response_.add_frames() = std::move(proto);
  return absl::OkStatus();
}

void SampleEncoder::Add(const Loss& loss) {
  v1::ReadSamplesResponse::Loss proto;
  proto.set_start(absl::ToUnixNanos(loss.start));
  proto.set_end(absl::ToUnixNanos(loss.end));
  proto.set_ticks(loss.ticks);
  proto.set_cause(static_cast<uint32_t>(fleetperf::ToProto(loss.cause)));
  added_losses_.Update(MakeRoom(proto.ByteSizeLong()));
  if (added_losses_.ok()) *response_.add_losses() = std::move(proto);
}

absl::Status SampleEncoder::Finish() {
  RETURN_IF_ERROR(added_losses_);
  RETURN_IF_ERROR(send_(response_));
  response_.Clear();
  bytes_ = 0;
  return absl::OkStatus();
}

absl::Status SampleEncoder::MakeRoom(size_t bytes) {
  bytes += kBytesOfItem;
  if (bytes_ > 0 && bytes_ + bytes > kMaxBytesOfPart) RETURN_IF_ERROR(Finish());
  bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> SampleEncoder::NumberOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  const auto [entry, is_new] =
      queries_.try_emplace(query, static_cast<uint32_t>(queries_.size()));
  if (!is_new) return entry->second;
  v1::ReadSamplesResponse::Query proto;
  const auto schema =
      std::find(schemas_.begin(), schemas_.end(), query->schema);
  proto.set_counterset(static_cast<uint32_t>(schema - schemas_.begin()));
  proto.set_interval_nanos(absl::ToInt64Nanoseconds(query->interval));
  proto.set_thinned_from_nanos(absl::ToInt64Nanoseconds(query->thinned_from));
  for (const CollectedQuery::Column& column : query->columns) {
    v1::ReadSamplesResponse::Column* to = proto.add_columns();
    to->set_counter_id(column.counter_id);
    to->set_value_size(column.value_size);
    to->set_only_linked(column.only_linked);
    to->set_wraps(column.wraps);
    to->set_role(static_cast<uint32_t>(column.role));
  }
  RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
  *response_.add_queries() = std::move(proto);
  return entry->second;
}

absl::StatusOr<uint32_t> SampleEncoder::NumberOf(
    const std::shared_ptr<const Instance>& instance) {
  const auto [entry, is_new] = instances_.try_emplace(
      instance, static_cast<uint32_t>(instances_.size()));
  if (!is_new) return entry->second;
  v1::ReadSamplesResponse::Instance proto;
  proto.set_name(instance->name);
  proto.set_instance_id(instance->instance_id);
  proto.set_occurrence(instance->occurrence);
  proto.set_life(instance->life);
  proto.set_born(instance->is_born);
  RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
  *response_.add_instances() = std::move(proto);
  return entry->second;
}

}  // namespace fleetperf::aggregator
