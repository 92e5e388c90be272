// A stream's messages in any order, as either side may get them.
//
// The aggregator's: each batch reaches subscribers once, what is acknowledged
// was sent and never becomes less, and what was taken is acknowledged. The
// agent's: batches go out in order and as many at once as Welcome lets, and
// none again that was acknowledged or rejected.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "agent/deliver/conversation.h"
#include "agent/deliver/delivery.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/session.h"
#include "aggregator/store/store.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

constexpr int kMostSteps = 256;

}  // namespace
}  // namespace fleetperf

namespace fleetperf::aggregator {
namespace {

// What the certificate names, besides the agent.
constexpr char kMachine[] = "db1";
constexpr uint64_t kEpochs[] = {1, 2};
// A store is left after so many inputs, before it gets large.
constexpr int kInputsOfAStore = 2000;

// So low that an input can exceed them.
IngestLimits Limits() {
  return {.batch = {.max_payload_bytes = 4096,
                    .max_content_bytes = 16384,
                    .max_values = 1000,
                    .max_runs = 100},
          .dictionary = {.max_countersets = 2,
                         .max_columns = 8,
                         .max_instances = 4},
          .max_new_series_per_hour = 8,
          .max_samples_per_second = 8,
          .max_catalogue_bytes = 1024,
          .max_held_epochs = 4,
          .catch_up_samples_per_second = 8};
}

const std::string& CatalogueContent() {
  static const std::string& bytes = *new std::string([] {
    v1::CatalogueContent content;
    *content.add_countersets() = ToProto(testing::DiskRegistration());
    return content.SerializeAsString();
  }());
  return bytes;
}

// Batches that an agent may send, and some that none should.
struct Batches {
  Batches() {
    testing::BatchWriter writer;
    const uint32_t machine = writer.Machine(kMachine);
    const uint32_t disk = writer.Counterset(testing::DiskRegistration());
    const uint32_t query = writer.Query(machine, disk, absl::Seconds(1),
                                        {{testing::kQueueLength}});
    const uint32_t first = writer.Instance(machine, disk, "C:");
    const auto add = [&] { contents.push_back(writer.TakeContent()); };
    writer.AddTick(query, testing::ClocksAt(1), {{first, {1}}});
    add();
    writer.AddTick(query, testing::ClocksAt(2), {{first, {2}}});
    add();
    const uint32_t second = writer.Instance(machine, disk, "D:");
    for (int tick = 3; tick < 9; ++tick) {
      writer.AddTick(query, testing::ClocksAt(tick),
                     {{first, {tick}}, {second, {tick}}});
    }
    add();
    writer.AddTick(query, testing::ClocksAt(9), {{second, {9}}});
    writer.Retire(second);
    add();
    for (const char* machine_of_loss : {"", kMachine, "another"}) {
      writer.Lose(machine_of_loss, testing::kStart, testing::kStart, 1,
                  v1::LOSS_CAUSE_OVERRUN);
      add();
    }
    definitions = writer.definitions();
    writer.Machine("another");
    add();
    for (int i = 0; i < 4; ++i) {
      writer.Instance(machine, disk, absl::StrCat(i));
    }
    add();
  }

  std::vector<v1::BatchContent> contents;
  v1::Definitions definitions;
};

// What an agent's streams have brought and were told, all of one input.
class Record {
 public:
  void OnSend(const v1::Batch& batch) {
    absl::MutexLock lock(&mutex_);
    uint64_t& sent = sent_[batch.epoch()];
    sent = std::max(sent, batch.sequence());
  }
  void OnTaken(uint64_t epoch, uint64_t sequence) {
    absl::MutexLock lock(&mutex_);
    FUZZ_CHECK(sequence <= sent_[epoch]);
    FUZZ_CHECK(taken_.insert({epoch, sequence}).second);
  }
  void OnAcknowledged(uint64_t epoch, uint64_t sequence) {
    absl::MutexLock lock(&mutex_);
    FUZZ_CHECK(sequence <= sent_[epoch]);
    uint64_t& acknowledged = acknowledged_[epoch];
    acknowledged = std::max(acknowledged, sequence);
  }
  // To be called when everything is durable.
  void CheckAcknowledged() {
    absl::MutexLock lock(&mutex_);
    for (const auto& [epoch, sequence] : taken_) {
      FUZZ_CHECK(sequence <= acknowledged_[epoch]);
    }
  }

