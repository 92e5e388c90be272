// The agent's side of the protocol, against a fake aggregator.

#include "agent/deliver/uplink.h"

#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/deliver/catalogue.h"
#include "tests/agent/deliver/fake_aggregator.h"
#include "tests/agent/deliver/uplink_fixture.h"
#include "tests/support/gate.h"
#include "tests/support/log_capture.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeAggregator;
using testing::FakeStream;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::UnorderedElementsAre;

TEST_F(UplinkTest, SendsIdentityAndHeldEpochs) {
  AddBatches(3);
  delivery_->spool().Acknowledge({.epoch = kThisProcess, .sequence = 1});
  Start({aggregator_->address()});
  FakeStream& stream = aggregator_->Accept();
  const v1::Hello hello = stream.Receive().hello();
  EXPECT_EQ(hello.agent(), "box");
  EXPECT_EQ(hello.epoch(), kEpoch);
  EXPECT_EQ(hello.catalogue_hash(), "hash");
  EXPECT_EQ(hello.operating_system(), "Linux 6.1");
  ASSERT_EQ(hello.held_epochs_size(), 1);
  EXPECT_EQ(hello.held_epochs(0).first_sequence(), 2);
  EXPECT_EQ(hello.held_epochs(0).last_sequence(), 3);
}

TEST_F(UplinkTest, SendsTheCatalogueOnRequest) {
  Start({aggregator_->address()});
  FakeStream& stream = aggregator_->Accept();
  stream.Receive();
  v1::CollectResponse response;
  response.mutable_welcome()->set_catalogue_wanted(true);
  response.mutable_welcome()->add_epochs()->set_epoch(kEpoch);
  response.mutable_welcome()->mutable_epochs(0)->set_dictionary_held(true);
  stream.Send(response);
  EXPECT_TRUE(stream.Receive().has_catalogue());
}

TEST_F(UplinkTest, SendsALargeDictionaryInPartsBeforeTheFirstBatch) {
  constexpr int kInstances = 3000;
  Dictionary& dictionary = delivery_->dictionary();
  const uint32_t machine = dictionary.DefineMachine("box");
  for (uint32_t i = 0; i < kInstances; ++i) {
    dictionary.DefineInstance(machine, 1, std::string(1000, 'x'), i, 0);
  }
  AddBatch();
  Start({aggregator_->address()});
  FakeStream& stream = aggregator_->Accept();
  stream.Receive();
  SendWelcome(stream, 0, {}, /*dictionary_held=*/false);
  int parts = 0;
  v1::Definitions all;
  bool more = true;
  while (more) {
    const v1::CollectRequest request = stream.Receive();
    ASSERT_TRUE(request.has_dictionary());
    EXPECT_EQ(request.dictionary().epoch(), kEpoch);
    all.MergeFrom(request.dictionary().definitions());
    more = request.dictionary().more();
    ++parts;
  }
  EXPECT_GT(parts, 2);
  EXPECT_EQ(all.machines_size(), 1);
  EXPECT_EQ(all.instances_size(), kInstances);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(1));
}

TEST_F(UplinkTest, ResendsExactlyTheNonDurableBatches) {
  FakeStream& first = Connect();
  AddBatches(5);
  EXPECT_THAT(ReceiveBatches(first, 5), ElementsAre(1, 2, 3, 4, 5));
  SendAck(first, 2);
  first.End({grpc::StatusCode::UNAVAILABLE, "stops"});

  FakeStream& second = aggregator_->Accept();
  const v1::CollectRequest hello = second.Receive();
  EXPECT_EQ(hello.hello().held_epochs(0).first_sequence(), 3);
  EXPECT_EQ(hello.hello().held_epochs(0).last_sequence(), 5);
  SendWelcome(second, /*durable=*/3);  // its acknowledgment was lost
  EXPECT_THAT(ReceiveBatches(second, 2), ElementsAre(4, 5));
  SendAck(second, 5);
  AddBatch();
  EXPECT_THAT(ReceiveBatches(second, 1), ElementsAre(6));
}

