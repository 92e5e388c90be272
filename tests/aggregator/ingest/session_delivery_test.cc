// Tests of delivery across reconnects, restarts and replaced machines.

#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

TEST_F(SessionTest, AcceptsBatchesOnlyFromTheNewerOfTwoStreams) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  const std::shared_ptr<Session> older = session_;
  const std::shared_ptr<Link> older_link = link_;
  EXPECT_EQ(Welcomed(Hello(2, 1)).epochs(0).durable_sequence(), 1);
  // Messages in flight on the older stream arrive only now.
  const v1::CollectRequest second = Batch();
  EXPECT_THAT(older->Handle(second),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("replaced by a new connection")));
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  EXPECT_THAT(older->Handle(dictionary),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("replaced by a new connection")));
  older->Close();
  ASSERT_OK(Handle(second));
  link_->WaitForAck(2);
  EXPECT_THAT(older_link->events(), ElementsAre("ack 1", "end ABORTED"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2"));
  EXPECT_THAT(observer_.sequences, ElementsAre(1, 2));
  EXPECT_TRUE(ingest_->FindConnection("web-1").has_value());
}

TEST_F(SessionTest, HandlesABatchCompletelyBeforeHandingOverItsEpoch) {
  Welcomed();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Epoch> epoch,
                       ingest_->OpenEpoch("web-1", kEpoch));
  bool can_be_handed_over = true;
  observer_.on_batch = [&] {
    std::thread([&] {
      can_be_handed_over = epoch->taking_mutex().TryLock();
      if (can_be_handed_over) epoch->taking_mutex().Unlock();
    }).join();
  };
  ASSERT_OK(Handle(Batch()));
  EXPECT_FALSE(can_be_handed_over);
  observer_.on_batch = nullptr;
}

// The newer stream may begin at any point of the older one.
TEST_F(SessionTest, StoresNoBatchTwiceWhileAStreamIsReplaced) {
  constexpr uint64_t kBatches = 200;
  std::vector<v1::CollectRequest> batches;
  std::vector<uint64_t> sequences;
  std::function<void()> on_batch;
  for (uint64_t sequence = 1; sequence <= kBatches; ++sequence) {
    batches.push_back(Batch());
    sequences.push_back(sequence);
  }
  Welcomed();
  std::thread sending([&, older = session_] {
    for (const v1::CollectRequest& batch : batches) {
      const absl::Status taken = older->Handle(batch);
      if (taken.ok()) continue;
      EXPECT_THAT(taken, StatusIs(absl::StatusCode::kAborted,
                                  HasSubstr("replaced by a new")));
      return;
    }
  });
  const uint64_t durable =
      Welcomed(Hello(1, kBatches)).epochs(0).durable_sequence();
  for (uint64_t next = durable; next < kBatches; ++next) {
    EXPECT_OK(Handle(batches[next]));
  }
  sending.join();
  AwaitCommits();
  EXPECT_THAT(observer_.sequences, ElementsAreArray(sequences));
  EXPECT_THAT(Stored(), SizeIs(kBatches));
}

TEST_F(SessionTest, WelcomeCoversPendingBatchesOfThePreviousStream) {
  Welcomed();
  gate_->Hold();
  ASSERT_OK(Handle(Batch()));
  ASSERT_OK(Handle(Batch()));
  session_ = Connect();
  ASSERT_OK(Handle(Hello(1, 2)));
  EXPECT_THAT(link_->Take(), IsEmpty());  // the disk is busy
  gate_->Release();
  const v1::Welcome welcome = link_->WaitForWelcome();
  EXPECT_EQ(welcome.epochs(0).durable_sequence(), 2);
  EXPECT_TRUE(welcome.epochs(0).dictionary_held());
}

