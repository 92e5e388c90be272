#include "agent/deliver/conversation.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

// The default if Welcome has no limit, and the upper bound of its limit.
constexpr uint32_t kDefaultUnacknowledged = 8;
constexpr uint32_t kMaxUnacknowledged = 64;
// The maximum number of epochs in a Hello.
constexpr size_t kMaxEpochs = 1000;
// The limits of an InstanceList. An aggregator ends a stream whose message is
// larger than it accepts.
constexpr size_t kMaxListedInstances = 100'000;
constexpr size_t kMaxListedBytes = 4 << 20;  // of names

absl::Status CheckListed(const std::vector<perflib::InstanceName>& instances) {
  size_t bytes = 0;
  for (const perflib::InstanceName& instance : instances) {
    bytes += instance.name.size();
  }
  if (instances.size() <= kMaxListedInstances && bytes <= kMaxListedBytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot list ", instances.size(), " instances with ", bytes,
                   " bytes of names; the limits are ", kMaxListedInstances,
                   " instances and ", kMaxListedBytes, " bytes"));
}

}  // namespace

Conversation::Conversation(const AgentDescription* agent, LogOncePerCause* log)
    : agent_(*agent),
      spool_(agent->delivery->spool()),
      catalogue_(agent->catalogue()),
      log_(*log) {
  v1::CollectRequest hello = MakeHello();
  absl::MutexLock lock(&mutex_);
  limits_.set_max_unacknowledged_batches(kDefaultUnacknowledged);
  control_.push_back(std::move(hello));
}

