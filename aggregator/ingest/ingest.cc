#include "aggregator/ingest/ingest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The end of messages about two agents of one name.
constexpr char kSeparate[] =
    "; give each machine a name, a certificate and a state directory of its "
    "own";

// The interval between sweeps for epochs without a stream.
constexpr absl::Duration kEpochSweepInterval = absl::Minutes(1);
// The time that samples may be in flight, in addition to the batch period.
constexpr absl::Duration kMaxInFlight = absl::Seconds(5);
// The lag from which on an agent counts as behind.
constexpr absl::Duration kLagToCount = absl::Minutes(1);

}  // namespace

Ingest::Ingest(Store* store, BatchObserver* observer, const Planner* planner,
               const IngestLimits& limits, const Clock* clock)
    : store_(*store),
      observer_(*observer),
      planner_(*planner),
      limits_(limits),
      clock_(*clock),
      catch_up_(static_cast<double>(limits.catch_up_samples_per_second),
                absl::Seconds(1), clock->Monotonic()),
      budgets_(limits),
      agents_(limits),
      commits_(store, clock, [this](auto batches, const absl::Status& status) {
        OnCommit(std::move(batches), status);
      }) {}

Ingest::~Ingest() = default;

absl::Duration Ingest::NextReconnect() {
  absl::MutexLock lock(&mutex_);
  return Now() + limits_.reconnect_after * absl::Uniform(random_, 0.75, 1.25);
}

absl::Status Ingest::Register(const std::shared_ptr<Session>& session,
                              const v1::Hello& hello) {
  std::shared_ptr<Session> replaced;
  std::shared_ptr<Session> rival;
  bool is_conflict = false;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckNotForgetting(session->agent()));
    std::shared_ptr<Session>& current = sessions_[session->agent()];
    // The same process, or a later one that continues with its spool.
    const bool is_successor =
        current != nullptr &&
        std::any_of(hello.held_epochs().begin(), hello.held_epochs().end(),
                    [&](const v1::HeldEpoch& held) {
                      return held.epoch() == current->epoch_id();
                    });
    if (current != nullptr && !is_successor) {
      rival = current;
      name_conflicts_.NoteRefusal(session->agent(), session->address(), Now());
    } else {
      replaced = std::exchange(current, session);
      agents_.Join(session->agent(), Now());
    }
    if (replaced != nullptr) {
      is_conflict = name_conflicts_.NoteReplacement(
          session->agent(), replaced->address(), session->address(), Now());
    }
  }
  if (rival != nullptr) return RefuseName(*rival, session->address());
  // The old connection is broken, or two processes replay the same capture.
  if (replaced != nullptr) {
    replaced->link().End(absl::AbortedError("replaced by a new connection"));
    LogReplaced(*replaced, *session, is_conflict);
  }
  connection_log_.Info("connected",
                       absl::StrCat("agent ", session->agent(),
                                    " connected from ", session->address()),
                       session->agent());
  return absl::OkStatus();
}

absl::Status Ingest::RefuseName(const Session& current,
                                const std::string& address) {
  ++conflicts_;
  log_.Warn("conflict",
            absl::StrCat("two agents are named \"", current.agent(),
                         "\": one is connected from ", current.address(),
                         ", another one was refused from ", address, kSeparate),
            current.agent());
  return absl::AlreadyExistsError(absl::StrCat(
      "another agent named \"", current.agent(), "\" is connected from ",
      current.address(), "; each agent needs a name of its own"));
}

void Ingest::LogReplaced(const Session& replaced, const Session& session,
                         bool is_conflict) {
  const bool has_moved =
      HostOf(replaced.address()) != HostOf(session.address());
  const bool has_restarted = replaced.epoch_id() != session.epoch_id();
  if (!has_moved && !has_restarted) return;  // it connected again
  ++replacements_;
  if (is_conflict) {
    log_.Warn("conflict",
              absl::StrCat("two agents are named \"", session.agent(),
                           "\", and replace each other in turns: one from ",
                           session.address(), ", the other one from ",
                           replaced.address(), kSeparate),
              session.agent());
    return;
  }
  const std::string message = absl::StrCat(
      "agent ", session.agent(), " connected from ", session.address(),
      " with the state of the one that is connected from ", replaced.address(),
      ", and replaces it");
  if (!has_moved) {
    connection_log_.Info("replaced", message, session.agent());
    return;
  }
  // The other one, if it is a clone, comes back: a conflict.
  log_.Warn("moved",
            absl::StrCat(message,
                         ": its address has changed, or the machine "
                         "was cloned with the agent's state"),
            session.agent());
}

void Ingest::Unregister(const Session* session) {
  absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(session->agent());
  if (found == sessions_.end() || found->second.get() != session) return;
  sessions_.erase(found);
  agents_.Leave(session->agent(), Now());
  name_conflicts_.NoteEnd(session->agent());
  connection_log_.Info(
      "disconnected", absl::StrCat("agent ", session->agent(), " disconnected"),
      session->agent());
}