TEST_F(SessionTest, WelcomeDoesNotCoverBatchesThatFailedToCommit) {
  Welcomed();
  gate_->Hold();
  const v1::CollectRequest first = Batch();
  ASSERT_OK(Handle(first));
  session_ = Connect();
  ASSERT_OK(Handle(Hello(1, 1)));
  gate_->Release(absl::UnavailableError("the disk is away"));
  AwaitCommits();
  EXPECT_THAT(link_->Take(), IsEmpty());
  EXPECT_THAT(link_->end(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  session_->Close();
  EXPECT_EQ(Welcomed(Hello(1, 1)).epochs(0).durable_sequence(), 0);
  ASSERT_OK(Handle(first));
  link_->WaitForAck(1);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1"));
}

TEST_F(SessionTest, ReplacesAProcessByOneThatHoldsItsEpoch) {
  Welcomed();
  const std::shared_ptr<Link> first = link_;
  const v1::Welcome welcome = Welcomed(HelloAfter(kEpoch, kEpoch + 1));
  EXPECT_EQ(welcome.epochs_size(), 2);
  const std::shared_ptr<Link> second = link_;
  EXPECT_THAT(first->end(), StatusIs(absl::StatusCode::kAborted,
                                     HasSubstr("replaced by a new")));
  // The second process's epoch is current now.
  for (const v1::CollectRequest& hello :
       {Hello(), Hello(1, 0, kEpoch + 2), HelloAfter(kEpoch, kEpoch + 2)}) {
    EXPECT_THAT(Connect("box:2")->Handle(hello),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr("another agent named \"web-1\""),
                               HasSubstr("box:1"))));
  }
  EXPECT_THAT(second->events(), IsEmpty());
  Welcomed(HelloAfter(kEpoch + 1, kEpoch + 2));
  EXPECT_THAT(second->events(), ElementsAre("end ABORTED"));
}

TEST_F(SessionTest, SendsARejectOnceItsLossIsDurableAndBeforeItsAck) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  gate_->Hold();
  const v1::CollectRequest bad = BadBatch();
  ASSERT_OK(Handle(bad));
  EXPECT_THAT(link_->events(), ElementsAre("ack 1"));  // the disk is busy
  gate_->Release();
  link_->WaitForAck(2);
  EXPECT_THAT(link_->events(), ElementsAre("ack 1", "reject 2", "ack 2"));
  Restart();
  // The batch is not requested again. If it arrives anyway, it is ignored.
  EXPECT_EQ(Welcomed(Hello(3, 2)).epochs(0).durable_sequence(), 2);
  EXPECT_THAT(store_.ReadLosses("web-1"), ElementsAre("rejected 2..2"));
  ASSERT_OK(Handle(bad));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  EXPECT_THAT(link_->events(), ElementsAre("ack 2", "ack 3"));
  EXPECT_THAT(store_.ReadLosses("web-1"), ElementsAre("rejected 2..2"));
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kRejected, 1)));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "3 C: 3"));
}

// The agent's certificate named the machine earlier.
TEST_F(SessionTest, RejectsBatchesThatAnEarlierProcessMayNoLongerSend) {
  constexpr uint64_t kFormer = kEpoch - 1;
  v1::CollectRequest hello = Hello();
  v1::HeldEpoch held = hello.hello().held_epochs(0);
  held.set_epoch(kFormer);
  held.set_last_sequence(1);
  *hello.mutable_hello()->add_held_epochs() = held;
  link_ = std::make_shared<Link>(kFormer);
  session_ = std::make_shared<Session>(
      ingest_.get(), PeerIdentity{.names = {"web-1"}, .role = Role::kAgent},
      "box:1", link_);
  ASSERT_OK(session_->Handle(hello));
  link_->WaitForWelcome();
  BatchWriter writer;
  const uint32_t machine = writer.Machine("db1");
  const uint32_t disk = writer.Counterset(DiskRegistration());
  const uint32_t query =
      writer.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
  const uint32_t instance = writer.Instance(machine, disk, "C:");
  writer.AddTick(query, ClocksAt(1), {{instance, {1}}});
  v1::CollectRequest request;
  *request.mutable_batch() = MakeSealedBatch(kFormer, 1, writer.TakeContent());
  ASSERT_OK(Handle(request));
  link_->WaitForAck(1);
  EXPECT_THAT(link_->events(), ElementsAre("reject 1", "ack 1"));
  EXPECT_THAT(store_.Read("db1"), IsEmpty());
  // The former epoch's dictionary may define the machine, too.
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kFormer);
  *dictionary.mutable_dictionary()->mutable_definitions() =
      writer.definitions();
  EXPECT_OK(Handle(dictionary));
  // The current process must not send the machine's samples.
  request.mutable_batch()->set_epoch(kEpoch);
  EXPECT_THAT(Handle(request),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("db1")));
}

