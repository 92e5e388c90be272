#include "aggregator/ingest/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/from_store.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/samples/tick_span.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/tls/certificates.h"
#include "base/tls/pki_commands.h"
#include "base/zstd.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

absl::Status Unexpected(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("unexpected ", message));
}

// Returns the error of an agent whose certificate lacks its name.
absl::Status UnnamedAgent(const std::string& agent) {
  const absl::Status allowed = CheckCertificateName(agent);
  return absl::PermissionDeniedError(
      allowed.ok() ? absl::StrCat("the certificate does not name \"", agent,
                                  "\"; issue one with: ",
                                  IssueCommand(Role::kAgent, {agent}))
                   : absl::StrCat(allowed.message(), kRenameAgent));
}

// An agent is behind if its samples are older than this plus its batch period.
constexpr absl::Duration kBehind = absl::Seconds(30);

// A dictionary may have this many times max_instances, because it also defines
// retired instances whose batches the agent still holds.
constexpr size_t kDictionaryFactor = 4;

// Returns whether the batch or definition itself is at fault, so that a retry
// would fail too. On other errors, the stream ends and the agent sends the
// batch again on its next stream.
bool IsBatchFault(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status);
}

// Returns whether the agent is not permitted to send the definition.
bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsAlreadyExists(status);
}

// Parses a batch whose payload has `fingerprint`. Returns an error if the agent
// sealed another payload.
absl::StatusOr<BatchContents> CheckBatch(const v1::Batch& batch,
                                         uint64_t fingerprint,
                                         const BatchLimits& limits) {
  if (batch.fingerprint() != fingerprint) {
    return absl::InvalidArgumentError(
        "Batch.payload is damaged: its SHA-256 does not match "
        "Batch.fingerprint");
  }
  return ParseBatch(batch, limits);
}

// Returns the bytes that are read of a batch, which may inflate.
double BytesOf(const v1::Batch& batch, const BatchLimits& limits) {
  const uint32_t content = batch.content_size() <= limits.max_content_bytes
                               ? batch.content_size()
                               : 0;
  return static_cast<double>(std::max(batch.payload().size(), size_t{content}));
}

// Returns the work for the elements of a batch besides its bytes.
double WorkOf(const BatchCounts& counts) {
  return kBlockWork * static_cast<double>(counts.blocks) +
         kQueryWork * static_cast<double>(counts.queries) +
         kColumnWork * static_cast<double>(counts.columns) +
         kRetiredWork * static_cast<double>(counts.retired) +
         kLossWork * static_cast<double>(counts.losses);
}

// Returns the work of definitions. Those of instances are stored one by one.
double WorkOf(const v1::Definitions& definitions) {
  return kParsedWork *
         std::max(static_cast<double>(definitions.ByteSizeLong()),
                  kMinInstanceBytes *
                      static_cast<double>(definitions.instances_size()));
}

// Returns the work of reading a message.
double WorkOf(const v1::CollectRequest& request, const IngestLimits& limits) {
  const double bytes =
      request.has_batch()
          ? BytesOf(request.batch(), limits.batch)
          : kParsedWork * static_cast<double>(request.ByteSizeLong());
  return kMessageWork + bytes;
}

}  // namespace

Session::Session(Ingest* ingest, PeerIdentity peer, std::string address,
                 std::shared_ptr<AgentLink> link)
    : ingest_(*ingest),
      peer_(std::move(peer)),
      holder_(peer_.Key()),
      address_(std::move(address)),
      link_(std::move(link)),
      batch_memory_(MemoryOfHolder()),
      machines_(ingest, &peer_),
      throttle_(ingest, link_.get(), ingest->BudgetsOf(peer_)),
      plans_(&ingest->planner(), &ingest->store().directory(), &machine_,
             link_.get()),
      reconnect_at_(ingest->NextReconnect()) {}

CallerQuota::Share Session::MemoryOfHolder() const {
  return *CallerQuota::OfProcess().TryTake(Pool::kBatchBytes, holder_,
                                           /*amount=*/0);
}

