#include "agent/deliver/conversation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

// Unless Welcome says how many, and at most.
constexpr uint32_t kDefaultUnacknowledged = 8;
constexpr uint32_t kMostUnacknowledged = 64;
// Epochs that a Hello names.
constexpr size_t kMostEpochs = 1000;

}  // namespace

Conversation::Conversation(const AgentDescription* agent)
    : agent_(*agent),
      spool_(agent->delivery->spool()),
      catalogue_(agent->catalogue()) {
  absl::MutexLock lock(&mutex_);
  limits_.set_max_unacknowledged_batches(kDefaultUnacknowledged);
  control_.push_back(MakeHello());
}

v1::CollectRequest Conversation::MakeHello() {
  v1::CollectRequest request;
  v1::Hello* hello = request.mutable_hello();
  hello->set_agent(agent_.agent);
  std::vector<Spool::HeldEpoch> held_epochs = spool_.HeldEpochs();
  // Those between the oldest ones and this process's come with a later Hello.
  if (held_epochs.size() > kMostEpochs) {
    held_epochs.erase(held_epochs.begin() + (kMostEpochs - 1),
                      std::prev(held_epochs.end()));
  }
  for (const Spool::HeldEpoch& held : held_epochs) {
    epochs_[held.epoch.number] = held.epoch.id;
    v1::HeldEpoch* to = hello->add_held_epochs();
    to->set_epoch(held.epoch.id);
    to->set_first_sequence(held.first_sequence);
    to->set_last_sequence(held.epoch.last_sequence);
    to->set_forked_from(held.epoch.forked_from);
  }
  hello->set_epoch(epochs_[kThisProcess]);
  hello->set_catalogue_hash(catalogue_.hash);
  hello->set_agent_version(kVersion);
  hello->set_operating_system(agent_.operating_system);
  hello->mutable_labels()->insert(agent_.labels.begin(), agent_.labels.end());
  *hello->mutable_time() = ToProto(agent_.clock->Now());
  *hello->mutable_batch_period() = ToProto(agent_.delivery->batch_period());
  return request;
}

std::optional<v1::CollectRequest> Conversation::Next() {
  absl::MutexLock lock(&mutex_);
  if (must_begin_anew_) return std::nullopt;
  if (control_.empty()) return MaySend() ? NextBatch() : std::nullopt;
  v1::CollectRequest request = std::move(control_.front());
  control_.pop_front();
  return request;
}

bool Conversation::MaySend() const {
  return is_welcome_ &&
         in_flight_.size() < limits_.max_unacknowledged_batches() &&
         agent_.clock->Monotonic() >= paused_until_;
}

bool Conversation::Fits(const v1::Batch& batch) const {
  const auto exceeds = [](size_t size, uint32_t limit) {
    return limit > 0 && size > limit;
  };
  return !exceeds(batch.payload().size(), limits_.max_payload_bytes()) &&
         !exceeds(batch.content_size(), limits_.max_content_bytes());
}

std::optional<v1::CollectRequest> Conversation::NextBatch() {
  for (;;) {
    const auto next = spool_.Take(sent_);
    if (!next.ok()) {
      log_.Warn("spool", absl::StrCat("cannot read the spool: ",
                                      next.status().message()));
      return std::nullopt;  // it is tried again with the next batch
    }
    if (!next->has_value()) return std::nullopt;
    const SpooledBatch& spooled = **next;
    const auto epoch = epochs_.find(spooled.place.epoch);
    if (epoch == epochs_.end()) {
      must_begin_anew_ = in_flight_.empty();  // Hello did not name it
      return std::nullopt;
    }
    sent_ = spooled.place;
    if (!Fits(*spooled.batch)) {
      log_.Warn("size",
                absl::StrCat("dropped batch ", sent_.sequence, " of ",
                             spooled.batch->content_size(),
                             " bytes, which is more than the aggregator takes; "
                             "collect fewer counters or instances"));
      spool_.Refuse(spooled);
      continue;
    }
    in_flight_.push_back(sent_);
    v1::CollectRequest request;
    *request.mutable_batch() = *spooled.batch;
    request.mutable_batch()->set_epoch(epoch->second);
    request.mutable_batch()->set_sequence(sent_.sequence);
    return request;
  }
}

void Conversation::Say(v1::CollectRequest request) {
  absl::MutexLock lock(&mutex_);
  control_.push_back(std::move(request));
}

Conversation::Work Conversation::Handle(const v1::CollectResponse& response) {
  // Sends what was held back, which asks for the next message.
  if (response.has_pace()) agent_.delivery->SetLive(response.pace().live());
  absl::MutexLock lock(&mutex_);
  const auto apply_plan = [this](std::optional<v1::Plan> plan) {
    return [this, plan = std::move(plan)] {
      v1::CollectRequest report;
      *report.mutable_plan_report() =
          agent_.apply_plan(plan.has_value() ? &*plan : nullptr);
      return report;
    };
  };
  switch (response.message_case()) {
    case v1::CollectResponse::kWelcome:
      HandleWelcome(response.welcome());
      return apply_plan(response.welcome().has_plan()
                            ? std::optional(response.welcome().plan())
                            : std::nullopt);
    case v1::CollectResponse::kAck:
      HandleAck(response.ack());
      return nullptr;
    case v1::CollectResponse::kReject:
      HandleReject(response.reject());
      return nullptr;
    case v1::CollectResponse::kThrottle:
      HandleThrottle(response.throttle());
      return nullptr;
    case v1::CollectResponse::kPlan:
      return apply_plan(response.plan());
    case v1::CollectResponse::kEnumerateInstances:
      return [this, question = response.enumerate_instances()] {
        return Enumerate(question);
      };
    case v1::CollectResponse::kPace:
    case v1::CollectResponse::MESSAGE_NOT_SET:  // of a later version
      return nullptr;
  }
  return nullptr;
}