// An invalid batch reports that the agent's spool was full.
TEST_F(SessionTest, RecordsLossesReportedInARejectedBatch) {
  Welcomed();
  v1::BatchContent content;
  content.add_blocks()->add_queries()->set_query(99);  // and has no clocks
  v1::Loss* loss = content.add_losses();
  loss->set_ticks(7);
  loss->set_cause(v1::LOSS_CAUSE_SPOOL_FULL);
  loss->mutable_start()->set_seconds(1'800'000'000);
  loss->mutable_end()->set_seconds(1'800'000'006);
  v1::CollectRequest request;
  *request.mutable_batch() = MakeSealedBatch(kEpoch, 1, content);
  // The complete dictionary makes the undefined query final.
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  ASSERT_OK(Handle(dictionary));
  ASSERT_OK(Handle(request));
  link_->WaitForAck(1);
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kSpoolFull, 7),
                          Pair(LossCause::kRejected, 0)));
  EXPECT_EQ(ingest_->counts().lost_ticks, 7);
}

// The batch reports the maximum number of losses, and is a loss itself.
TEST_F(SessionTest, RecoversAllLossesOfARejectedBatch) {
  constexpr int kMaxLosses = 100'000;
  Welcomed();
  v1::BatchContent content;
  content.add_blocks()->add_queries()->set_query(99);  // and has no clocks
  for (int i = 0; i < kMaxLosses; ++i) {
    v1::Loss* loss = content.add_losses();
    loss->set_machine("web-1");
    loss->set_ticks(1);
    loss->set_cause(v1::LOSS_CAUSE_OVERRUN);
    *loss->mutable_start() = ToProto(kStart + absl::Milliseconds(10 * i));
    *loss->mutable_end() = ToProto(kStart + absl::Milliseconds(10 * i));
  }
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  ASSERT_OK(Handle(dictionary));
  v1::CollectRequest request;
  *request.mutable_batch() = MakeSealedBatch(kEpoch, 1, content);
  ASSERT_OK(Handle(request));
  link_->WaitForAck(1);
  EXPECT_THAT(link_->events(), ElementsAre("reject 1", "ack 1"));
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(kMaxLosses + 1));
  Restart();
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(kMaxLosses + 1));
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(kMaxLosses + 1));
}

// A batch whose loss is not recorded must not count as rejected.
TEST_F(SessionTest, DoesNotRejectABatchIfItsLossCannotBeStored) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  gate_->Hold();
  ASSERT_OK(Handle(BadBatch()));
  gate_->Release(absl::UnavailableError("the disk is away"));
  link_->WaitForEnd();
  EXPECT_THAT(link_->events(), ElementsAre("ack 1", "end UNAVAILABLE"));
}

// A subscriber that starts while a batch arrives, and misses it, finds the
// batch in the store after the pending commits.
TEST_F(SessionTest, QueuesABatchBeforeNotifyingTheObserver) {
  Welcomed();
  std::vector<std::string> stored;
  observer_.on_batch = [&] {
    AwaitCommits();
    stored = Stored();
  };
  ASSERT_OK(Handle(Batch()));
  EXPECT_THAT(stored, ElementsAre("1 C: 1"));
}

TEST_F(SessionTest, WelcomeReportsTheFingerprintOfTheLastDurableBatch) {
  // As specified in collection.proto.
  const auto fingerprint_of = [](const v1::CollectRequest& request) {
    const std::string hash = Sha256(request.batch().payload());
    uint64_t fingerprint = 0;
    for (size_t i = 8; i-- > 0;) {
      fingerprint = fingerprint << 8 | static_cast<uint8_t>(hash[i]);
    }
    return fingerprint;
  };
  EXPECT_EQ(Welcomed().epochs(0).durable_fingerprint(), 0);
  ASSERT_OK(Handle(Batch()));
  const v1::CollectRequest second = Batch();
  ASSERT_OK(Handle(second));
  EXPECT_EQ(Welcomed(Hello(1, 2)).epochs(0).durable_fingerprint(),
            fingerprint_of(second));
  EXPECT_EQ(fingerprint_of(second), Fingerprint(second.batch().payload()));
  Restart();
  EXPECT_EQ(Welcomed(Hello(1, 2)).epochs(0).durable_fingerprint(),
            fingerprint_of(second));
  const v1::CollectRequest third = BadBatch();  // a rejected batch counts, too
  ASSERT_OK(Handle(third));
  link_->WaitForAck(3);
  Restart();
  EXPECT_EQ(Welcomed(Hello(4, 3)).epochs(0).durable_fingerprint(),
            fingerprint_of(third));
}