v1::CollectRequest Conversation::MakeHello() {
  v1::CollectRequest request;
  v1::Hello* hello = request.mutable_hello();
  hello->set_agent(agent_.agent);
  std::vector<Spool::HeldEpoch> held_epochs = spool_.HeldEpochs();
  // Skip the epochs between the oldest ones and this process's. A later Hello
  // names them.
  if (held_epochs.size() > kMaxEpochs) {
    held_epochs.erase(held_epochs.begin() + (kMaxEpochs - 1),
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
  std::set<uint64_t> ids;
  for (const auto& [number, id] : epochs_) ids.insert(id);
  agent_.delivery->receipts().KeepOnly(ids);
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
  return Next([this](BatchPlace place) { return spool_.Take(place); });
}

std::optional<v1::CollectRequest> Conversation::NextFromMemory(
    bool* must_read) {
  *must_read = false;
  return Next([&](BatchPlace place) {
    return spool_.TakeFromMemory(place, must_read);
  });
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

std::optional<v1::CollectRequest> Conversation::Next(TakeBatch take) {
  for (;;) {
    BatchPlace place;
    {
      absl::MutexLock lock(&mutex_);
      if (must_reconnect_) return std::nullopt;
      if (!control_.empty()) {
        v1::CollectRequest request = std::move(control_.front());
        control_.pop_front();
        return request;
      }
      if (!MaySend()) return std::nullopt;
      place = sent_;
    }
    // Reads without the lock, so that answers are handled meanwhile.
    const auto next = take(place);
    if (!next.ok()) {
      log_.Warn("spool", absl::StrCat("cannot read the spool: ",
                                      next.status().message()));
      return std::nullopt;  // retried with the next batch
    }
    if (!next->has_value()) return std::nullopt;
    absl::MutexLock lock(&mutex_);
    if (place != sent_) continue;  // sent by another thread
    const auto epoch = epochs_.find((*next)->place.epoch);
    if (epoch == epochs_.end()) {
      // Hello did not name the epoch.
      if (in_flight_.empty()) must_reconnect_ = true;
      return std::nullopt;
    }
    sent_ = (*next)->place;
    if (Fits(*(*next)->batch)) return MessageOf(**next, epoch->second);
    Refuse(**next);
  }
}

v1::CollectRequest Conversation::MessageOf(const SpooledBatch& spooled,
                                           uint64_t epoch) {
  agent_.delivery->receipts().AddSent(store_id_, epoch, spooled.place.sequence,
                                      spooled.ticks, spooled.losses);
  in_flight_.push_back(sent_);
  v1::CollectRequest request;
  *request.mutable_batch() = *spooled.batch;
  request.mutable_batch()->set_epoch(epoch);
  request.mutable_batch()->set_sequence(spooled.place.sequence);
  return request;
}

void Conversation::Refuse(const SpooledBatch& spooled) {
  log_.Warn("size", absl::StrCat("dropped batch ", spooled.place.sequence,
                                 " of ", spooled.batch->content_size(),
                                 " bytes, which exceeds the aggregator's "
                                 "limit; collect fewer counters or instances"));
  spool_.Refuse(spooled);
}

void Conversation::Say(v1::CollectRequest request) {
  absl::MutexLock lock(&mutex_);
  control_.push_back(std::move(request));
}

bool Conversation::TakesLong(const v1::CollectResponse& response) {
  return !response.has_ack() && !response.has_reject() &&
         !response.has_throttle();
}

Conversation::Work Conversation::Handle(const v1::CollectResponse& response) {
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
    case v1::CollectResponse::kPace:
      // Sends the held samples; the batch listener then requests the next
      // message.
      agent_.delivery->SetLive(response.pace().live());
      return nullptr;
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
    case v1::CollectResponse::MESSAGE_NOT_SET:  // from a later version
      return nullptr;
  }
  return nullptr;
}

void Conversation::HandleWelcome(const v1::Welcome& welcome) {
  auto said = Resume(welcome);
  absl::MutexLock lock(&mutex_);
  is_welcome_ = true;
  store_id_ = welcome.store_id();
  const uint32_t unacknowledged = welcome.limits().max_unacknowledged_batches();
  limits_ = welcome.limits();
  limits_.set_max_unacknowledged_batches(
      unacknowledged == 0 ? kDefaultUnacknowledged
                          : std::min(unacknowledged, kMaxUnacknowledged));
  if (!said.ok()) return RequestReconnect(said.status());
  std::move(said->begin(), said->end(), std::back_inserter(control_));
  if (welcome.catalogue_wanted()) {
    *control_.emplace_back().mutable_catalogue() = catalogue_.catalogue;
  }
}

absl::Status Conversation::CheckNamesEpochs(const v1::Welcome& welcome) const {
  std::set<uint64_t> named;
  for (const v1::EpochState& state : welcome.epochs()) {
    named.insert(state.epoch());
  }
  for (const auto& [number, id] : epochs_) {
    if (named.contains(id)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the aggregator's Welcome lacks epoch ", id, ", which Hello named"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::CollectRequest>> Conversation::Resume(
    const v1::Welcome& welcome) {
  std::vector<v1::CollectRequest> to_say;
  RETURN_IF_ERROR(CheckNamesEpochs(welcome));
  for (const v1::EpochState& state : welcome.epochs()) {
    const std::optional<uint32_t> number = NumberOf(state.epoch());
    if (!number.has_value()) continue;
    if (!spool_.Resume(*number, state.durable_sequence(),
                       state.durable_fingerprint())) {
      spool_.Fork();
      return absl::AbortedError(
          "the aggregator has samples in this agent's epoch that the agent did "
          "not collect: the machine was restored to an earlier state, or "
          "cloned. The agent continues with a new epoch, and nothing is lost");
    }
    CheckReceipts(welcome.store_id(), state);
    if (state.dictionary_held()) continue;
    RETURN_IF_ERROR(AddDictionary(*number, state.epoch(), &to_say));
  }
  return to_say;
}

void Conversation::CheckReceipts(const std::string& store_id,
                                 const v1::EpochState& state) {
  auto lost = agent_.delivery->receipts().Resume(store_id, state.epoch(),
                                                 state.durable_sequence());
  if (!lost.has_value()) return;
  TickRange& ticks = lost->ticks;
  const std::string message = absl::StrCat(
      "the aggregator's store no longer has batches ", lost->first_sequence,
      " to ", lost->last_sequence,
      ", which it had acknowledged: the store was damaged or set back. Lost "
      "with them: ",
      ticks.ticks > 0 ? absl::StrCat(ticks.ticks) : "an unknown number of",
      " ticks");
  log_.Warn(message, message);
  if (ticks.start > ticks.end) ticks.start = ticks.end = agent_.clock->Now();
  Losses& losses = lost->told;
  losses.Add("", LossCause::kStoreDamaged, ticks);
  spool_.AddLosses(losses);
}

absl::Status Conversation::AddDictionary(
    uint32_t number, uint64_t epoch,
    std::vector<v1::CollectRequest>* to_say) const {
  ASSIGN_OR_RETURN(std::vector<v1::Definitions> parts,
                   spool_.DefinitionsOf(number));
  for (v1::Definitions& part : parts) {
    v1::Dictionary* dictionary = to_say->emplace_back().mutable_dictionary();
    dictionary->set_epoch(epoch);
    dictionary->set_more(&part != &parts.back());
    *dictionary->mutable_definitions() = std::move(part);
  }
  return absl::OkStatus();
}

void Conversation::RequestReconnect(const absl::Status& reason) {
  log_.Warn(reason.message(), reason.message());
  must_reconnect_ = true;
}

std::optional<uint32_t> Conversation::NumberOf(uint64_t epoch) const {
  for (const auto& [number, id] : epochs_) {
    if (id == epoch) return number;
  }
  return std::nullopt;
}

bool Conversation::MayAnswer(BatchPlace place) const {
  // Welcome repeats earlier answers to batches of previous streams.
  if (!is_welcome_) return false;
  if (spool_.MayHaveArrived(place)) return true;
  log_.Warn("answer",
            absl::StrCat("ignored the aggregator's answer to batch ",
                         place.sequence, ", which the agent has not sent"));
  return false;
}

void Conversation::HandleAck(const v1::Ack& ack) {
  const std::optional<uint32_t> number = NumberOf(ack.epoch());
  if (!number.has_value()) return;
  absl::MutexLock lock(&mutex_);
  const BatchPlace place = {.epoch = *number, .sequence = ack.sequence()};
  if (!MayAnswer(place)) return;
  spool_.Acknowledge(place);
  agent_.delivery->receipts().Acknowledge(store_id_, ack.epoch(),
                                          ack.sequence());
  std::erase_if(in_flight_, [&](BatchPlace sent) {
    return sent.epoch == place.epoch && sent <= place;
  });
  got_through_ = true;
}

void Conversation::HandleReject(const v1::Reject& reject) {
  const std::optional<uint32_t> number = NumberOf(reject.epoch());
  if (!number.has_value()) return;
  absl::MutexLock lock(&mutex_);
  const BatchPlace place = {.epoch = *number, .sequence = reject.sequence()};
  if (!MayAnswer(place)) return;
  log_.Warn(absl::StrCat("reject ", reject.reason()),
            absl::StrCat("the aggregator rejected batch ", reject.sequence(),
                         ": ", reject.reason()));
  spool_.Reject(place);
  std::erase(in_flight_, place);
  got_through_ = true;
}

void Conversation::HandleThrottle(const v1::Throttle& throttle) {
  absl::MutexLock lock(&mutex_);
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
  const absl::Status listed =
      instances.ok() ? CheckListed(*instances) : instances.status();
  if (!listed.ok()) {
    if (absl::IsResourceExhausted(listed)) {
      log_.Warn("instances",
                absl::StrCat("the aggregator gets no list of the present "
                             "instances of a counterset, and lists those in "
                             "its store instead: ",
                             listed.message()));
    }
    answer->set_error(std::string(listed.message()));
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

bool Conversation::must_reconnect() const {
  absl::MutexLock lock(&mutex_);
  return must_reconnect_;
}

bool Conversation::is_settled() const {
  absl::MutexLock lock(&mutex_);
  return in_flight_.empty() && !spool_.MayHoldAfter(sent_);
}

}  // namespace fleetperf::agent