 private:
  absl::Mutex mutex_;
  // The highest, by epoch.
  std::map<uint64_t, uint64_t> sent_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> acknowledged_ ABSL_GUARDED_BY(mutex_);
  // What came to the observer.
  std::set<std::pair<uint64_t, uint64_t>> taken_ ABSL_GUARDED_BY(mutex_);
};

// The agent's end of a stream.
class Link : public AgentLink {
 public:
  // `in_order`: acknowledgements come from one thread at a time. Otherwise one
  // may overtake another, and who sends them takes the highest.
  Link(std::shared_ptr<Record> record, bool in_order)
      : record_(std::move(record)), in_order_(in_order) {}

  void Send(v1::CollectResponse response) override {
    for (const v1::EpochState& state : response.welcome().epochs()) {
      record_->OnAcknowledged(state.epoch(), state.durable_sequence());
    }
  }
  void SendAck(uint64_t epoch, uint64_t sequence) override {
    record_->OnAcknowledged(epoch, sequence);
    absl::MutexLock lock(&mutex_);
    uint64_t& acknowledged = acknowledged_[epoch];
    FUZZ_CHECK(!in_order_ || sequence >= acknowledged);
    acknowledged = sequence;
  }
  void End(const absl::Status& /*status*/) override {}

 private:
  const std::shared_ptr<Record> record_;
  const bool in_order_;
  absl::Mutex mutex_;
  std::map<uint64_t, uint64_t> acknowledged_ ABSL_GUARDED_BY(mutex_);
};

// Subscribers.
class Observer : public BatchObserver {
 public:
  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override {
    record->OnTaken(batch->epoch->id(), batch->sequence);
  }
  bool IsWatched(const std::string& /*machine*/) override { return watched; }

  std::shared_ptr<Record> record;
  std::atomic<bool> watched = false;  // asked by the thread that commits
};

// An aggregator that has many agents, one an input.
struct Aggregator {
  Aggregator() {
    auto opened = OpenRocksDbStore(directory.path());
    FUZZ_CHECK(opened.ok());
    store = *std::move(opened);
    Start();
  }
  void Start() {
    ingest.reset();
    ingest = std::make_unique<Ingest>(store.get(), &observer, Limits(), &clock);
  }

  testing::TempDirectory directory;
  testing::SimulatedClock clock;
  Observer observer;
  std::unique_ptr<Store> store;
  std::unique_ptr<Ingest> ingest;
};

class Agent {
 public:
  Agent(Aggregator* aggregator, std::string name, Input input)
      : aggregator_(*aggregator),
        name_(std::move(name)),
        input_(input),
        in_order_(input_.Byte() % 2 == 0) {
    aggregator_.observer.record = record_;
    aggregator_.observer.watched = false;
    aggregator_.clock.Advance(absl::Hours(1));  // nothing is charged yet
    Connect();
  }

  void Run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) Step();
    AwaitCommits();
    for (const auto& session : sessions_) session->Close();
  }

 private:
  void Connect() {
    sessions_.push_back(std::make_shared<Session>(
        aggregator_.ingest.get(),
        PeerIdentity{.names = {name_, kMachine}, .role = Role::kAgent}, "box:1",
        std::make_shared<Link>(record_, in_order_)));
    has_failed_ = false;
  }

  void AwaitCommits() {
    absl::Notification done;
    aggregator_.ingest->AfterCommits([&] { done.Notify(); });
    done.WaitForNotification();
    if (!has_dropped_) record_->CheckAcknowledged();
  }

  void Step() {
    switch (input_.Byte() % 16) {
      case 0:
        Handle(Hello());
        break;
      case 1:
      case 2:
      case 3:
        Handle(Batch());
        break;
      case 4:
        Handle(Dictionary());
        break;
      case 5:
        Handle(Catalogue());
        break;
      case 6: {
        v1::CollectRequest request;
        request.mutable_instance_list()->set_request_id(input_.Number());
        Handle(std::move(request));
        break;
      }
      case 7:
        HandleBytes();
        break;
      case 8:
        Connect();  // the one before may be broken, and nobody knows yet
        break;
      case 9:
        sessions_.back()->Close();
        Connect();
        break;
      case 10:
        // Not even a session is left that gets the acknowledgements.
        sessions_.back()->Close();
        sessions_.clear();
        has_dropped_ = true;
        Connect();
        break;
      case 11:
        AwaitCommits();
        break;
      case 12:
        aggregator_.clock.Advance(absl::Seconds(input_.Number()));
        break;
      case 13:
        aggregator_.observer.watched = !aggregator_.observer.watched;
        aggregator_.ingest->UpdatePaces();
        break;
      case 14:
        aggregator_.ingest->EnumerateInstances({name_, kMachine},
                                               testing::DiskRegistration().guid,
                                               absl::ZeroDuration());
        aggregator_.ingest->FindConnection(name_);
        break;
      case 15:
        AwaitCommits();
        sessions_.clear();
        aggregator_.Start();
        Connect();
        break;
    }
  }