// A machine was set back. It repeats earlier batches under another epoch. Batch
// 2 differs from the one sent under the first epoch.
TEST_F(SessionTest, DoesNotStoreCopiesFromTheEpochBeforeAFork) {
  constexpr uint64_t kFork = 99;
  std::vector<v1::CollectRequest> batches;
  Welcomed();
  writer_.Lose("web-1", kStart, kStart, 6, v1::LOSS_CAUSE_OVERRUN);
  for (int i = 0; i < 3; ++i) {
    batches.push_back(Batch());
    ASSERT_OK(Handle(batches.back()));
  }
  link_->WaitForAck(3);
  session_->Close();

  v1::CollectRequest hello = Hello(1, 4, kFork);
  hello.mutable_hello()->mutable_held_epochs(0)->set_forked_from(kEpoch);
  const auto connect = [&] {
    session_ = Connect("box:1", kFork);
    EXPECT_OK(Handle(hello));
    return link_->WaitForWelcome();
  };
  v1::Welcome welcome = connect();
  EXPECT_EQ(welcome.epochs(0).durable_sequence(), 0);
  writer_.AddTick(query_, ClocksAt(2.5), {{instance_, {25}}});
  *batches[1].mutable_batch() =
      MakeSealedBatch(kFork, 2, writer_.TakeContent());
  batches.push_back(Batch());
  for (v1::CollectRequest& batch : batches) {
    batch.mutable_batch()->set_epoch(kFork);
    ASSERT_OK(Handle(batch));
  }
  link_->WaitForAck(4);
  const auto stored = ElementsAre("1 C: 1", "2 C: 2", "3 C: 3",  //
                                  "2.5 C: 25", "4 C: 4");
  EXPECT_THAT(Stored(), stored);
  EXPECT_THAT(observer_.sequences, ElementsAre(1, 2, 3, 2, 4));
  EXPECT_THAT(store_.ReadLosses("web-1"), ElementsAre("overrun 0..0"));
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kOverrun, 6)));

  // The epoch continues like any other.
  Restart();
  welcome = connect();
  EXPECT_EQ(welcome.epochs(0).durable_sequence(), 4);
  EXPECT_EQ(welcome.epochs(0).durable_fingerprint(),
            Fingerprint(batches[3].batch().payload()));
  EXPECT_THAT(Stored(), stored);
}

TEST_F(SessionTest, ReturnsUnavailableIfTheStoreCannotIdentifyCopies) {
  constexpr uint64_t kFork = 99;
  Welcomed();
  const v1::CollectRequest first = Batch();
  ASSERT_OK(Handle(first));
  link_->WaitForAck(1);
  session_->Close();
  v1::CollectRequest hello = Hello(1, 1, kFork);
  hello.mutable_hello()->mutable_held_epochs(0)->set_forked_from(kEpoch);
  v1::CollectRequest again = first;
  again.mutable_batch()->set_epoch(kFork);
  const auto send_again = [&] {
    session_ = Connect("box:1", kFork);
    EXPECT_OK(Handle(hello));
    EXPECT_EQ(link_->WaitForWelcome().epochs(0).durable_sequence(), 0);
    return Handle(again);
  };
  gate_->FailToFind(absl::DataLossError("a block is damaged"));
  EXPECT_THAT(send_again(), StatusIs(absl::StatusCode::kUnavailable,
                                     AllOf(HasSubstr("batch 1 of web-1"),
                                           HasSubstr("a block is damaged"))));
  // The agent resends the batch. The store can then identify it.
  ASSERT_OK(send_again());
  link_->WaitForAck(1);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1"));
}

