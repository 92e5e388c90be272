#include "aggregator/services/subscriptions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/request_limits.h"
#include "base/status_macros.h"
#include "proto/conversions.h"
#include "values/unit.h"

namespace fleetperf::aggregator {
namespace {

// Converts a request to a subscription. Returns InvalidArgument if it is
// malformed.
absl::StatusOr<SubscriptionRequest> ParseRequest(
    const v1::SubscribeRequest& proto, const Directory& directory) {
  RETURN_IF_ERROR(CheckPathsAndFilter(proto));
  const absl::Duration interval = FromProto(proto.interval());
  if (proto.has_interval() && interval < absl::Seconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an interval of ", absl::FormatDuration(interval),
                     " is too short: the shortest is 1s"));
  }
  if (proto.top() > 0 && proto.bottom() > 0) {
    return absl::InvalidArgumentError("top and bottom exclude each other");
  }
  const bool chooses =
      proto.has_where() || proto.top() > 0 || proto.bottom() > 0;
  if (proto.raw() && (chooses || proto.has_interval())) {
    return absl::InvalidArgumentError(
        "raw samples cannot be combined with interval, where, top and "
        "bottom");
  }
  const std::vector<std::string> known = directory.CountersetNames();
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   ParsePlainPaths({proto.paths().begin(), proto.paths().end()},
                                   known, CountersOf(directory)));
  ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, known));
  RETURN_IF_ERROR(CheckMachinePatterns(paths.machine_patterns()));
  paths.LimitTo(MachineFilter::Of(proto, directory));
  SubscriptionRequest request{
      .paths = std::move(paths),
      .form = {.interval = interval, .raw = proto.raw()},
      .choice = {.top = proto.top(), .bottom = proto.bottom()}};
  if (proto.has_where()) {
    ASSIGN_OR_RETURN(request.choice.where, ConditionFromProto(proto.where()));
  }
  if (proto.has_start()) request.start = FromProto(proto.start());
  return request;
}

// Returns InvalidArgument if the condition's number cannot be converted to the
// unit of a selected counter.
absl::Status CheckUnits(const SubscriptionRequest& request,
                        const Directory& directory,
                        const IsCancelled& is_cancelled) {
  if (!request.choice.where.has_value()) return absl::OkStatus();
  std::vector<absl::Status> missed;
  ASSIGN_OR_RETURN(const Selected selected,
                   request.paths.Select(directory, &missed, is_cancelled));
  for (const auto& [machine, countersets] : selected) {
    for (const SelectedCounterset& counterset : countersets) {
      const auto& registration = counterset.schema->registration;
      for (const Selection& selection : counterset.selections) {
        for (const uint32_t id : selection.counter_ids) {
          const auto& counter = *registration.FindCounter(id);
          RETURN_IF_ERROR(
              request.choice.where
                  ->In(UnitOf(counter), absl::StrCat("\\", registration.name,
                                                     "\\", counter.name))
                  .status());
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallerQuota::Share> Subscriptions::Enter(
    const std::string& caller) {
  auto share = quota_.TryTake(Pool::kSubscriptions, caller);
  if (!share.ok()) hub_.CountRefused();
  return share;
}

void Subscriptions::Post(const std::string& caller,
                         std::function<void()> task) {
  quota_.TakeLater(
      Pool::kStarts, caller,
      [hub = &hub_, task = std::move(task)](CallerQuota::Share share) {
        hub->Post([task, share = std::make_shared<CallerQuota::Share>(
                             std::move(share))] {
          task();
          share->Release();
        });
      });
}

absl::StatusOr<std::shared_ptr<Subscription>> Subscriptions::Begin(
    const v1::SubscribeRequest& request, const std::string& caller,
    std::function<void()> listener, const IsCancelled& is_cancelled) {
  RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
  ASSIGN_OR_RETURN(SubscriptionRequest parsed,
                   ParseRequest(request, store_.directory()));
  RETURN_IF_ERROR(CheckUnits(parsed, store_.directory(), is_cancelled));
  const auto subscription =
      std::make_shared<Subscription>(std::move(parsed), &clock_);
  auto memory = quota_.TryTake(Pool::kUnreadBytes, caller, /*amount=*/0);
  if (memory.ok()) subscription->outbox()->SetMemory(*std::move(memory));
  subscription->outbox()->SetListener(std::move(listener));
  const MachineFilter machines = MachineFilter::Of(request, store_.directory());
  std::vector<absl::Status> missed;
  const absl::Status added = hub_.Add(subscription, &missed, is_cancelled);
  if (!added.ok()) return ExplainMiss(added, &fleet_, machines, is_cancelled);
  v1::SubscribeResponse first;
  for (size_t i = 0; i < missed.size(); ++i) {
    *first.add_missing() =
        ToMissing(i < kMaxMissesExplained
                      ? ExplainMiss(missed[i], &fleet_, machines, is_cancelled)
                      : missed[i]);
  }
  subscription->outbox()->SetFirst(std::move(first));
  return subscription;
}

void Subscriptions::End(std::shared_ptr<Subscription> subscription) {
  hub_.Post([hub = &hub_, subscription = std::move(subscription)] {
    hub->Remove(subscription);
  });
}

}  // namespace fleetperf::aggregator
