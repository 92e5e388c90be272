#include "aggregator/ingest/batch_receiver.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/certificate_budgets.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/message_cost.h"
#include "aggregator/ingest/stream_errors.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/tick_span.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// An agent is behind if its samples are older than this plus its batch period.
constexpr absl::Duration kBehind = absl::Seconds(30);

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

}  // namespace

BatchReceiver::BatchReceiver(Ingest* ingest, const PeerIdentity* peer,
                             Throttle* throttle, AgentMachines* machines,
                             DefinitionReceiver* definitions)
    : ingest_(*ingest),
      peer_(*peer),
      holder_(peer->Key()),
      throttle_(*throttle),
      machines_(*machines),
      definitions_(*definitions),
      batch_memory_(MemoryOfHolder()) {}

void BatchReceiver::SetTiming(absl::Duration skew,
                              absl::Duration batch_period) {
  skew_ = skew;
  batch_period_ = batch_period;
}

void BatchReceiver::SetOrigin(uint64_t epoch, std::shared_ptr<Epoch> origin) {
  origins_[epoch] = std::move(origin);
}

absl::StatusOr<bool> BatchReceiver::Take(
    bool is_own, std::shared_ptr<ReceivedBatch> received) {
  Epoch& epoch = *received->epoch;
  const auto contents = CheckBatch(received->batch, received->fingerprint,
                                   ingest_.limits().batch);
  received->batch.clear_fingerprint();  // stored in a field of its own
  absl::Status allowed;
  if (contents.ok()) ChargeElements(contents->counts);
  if (contents.ok()) allowed = TakeDefinitions(*contents, received.get());
  // A former process may have collected countersets or machines that no longer
  // belong to the agent. That rejects the batch, but does not end the stream of
  // the present process.
  if (!allowed.ok() && (is_own || !IsRefusal(allowed))) {
    return allowed;
  }
  if (!epoch.IsNew(received->sequence)) return false;
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
  RETURN_IF_ERROR(charged);
  return true;
}

bool BatchReceiver::HasRoom() const {
  return batch_memory_.others() < batch_memory_.limit();
}

uint64_t BatchReceiver::rejected() const {
  absl::MutexLock lock(&mutex_);
  return rejected_;
}

CallerQuota::Share BatchReceiver::MemoryOfHolder() const {
  return *CallerQuota::OfProcess().TryTake(Pool::kBatchBytes, holder_,
                                           /*amount=*/0);
}

void BatchReceiver::ChargeElements(const BatchCounts& counts) {
  throttle_.Charge(Throttle::Cost::kWork, WorkOf(counts));
  throttle_.Charge(Throttle::Cost::kRetired,
                   static_cast<double>(counts.retired));
}

// Definitions are kept even if the batch is rejected: later batches use them.
absl::Status BatchReceiver::TakeDefinitions(const BatchContents& contents,
                                            ReceivedBatch* received) {
  received->definitions = contents.definitions;
  if (received->definitions == nullptr) return absl::OkStatus();
  return definitions_.TakeOfBatch(contents.definitions.get(), *received->epoch);
}

absl::Status BatchReceiver::TakeSamples(
    const absl::StatusOr<BatchContents>& contents, ReceivedBatch* received) {
  Epoch& epoch = *received->epoch;
  const absl::Status status =
      contents.ok() ? Decode(epoch, *contents, received) : contents.status();
  if (absl::IsFailedPrecondition(status) &&
      !definitions_.HasDictionary(epoch)) {
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

absl::Status BatchReceiver::Decode(Epoch& epoch, const BatchContents& contents,
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
  return definitions_.EnterMachines(machines);
}

absl::StatusOr<bool> BatchReceiver::IsCopy(
    const ReceivedBatch& received) const {
  const auto origin = origins_.find(received.epoch->id());
  if (origin == origins_.end() ||
      received.sequence > origin->second->durable()) {
    return false;
  }
  const auto is_stored = ingest_.store().HasBatch(
      origin->second->number(), received.sequence, received.fingerprint);
  if (is_stored.ok()) return is_stored;
  const std::string& agent = machines_.agent();
  // The batch must not pass as new: it might be stored twice.
  const std::string message =
      absl::StrCat("cannot tell whether batch ", received.sequence, " of ",
                   agent, " is already stored: ", is_stored.status().message());
  ingest_.log().Warn("copy", message, agent);
  return absl::UnavailableError(message);
}

absl::Status BatchReceiver::ChargeSamples(const ReceivedBatch& received) {
  const uint64_t new_series =
      received.definitions == nullptr
          ? 0
          : received.epoch->dictionary().CountSeries(*received.definitions);
  const uint64_t samples = CountValues(received.decoded);
  ingest_.CountSamples(samples);
  return throttle_.ChargeSamples(samples, new_series, IsBehind(received));
}

// Returns whether all samples are older than those of a live agent.
bool BatchReceiver::IsBehind(const ReceivedBatch& received) const {
  absl::Time newest = absl::InfinitePast();
  for (const Frame& frame : received.decoded.frames) {
    if (frame.clocks->empty()) continue;
    newest = std::max(newest, perflib::TimeOf(frame.clocks->back()));
  }
  return newest != absl::InfinitePast() &&
         newest < received.received + skew_ - batch_period_ - kBehind;
}

void BatchReceiver::Reject(const absl::Status& reason,
                           const BatchContents& contents,
                           ReceivedBatch* received) {
  const std::string& agent = machines_.agent();
  received->reject_reason = std::string(reason.message());
  received->decoded = {
      .losses = {LossOfRejected(contents,
                                received->received + machines_.skew(agent))}};
  // The losses that the batch reports are valid even though it is rejected.
  for (const Loss& loss : contents.losses) {
    if (!loss.machine.empty() && !peer_.HasName(loss.machine)) continue;
    received->decoded.losses.push_back(loss);
  }
  {
    absl::MutexLock lock(&mutex_);
    ++rejected_;
  }
  throttle_.CountBroken(reason.message());
  throttle_.Charge(
      Throttle::Cost::kWork,
      kRejectionWork +
          kParsedWork * BytesOf(received->batch, ingest_.limits().batch));
  ingest_.log().Warn(absl::StrCat("reject ", reason.message()),
                     absl::StrCat("rejected batch ", received->sequence, " of ",
                                  agent, ": ", reason.message()),
                     agent);
}

}  // namespace fleetperf::aggregator