  void Handle(v1::CollectRequest request) {
    // Its transport is gone.
    if (has_failed_) Connect();
    // So that of batches that come again, the acknowledgement cannot overtake
    // another.
    if (in_order_) AwaitCommits();
    if (request.has_batch()) record_->OnSend(request.batch());
    // Any of them: the transport may still hold messages of an old one.
    const size_t back =
        std::min<size_t>(input_.Byte() % 4, sessions_.size() - 1);
    Session& session = *sessions_[sessions_.size() - 1 - back];
    if (ended_.contains(&session)) return;
    if (session.Handle(std::move(request)).ok()) {
      session.HasManyUnacknowledged();
      return;
    }
    session.Close();
    ended_.insert(&session);
    has_failed_ = back == 0;
  }

  v1::CollectRequest Hello() {
    v1::CollectRequest request;
    v1::Hello& hello = *request.mutable_hello();
    const uint8_t kind = input_.Byte();
    hello.set_agent(name_);
    hello.set_epoch(kEpochs[kind % 2]);
    const bool holds_both = kind / 2 % 2 == 0;
    for (const uint64_t epoch : kEpochs) {
      if (!holds_both && epoch != hello.epoch()) continue;
      v1::HeldEpoch* held = hello.add_held_epochs();
      held->set_epoch(epoch);
      held->set_first_sequence(input_.Number());
      held->set_last_sequence(input_.Number());
    }
    if (kind / 4 % 4 == 1) {
      hello.mutable_held_epochs(0)->set_forked_from(kEpochs[kind / 16 % 2]);
    }
    if (kind / 32 % 2 == 1) {
      hello.set_catalogue_hash(Sha256(CatalogueContent()));
    }
    // Later than what it sends, so that it is behind.
    if (kind / 64 == 1) {
      *hello.mutable_time() = ToProto(testing::kStart + absl::Hours(1));
    }
    return request;
  }

  v1::CollectRequest Batch() {
    static const Batches& batches = *new Batches;
    const uint8_t kind = input_.Byte();
    const size_t chosen = kind / 2 % 16;
    v1::CollectRequest request;
    v1::Batch& batch = *request.mutable_batch();
    if (chosen < batches.contents.size()) {
      batch = testing::MakeBatch(
          0, 0, batches.contents[chosen],
          kind >= 0x80 ? v1::COMPRESSION_ZSTD : v1::COMPRESSION_NONE);
    } else {
      batch.set_compression(v1::COMPRESSION_NONE);
      batch.set_payload(std::string(input_.Bytes()));
      batch.set_content_size(static_cast<uint32_t>(batch.payload().size()));
    }
    batch.set_epoch(kEpochs[kind % 2]);
    batch.set_sequence(input_.Number());
    return request;
  }

  v1::CollectRequest Dictionary() {
    static const v1::Definitions& all =
        *new v1::Definitions(Batches().definitions);
    const uint8_t kind = input_.Byte();
    v1::CollectRequest request;
    v1::Dictionary& dictionary = *request.mutable_dictionary();
    dictionary.set_epoch(kEpochs[kind % 2]);
    dictionary.set_more(kind / 2 % 2 == 1);
    v1::Definitions& definitions = *dictionary.mutable_definitions();
    definitions = all;
    if (kind / 4 % 4 == 1) definitions.clear_instances();
    if (kind / 4 % 4 == 2) definitions.clear_queries();
    if (kind / 4 % 4 == 3) definitions.clear_machines();
    return request;
  }

  v1::CollectRequest Catalogue() {
    const uint8_t kind = input_.Byte();
    std::string content = CatalogueContent();
    if (kind % 4 == 1) content = std::string(input_.Bytes());
    v1::CollectRequest request;
    v1::Catalogue& catalogue = *request.mutable_catalogue();
    catalogue.set_content_size(static_cast<uint32_t>(content.size()));
    if (kind % 4 == 2) {
      catalogue.set_compression(v1::COMPRESSION_ZSTD);
      ZstdCompress(content, catalogue.mutable_payload());
    } else {
      catalogue.set_compression(v1::COMPRESSION_NONE);
      catalogue.set_payload(std::move(content));
    }
    return request;
  }