absl::StatusOr<std::shared_ptr<Epoch>> Ingest::OpenEpoch(
    const std::string& agent, uint64_t id, bool* is_new) {
  if (is_new != nullptr) *is_new = false;
  absl::MutexLock lock(&mutex_);
  std::weak_ptr<Epoch>& known = epochs_[{agent, id}];
  if (std::shared_ptr<Epoch> epoch = known.lock();
      epoch != nullptr && !epoch->broken()) {
    return epoch;
  }
  ASSIGN_OR_RETURN(StoredEpoch stored,
                   store_.OpenEpoch(agent, id, limits_.dictionary));
  if (stored.lacks_definitions) {
    agents_.SetLostDictionary(agent, stored.number, true);
  }
  if (is_new != nullptr) *is_new = stored.is_new;
  auto epoch = std::make_shared<Epoch>(agent, id, std::move(stored));
  known = epoch;
  ForgetClosedEpochs();
  return epoch;
}

void Ingest::ForgetClosedEpochs() {
  if (Now() < next_sweep_ && epochs_.size() < 2 * open_epochs_) return;
  next_sweep_ = Now() + kEpochSweepInterval;
  std::erase_if(epochs_,
                [](const auto& entry) { return entry.second.expired(); });
  open_epochs_ = epochs_.size();
}

bool Ingest::HasLostDictionary(const Epoch& epoch) const {
  absl::MutexLock lock(&mutex_);
  return agents_.HasLostDictionary(epoch.agent(), epoch.number());
}

void Ingest::SetLostDictionary(const Epoch& epoch, bool lost) {
  absl::MutexLock lock(&mutex_);
  agents_.SetLostDictionary(epoch.agent(), epoch.number(), lost);
}

absl::Status Ingest::CheckMachineLimit(const std::string& machine) const {
  const Directory& directory = store_.directory();
  if (directory.size() < limits_.max_machines ||
      directory.HasMachine(machine)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the fleet has ", limits_.max_machines,
                   " machines, the maximum (max_machines)"));
}

absl::Status Ingest::SetSpeaker(const std::string& machine,
                                const std::string& agent) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckNotForgetting(machine));
  return agents_.SetSpeaker(machine, agent);
}

absl::Status Ingest::Claim(const std::string& machine,
                           const perflib::Guid& counterset,
                           const std::string& agent) {
  absl::MutexLock lock(&mutex_);
  return agents_.Claim(machine, counterset, agent);
}

Ingest::Counts Ingest::counts() const {
  Counts counts = {.batches = batches_,
                   .samples = samples_,
                   .rejected_batches = rejected_batches_,
                   .lost_ticks = lost_ticks_,
                   .pauses = pauses_,
                   .conflicts = conflicts_,
                   .replacements = replacements_,
                   .commits = commits_.counts()};
  absl::MutexLock lock(&mutex_);
  counts.agents = sessions_.size();
  return counts;
}

void Ingest::Accept(std::shared_ptr<const ReceivedBatch> batch) {
  // The commit queue comes first: if the observer begins to watch just after
  // OnBatch, its AfterCommits must wait for this batch.
  commits_.Add(batch);
  ++batches_;
  if (!batch->reject_reason.empty()) ++rejected_batches_;
  for (const Loss& loss : batch->decoded.losses) lost_ticks_ += loss.ticks;
  if (batch->reject_reason.empty() && !batch->is_copy) {
    observer_.OnBatch(std::move(batch));
  }
}

void Ingest::AfterCommits(std::function<void()> task) {
  commits_.Then(std::move(task));
}

absl::Duration Ingest::ChargeCatchUp(double samples) {
  return catch_up_.Charge(samples, Now());
}

void Ingest::OnCommit(CommitQueue::Batches batches,
                      const absl::Status& status) {
  // Batches are in order, so this keeps the last batch of each epoch.
  std::map<Epoch*, const ReceivedBatch*> last;
  for (const auto& batch : batches) {
    last[batch->epoch.get()] = batch.get();
    // Subscribers may still hold the batch.
    batch->memory.Release();
  }
  if (!status.ok()) {
    log_.Warn("commit",
              absl::StrCat("cannot store samples: ", status.message()));
  }
  for (const auto& batch : batches) {
    if (!status.ok() || batch->reject_reason.empty()) continue;
    const std::shared_ptr<Session> session = batch->epoch->session();
    if (session != nullptr) session->SendReject(*batch);
  }
  for (const auto& [epoch, batch] : last) {
    const std::shared_ptr<Session> session = epoch->session();
    if (status.ok()) {
      epoch->SetDurable(batch->sequence, batch->fingerprint);
      if (session != nullptr) session->Acknowledge(*epoch, batch->sequence);
    } else {
      epoch->SetBroken();
      if (session != nullptr) {
        session->link().End(absl::UnavailableError(status.message()));
      }
    }
  }
  for (auto& batch : batches) {
    const std::shared_ptr<Session> session = batch->epoch->session();
    if (session != nullptr) session->link().Release(std::move(batch));
  }
}

std::shared_ptr<Session> Ingest::SessionOf(const std::string& machine) const {
  absl::MutexLock lock(&mutex_);
  return FindSession(machine);
}