TEST_F(UplinkTest, ResendsToARestartedAggregator) {
  FakeStream& first = Connect();
  AddBatches(3);
  EXPECT_THAT(ReceiveBatches(first, 3), ElementsAre(1, 2, 3));
  const std::string address = aggregator_->address();
  aggregator_.reset();
  AddBatch();
  aggregator_.emplace(address);
  FakeStream& second = aggregator_->Accept();
  EXPECT_EQ(second.Receive().hello().held_epochs(0).first_sequence(), 1);
  EXPECT_GE(disconnects_,
            1);  // for the first stream, and perhaps for failed attempts
  SendWelcome(second, /*durable=*/1);
  EXPECT_THAT(ReceiveBatches(second, 3), ElementsAre(2, 3, 4));
  SendAck(second, 4);
  EXPECT_TRUE(AllIsSettled());
}

TEST_F(UplinkTest, ConnectsWithOtherSettingsWithoutANewThread) {
  FakeAggregator other;
  Connect();
  {
    const testing::NoNewThreads no_new_threads;
    uplink_->Disconnect();
    EXPECT_EQ(disconnects_, 1);
    uplink_->Connect({other.address()}, {{"role", "web"}});
  }
  FakeStream& stream = other.Accept();
  EXPECT_EQ(stream.Receive().hello().labels().at("role"), "web");
  SendWelcome(stream, /*durable=*/0);
  AddBatch();
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(1));
}

// Half a megabyte of names without a byte.
TEST_F(UplinkTest, EndsAStreamWhoseMessageTakesTooMuchMemory) {
  FakeStream& stream = Connect();
  v1::CollectResponse response;
  v1::PlannedQuery* query = response.mutable_plan()->add_queries();
  for (int i = 0; i < 250'000; ++i) query->add_instances();
  stream.Send(response);
  EXPECT_TRUE(aggregator_->Accept().Receive().has_hello());
}

TEST_F(UplinkTest, EndsWhileItIsDisconnected) {
  Connect();
  uplink_->Disconnect();
  uplink_->Disconnect();
  uplink_.reset();
  EXPECT_EQ(disconnects_, 1);
}

TEST_F(UplinkTest, MovesToTheNextAggregatorAndReturnsToTheFirst) {
  FakeAggregator other;
  const std::string first = aggregator_->address();
  aggregator_.reset();
  AddBatch();
  Start({first, other.address()});
  FakeStream& moved = other.Accept();
  EXPECT_TRUE(moved.Receive().has_hello());
  SendWelcome(moved, /*durable=*/0);
  EXPECT_THAT(ReceiveBatches(moved, 1), ElementsAre(1));
  EXPECT_EQ(counts_.failed_attempts, 1);
  SendAck(moved, 1);
  EXPECT_TRUE(AllIsSettled());

  aggregator_.emplace(first);
  moved.End(grpc::Status::OK);  // as every hour
  FakeStream& back = aggregator_->Accept();
  EXPECT_TRUE(back.Receive().has_hello());
  SendWelcome(back, /*durable=*/0);
  AddBatch();
  EXPECT_THAT(ReceiveBatches(back, 1), ElementsAre(2));
}

// Another aggregator would accept both agents of the name.
TEST_F(UplinkTest, StaysWhereItsNameIsTaken) {
  FakeAggregator other;
  Start({aggregator_->address(), other.address()});
  for (int attempt = 0; attempt < 2; ++attempt) {
    aggregator_->Accept().End(
        {grpc::StatusCode::ALREADY_EXISTS, "another agent named \"box\""});
  }
  FakeStream& accepted = aggregator_->Accept();
  EXPECT_TRUE(accepted.Receive().has_hello());
  SendWelcome(accepted, /*durable=*/0);
  AddBatch();
  EXPECT_THAT(ReceiveBatches(accepted, 1), ElementsAre(1));
}

TEST_F(UplinkTest, NeverResendsARejectedBatch) {
  const testing::LogCapture log;
  FakeStream& first = Connect();
  AddBatches(3);
  EXPECT_THAT(ReceiveBatches(first, 3), ElementsAre(1, 2, 3));
  SendReject(first, 2);
  AddBatch();  // the stream continues
  EXPECT_THAT(ReceiveBatches(first, 1), ElementsAre(4));
  first.End({grpc::StatusCode::UNAVAILABLE, "stops"});

  FakeStream& second = aggregator_->Accept();
  second.Receive();
  SendWelcome(second, /*durable=*/0);
  EXPECT_THAT(ReceiveBatches(second, 3), ElementsAre(1, 3, 4));
  EXPECT_EQ(delivery_->spool().rejected().batches, 1);
  EXPECT_EQ(delivery_->spool().rejected().ticks, 1);
  SendAck(second, 4);
  EXPECT_TRUE(AllIsSettled());
  aggregator_.reset();
  uplink_.reset();  // the uplink logs until destroyed
  EXPECT_THAT(
      log.Lines(),
      Contains(HasSubstr("the aggregator rejected batch 2: too large")));
}

TEST_F(UplinkTest, TreatsARejectionAsAnAcknowledgment) {
  FakeStream& stream = Connect(OneUnacknowledged());
  AddBatches(2);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(1));
  SendReject(stream, 1);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(2));
}