bool Session::HasRoom() const {
  // The first message is Hello, which takes none of the memory for batches.
  return agent_.empty() || batch_memory_.others() < batch_memory_.limit();
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
  hello_skew_ = SkewOf(hello, ingest_.clock().Now());
  machines_.SetAgent(agent_, hello_skew_);
  RETURN_IF_ERROR(ingest_.Register(shared_from_this(), hello));
  throttle_.SetAgent(agent_);
  RETURN_IF_ERROR(TakeEpochs(hello));
  RETURN_IF_ERROR(
      FromStore(ingest_.store().PutMachine({.machine = machine_,
                                            .catalogue_hash = catalogue_hash_,
                                            .certificate = holder_})));

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
      origins_[held.epoch()] = *std::move(origin);
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

absl::Status Session::HandleDictionary(v1::Dictionary dictionary) {
  const auto found = epochs_.find(dictionary.epoch());
  if (found == epochs_.end()) return Unexpected("Dictionary of another epoch");
  Epoch& epoch = *found->second;
  absl::MutexLock lock(&epoch.taking_mutex());
  RETURN_IF_ERROR(CheckOwns(epoch));
  v1::Definitions& definitions = *dictionary.mutable_definitions();
  const auto bytes = static_cast<double>(definitions.ByteSizeLong());
  throttle_.Charge(Throttle::Cost::kDefinitions, bytes);
  // Handle has charged the bytes.
  throttle_.Charge(Throttle::Cost::kWork,
                   WorkOf(definitions) - kParsedWork * bytes);
  if (definitions.instances_size() > kMaxDictionaryInstances) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dictionary has ", definitions.instances_size(),
                     " instances, more than ", kMaxDictionaryInstances));
  }
  Bound(&definitions);
  if (epoch.id() != epoch_id_) machines_.RemoveForeign(&definitions);
  RETURN_IF_ERROR(machines_.Check(definitions));
  dictionary_instances_ += static_cast<size_t>(definitions.instances_size());
  const size_t max_instances =
      kDictionaryFactor * ingest_.limits().dictionary.max_instances;
  if (dictionary_instances_ > max_instances) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the dictionary has more than ", max_instances, " instances, ",
        kDictionaryFactor, " times the limit (max_instances)"));
  }
  const absl::Status applied =
      ApplyDefinitions(epoch, /*is_dictionary=*/true, &definitions);
  if (!applied.ok() && (epoch.id() == epoch_id_ || !IsRefusal(applied))) {
    return applied;
  }
  if (dictionary.more()) return absl::OkStatus();
  dictionary_instances_ = 0;
  ingest_.SetLostDictionary(epoch, false);
  complete_epochs_.insert(epoch.id());
  return absl::OkStatus();
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

  const auto contents = CheckBatch(received->batch, received->fingerprint,
                                   ingest_.limits().batch);
  received->batch.clear_fingerprint();  // stored in a field of its own
  absl::Status allowed;
  if (contents.ok()) ChargeElements(contents->counts);
  if (contents.ok()) allowed = TakeDefinitions(*contents, received.get());
  // A former process may have collected countersets or machines that no longer
  // belong to the agent. That rejects the batch, but does not end the stream of
  // the present process.
  if (!allowed.ok() && (epoch.id() == epoch_id_ || !IsRefusal(allowed))) {
    return allowed;
  }
  if (!epoch.IsNew(received->sequence)) {
    Acknowledge(epoch, epoch.durable());
    return absl::OkStatus();
  }
  if (allowed.ok()) {
    RETURN_IF_ERROR(TakeSamples(contents, received.get()));
  } else {
    received->definitions = nullptr;
    Reject(allowed, *contents, received.get());
  }
  received->memory = MemoryOfHolder();
  received->memory.Force(static_cast<int64_t>(received->batch.payload().size() +
                                              MemoryOf(received->decoded)));
  epoch.SetReceived(received->sequence);
  machines_.NoteSamples(*received);
  const absl::Status charged = ChargeSamples(*received);
  ingest_.Accept(std::move(received));
  return charged;
}

void Session::ChargeElements(const BatchCounts& counts) {
  throttle_.Charge(Throttle::Cost::kWork, WorkOf(counts));
  throttle_.Charge(Throttle::Cost::kRetired,
                   static_cast<double>(counts.retired));
}