  void HandleBytes() {
    v1::CollectRequest request;
    if (!request.ParseFromString(std::string(input_.Bytes()))) return;
    // Inputs do not know what the agent is called.
    if (request.has_hello() && request.hello().agent() == "agent") {
      request.mutable_hello()->set_agent(name_);
    }
    Handle(std::move(request));
  }

  Aggregator& aggregator_;
  const std::string name_;
  Input input_;
  const bool in_order_;
  const std::shared_ptr<Record> record_ = std::make_shared<Record>();
  // The last is the newest one; those before it are kept, because they get
  // acknowledgements until they are gone.
  std::vector<std::shared_ptr<Session>> sessions_;
  std::set<const Session*> ended_;
  bool has_failed_ = false;
  bool has_dropped_ = false;
};

void Fuzz(Input input) {
  // Made at once, so that at the end RocksDB's own statics outlive it.
  static auto aggregator = std::make_unique<Aggregator>();
  static int inputs = 0;
  if (++inputs % kInputsOfAStore == 0) {
    aggregator = nullptr;
    aggregator = std::make_unique<Aggregator>();
  }
  Agent(aggregator.get(), absl::StrCat("agent-", inputs), input).Run();
}

}  // namespace
}  // namespace fleetperf::aggregator

namespace fleetperf::agent {
namespace {

// Unless Welcome says how many, and at most: as collection.proto's comments
// leave it to the agent.
constexpr uint32_t kDefaultInFlight = 8;
constexpr uint32_t kMostInFlight = 64;

// An aggregator that says what the input has it say.
class Aggregator {
 public:
  // `directory`: of the spool; empty: there is none.
  Aggregator(std::string directory, Input input)
      : directory_(std::move(directory)), input_(input) {
    Start();
  }

  void Run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) Step();
  }

 private:
  // An agent's process.
  void Start() {
    conversation_ = nullptr;
    delivery_ = nullptr;
    const Spool::Options options = {.epoch = ++epoch_,
                                    .directory = directory_,
                                    .max_bytes = uint64_t{1} << 20,
                                    .clock = &clock_};
    auto spool = Spool::Open(options);
    FUZZ_CHECK(spool.ok());
    delivery_ = std::make_unique<Delivery>(
        Delivery::Options{.epoch = epoch_, .clock = &clock_},
        *std::move(spool));
    agent_.delivery = delivery_.get();
    Dictionary& dictionary = delivery_->dictionary();
    machine_ = dictionary.DefineMachine("box");
    counterset_ = dictionary.DefineCounterset(testing::DiskRegistration());
    query_ = dictionary.DefineQuery(machine_, counterset_, absl::Seconds(1),
                                    {{testing::kQueueLength, 4, false}});
    Connect();
  }

  void Connect() {
    conversation_ = std::make_unique<Conversation>(&agent_);
    limit_ = kDefaultInFlight;
    is_welcome_ = false;
    paused_until_ = absl::ZeroDuration();
    in_flight_.clear();
    last_ = {};
    const auto hello = conversation_->Next();
    FUZZ_CHECK(hello.has_value() && hello->has_hello());
    epochs_.clear();
    for (const v1::HeldEpoch& held : hello->hello().held_epochs()) {
      epochs_.push_back(held.epoch());
      // A fork is the same batches under another number.
      if (held.forked_from() != 0 && !forks_.contains(held.epoch())) {
        forks_.insert(held.epoch());
        acknowledged_[held.epoch()] = acknowledged_[held.forked_from()];
        for (const auto& [epoch, sequence] : std::set(rejected_)) {
          if (epoch == held.forked_from()) {
            rejected_.insert({held.epoch(), sequence});
          }
        }
      }
    }
    FUZZ_CHECK(!epochs_.empty());
    FUZZ_CHECK(hello->hello().epoch() == epochs_.back());
  }

