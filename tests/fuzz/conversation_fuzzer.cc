// Fuzzes the agent's end of a stream with an aggregator's messages in any
// order.
//
// Invariants:
// - The first request of a connection is Hello.
// - Batches are sent in order, after Welcome, and not during a pause.
// - No more batches are in flight than Welcome permits.
// - No batch is sent after it was acknowledged or rejected, also across
//   connections, restarts of the agent and forks of an epoch.
// - No batch counts as acknowledged that was neither sent nor named in Welcome.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/deliver/conversation.h"
#include "agent/deliver/delivery.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

constexpr int kMaxSteps = 256;
// The agent's choice of batches in flight if Welcome sets no limit, and its own
// upper bound; see collection.proto.
constexpr uint32_t kDefaultInFlight = 8;
constexpr uint32_t kMaxInFlight = 64;

// An aggregator that sends the messages encoded in an input, and checks the
// agent's requests.
class Aggregator {
 public:
  // `directory` is the spool's. If empty, the spool is in memory.
  Aggregator(std::string directory, Input input)
      : directory_(std::move(directory)), input_(input) {
    Start();
  }

  void Run() {
    for (int step = 0; step < kMaxSteps && !input_.empty(); ++step) Step();
  }

 private:
  // Starts a process of the agent, in place of the previous one.
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
    conversation_ = std::make_unique<Conversation>(&agent_, &log_);
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
      // A fork has the same batches under another epoch.
      if (held.forked_from() != 0 && !forks_.contains(held.epoch())) {
        forks_.insert(held.epoch());
        acknowledged_[held.epoch()] = acknowledged_[held.forked_from()];
        arrived_[held.epoch()] = arrived_[held.forked_from()];
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
        clock_.Advance(input_.Wait());
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
        // A spool in memory does not survive its process.
        if (!directory_.empty()) Start();
        break;
    }
  }

  // Returns an epoch that Hello named, or an unknown one.
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
      has_size_limits_ = true;
      welcome.mutable_limits()->set_max_payload_bytes(input_.Byte());
      welcome.mutable_limits()->set_max_content_bytes(input_.Byte());
    }
    welcome.set_catalogue_wanted(kind >= 0x80);
    Handle(response);
  }

  // Records the acknowledgments and rejections of a message, then passes it to
  // the agent.
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
    if (conversation_->must_reconnect()) {
      FUZZ_CHECK(!conversation_->Next().has_value());
      Connect();
    }
    CheckAcknowledged();
  }

  void NoteWelcome(const v1::Welcome& welcome) {
    // The agent reconnects if an epoch of Hello is missing.
    std::set<uint64_t> missing(epochs_.begin(), epochs_.end());
    for (const v1::EpochState& state : welcome.epochs()) {
      missing.erase(state.epoch());
    }
    if (!missing.empty()) return;
    is_welcome_ = true;
    const uint32_t limit = welcome.limits().max_unacknowledged_batches();
    limit_ = limit == 0 ? kDefaultInFlight : std::min(limit, kMaxInFlight);
    for (const v1::EpochState& state : welcome.epochs()) {
      const auto number = delivery_->spool().NumberOf(state.epoch());
      if (!number.has_value()) continue;
      // The agent ignores acknowledgments of batches that it did not make.
      const uint64_t last = delivery_->spool().open_sequence() - 1;
      if (number == kThisProcess && !directory_.empty()) {
        Extend(&arrived_[state.epoch()],
               std::min(state.durable_sequence(), last));
        continue;
      }
      Extend(&arrived_[state.epoch()], state.durable_sequence());
      Extend(&acknowledged_[state.epoch()], state.durable_sequence());
    }
  }

  static void Extend(uint64_t* last, uint64_t sequence) {
    *last = std::max(*last, sequence);
  }

  // Whether the agent handles an answer to the batch. The agent ignores answers
  // before Welcome and to batches that have not arrived.
  bool IsHandled(uint64_t epoch, uint64_t sequence) const {
    const auto number = delivery_->spool().NumberOf(epoch);
    return is_welcome_ && number.has_value() &&
           delivery_->spool().MayHaveArrived(
               {.epoch = *number, .sequence = sequence});
  }

  void CheckAcknowledged() {
    // Batches that exceed a limit of size are skipped, but count as sent.
    if (has_size_limits_) return;
    for (const Spool::HeldEpoch& held : delivery_->spool().HeldEpochs()) {
      FUZZ_CHECK(held.epoch.acknowledged <= arrived_[held.epoch.id]);
    }
  }

  void Settle(const v1::Ack& ack) {
    if (!IsHandled(ack.epoch(), ack.sequence())) return;
    Extend(&acknowledged_[ack.epoch()], ack.sequence());
    std::erase_if(in_flight_, [&](const auto& place) {
      return place.first == ack.epoch() && place.second <= ack.sequence();
    });
  }

  void NoteReject(const v1::Reject& reject) {
    if (!IsHandled(reject.epoch(), reject.sequence())) return;
    in_flight_.erase({reject.epoch(), reject.sequence()});
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
    Extend(&arrived_[batch.epoch()], batch.sequence());
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
  LogOncePerCause log_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<Conversation> conversation_;
  uint32_t machine_ = 0;
  uint32_t counterset_ = 0;
  uint32_t query_ = 0;

  // State of the current connection.
  std::vector<uint64_t> epochs_;
  uint32_t limit_ = kDefaultInFlight;
  bool is_welcome_ = false;
  absl::Duration paused_until_;
  std::set<std::pair<uint64_t, uint64_t>> in_flight_;
  std::pair<std::ptrdiff_t, uint64_t> last_;

  // State across connections. `acknowledged_` holds the highest acknowledged
  // sequence by epoch, and `arrived_` the highest one that was sent or named in
  // Welcome.
  std::map<uint64_t, uint64_t> acknowledged_;
  std::map<uint64_t, uint64_t> arrived_;
  bool has_size_limits_ = false;
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

// The first byte selects a spool in memory or in a file, which is slower. The
// rest is a list of steps.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  fleetperf::Input input(data, size);
  const bool has_file = input.Byte() % 8 == 1;
  fleetperf::agent::Fuzz(has_file, input);
  return 0;
}