TEST_F(SessionTest, RetainsPendingBatchesWhileTheDiskIsFull) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  gate_->SetRoom(absl::ResourceExhaustedError("the disk is full"));
  gate_->AwaitRoomChecks(1);
  ASSERT_OK(Handle(Batch()));
  ASSERT_OK(Handle(Batch()));
  gate_->AwaitRoomChecks(3);  // once after the first batch, twice for these
  EXPECT_THAT(link_->events(), ElementsAre("ack 1"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1"));
  // CheckRoom reports space, but the write fails.
  gate_->Hold();
  gate_->SetRoom(absl::OkStatus());
  gate_->Release(absl::ResourceExhaustedError("no space left"));
  link_->WaitForAck(3);
  EXPECT_TRUE(link_->end().ok());
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2", "3 C: 3"));
}

TEST_F(SessionTest, ShutsDownWhileTheDiskIsFull) {
  Welcomed();
  gate_->SetRoom(absl::ResourceExhaustedError("the disk is full"));
  const v1::CollectRequest first = Batch();
  ASSERT_OK(Handle(first));
  gate_->AwaitRoomChecks(1);
  Restart();
  EXPECT_THAT(link_->end(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("the disk is full")));
  EXPECT_EQ(Welcomed(Hello(1, 1)).epochs(0).durable_sequence(), 0);
  ASSERT_OK(Handle(first));
  link_->WaitForAck(1);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1"));
}

// A full disk is not the batch's fault.
TEST_F(SessionTest, DoesNotRejectABatchIfTheDiskIsFull) {
  Welcomed();
  writer_.Lose("db1", kStart, kStart, 1, v1::LOSS_CAUSE_OVERRUN);
  const v1::CollectRequest first = Batch();
  gate_->SetRoom(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(Handle(first), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("the disk is full")));
  session_->Close();
  gate_->SetRoom(absl::OkStatus());
  Welcomed(Hello(1, 1));
  ASSERT_OK(Handle(first));
  link_->WaitForAck(1);
  EXPECT_THAT(link_->Take(), IsEmpty());
  EXPECT_THAT(store_.ReadLosses("db1"), ElementsAre("overrun 0..0"));
}

// The new epoch was not forked from the epoch of the stored batch.
TEST_F(SessionTest, StoresCopiesFromAnUnrelatedEpoch) {
  constexpr uint64_t kOther = 99;
  const v1::CollectRequest first = Batch();
  Welcomed();
  ASSERT_OK(Handle(first));
  link_->WaitForAck(1);
  session_->Close();
  session_ = Connect("box:1", kOther);
  v1::CollectRequest hello = Hello(1, 1, kOther);
  hello.mutable_hello()->mutable_held_epochs(0)->set_forked_from(kEpoch + 1);
  ASSERT_OK(Handle(hello));
  v1::CollectRequest again = first;
  again.mutable_batch()->set_epoch(kOther);
  ASSERT_OK(Handle(again));
  link_->WaitForAck(1);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "1 C: 1"));
}

TEST_F(SessionTest, EndsAnExpiredStreamAfterAnAcknowledgment) {
  limits_.reconnect_after = absl::Hours(1);
  Restart();
  Welcomed();
  clock_.Advance(absl::Minutes(44));  // less than 3/4 of the time
  ASSERT_OK(Handle(Batch()));
  AwaitCommits();
  clock_.Advance(absl::Minutes(32));  // more than 5/4 of the time
  AwaitCommits();
  EXPECT_THAT(link_->events(), ElementsAre("ack 1"));
  ASSERT_OK(Handle(Batch()));
  AwaitCommits();
  EXPECT_THAT(link_->events(), ElementsAre("ack 1", "ack 2", "end OK"));
  // The next stream has its full time.
  Welcomed(Hello(3, 2));
  ASSERT_OK(Handle(Batch()));
  AwaitCommits();
  EXPECT_THAT(link_->events(), ElementsAre("ack 3"));
}

TEST_F(SessionTest, EndsTheStreamIfADictionaryHasTooManyInstances) {
  limits_.dictionary.max_instances = 4;
  Restart();
  const uint32_t machine = writer_.Machine("web-1");
  const uint32_t disk = writer_.Counterset(DiskRegistration());
  const auto part = [&](int instances, bool more) {
    v1::CollectRequest request;
    v1::Dictionary* dictionary = request.mutable_dictionary();
    dictionary->set_epoch(kEpoch);
    dictionary->set_more(more);
    for (int i = 0; i < instances; ++i) {
      writer_.Instance(machine, disk, absl::StrCat("disk ", i));
      *dictionary->mutable_definitions()->add_instances() =
          *writer_.definitions().instances().rbegin();
    }
    return request;
  };
  Welcomed();
  // Up to the limit, and up to the allowance for retired instances.
  EXPECT_OK(Handle(part(1, /*more=*/true)));
  EXPECT_OK(Handle(part(3, /*more=*/false)));
  EXPECT_OK(Handle(part(4, /*more=*/false)));
  EXPECT_OK(Handle(part(16, /*more=*/true)));
  EXPECT_THAT(Handle(part(1, /*more=*/false)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("more than 16 instances"),
                             HasSubstr("(max_instances)"))));
}

}  // namespace
}  // namespace fleetperf::aggregator