  void Step() {
    const uint8_t step = input_.Byte();
    switch (step % 16) {
      case 0:
        Next();
        break;
      case 1:
        while (Next()) {
        }
        break;
      case 2:
        AddBlock();
        break;
      case 3:
        for (int i = 0; i < 10; ++i) {
          AddBlock();
          delivery_->Flush();
        }
        break;
      case 4:
        Welcome();
        break;
      case 5: {
        v1::CollectResponse response;
        response.mutable_ack()->set_epoch(Epoch());
        response.mutable_ack()->set_sequence(input_.Number());
        Handle(response);
        break;
      }
      case 6: {
        v1::CollectResponse response;
        response.mutable_reject()->set_epoch(Epoch());
        response.mutable_reject()->set_sequence(input_.Number());
        Handle(response);
        break;
      }
      case 7: {
        v1::CollectResponse response;
        response.mutable_throttle()->mutable_pause()->set_seconds(
            static_cast<int64_t>(input_.Number()));
        Handle(response);
        break;
      }
      case 8: {
        v1::CollectResponse response;
        response.mutable_pace()->set_live(step >= 0x80);
        Handle(response);
        break;
      }
      case 9: {
        v1::CollectResponse response;
        if (step >= 0x80) {
          response.mutable_plan()->set_version(1);
        } else {
          response.mutable_enumerate_instances()->set_counterset(
              input_.Bytes().data(), 0);
        }
        Handle(response);
        break;
      }
      case 10: {
        v1::CollectResponse response;
        if (response.ParseFromString(std::string(input_.Bytes()))) {
          Handle(response);
        }
        break;
      }
      case 11:
        Connect();
        break;
      case 12:
        clock_.Advance(absl::Seconds(input_.Number()));
        break;
      case 13:
        delivery_->AddLoss(
            "", {.ticks = 1, .start = clock_.Now(), .end = clock_.Now()},
            LossCause::kOverrun);
        break;
      case 14:
        delivery_->Flush();
        if (!directory_.empty()) {
          FUZZ_CHECK(delivery_->spool().AwaitSaved().ok());
        }
        conversation_->is_settled();
        break;
      case 15:
        // What is in memory dies with its process.
        if (!directory_.empty()) Start();
        break;
    }
  }

  // One that Hello named, or another.
  uint64_t Epoch() {
    const size_t index = input_.Byte();
    return index <= 0x80 ? epochs_[epochs_.size() - 1 - index % epochs_.size()]
                         : 7;
  }

  void AddBlock() {
    clock_.Advance(absl::Seconds(1));
    Dictionary& dictionary = delivery_->dictionary();
    const uint32_t instance =
        dictionary.DefineInstance(machine_, counterset_, "C:", 0, 0);
    delivery_->Add(
        {.handle = 1,
         .interval = absl::Seconds(1),
         .clocks = {.perf_time_100nsec =
                        perflib::PerfTime100NSecFromTime(clock_.Now())},
         .queries = {
             {.query = query_, .instances = {instance}, .values = {1}}}});
    dictionary.RetireInstance(instance);
  }

  void Welcome() {
    v1::CollectResponse response;
    v1::Welcome& welcome = *response.mutable_welcome();
    const uint8_t kind = input_.Byte();
    for (const uint64_t epoch : epochs_) {
      v1::EpochState* state = welcome.add_epochs();
      state->set_epoch(epoch);
      state->set_durable_sequence(input_.Number());
      state->set_dictionary_held(kind % 2 == 1);
      if (kind / 2 % 4 == 1) state->set_durable_fingerprint(input_.Number());
    }
    if (kind / 8 % 4 == 1) {
      welcome.mutable_limits()->set_max_unacknowledged_batches(
          static_cast<uint32_t>(input_.Number()));
    }
    if (kind / 32 % 4 == 1) {
      welcome.mutable_limits()->set_max_payload_bytes(input_.Byte());
      welcome.mutable_limits()->set_max_content_bytes(input_.Byte());
    }
    welcome.set_catalogue_wanted(kind >= 0x80);
    Handle(response);
  }

  // Notes what a message settles before the agent gets it.
  void Handle(const v1::CollectResponse& response) {
    if (response.has_welcome()) NoteWelcome(response.welcome());
    if (response.has_ack()) Settle(response.ack());
    if (response.has_reject()) NoteReject(response.reject());
    if (response.has_throttle()) {
      paused_until_ =
          clock_.Monotonic() + FromProto(response.throttle().pause());
    }
    const Conversation::Work work = conversation_->Handle(response);
    FUZZ_CHECK(!is_welcome_ || conversation_->is_welcome());
    if (work != nullptr) conversation_->Say(work());
    FUZZ_CHECK(conversation_->pause_left() > absl::ZeroDuration());
    if (conversation_->must_begin_anew()) {
      FUZZ_CHECK(!conversation_->Next().has_value());
      Connect();
    }
  }