TEST_F(UplinkTest, LimitsUnacknowledgedBatches) {
  v1::Limits limits;
  limits.set_max_unacknowledged_batches(2);
  FakeStream& stream = Connect(limits);
  AddBatches(4);
  EXPECT_THAT(ReceiveBatches(stream, 2), ElementsAre(1, 2));
  ExpectNoBatch(stream);
  SendAck(stream, 1);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(3));
  ExpectNoBatch(stream);
}

// Welcome names the batches of previous streams that arrived. An
// acknowledgment of others may belong to another agent or store.
TEST_F(UplinkTest, IgnoresAcknowledgmentsOfBatchesNotYetResent) {
  FakeStream& first = Connect();
  AddBatches(3);
  EXPECT_THAT(ReceiveBatches(first, 3), ElementsAre(1, 2, 3));
  first.End({grpc::StatusCode::UNAVAILABLE, "stops"});
  FakeStream& second = aggregator_->Accept();
  second.Receive();
  SendWelcome(second, /*durable=*/0, OneUnacknowledged());
  EXPECT_THAT(ReceiveBatches(second, 1), ElementsAre(1));
  SendAck(second, 3);
  ExpectNoBatch(second);
  SendAck(second, 1);
  EXPECT_THAT(ReceiveBatches(second, 1), ElementsAre(2));
}

TEST_F(UplinkTest, RepeatsNoWarningOnTheNextStream) {
  const testing::LogCapture log;
  FakeStream* stream = &Connect();
  AddBatches(2);
  EXPECT_THAT(ReceiveBatches(*stream, 2), ElementsAre(1, 2));
  SendReject(*stream, 1);
  Enumerate(*stream);
  stream->End({grpc::StatusCode::UNAVAILABLE, "stops"});
  stream = &aggregator_->Accept();
  stream->Receive();
  SendWelcome(*stream, /*durable=*/1);
  EXPECT_THAT(ReceiveBatches(*stream, 1), ElementsAre(2));
  SendReject(*stream, 2);
  EXPECT_TRUE(AllIsSettled());
  aggregator_.reset();
  uplink_.reset();  // the uplink logs until destroyed
  const std::vector<std::string> lines = log.Lines();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return absl::StrContains(line, "rejected batch");
                          }),
            1);
}

// Batches of a capture that is played a second time.
TEST_F(UplinkTest, SettlesBatchesThatTheAggregatorAlreadyHas) {
  AddBatch();
  Start({aggregator_->address()});
  FakeStream& stream = aggregator_->Accept();
  stream.Receive();
  SendWelcome(stream, /*durable=*/3);
  Enumerate(stream);
  AddBatches(2);
  EXPECT_TRUE(AllIsSettled());
  AddBatch();
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(4));
}

TEST_F(UplinkTest, SendsNothingWhileThrottled) {
  constexpr int64_t kHour = 3'600'000'000'000;
  FakeStream& stream = Connect();
  AddBatch();
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(1));
  SendThrottle(stream, kHour);
  Enumerate(stream);
  AddBatch();
  ExpectNoBatch(stream);
  SendThrottle(stream, /*nanoseconds=*/1);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(2));
}