// Definitions are kept even if the batch is rejected: later batches use them.
absl::Status Session::TakeDefinitions(const BatchContents& contents,
                                      ReceivedBatch* received) {
  received->definitions = contents.definitions;
  if (received->definitions == nullptr) return absl::OkStatus();
  const auto bytes = static_cast<double>(contents.definitions->ByteSizeLong());
  throttle_.Charge(Throttle::Cost::kWork, WorkOf(*contents.definitions));
  throttle_.Charge(Throttle::Cost::kDefinitions, bytes);
  Bound(contents.definitions.get());
  RETURN_IF_ERROR(machines_.Check(*received->definitions));
  return ApplyDefinitions(*received->epoch, /*is_dictionary=*/false,
                          contents.definitions.get());
}

absl::Status Session::TakeSamples(const absl::StatusOr<BatchContents>& contents,
                                  ReceivedBatch* received) {
  Epoch& epoch = *received->epoch;
  const absl::Status status =
      contents.ok() ? Decode(epoch, *contents, received) : contents.status();
  if (absl::IsFailedPrecondition(status) &&
      !complete_epochs_.contains(epoch.id())) {
    ingest_.SetLostDictionary(epoch, true);
    return status;
  }
  if (!status.ok()) {
    if (!IsBatchFault(status)) return status;
    const BatchContents nothing;
    Reject(status, contents.ok() ? *contents : nothing, received);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(received->is_copy, IsCopy(*received));
  if (received->is_copy) received->decoded = {};
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::IsCopy(const ReceivedBatch& received) const {
  const auto origin = origins_.find(received.epoch->id());
  if (origin == origins_.end() ||
      received.sequence > origin->second->durable()) {
    return false;
  }
  const auto is_stored = ingest_.store().HasBatch(
      origin->second->number(), received.sequence, received.fingerprint);
  if (is_stored.ok()) return is_stored;
  // The batch must not pass as new: it might be stored twice.
  const std::string message = absl::StrCat(
      "cannot tell whether batch ", received.sequence, " of ", agent_,
      " is already stored: ", is_stored.status().message());
  ingest_.log().Warn("copy", message, agent_);
  return absl::UnavailableError(message);
}

absl::Status Session::ChargeSamples(const ReceivedBatch& received) {
  const uint64_t new_series =
      received.definitions == nullptr
          ? 0
          : received.epoch->dictionary().CountSeries(*received.definitions);
  const uint64_t samples = CountValues(received.decoded);
  ingest_.CountSamples(samples);
  return throttle_.ChargeSamples(samples, new_series, IsBehind(received));
}

// Returns whether all samples are older than those of a live agent.
bool Session::IsBehind(const ReceivedBatch& received) const {
  absl::Time newest = absl::InfinitePast();
  for (const Frame& frame : received.decoded.frames) {
    if (frame.clocks->empty()) continue;
    newest = std::max(newest, perflib::TimeOf(frame.clocks->back()));
  }
  return newest != absl::InfinitePast() &&
         newest < received.received + hello_skew_ - batch_period_ - kBehind;
}

absl::Status Session::Decode(Epoch& epoch, const BatchContents& contents,
                             ReceivedBatch* received) {
  auto decoded = DecodeBatch(contents, ingest_.limits().batch,
                             /*filter=*/nullptr, &epoch.dictionary());
  for (const uint32_t instance : contents.retired_instances) {
    epoch.dictionary().Retire(instance);
  }
  ASSIGN_OR_RETURN(received->decoded, std::move(decoded));
  // After a reconnect the agent does not repeat its definitions, so the
  // machines are taken from the samples.
  std::set<std::string> machines;
  for (const Frame& frame : received->decoded.frames) {
    machines.insert(frame.query->machine);
  }
  for (const Loss& loss : received->decoded.losses) {
    if (loss.machine.empty()) continue;
    if (!peer_.HasName(loss.machine)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Loss.machine is \"", loss.machine,
                       "\", which the agent's certificate does not name"));
    }
    machines.insert(loss.machine);
  }
  return EnterMachines(machines);
}