void Conversation::HandleWelcome(const v1::Welcome& welcome) {
  is_welcome_ = true;
  const uint32_t unacknowledged = welcome.limits().max_unacknowledged_batches();
  limits_ = welcome.limits();
  limits_.set_max_unacknowledged_batches(
      unacknowledged == 0 ? kDefaultUnacknowledged
                          : std::min(unacknowledged, kMostUnacknowledged));
  for (const v1::EpochState& state : welcome.epochs()) {
    const std::optional<uint32_t> number = NumberOf(state.epoch());
    if (!number.has_value()) continue;
    const absl::StatusOr<bool> is_ours = spool_.Resume(
        *number, state.durable_sequence(), state.durable_fingerprint());
    if (!is_ours.ok()) return BeginAnew(is_ours.status());
    if (!*is_ours) {
      spool_.Fork();
      return BeginAnew(absl::AbortedError(
          "the aggregator has samples under this agent's number that it did "
          "not take: the machine was set back to an earlier state, or copied. "
          "It goes on under a new number, and nothing is lost"));
    }
    if (state.dictionary_held()) continue;
    const absl::Status said = SayDictionary(*number);
    if (!said.ok()) return BeginAnew(said);
  }
  if (welcome.catalogue_wanted()) {
    *control_.emplace_back().mutable_catalogue() = catalogue_.catalogue;
  }
}

absl::Status Conversation::SayDictionary(uint32_t epoch) {
  ASSIGN_OR_RETURN(std::vector<v1::Definitions> parts,
                   spool_.DefinitionsOf(epoch));
  for (v1::Definitions& part : parts) {
    v1::Dictionary* dictionary = control_.emplace_back().mutable_dictionary();
    dictionary->set_epoch(epochs_[epoch]);
    dictionary->set_more(&part != &parts.back());
    *dictionary->mutable_definitions() = std::move(part);
  }
  return absl::OkStatus();
}

void Conversation::BeginAnew(const absl::Status& reason) {
  log_.Warn(reason.message(), reason.message());
  must_begin_anew_ = true;
}

std::optional<uint32_t> Conversation::NumberOf(uint64_t epoch) const {
  for (const auto& [number, id] : epochs_) {
    if (id == epoch) return number;
  }
  return std::nullopt;
}

void Conversation::HandleAck(const v1::Ack& ack) {
  const std::optional<uint32_t> number = NumberOf(ack.epoch());
  if (!number.has_value()) return;
  const BatchPlace place = {.epoch = *number, .sequence = ack.sequence()};
  spool_.Acknowledge(place);
  std::erase_if(in_flight_, [&](BatchPlace sent) {
    return sent.epoch == place.epoch && sent <= place;
  });
  got_through_ = true;
}

void Conversation::HandleReject(const v1::Reject& reject) {
  const std::optional<uint32_t> number = NumberOf(reject.epoch());
  if (!number.has_value()) return;
  log_.Warn(absl::StrCat("reject ", reject.reason()),
            absl::StrCat("the aggregator rejected batch ", reject.sequence(),
                         ": ", reject.reason()));
  const BatchPlace place = {.epoch = *number, .sequence = reject.sequence()};
  spool_.Reject(place);
  std::erase(in_flight_, place);
  got_through_ = true;
}

void Conversation::HandleThrottle(const v1::Throttle& throttle) {
  const absl::Duration pause = FromProto(throttle.pause());
  log_.Warn(throttle.reason(),
            absl::StrCat("the aggregator asks to pause for ",
                         absl::FormatDuration(pause), ": ", throttle.reason()));
  paused_until_ = agent_.clock->Monotonic() + pause;
}

v1::CollectRequest Conversation::Enumerate(
    const v1::EnumerateInstances& question) const {
  v1::CollectRequest request;
  v1::InstanceList* answer = request.mutable_instance_list();
  answer->set_request_id(question.request_id());
  const auto counterset = perflib::GuidFromBytes(question.counterset());
  const auto instances =
      counterset.has_value()
          ? agent_.enumerate_instances(question.machine(), *counterset)
          : absl::InvalidArgumentError("counterset is not a GUID");
  if (!instances.ok()) {
    answer->set_error(std::string(instances.status().message()));
    return request;
  }
  for (const perflib::InstanceName& instance : *instances) {
    v1::InstanceList::Instance* to = answer->add_instances();
    to->set_name(instance.name);
    to->set_instance_id(instance.instance_id);
  }
  return request;
}

absl::Duration Conversation::pause_left() const {
  absl::MutexLock lock(&mutex_);
  const absl::Duration left = paused_until_ - agent_.clock->Monotonic();
  return left > absl::ZeroDuration() ? left : absl::InfiniteDuration();
}

bool Conversation::is_welcome() const {
  absl::MutexLock lock(&mutex_);
  return is_welcome_;
}

bool Conversation::got_through() const {
  absl::MutexLock lock(&mutex_);
  return got_through_;
}

bool Conversation::must_begin_anew() const {
  absl::MutexLock lock(&mutex_);
  return must_begin_anew_;
}

bool Conversation::is_settled() const {
  absl::MutexLock lock(&mutex_);
  const auto next = spool_.Next(sent_);
  return in_flight_.empty() && (!next.ok() || !next->has_value());
}

}  // namespace fleetperf::agent
