#include "agent/deliver/spool/spool_record.h"

#include "proto/conversions.h"

namespace fleetperf::agent {

int64_t ToNanoseconds(absl::Time time) {
  return absl::ToInt64Nanoseconds(time - absl::UnixEpoch());
}

absl::Time FromNanoseconds(int64_t nanoseconds) {
  if (nanoseconds == INT64_MAX) return absl::InfiniteFuture();
  if (nanoseconds == INT64_MIN) return absl::InfinitePast();
  return absl::FromUnixNanos(nanoseconds);
}

void ToProto(const TickRange& range, v1::SpoolTicks* to) {
  to->set_ticks(range.ticks);
  to->set_start_ns(ToNanoseconds(range.start));
  to->set_end_ns(ToNanoseconds(range.end));
}

TickRange FromProto(const v1::SpoolTicks& ticks) {
  return {.ticks = ticks.ticks(),
          .start = FromNanoseconds(ticks.start_ns()),
          .end = FromNanoseconds(ticks.end_ns())};
}

namespace {

uint32_t NumberInFile(uint32_t number, uint32_t process) {
  return number == kThisProcess ? process : number;
}

}  // namespace

void ToProto(const SpoolEpoch& epoch, uint32_t process, v1::SpoolEpoch* to) {
  to->set_number(NumberInFile(epoch.number, process));
  to->set_epoch(epoch.id);
  to->set_forked_from(epoch.forked_from);
  to->set_acknowledged(epoch.acknowledged);
  to->set_last_sequence(epoch.last_sequence);
}

SpoolEpoch FromProto(const v1::SpoolEpoch& epoch) {
  return {.number = epoch.number(),
          .id = epoch.epoch(),
          .forked_from = epoch.forked_from(),
          .acknowledged = epoch.acknowledged(),
          .last_sequence = epoch.last_sequence()};
}

void ToProto(BatchPlace place, uint32_t process, v1::SpoolPlace* to) {
  to->set_epoch(NumberInFile(place.epoch, process));
  to->set_sequence(place.sequence);
}

BatchPlace FromProto(const v1::SpoolPlace& place) {
  return {.epoch = place.epoch(), .sequence = place.sequence()};
}

void ToProto(const HeldBatch& batch, uint32_t process, v1::SpoolBatch* to) {
  const SpooledBatch& spooled = batch.spooled;
  ToProto(spooled.place, process, to->mutable_place());
  ToProto(spooled.ticks, to->mutable_ticks());
  to->set_age_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(batch.age)));
  if (!spooled.losses.empty()) spooled.losses.AppendTo(to->mutable_told());
  if (spooled.dropped.has_value()) {
    to->set_dropped(ToProto(*spooled.dropped));
    return;
  }
  to->set_compression(batch.compression);
  to->set_content_size(batch.content_size);
  to->set_fingerprint(batch.fingerprint);
  to->set_segment(batch.payload.segment);
  to->set_offset(batch.payload.offset);
  to->set_size(batch.size);
}

HeldBatch FromProto(const v1::SpoolBatch& batch) {
  HeldBatch held = {
      .spooled = {.place = FromProto(batch.place()),
                  .ticks = FromProto(batch.ticks()),
                  .losses = Losses::In(batch.told())},
      .age = absl::Milliseconds(batch.age_ms()),
      .compression = batch.compression(),
      .content_size = batch.content_size(),
      .fingerprint = batch.fingerprint(),
      .size = batch.size(),
      .payload = {.segment = batch.segment(), .offset = batch.offset()}};
  if (batch.dropped() != v1::LOSS_CAUSE_UNSPECIFIED) {
    held.spooled.dropped = fleetperf::FromProto(batch.dropped());
    held.payload = {};
    held.size = 0;
  }
  return held;
}

void ToProto(const HeldRun& run, uint32_t process, v1::SpoolRun* to) {
  ToProto(run.first, process, to->mutable_first());
  to->set_last_sequence(run.last_sequence);
  ToProto(run.ticks, to->mutable_ticks());
}

HeldRun FromProto(const v1::SpoolRun& run) {
  return {.first = FromProto(run.first()),
          .last_sequence = run.last_sequence(),
          .ticks = FromProto(run.ticks())};
}

}  // namespace fleetperf::agent