void Session::Reject(const absl::Status& reason, const BatchContents& contents,
                     ReceivedBatch* received) {
  received->reject_reason = std::string(reason.message());
  received->decoded = {
      .losses = {LossOfRejected(contents, received->received + skew(agent_))}};
  // The losses that the batch reports are valid even though it is rejected.
  for (const Loss& loss : contents.losses) {
    if (!loss.machine.empty() && !peer_.HasName(loss.machine)) continue;
    received->decoded.losses.push_back(loss);
  }
  {
    absl::MutexLock lock(&mutex_);
    ++rejected_batches_;
  }
  throttle_.CountBroken(reason.message());
  throttle_.Charge(
      Throttle::Cost::kWork,
      kRejectionWork +
          kParsedWork * BytesOf(received->batch, ingest_.limits().batch));
  ingest_.log().Warn(absl::StrCat("reject ", reason.message()),
                     absl::StrCat("rejected batch ", received->sequence, " of ",
                                  agent_, ": ", reason.message()),
                     agent_);
}

void Session::SendReject(const ReceivedBatch& rejected) {
  v1::CollectResponse response;
  response.mutable_reject()->set_epoch(rejected.epoch->id());
  response.mutable_reject()->set_sequence(rejected.sequence);
  response.mutable_reject()->set_reason(rejected.reject_reason);
  link_->Send(std::move(response));
}

void Session::Bound(v1::Definitions* definitions) {
  const int wrong_scales = BoundDefinitions(definitions);
  if (wrong_scales == 0) return;
  ingest_.log().Warn(
      "scale",
      absl::StrCat("agent ", agent_, " defines ", wrong_scales,
                   " counters with a default scale that is not between -",
                   perflib::kMaxScale, " and ", perflib::kMaxScale,
                   "; these counters are not scaled"),
      agent_);
}

absl::Status Session::EnterMachines(const std::set<std::string>& machines) {
  ASSIGN_OR_RETURN(const bool any_new, machines_.Enter(machines));
  if (any_new) ingest_.UpdatePace(this);  // a new machine may be watched
  return absl::OkStatus();
}

absl::Status Session::ApplyDefinitions(Epoch& epoch, bool is_dictionary,
                                       v1::Definitions* definitions) {
  RETURN_IF_ERROR(EnterDefined(*definitions));
  const absl::Status unchanged = epoch.dictionary().RemoveChanged(definitions);
  throttle_.CountBroken(unchanged.message());
  RETURN_IF_ERROR(NoteFaultyDefinition("redefine", unchanged));
  if (is_dictionary) {
    RETURN_IF_ERROR(FromStore(
        ingest_.store().KeepDefinitions(epoch.number(), *definitions)));
    // The dictionary may have many instances of processes that exited long ago.
    // Instances that batches use are read from the store.
    definitions->clear_instances();
  }
  RETURN_IF_ERROR(
      NoteFaultyDefinition("define", epoch.dictionary().Apply(*definitions)));
  for (const v1::QueryDefinition& query : definitions->queries()) {
    const auto collected = epoch.dictionary().FindQuery(query.id());
    if (!collected.ok()) continue;  // invalid, and already reported
    RETURN_IF_ERROR(ingest_.Claim((*collected)->machine,
                                  (*collected)->schema->registration.guid,
                                  agent_));
  }
  return absl::OkStatus();
}

absl::Status Session::EnterDefined(const v1::Definitions& definitions) {
  std::set<std::string> machines;
  for (const v1::MachineDefinition& machine : definitions.machines()) {
    machines.insert(machine.name());
  }
  const absl::Status entered = EnterMachines(machines);
  // Only batches with samples of a machine over the limit are rejected.
  if (!absl::IsResourceExhausted(entered)) return entered;
  throttle_.CountBroken(entered.message());
  ingest_.log().Warn(
      absl::StrCat("enter ", entered.message()),
      absl::StrCat("skipped a machine of ", agent_, ": ", entered.message()),
      agent_);
  return absl::OkStatus();
}

absl::Status Session::NoteFaultyDefinition(absl::string_view action,
                                           const absl::Status& fault) {
  if (fault.ok() || !IsBatchFault(fault)) return fault;
  ingest_.log().Warn(
      action,
      absl::StrCat("skipped a definition of ", agent_, ": ", fault.message()),
      agent_);
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

uint64_t Session::rejected_batches() const {
  absl::MutexLock lock(&mutex_);
  return rejected_batches_;
}

}  // namespace fleetperf::aggregator