TEST_F(UplinkTest, AnswersInstanceRequests) {
  FakeStream& stream = Connect();
  const v1::InstanceList list = Enumerate(stream);
  EXPECT_THAT(list.error(), IsEmpty());
  ASSERT_EQ(list.instances_size(), 2);
  EXPECT_EQ(list.instances(1).name(), "sdb");
  EXPECT_EQ(list.instances(1).instance_id(), 16);
  EXPECT_EQ(Enumerate(stream, "other").error(), "not my machine");
  EXPECT_EQ(Enumerate(stream, "", "short").error(), "counterset is not a GUID");
}

TEST_F(UplinkTest, SendsAChangedReportWithinTenSeconds) {
  testing::SimulatedClock clock{testing::SimulatedClock::Waits::kSimulated};
  clock_ = &clock;
  FakeStream& stream = Connect();
  EXPECT_EQ(stream.ReceiveReport().version(), 0);
  report_has_changed_ = true;
  clock.Advance(absl::Seconds(10));
  EXPECT_EQ(stream.ReceiveReport().version(), 9);
  uplink_.reset();
}

// The time between two looks of the watchdog.
constexpr absl::Duration kWatch = absl::Seconds(12);

TEST_F(UplinkTest, ReportsAConnectionWithoutProgress) {
  testing::SimulatedClock clock{testing::SimulatedClock::Waits::kSimulated};
  clock_ = &clock;
  // In three minutes of the simulated clock, gRPC neither connects nor fails:
  // it has 20 s of the machine's clock.
  Start({aggregator_->address()});
  EXPECT_TRUE(aggregator_->Accept().Receive().has_hello());
  absl::Duration waited;
  while (!stuck_.HasBeenNotified()) {
    clock.AwaitWaiting(kWatch);
    clock.Advance(kWatch);
    waited += kWatch;
    ASSERT_LT(waited, absl::Hours(1));
  }
  EXPECT_GE(waited, Uplink::kStuckTime);
  uplink_.reset();
}

TEST_F(UplinkTest, NeedsNoProgressWhileNothingIsToBeSent) {
  testing::SimulatedClock clock{testing::SimulatedClock::Waits::kSimulated};
  clock_ = &clock;
  FakeStream& stream = Connect();
  EXPECT_EQ(stream.ReceiveReport().version(), 0);
  for (int look = 0; look < 3 * (Uplink::kStuckTime / kWatch); ++look) {
    clock.AwaitWaiting(kWatch);
    clock.AwaitWaiting(absl::Seconds(10));  // the uplink's thread works
    clock.Advance(kWatch);
  }
  clock.AwaitWaiting(kWatch);
  EXPECT_FALSE(stuck_.HasBeenNotified());
  uplink_.reset();
}

TEST_F(UplinkTest, SendsAtOnceWhileWatched) {
  delivery_.emplace(
      Delivery::Options{.epoch = kEpoch, .batch_period = absl::Hours(1)});
  FakeStream& stream = Connect();
  AddBatches(2);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(1));
  ExpectNoBatch(stream);
  v1::CollectResponse response;
  response.mutable_pace()->set_live(true);
  stream.Send(response);
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(2));
  AddBatch();
  EXPECT_THAT(ReceiveBatches(stream, 1), ElementsAre(3));
}

// An agent with two batches of a former process in the spool's file.
class UplinkWithFileTest : public UplinkTest {
 protected:
  static constexpr uint64_t kFormerEpoch = kEpoch - 1;

  UplinkWithFileTest() {
    Open(kFormerEpoch);
    AddBatches(2);
    delivery_.reset();
    {
      absl::MutexLock lock(&mutex_);  // thread ids are reused
      file_users_.clear();
    }
    Open(kEpoch);
    EXPECT_OK(delivery_->spool().AwaitSaved());
  }
  ~UplinkWithFileTest() override {
    uplink_.reset();
    delivery_.reset();
  }

  void Open(uint64_t epoch) {
    auto spool = Spool::Open({.epoch = epoch,
                              .directory = directory_.File("state"),
                              .before_seal = [this] { Note(&sealers_); },
                              .before_file_use =
                                  [this] {
                                    Note(&file_users_);
                                    gate_.Pass();
                                  }});
    ASSERT_OK(spool.status());
    delivery_.emplace(Delivery::Options{.batch_period = absl::Hours(1)},
                      *std::move(spool));
  }
  // Adds this many batches, whatever the period.
  void AddBatches(int count) {
    for (int i = 0; i < count; ++i) {
      AddBatch();
      delivery_->Flush();
    }
  }

