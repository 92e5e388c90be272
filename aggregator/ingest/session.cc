#include "aggregator/ingest/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/message_cost.h"
#include "aggregator/ingest/stream_errors.h"
#include "aggregator/samples/machine_name.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/tls/certificates.h"
#include "base/tls/pki_commands.h"
#include "base/zstd.h"

namespace fleetperf::aggregator {
namespace {

// Returns the error of an agent whose certificate lacks its name.
absl::Status UnnamedAgent(const std::string& agent) {
  const absl::Status allowed = CheckCertificateName(agent);
  return absl::PermissionDeniedError(
      allowed.ok() ? absl::StrCat("the certificate does not name \"", agent,
                                  "\"; issue one with: ",
                                  IssueCommand(Role::kAgent, {agent}))
                   : absl::StrCat(allowed.message(), kRenameAgent));
}

}  // namespace

Session::Session(Ingest* ingest, PeerIdentity peer, std::string address,
                 std::shared_ptr<AgentLink> link)
    : ingest_(*ingest),
      peer_(std::move(peer)),
      address_(std::move(address)),
      link_(std::move(link)),
      machines_(ingest, &peer_),
      throttle_(ingest, link_.get(), ingest->BudgetsOf(peer_)),
      definitions_(ingest, &throttle_, &machines_,
                   // A new machine may be watched.
                   [this] { ingest_.UpdatePace(this); }),
      batches_(ingest, &peer_, &throttle_, &machines_, &definitions_),
      plans_(&ingest->planner(), &ingest->store().directory(), &machine_,
             link_.get()),
      reconnect_at_(ingest->NextReconnect()) {}

bool Session::HasRoom() const {
  // The first message is Hello, which takes none of the memory for batches.
  return agent_.empty() || batches_.HasRoom();
}

absl::Status Session::AdmitMessage(size_t bytes) {
  if (!agent_.empty() || bytes <= kMaxFirstMessageBytes) {
    return absl::OkStatus();
  }
  // The error ends the stream. Another stream costs more than its message.
  throttle_.Charge(
      Throttle::Cost::kWork,
      (1 + kParsedWork) * (kMessageWork + static_cast<double>(bytes)));
  return absl::InvalidArgumentError(absl::StrCat("the first message has ",
                                                 bytes, " bytes, more than ",
                                                 kMaxFirstMessageBytes));
}

absl::Status Session::HandleSerialized(absl::string_view message) {
  RETURN_IF_ERROR(AdmitMessage(message.size()));
  absl::Status status = CheckMessage(message);
  v1::CollectRequest request;
  if (status.ok() && !request.ParseFromArray(
                         message.data(), static_cast<int>(message.size()))) {
    status = absl::InvalidArgumentError("the message is not a CollectRequest");
  }
  if (status.ok()) return Handle(std::move(request));
  const auto bytes = static_cast<double>(message.size());
  throttle_.Charge(Throttle::Cost::kWork,
                   (1 + kParsedWork) * (kMessageWork + kParsedWork * bytes));
  return status;
}

absl::Status Session::Handle(v1::CollectRequest request) {
  const bool is_first = agent_.empty();
  if (is_first) RETURN_IF_ERROR(CheckBudgets());
  const double work = WorkOf(request, ingest_.limits());
  throttle_.Charge(Throttle::Cost::kWork, work);
  const absl::Status status = is_first && !request.has_hello()
                                  ? Unexpected("message before Hello")
                                  : HandleMessage(std::move(request));
  // An error ends the stream. Another stream costs more than its message.
  if (!status.ok()) throttle_.Charge(Throttle::Cost::kWork, kParsedWork * work);
  return status;
}

absl::Status Session::CheckBudgets() const {
  const auto debt = throttle_.debt();
  if (debt.pause <= absl::ZeroDuration()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "agents with this certificate sent ", debt.reason, "; try again in ",
      absl::FormatDuration(absl::Ceil(debt.pause, absl::Seconds(1)))));
}

absl::Status Session::HandleMessage(v1::CollectRequest request) {
  switch (request.message_case()) {
    case v1::CollectRequest::kHello:
      if (!agent_.empty()) return Unexpected("second Hello");
      return HandleHello(request.hello());
    case v1::CollectRequest::kBatch:
      return HandleBatch(std::move(*request.mutable_batch()));
    case v1::CollectRequest::kDictionary:
      return HandleDictionary(std::move(*request.mutable_dictionary()));
    case v1::CollectRequest::kCatalogue:
      return HandleCatalogue(request.catalogue());
    case v1::CollectRequest::kInstanceList:
      ingest_.TakeInstances(agent_,
                            std::move(*request.mutable_instance_list()));
      return absl::OkStatus();
    case v1::CollectRequest::kPlanReport:
      if (plans_.TakeReport(std::move(*request.mutable_plan_report()))) {
        machines_.AwaitSamples();  // batches of the former plan came in between
      }
      return absl::OkStatus();
    case v1::CollectRequest::MESSAGE_NOT_SET:
      break;
  }
  return absl::OkStatus();  // a message of a later version
}

