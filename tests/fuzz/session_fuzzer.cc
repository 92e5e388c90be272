// Fuzzes the aggregator's end of a stream with an agent's messages in any
// order.
//
// Invariants:
// - Each batch reaches subscribers at most once.
// - Only batches that were sent are acknowledged.
// - Acknowledged sequences never decrease.
// - Every batch that was accepted is acknowledged once it is durable.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
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

namespace fleetperf::aggregator {
namespace {

constexpr int kMaxSteps = 256;
// The machine that the certificate names besides the agent.
constexpr char kMachine[] = "db1";
constexpr uint64_t kEpochs[] = {1, 2};
// The store is replaced after this many inputs, before it gets large.
constexpr int kInputsPerStore = 2000;

// Limits low enough for an input to exceed.
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

// Batches that an agent may send, followed by some that violate the limits or
// the certificate.
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

// The batches that the streams of an agent have sent and the acknowledgments
// that they received, during one input. Thread-safe.
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
  // Checks that all accepted batches are acknowledged. Call when all of them
  // are durable.
  void CheckAcknowledged() {
    absl::MutexLock lock(&mutex_);
    for (const auto& [epoch, sequence] : taken_) {
      FUZZ_CHECK(sequence <= acknowledged_[epoch]);
    }
  }

 private:
  absl::Mutex mutex_;
  // The highest sequence by epoch.
  std::map<uint64_t, uint64_t> sent_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> acknowledged_ ABSL_GUARDED_BY(mutex_);
  // The batches that the observer received.
  std::set<std::pair<uint64_t, uint64_t>> taken_ ABSL_GUARDED_BY(mutex_);
};

// The agent's end of a stream.
class Link : public AgentLink {
 public:
  // If `in_order`, acknowledgments come from one thread at a time and must not
  // decrease. Otherwise one may overtake another, and the sender keeps the
  // highest.
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
  void Release(std::shared_ptr<const void> /*object*/) override {}
  void End(const absl::Status& /*status*/) override {}

 private:
  const std::shared_ptr<Record> record_;
  const bool in_order_;
  absl::Mutex mutex_;
  std::map<uint64_t, uint64_t> acknowledged_ ABSL_GUARDED_BY(mutex_);
};

// Stands in for the subscribers.
class Observer : public BatchObserver {
 public:
  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override {
    record->OnTaken(batch->epoch->id(), batch->sequence);
  }
  bool IsWatched(const std::string& /*machine*/) override { return watched; }

  std::shared_ptr<Record> record;
  std::atomic<bool> watched = false;  // read by the committing thread
};

// An aggregator that serves many agents, one per input.
struct Aggregator {
  Aggregator() {
    auto opened = OpenRocksDbStore(directory.path());
    FUZZ_CHECK(opened.ok());
    store = *std::move(opened);
    Start();
  }
  void Start() {
    ingest.reset();
    ingest = std::make_unique<Ingest>(store.get(), &observer, &planner,
                                      Limits(), &clock);
  }

  testing::TempDirectory directory;
  testing::SimulatedClock clock;
  Observer observer;
  Planner planner{{}, &clock};
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
    for (int step = 0; step < kMaxSteps && !input_.empty(); ++step) Step();
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
        Connect();  // the previous stream may be broken but not yet closed
        break;
      case 9:
        sessions_.back()->Close();
        Connect();
        break;
      case 10:
        // Without a session, acknowledgments are lost.
        sessions_.back()->Close();
        sessions_.clear();
        has_dropped_ = true;
        Connect();
        break;
      case 11:
        AwaitCommits();
        break;
      case 12:
        aggregator_.clock.Advance(input_.Wait());
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
    // The transport of a failed session is gone.
    if (has_failed_) Connect();
    // The acknowledgment of a repeated batch must not overtake another one.
    if (in_order_) AwaitCommits();
    if (request.has_batch()) record_->OnSend(request.batch());
    // Any session may get the message: the transport of an old stream may still
    // hold messages.
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
    // The agent's time is later than its samples, so that it lags behind.
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
    batch.set_fingerprint(Fingerprint(batch.payload()));
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
    // Inputs do not contain the name of this agent.
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
  // Ordered from oldest to newest. Older sessions are kept because they receive
  // acknowledgments until they are destroyed.
  std::vector<std::shared_ptr<Session>> sessions_;
  std::set<const Session*> ended_;
  bool has_failed_ = false;
  bool has_dropped_ = false;
};

void Fuzz(Input input) {
  // Created at first use, so that RocksDB's own statics outlive it at exit.
  static auto aggregator = std::make_unique<Aggregator>();
  static int inputs = 0;
  if (++inputs % kInputsPerStore == 0) {
    aggregator = nullptr;
    aggregator = std::make_unique<Aggregator>();
  }
  Agent(aggregator.get(), absl::StrCat("agent-", inputs), input).Run();
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  fleetperf::aggregator::Fuzz(fleetperf::Input(data, size));
  return 0;
}