std::shared_ptr<Session> Ingest::FindSession(const std::string& machine) const {
  auto found = sessions_.find(machine);
  if (found == sessions_.end()) {
    const std::string* const speaker = agents_.SpeakerOf(machine);
    if (speaker == nullptr) return nullptr;
    found = sessions_.find(*speaker);
  }
  return found != sessions_.end() ? found->second : nullptr;
}

std::optional<Ingest::Connection> Ingest::FindConnection(
    const std::string& machine) const {
  std::shared_ptr<Session> session;
  std::string conflicting_address;
  {
    absl::MutexLock lock(&mutex_);
    session = FindSession(machine);
    if (session == nullptr) return std::nullopt;
    conflicting_address = name_conflicts_.AddressOf(session->agent(), Now());
  }
  return Connection{.agent = session->agent(),
                    .address = session->address(),
                    .skew = session->skew(machine),
                    .batch_period = session->batch_period(),
                    .has_samples = session->HasSamples(machine),
                    .conflicting_address = std::move(conflicting_address),
                    .rejected_batches = session->rejected_batches(),
                    .limits_broken = session->limits_broken(),
                    .plan_report = session->plan_report(),
                    .certificate_expires = session->certificate_expires()};
}

std::vector<std::string> Ingest::conflicting_agents() const {
  absl::MutexLock lock(&mutex_);
  return name_conflicts_.Agents(Now());
}

absl::Status Ingest::CheckReady() const {
  RETURN_IF_ERROR(commits_.last_status());
  return store_.CheckRoom();
}

bool Ingest::IsConnected(const std::string& machine) const {
  return SessionOf(machine) != nullptr;
}

absl::Status Ingest::ForgetMachines(const std::set<std::string>& machines,
                                    bool dry_run) {
  for (const std::string& machine : machines) {
    if (store_.FindMachine(machine).has_value()) continue;
    return absl::NotFoundError(absl::StrCat("there is no machine \"", machine,
                                            "\"; see: fleetperf machines"));
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& machine : machines) {
      RETURN_IF_ERROR(CheckMayForget(machine));
    }
    if (dry_run) return absl::OkStatus();
    // Machines get speakers before they are described to the store. So none of
    // these is described until the removal is done.
    forgetting_.insert(machines.begin(), machines.end());
  }
  const absl::Status status = store_.ForgetMachines(machines);
  absl::MutexLock lock(&mutex_);
  for (const std::string& machine : machines) forgetting_.erase(machine);
  return status;
}

absl::Status Ingest::CheckMayForget(const std::string& machine) const {
  RETURN_IF_ERROR(CheckNotForgetting(machine));
  const std::shared_ptr<Session> session = FindSession(machine);
  if (session == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "agent ", session->agent(), ", which collects from ", machine,
      ", is connected from ", session->address(),
      "; stop it, or take the machine out of its plan and restart it"));
}

absl::Status Ingest::CheckNotForgetting(const std::string& machine) const {
  if (!forgetting_.contains(machine)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("machine ", machine, " is being forgotten; try again"));
}

std::optional<Ingest::Timing> Ingest::FindTiming(
    const std::string& machine) const {
  const std::shared_ptr<Session> session = SessionOf(machine);
  if (session == nullptr) return std::nullopt;
  return Timing{.skew = session->skew(machine),
                .batch_period = session->batch_period()};
}

absl::Duration Ingest::LagOf(absl::Time newest_sample,
                             const Timing& timing) const {
  const absl::Duration age = clock_.Now() + timing.skew - newest_sample;
  return std::max(age - timing.batch_period - kMaxInFlight,
                  absl::ZeroDuration());
}

Ingest::Lags Ingest::lags() const {
  Lags lags;
  for (const auto& session : Sessions()) {
    const auto newest = store_.directory().NewestSample(session->agent());
    if (!newest.has_value()) continue;
    const absl::Duration lag =
        LagOf(*newest, {.skew = session->skew(session->agent()),
                        .batch_period = session->batch_period()});
    lags.longest = std::max(lags.longest, lag);
    lags.behind += lag > kLagToCount;
  }
  return lags;
}

std::vector<Ingest::InstanceNames> Ingest::EnumerateInstances(
    const std::vector<std::string>& machines, const perflib::Guid& counterset,
    absl::Duration timeout) {
  return instance_requests_.Enumerate(
      machines, counterset, timeout,
      [this](const std::string& machine) { return SessionOf(machine); });
}

void Ingest::TakeInstances(const std::string& agent, v1::InstanceList list) {
  instance_requests_.Take(agent, std::move(list));
}

std::vector<std::shared_ptr<Session>> Ingest::Sessions() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Session>> sessions;
  for (const auto& [agent, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void Ingest::UpdatePaces() {
  for (const auto& session : Sessions()) UpdatePace(session.get());
}

void Ingest::UpdatePlans() {
  for (const auto& session : Sessions()) {
    session->UpdatePlan();
    UpdatePace(session.get());
  }
}

void Ingest::UpdatePace(Session* session) { session->UpdatePace(observer_); }

}  // namespace fleetperf::aggregator