absl::Status Session::HandleHello(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckHello(hello, ingest_.limits()));
  if (!peer_.HasName(hello.agent())) return UnnamedAgent(hello.agent());
  const std::string agent = CanonicalName(hello.agent());
  RETURN_IF_ERROR(ingest_.CheckMachineLimit(agent));
  agent_ = agent;
  epoch_id_ = hello.epoch();
  catalogue_hash_ = hello.catalogue_hash();
  batch_period_ = BatchPeriodOf(hello);
  machine_ = MachineOf(hello);
  const absl::Duration skew = SkewOf(hello, ingest_.clock().Now());
  machines_.SetAgent(agent_, skew);
  batches_.SetTiming(skew, batch_period_);
  RETURN_IF_ERROR(ingest_.Register(shared_from_this(), hello));
  throttle_.SetAgent(agent_);
  RETURN_IF_ERROR(TakeEpochs(hello));
  RETURN_IF_ERROR(
      FromStore(ingest_.store().PutMachine({.machine = machine_,
                                            .catalogue_hash = catalogue_hash_,
                                            .certificate = peer_.Key()})));

  // Batches of an earlier stream may still wait for their commit. Welcome must
  // report them as durable, or the agent would treat them as lost.
  ingest_.AfterCommits(
      [self = shared_from_this(), hello] { self->SendWelcome(hello); });
  return absl::OkStatus();
}

absl::Status Session::TakeEpochs(const v1::Hello& hello) {
  for (const v1::HeldEpoch& held : hello.held_epochs()) {
    bool is_new = false;
    auto epoch = ingest_.OpenEpoch(agent_, held.epoch(), &is_new);
    RETURN_IF_ERROR(FromStore(epoch.status()));
    throttle_.Charge(Throttle::Cost::kWork,
                     is_new ? kNewEpochWork : kEpochWork);
    if (is_new) throttle_.Charge(Throttle::Cost::kEpochs, 1);
    if (held.forked_from() != 0) {
      auto origin = ingest_.OpenEpoch(agent_, held.forked_from(), &is_new);
      RETURN_IF_ERROR(FromStore(origin.status()));
      if (is_new) throttle_.Charge(Throttle::Cost::kEpochs, 1);
      batches_.SetOrigin(held.epoch(), *std::move(origin));
    }
    absl::MutexLock lock(&(*epoch)->taking_mutex());
    (*epoch)->SetSession(weak_from_this());
    epochs_[held.epoch()] = *std::move(epoch);
  }
  return absl::OkStatus();
}

v1::Welcome Session::MakeWelcome(const v1::Hello& hello) const {
  const IngestLimits& limits = ingest_.limits();
  v1::Welcome welcome;
  welcome.set_store_id(ingest_.store().id());
  for (const v1::HeldEpoch& held : hello.held_epochs()) {
    const Epoch& epoch = *epochs_.at(held.epoch());
    v1::EpochState* state = welcome.add_epochs();
    state->set_epoch(held.epoch());
    state->set_durable_sequence(epoch.durable());
    state->set_durable_fingerprint(epoch.durable_fingerprint());
    // If the agent dropped batches that never arrived, the definitions in these
    // batches are missing here.
    state->set_dictionary_held(!ingest_.HasLostDictionary(epoch) &&
                               held.first_sequence() <= epoch.durable() + 1);
  }
  v1::Limits* to = welcome.mutable_limits();
  to->set_max_payload_bytes(limits.batch.max_payload_bytes);
  to->set_max_content_bytes(limits.batch.max_content_bytes);
  to->set_max_unacknowledged_batches(limits.max_unacknowledged_batches);
  to->set_max_countersets(
      static_cast<uint32_t>(limits.dictionary.max_countersets));
  to->set_max_instances(static_cast<uint32_t>(limits.dictionary.max_instances));
  to->set_max_catalogue_bytes(limits.max_catalogue_bytes);
  to->set_max_new_series_per_hour(limits.max_new_series_per_hour);
  to->set_max_samples_per_second(limits.max_samples_per_second);
  welcome.set_catalogue_wanted(!catalogue_hash_.empty() &&
                               !ingest_.store().HasCatalogue(catalogue_hash_));
  return welcome;
}

void Session::SendWelcome(const v1::Hello& hello) {
  for (const auto& [id, epoch] : epochs_) {
    if (epoch->broken()) {
      return link_->End(absl::UnavailableError("cannot write to the store"));
    }
  }
  v1::CollectResponse response;
  *response.mutable_welcome() = MakeWelcome(hello);
  plans_.SendWelcome(std::move(response));
  {
    absl::MutexLock lock(&mutex_);
    is_welcomed_ = true;
  }
  ingest_.UpdatePace(this);
}

