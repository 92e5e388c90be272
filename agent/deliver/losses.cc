#include "agent/deliver/losses.h"

#include <algorithm>

#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::agent {

static_assert(static_cast<int>(LossCause::kSpoolFull) ==
              v1::LOSS_CAUSE_SPOOL_FULL);
static_assert(static_cast<int>(LossCause::kStoreDamaged) ==
              v1::LOSS_CAUSE_STORE_DAMAGED);

void TickRange::Extend(const TickRange& other) {
  ticks += other.ticks;
  start = std::min(start, other.start);
  end = std::max(end, other.end);
}

void Losses::Add(const std::string& machine, LossCause cause,
                 const TickRange& ticks) {
  ranges_[{machine, cause}].Extend(ticks);
}

void Losses::Add(const Losses& others) {
  for (const auto& [machine_and_cause, ticks] : others.ranges_) {
    ranges_[machine_and_cause].Extend(ticks);
  }
}

void Losses::AppendTo(v1::BatchContent* content) const {
  for (const auto& [machine_and_cause, range] : ranges_) {
    v1::Loss* loss = content->add_losses();
    loss->set_machine(machine_and_cause.first);
    *loss->mutable_start() = ToProto(range.start);
    *loss->mutable_end() = ToProto(range.end);
    loss->set_ticks(range.ticks);
    loss->set_cause(ToProto(machine_and_cause.second));
  }
}

TickRange Losses::Of(LossCause cause) const {
  TickRange all;
  for (const auto& [machine_and_cause, ticks] : ranges_) {
    if (machine_and_cause.second == cause) all.Extend(ticks);
  }
  return all;
}

TickRange Losses::All() const {
  TickRange all;
  for (const auto& [machine_and_cause, ticks] : ranges_) all.Extend(ticks);
  return all;
}

Losses Losses::In(const v1::BatchContent& content) {
  Losses losses;
  for (const v1::Loss& loss : content.losses()) {
    const LossCause cause = FromProto(loss.cause());
    if (cause == LossCause::kUnknown) continue;
    losses.Add(loss.machine(), cause,
               {.ticks = loss.ticks(),
                .start = FromProto(loss.start()),
                .end = FromProto(loss.end())});
  }
  return losses;
}

}  // namespace fleetperf::agent