  FakeStream& ConnectUpToHello() {
    Start({aggregator_->address()});
    FakeStream& stream = aggregator_->Accept();
    EXPECT_TRUE(stream.Receive().has_hello());
    return stream;
  }
  static void Welcome(FakeStream& stream) {
    v1::CollectResponse response;
    for (const uint64_t epoch : {kFormerEpoch, kEpoch}) {
      v1::EpochState* state = response.mutable_welcome()->add_epochs();
      state->set_epoch(epoch);
      state->set_dictionary_held(epoch == kEpoch);
    }
    stream.Send(response);
  }
  // Acknowledges batches of the agent's own epoch up to `sequence`.
  static void AckAll(FakeStream& stream, uint64_t sequence) {
    v1::CollectResponse ack;
    ack.mutable_ack()->set_epoch(kFormerEpoch);
    ack.mutable_ack()->set_sequence(2);
    stream.Send(ack);
    SendAck(stream, sequence);
  }
  static std::string ReceiveText(FakeStream& stream) {
    const v1::CollectRequest request = stream.Receive();
    if (request.has_dictionary()) return "dictionary";
    EXPECT_TRUE(request.has_batch()) << request.DebugString();
    return absl::StrCat(request.batch().epoch(), "/",
                        request.batch().sequence());
  }

  void Note(std::set<std::thread::id>* threads) {
    absl::MutexLock lock(&mutex_);
    threads->insert(std::this_thread::get_id());
  }

  testing::TempDirectory directory_;
  testing::Gate gate_;  // blocks the use of the file
  absl::Mutex mutex_;
  std::set<std::thread::id> file_users_ ABSL_GUARDED_BY(mutex_);
  std::set<std::thread::id> sealers_ ABSL_GUARDED_BY(mutex_);
};

// A stalled disk would block all of gRPC's threads, and compressing a large
// batch would delay them.
TEST_F(UplinkWithFileTest, CallbacksNeitherReadTheFileNorCompress) {
  std::set<std::thread::id> allowed;
  FakeStream& stream = ConnectUpToHello();
  {
    // This thread has opened the spool, and the spool's thread has written.
    absl::MutexLock lock(&mutex_);
    allowed = file_users_;
  }
  Welcome(stream);
  EXPECT_EQ(ReceiveText(stream), "dictionary");
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kFormerEpoch, "/1"));
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kFormerEpoch, "/2"));
  AddBatch();  // the first is sent at once
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kEpoch, "/1"));
  AddBatch();
  v1::CollectResponse pace;
  pace.mutable_pace()->set_live(true);
  stream.Send(pace);
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kEpoch, "/2"));
  AckAll(stream, /*sequence=*/2);
  Enumerate(stream);
  allowed.insert(uplinks_thread_.load());
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(file_users_, IsSubsetOf(allowed));
  EXPECT_THAT(sealers_, UnorderedElementsAre(std::this_thread::get_id(),
                                             uplinks_thread_.load()));
}

TEST_F(UplinkWithFileTest, TakesTicksWhileAWelcomeWaitsForTheFile) {
  FakeStream& stream = ConnectUpToHello();
  AddBatch();  // the first is sent at once
  ASSERT_OK(delivery_->spool().AwaitSaved());
  testing::ThreadAtGate welcome(&gate_, [&] { Welcome(stream); });
  ASSERT_TRUE(welcome.has_stopped());
  EXPECT_TRUE(welcome.LetsRun([&] {
    delivery_->SetLive(true);
    for (int tick = 0; tick < 100; ++tick) AddBatch();
  }));
  welcome.Finish();
  EXPECT_EQ(ReceiveText(stream), "dictionary");
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kFormerEpoch, "/1"));
  EXPECT_EQ(ReceiveText(stream), absl::StrCat(kFormerEpoch, "/2"));
  for (uint64_t sequence = 1; sequence <= 101; ++sequence) {
    EXPECT_EQ(ReceiveText(stream), absl::StrCat(kEpoch, "/", sequence));
    AckAll(stream, sequence);
  }
}

}  // namespace
}  // namespace fleetperf::agent