absl::Status Session::CheckOwns(const Epoch& epoch) const {
  if (epoch.session().get() == this) return absl::OkStatus();
  return absl::AbortedError("replaced by a new connection");
}

void Session::SendReject(const ReceivedBatch& rejected) {
  v1::CollectResponse response;
  response.mutable_reject()->set_epoch(rejected.epoch->id());
  response.mutable_reject()->set_sequence(rejected.sequence);
  response.mutable_reject()->set_reason(rejected.reject_reason);
  link_->Send(std::move(response));
}

absl::Status Session::HandleDictionary(v1::Dictionary dictionary) {
  const auto found = epochs_.find(dictionary.epoch());
  if (found == epochs_.end()) return Unexpected("Dictionary of another epoch");
  Epoch& epoch = *found->second;
  absl::MutexLock lock(&epoch.taking_mutex());
  RETURN_IF_ERROR(CheckOwns(epoch));
  return definitions_.TakeDictionary(epoch.id() == epoch_id_,
                                     std::move(dictionary), epoch);
}

absl::Status Session::HandleBatch(v1::Batch batch) {
  const auto found = epochs_.find(batch.epoch());
  if (found == epochs_.end()) return Unexpected("Batch of another epoch");
  if (batch.sequence() == 0 || batch.sequence() > kMaxSequence) {
    return Unexpected(absl::StrCat("Batch with sequence ", batch.sequence()));
  }
  auto received = std::make_shared<ReceivedBatch>();
  received->epoch = found->second;
  received->sequence = batch.sequence();
  received->fingerprint = Fingerprint(batch.payload());
  received->received = ingest_.clock().Now();
  received->batch = std::move(batch);
  Epoch& epoch = *received->epoch;
  absl::MutexLock lock(&epoch.taking_mutex());
  RETURN_IF_ERROR(CheckOwns(epoch));
  ASSIGN_OR_RETURN(const bool is_new,
                   batches_.Take(epoch.id() == epoch_id_, std::move(received)));
  if (!is_new) Acknowledge(epoch, epoch.durable());
  return absl::OkStatus();
}

absl::Status Session::HandleCatalogue(const v1::Catalogue& catalogue) {
  RETURN_IF_ERROR(CheckCatalogue(catalogue, ingest_.limits()));
  const auto bytes = static_cast<double>(
      std::max(size_t{catalogue.content_size()}, catalogue.payload().size()));
  throttle_.Charge(Throttle::Cost::kWork, kParsedWork * bytes);
  throttle_.Charge(Throttle::Cost::kCatalogues, bytes);
  std::string content = catalogue.payload();
  if (catalogue.compression() == v1::COMPRESSION_ZSTD) {
    RETURN_IF_ERROR(ZstdDecompress(catalogue.payload(),
                                   catalogue.content_size(), &content));
  }
  // All machines that announce this hash share the catalogue, so its content
  // must match the hash.
  if (Sha256(content) != catalogue_hash_) {
    return absl::InvalidArgumentError(
        "the catalogue does not have the hash that Hello announced");
  }
  RETURN_IF_ERROR(CheckCatalogueContent(content));
  v1::CatalogueContent parsed;
  if (!parsed.ParseFromString(content)) {
    return absl::InvalidArgumentError("Catalogue.payload is not a catalogue");
  }
  return FromStore(ingest_.store().PutCatalogue(catalogue_hash_, content));
}

void Session::Close() { ingest_.Unregister(this); }

void Session::Acknowledge(const Epoch& epoch, uint64_t sequence) {
  link_->SendAck(epoch.id(), sequence);
  if (ingest_.Now() >= reconnect_at_) link_->End(absl::OkStatus());
}

bool Session::HasManyUnacknowledged() const {
  for (const auto& [id, epoch] : epochs_) {
    if (epoch->received() - epoch->durable() >=
        ingest_.limits().max_unacknowledged_batches) {
      return true;
    }
  }
  return false;
}

void Session::UpdatePace(BatchObserver& observer) {
  // The pace is computed and sent under the lock. The lock orders concurrent
  // callers, so the last message reflects the latest state.
  absl::MutexLock lock(&mutex_);
  if (!is_welcomed_) return;
  const bool live = ingest_.planner().HasAddition(agent_) ||
                    machines_.AnyOf([&](const std::string& machine) {
                      return observer.IsWatched(machine);
                    });
  if (live_ == live) return;
  live_ = live;
  v1::CollectResponse response;
  response.mutable_pace()->set_live(live);
  link_->Send(std::move(response));
}

}  // namespace fleetperf::aggregator