  void NoteWelcome(const v1::Welcome& welcome) {
    is_welcome_ = true;
    const uint32_t limit = welcome.limits().max_unacknowledged_batches();
    limit_ = limit == 0 ? kDefaultInFlight : std::min(limit, kMostInFlight);
    for (const v1::EpochState& state : welcome.epochs()) {
      const auto number = delivery_->spool().NumberOf(state.epoch());
      if (!number.has_value()) continue;
      // Of batches that it did not make, the agent believes nothing.
      if (number == kThisProcess && !directory_.empty()) {
        continue;
      }
      uint64_t& acknowledged = acknowledged_[state.epoch()];
      acknowledged = std::max(acknowledged, state.durable_sequence());
    }
  }

  void Settle(const v1::Ack& ack) {
    if (!delivery_->spool().NumberOf(ack.epoch()).has_value()) return;
    uint64_t& acknowledged = acknowledged_[ack.epoch()];
    acknowledged = std::max(acknowledged, ack.sequence());
    std::erase_if(in_flight_, [&](const auto& place) {
      return place.first == ack.epoch() && place.second <= ack.sequence();
    });
  }

  void NoteReject(const v1::Reject& reject) {
    const auto number = delivery_->spool().NumberOf(reject.epoch());
    if (!number.has_value()) return;
    in_flight_.erase({reject.epoch(), reject.sequence()});
    // One that is not made yet cannot be rejected.
    if (number == kThisProcess &&
        reject.sequence() >= delivery_->spool().open_sequence()) {
      return;
    }
    rejected_.insert({reject.epoch(), reject.sequence()});
  }

  bool Next() {
    const auto request = conversation_->Next();
    if (!request.has_value()) return false;
    FUZZ_CHECK(!request->has_hello());
    if (!request->has_batch()) return true;
    const v1::Batch& batch = request->batch();
    FUZZ_CHECK(is_welcome_);
    FUZZ_CHECK(clock_.Monotonic() >= paused_until_);
    FUZZ_CHECK(in_flight_.size() < limit_);
    const auto epoch = std::find(epochs_.begin(), epochs_.end(), batch.epoch());
    FUZZ_CHECK(epoch != epochs_.end());
    const std::pair place = {epoch - epochs_.begin(), batch.sequence()};
    FUZZ_CHECK(place > last_);
    last_ = place;
    FUZZ_CHECK(batch.sequence() > acknowledged_[batch.epoch()]);
    FUZZ_CHECK(!rejected_.contains({batch.epoch(), batch.sequence()}));
    in_flight_.insert({batch.epoch(), batch.sequence()});
    return true;
  }

  const std::string directory_;
  Input input_;
  testing::SimulatedClock clock_;
  AgentDescription agent_ = {
      .agent = "box",
      .catalogue =
          [] {
            static const HashedCatalogue& catalogue =
                *new HashedCatalogue(MakeCatalogue({}));
            return catalogue;
          },
      .enumerate_instances =
          [](const std::string&, const perflib::Guid&) {
            return std::vector<perflib::InstanceName>{{"C:", 0}};
          },
      .apply_plan = [](const v1::Plan*) { return v1::PlanReport(); },
      .clock = &clock_};
  uint64_t epoch_ = 100;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<Conversation> conversation_;
  uint32_t machine_ = 0;
  uint32_t counterset_ = 0;
  uint32_t query_ = 0;

  // Of this conversation.
  std::vector<uint64_t> epochs_;
  uint32_t limit_ = kDefaultInFlight;
  bool is_welcome_ = false;
  absl::Duration paused_until_;
  std::set<std::pair<uint64_t, uint64_t>> in_flight_;
  std::pair<std::ptrdiff_t, uint64_t> last_;

  // Of all: the highest by epoch, and one by one.
  std::map<uint64_t, uint64_t> acknowledged_;
  std::set<std::pair<uint64_t, uint64_t>> rejected_;
  std::set<uint64_t> forks_;
};

void Fuzz(bool has_file, Input input) {
  static const testing::TempDirectory directory;
  if (!has_file) return Aggregator("", input).Run();
  std::filesystem::remove_all(directory.File("state"));
  Aggregator(directory.File("state"), input).Run();
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte says whose side it is; then come steps.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  fleetperf::Input input(data, size);
  const uint8_t side = input.Byte();
  if (side % 2 == 0) {
    fleetperf::aggregator::Fuzz(input);
  } else {
    // Spools with a file are slower.
    fleetperf::agent::Fuzz(/*has_file=*/side % 8 == 7, input);
  }
  return 0;
}
