// Tests of the effects of each message on an agent's stream.

#include <fstream>
#include <iterator>

#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/wal_file.h"
#include "tests/aggregator/ingest/session_fixture.h"
#include "tests/support/log_capture.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::Not;

TEST_F(SessionTest, RequiresExactlyOneHelloAtTheStart) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  session_ = Connect();
  EXPECT_THAT(Handle(Batch()), StatusIs(kInvalid, HasSubstr("before Hello")));
  Welcomed();
  EXPECT_THAT(Handle(Hello()), StatusIs(kInvalid, HasSubstr("second Hello")));
  v1::CollectRequest stray = Batch();
  stray.mutable_batch()->set_epoch(kEpoch + 1);
  EXPECT_THAT(Handle(stray), StatusIs(kInvalid, HasSubstr("another epoch")));
  // Unknown messages of later versions are ignored.
  EXPECT_OK(Handle({}));
}

TEST_F(SessionTest, RequiresSequencesFromOneWith40Bits) {
  const auto numbered = [&](uint64_t sequence) {
    v1::CollectRequest request = Batch();
    request.mutable_batch()->set_sequence(sequence);
    return request;
  };
  const v1::CollectRequest last = numbered((uint64_t{1} << 40) - 1);
  for (const uint64_t sequence :
       {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
    Welcomed();
    EXPECT_THAT(Handle(numbered(sequence)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("sequence ", sequence))));
  }
  Welcomed();
  ASSERT_OK(Handle(last));
  link_->WaitForAck((uint64_t{1} << 40) - 1);
  // The last sequence is not mixed up with its neighbors.
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1"));
}

TEST_F(SessionTest, AcknowledgesStoredBatchesAndReportsThemInWelcome) {
  EXPECT_EQ(Welcomed().epochs(0).durable_sequence(), 0);
  for (int i = 0; i < 3; ++i) ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2", "3 C: 3"));
  Restart();
  const v1::Welcome welcome = Welcomed(Hello(4, 3));
  EXPECT_EQ(welcome.epochs(0).durable_sequence(), 3);
  EXPECT_TRUE(welcome.epochs(0).dictionary_held());
  EXPECT_EQ(welcome.store_id(), store_->id());
}

TEST_F(SessionTest, StoresARepeatedBatchOnceAndAcknowledgesItAgain) {
  Welcomed();
  const v1::CollectRequest first = Batch();
  const v1::CollectRequest second = Batch();
  ASSERT_OK(Handle(first));
  ASSERT_OK(Handle(second));
  link_->WaitForAck(2);
  Restart();
  Welcomed(Hello(1, 2));
  ASSERT_OK(Handle(first));
  link_->WaitForAck(2);
  ASSERT_OK(Handle(second));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2", "3 C: 3"));
  // Subscribers also see each batch once.
  EXPECT_THAT(observer_.sequences, ElementsAre(1, 2, 3));
}

TEST_F(SessionTest, EndsTheStreamOnAnUnknownIdUntilADictionaryDefinesIt) {
  constexpr auto kUndefined = absl::StatusCode::kFailedPrecondition;
  // The definitions were in a batch that the agent's spool dropped.
  const v1::CollectRequest dropped = Batch();
  const v1::CollectRequest second = Batch();
  EXPECT_FALSE(Welcomed(Hello(2, 2)).epochs(0).dictionary_held());
  EXPECT_THAT(Handle(second), StatusIs(kUndefined, HasSubstr("not defined")));
  session_->Close();

  EXPECT_FALSE(Welcomed(Hello(2, 2)).epochs(0).dictionary_held());
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  *dictionary.mutable_dictionary()->mutable_definitions() =
      writer_.definitions();
  ASSERT_OK(Handle(dictionary));
  ASSERT_OK(Handle(second));
  link_->WaitForAck(2);
  EXPECT_THAT(Stored(), ElementsAre("2 C: 2"));
  session_->Close();
  EXPECT_TRUE(Welcomed(Hello(3, 2)).epochs(0).dictionary_held());
}

// The batch with the definitions is lost. The batches that use them are not.
TEST_F(SessionTest, RequestsTheDictionaryIfTheStoreLostDefinitions) {
  Welcomed();
  for (int i = 1; i <= 3; ++i) {
    ASSERT_OK(Handle(Batch()));
    link_->WaitForAck(i);  // so that each batch has its own commit
  }
  const auto logs = FindWalFiles(store_.path());
  ASSERT_OK(logs.status());
  std::fstream file(logs->rbegin()->second,
                    std::ios::in | std::ios::out | std::ios::binary);
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  const size_t place = log.find(LogKey(/*epoch_number=*/1, /*sequence=*/1));
  ASSERT_NE(place, log.npos);
  file.seekp(static_cast<std::streamoff>(place));
  file.put('\xFF');
  file.close();
  Restart();
  const v1::Welcome welcome = Welcomed(Hello(4, 3));
  EXPECT_EQ(welcome.epochs(0).durable_sequence(), 3);
  EXPECT_FALSE(welcome.epochs(0).dictionary_held());
  EXPECT_THAT(Stored(), IsEmpty());
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  *dictionary.mutable_dictionary()->mutable_definitions() =
      writer_.definitions();
  ASSERT_OK(Handle(dictionary));
  EXPECT_THAT(Stored(), ElementsAre("2 C: 2", "3 C: 3"));
  EXPECT_TRUE(Welcomed(Hello(4, 3)).epochs(0).dictionary_held());
}

// One instance has an invalid name. All other data is accepted.
TEST_F(SessionTest, RejectsOnlyBatchesThatUseAnInvalidDefinition) {
  Welcomed();
  Define();
  const uint32_t bad = writer_.Instance(1, 2, std::string(5000, 'x'));
  ASSERT_OK(Handle(Batch()));  // has the definition, but does not use it
  const auto bad_batch = [&] {
    const uint64_t sequence = ++sequence_;
    writer_.AddTick(query_, ClocksAt(static_cast<double>(sequence)),
                    {{instance_, {sequence}}, {bad, {1}}});
    v1::CollectRequest request;
    *request.mutable_batch() =
        MakeSealedBatch(kEpoch, sequence, writer_.TakeContent());
    return request;
  };
  const v1::CollectRequest second = bad_batch();
  link_->WaitForAck(1);
  ASSERT_OK(Handle(second));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_EQ(responses[0].reject().sequence(), 2);
  EXPECT_THAT(responses[0].reject().reason(), HasSubstr("5000 bytes"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "3 C: 3"));
  EXPECT_THAT(store_.ReadLosses("web-1"), ElementsAre("rejected 2..2"));
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kRejected, 1)));
}

TEST_F(SessionTest, RejectsABatchWithAnIdMissingFromTheDictionary) {
  Define();
  const v1::CollectRequest first = Batch();
  v1::Definitions definitions = writer_.definitions();
  definitions.clear_instances();
  EXPECT_FALSE(Welcomed(Hello(2, 3)).epochs(0).dictionary_held());
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  *dictionary.mutable_dictionary()->mutable_definitions() = definitions;
  ASSERT_OK(Handle(dictionary));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(2);
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_THAT(responses[0].reject().reason(), HasSubstr("is not defined"));
}

TEST_F(SessionTest, AcceptsADictionaryInParts) {
  const v1::CollectRequest dropped = Batch();
  const v1::CollectRequest second = Batch();
  EXPECT_FALSE(Welcomed(Hello(2, 2)).epochs(0).dictionary_held());
  v1::Definitions instances;
  instances.mutable_instances()->CopyFrom(writer_.definitions().instances());
  v1::Definitions others = writer_.definitions();
  others.clear_instances();
  v1::CollectRequest part;
  part.mutable_dictionary()->set_epoch(kEpoch);
  part.mutable_dictionary()->set_more(true);
  *part.mutable_dictionary()->mutable_definitions() = others;
  ASSERT_OK(Handle(part));
  part.mutable_dictionary()->set_more(false);
  *part.mutable_dictionary()->mutable_definitions() = instances;
  ASSERT_OK(Handle(part));
  ASSERT_OK(Handle(second));
  link_->WaitForAck(2);
  EXPECT_THAT(Stored(), ElementsAre("2 C: 2"));
}

TEST_F(SessionTest, RefusesADictionaryWithAnUnauthorizedMachine) {
  Welcomed();
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  v1::MachineDefinition* machine =
      dictionary.mutable_dictionary()->mutable_definitions()->add_machines();
  machine->set_id(1);
  machine->set_name("db-1");
  EXPECT_THAT(Handle(dictionary),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("does not name machine \"db-1\"")));
}

TEST_F(SessionTest, RejectsATooLargeBatchByLimitNameAndContinues) {
  limits_.batch.max_content_bytes = 1000;
  Restart();
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  v1::CollectRequest bomb = Batch();
  // Announces its true size, which exceeds the limit.
  const std::string zeros(100'000, '\0');
  ZstdCompress(zeros, bomb.mutable_batch()->mutable_payload());
  bomb.mutable_batch()->set_compression(v1::COMPRESSION_ZSTD);
  bomb.mutable_batch()->set_content_size(100'000);
  bomb.mutable_batch()->set_fingerprint(Fingerprint(bomb.batch().payload()));
  ASSERT_OK(Handle(bomb));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_EQ(responses[0].reject().sequence(), 2);
  EXPECT_THAT(responses[0].reject().reason(), HasSubstr("max_content_bytes"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "3 C: 3"));
  EXPECT_EQ(session_->rejected_batches(), 1);
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(1));
  EXPECT_THAT(observer_.sequences, ElementsAre(1, 3));
}

// The fingerprint covers the way from the agent's memory to the aggregator's. A
// disk, or anything else in between, may change a batch into another valid one.
TEST_F(SessionTest, RejectsADamagedPayloadAndContinues) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  v1::CollectRequest damaged = Batch();
  damaged.mutable_batch()->set_fingerprint(damaged.batch().fingerprint() ^ 1);
  ASSERT_OK(Handle(damaged));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_EQ(responses[0].reject().sequence(), 2);
  EXPECT_THAT(responses[0].reject().reason(),
              HasSubstr("Batch.payload is damaged"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "3 C: 3"));
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(1));
}

TEST_F(SessionTest, RejectsABatchWithoutFingerprint) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  v1::CollectRequest unsealed = Batch();
  unsealed.mutable_batch()->clear_fingerprint();
  ASSERT_OK(Handle(unsealed));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "3 C: 3"));
}

TEST_F(SessionTest, TellsAgentsThePace) {
  Welcomed();
  observer_.watched = true;
  ingest_->UpdatePaces();
  ingest_->UpdatePaces();  // nothing has changed
  auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_TRUE(responses[0].pace().live());
  observer_.watched = false;
  ingest_->UpdatePaces();
  responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_FALSE(responses[0].pace().live());
}

TEST_F(SessionTest, AcceptsAReconnectOnlyFromTheSameProcess) {
  Welcomed();
  const std::shared_ptr<Link> first = link_;
  const std::shared_ptr<Session> first_session = session_;
  Welcomed();  // the connection broke, which is not detected yet
  EXPECT_THAT(first->end(), StatusIs(absl::StatusCode::kAborted,
                                     HasSubstr("replaced by a new")));
  first_session->Close();
  const auto other = Connect();
  EXPECT_THAT(other->Handle(Hello(1, 0, kEpoch + 1)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("another agent named \"web-1\""),
                             HasSubstr("box:1"))));
  other->Close();
  session_->Close();
  EXPECT_OK(Connect()->Handle(Hello(1, 0, kEpoch + 1)));
}

// Two machines with one certificate.
TEST_F(SessionTest, NamesBothAgentsOfOneName) {
  Welcomed();
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "");
  const testing::LogCapture log;
  for (int i = 0; i < 3; ++i) {
    const auto other = Connect("box:2");
    EXPECT_THAT(other->Handle(Hello(1, 0, kEpoch + 1)),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr("is connected from box:1")));
    other->Close();
  }
  EXPECT_THAT(
      log.Lines(),
      ElementsAre(AllOf(
          HasSubstr("warning"), HasSubstr("two agents are named \"web-1\""),
          HasSubstr("connected from box:1"), HasSubstr("refused from box:2"))));
  EXPECT_EQ(ingest_->counts().conflicts, 3);
  EXPECT_EQ(ingest_->FindConnection("web-1")->address, "box:1");
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "box:2");
  clock_.Advance(absl::Minutes(11));
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "");
}

// A machine that was cloned with its agent's state. Its first stream looks like
// that of a restarted agent, until the first agent comes back.
TEST_F(SessionTest, NamesAMachineAndItsClone) {
  const testing::LogCapture log;
  Welcomed();
  const std::shared_ptr<Session> original = session_;
  const auto clone = Connect("box:2", kEpoch + 1);
  ASSERT_OK(clone->Handle(HelloAfter(kEpoch, kEpoch + 1)));
  original->Close();
  EXPECT_EQ(ingest_->FindConnection("web-1")->address, "box:2");
  EXPECT_EQ(ingest_->counts().conflicts, 0);
  EXPECT_EQ(ingest_->counts().replacements, 1);
  EXPECT_THAT(log.Lines(), Contains(AllOf(HasSubstr("info"),
                                          HasSubstr("connected from box:2"),
                                          HasSubstr("box:1"))));

  const auto back = Connect("box:1");
  EXPECT_THAT(back->Handle(Hello()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("is connected from box:2")));
  EXPECT_EQ(ingest_->counts().conflicts, 1);
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "box:1");
  EXPECT_THAT(log.Lines(), Contains(AllOf(HasSubstr("warning"),
                                          HasSubstr("connected from box:2"),
                                          HasSubstr("refused from box:1"))));
  back->Close();
  clone->Close();
}

// Two virtual machines that were made from one snapshot of a running one: their
// agents have the same epoch, so each can replace the other.
TEST_F(SessionTest, NamesClonesThatReplaceEachOther) {
  const testing::LogCapture log;
  const auto connect = [&](const std::string& address) {
    auto session = Connect(address);
    EXPECT_OK(session->Handle(Hello()));
    return session;
  };
  const auto first = connect("box:1");
  const auto clone = connect("hut:1");
  first->Close();
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "");
  EXPECT_THAT(
      log.Lines(),
      Contains(AllOf(HasSubstr("warning"), HasSubstr("connected from hut:1"),
                     HasSubstr("connected from box:1"),
                     HasSubstr("address has changed, or the machine was"))));

  const auto back = connect("box:2");
  clone->Close();
  EXPECT_EQ(ingest_->FindConnection("web-1")->address, "box:2");
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "hut:1");
  EXPECT_THAT(ingest_->conflicting_agents(), ElementsAre("web-1"));
  EXPECT_EQ(ingest_->counts().replacements, 2);
  EXPECT_THAT(
      log.Lines(),
      Contains(AllOf(HasSubstr("warning"),
                     HasSubstr("two agents are named \"web-1\", and replace "
                               "each other in turns: one from box:2, the other "
                               "one from hut:1"),
                     HasSubstr("a state directory of its own"))));
  // The next stream of the clone is the same conflict.
  const auto again = connect("hut:3");
  back->Close();
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "box:2");

  clock_.Advance(absl::Minutes(11));
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "");
  EXPECT_THAT(ingest_->conflicting_agents(), IsEmpty());
  again->Close();
}

TEST_F(SessionTest, ChangedAddressIsNoConflict) {
  const testing::LogCapture log;
  std::shared_ptr<Session> last;
  const auto connect = [&](const std::string& address) {
    const auto session = Connect(address);
    EXPECT_OK(session->Handle(Hello()));
    if (last != nullptr) last->Close();
    last = session;
    EXPECT_THAT(ingest_->conflicting_agents(), IsEmpty()) << address;
  };
  for (const char* address : {"box:1", "box:2", "hut:1", "pub:1"}) {
    connect(address);
  }
  EXPECT_EQ(ingest_->counts().replacements, 2);
  clock_.Advance(absl::Minutes(11));
  connect("hut:2");
  EXPECT_THAT(log.Lines(), Not(Contains(HasSubstr("two agents"))));
  last->Close();
}

TEST_F(SessionTest, NameConflictEndsWithItsStream) {
  Welcomed();
  const auto other = Connect("box:2", kEpoch + 1);
  EXPECT_THAT(other->Handle(Hello(1, 0, kEpoch + 1)),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
  // The conflict outlasts a connection that is replaced.
  const auto before = session_;
  Welcomed();
  before->Close();
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "box:2");
  EXPECT_THAT(ingest_->conflicting_agents(), ElementsAre("web-1"));
  session_->Close();
  EXPECT_THAT(ingest_->conflicting_agents(), IsEmpty());
  const auto successor = Connect("box:2", kEpoch + 1);
  EXPECT_OK(successor->Handle(Hello(1, 0, kEpoch + 1)));
  EXPECT_EQ(ingest_->FindConnection("web-1")->conflicting_address, "");
  successor->Close();
}

TEST_F(SessionTest, KnowsWhetherAStreamBroughtSamples) {
  Welcomed();
  EXPECT_FALSE(ingest_->FindConnection("web-1")->has_samples);
  ASSERT_OK(Handle(BadBatch()));  // rejected
  EXPECT_FALSE(ingest_->FindConnection("web-1")->has_samples);
  ASSERT_OK(Handle(Batch()));
  EXPECT_TRUE(ingest_->FindConnection("web-1")->has_samples);
  link_->WaitForAck(2);
  Welcomed(Hello(3, 2));
  EXPECT_FALSE(ingest_->FindConnection("web-1")->has_samples);
}

TEST_F(SessionTest, LogsAnAgentThatReconnectsAllTheTimeOnce) {
  const testing::LogCapture log;
  for (int i = 0; i < 100; ++i) {
    Welcomed();
    session_->Close();
  }
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("agent web-1 connected from box:1"),
                          HasSubstr("agent web-1 disconnected")));
}

TEST_F(SessionTest, AsksAllAgentsForInstancesConcurrently) {
  Welcomed();
  const auto other_link = std::make_shared<Link>();
  const auto other = std::make_shared<Session>(
      ingest_.get(), PeerIdentity{.names = {"web-2"}, .role = Role::kAgent},
      "box:2", other_link);
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_agent("web-2");
  ASSERT_OK(other->Handle(hello));
  other_link->WaitForWelcome();
  const perflib::Guid disk = DiskRegistration().guid;
  std::vector<Ingest::InstanceNames> answers;
  std::thread asking([&] {
    answers = ingest_->EnumerateInstances({"web-2", "away-1", "web-1"}, disk,
                                          absl::Minutes(1));
  });
  // Both agents are asked before either answers.
  const v1::EnumerateInstances first = link_->WaitForQuestion();
  const v1::EnumerateInstances second = other_link->WaitForQuestion();
  EXPECT_EQ(first.machine(), "web-1");
  EXPECT_EQ(first.counterset(), disk.Bytes());
  v1::CollectRequest answer;
  v1::InstanceList* list = answer.mutable_instance_list();
  list->set_request_id(second.request_id());
  EXPECT_OK(Handle(answer));  // another agent's question: ignored
  list->set_request_id(first.request_id());
  list->add_instances()->set_name("C:");
  EXPECT_OK(Handle(answer));
  list->set_request_id(second.request_id());
  list->mutable_instances(0)->set_name("D:");
  EXPECT_OK(other->Handle(answer));
  asking.join();
  ASSERT_THAT(answers, SizeIs(3));
  ASSERT_OK(answers[0]);
  EXPECT_EQ(answers[0]->front().name, "D:");
  EXPECT_THAT(answers[1], StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("away-1 is not connected")));
  ASSERT_OK(answers[2]);
  EXPECT_EQ(answers[2]->front().name, "C:");
  other->Close();
}

TEST_F(SessionTest, AnAgentSpeaksForMachinesThatItQueries) {
  Welcomed();
  EXPECT_EQ(ingest_->FindConnection("db1"), std::nullopt);
  const uint32_t machine = writer_.Machine("db1");
  const uint32_t disk = writer_.Counterset(DiskRegistration());
  query_ = writer_.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
  instance_ = writer_.Instance(machine, disk, "C:");
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  EXPECT_THAT(store_.Read("db1"), SizeIs(1));

  // The machine is in the fleet and is reached through the agent.
  std::vector<std::string> machines;
  for (const auto& stored : store_->GetMachines()) {
    machines.push_back(
        absl::StrCat(stored.machine.name(), " by ", stored.machine.agent()));
  }
  EXPECT_THAT(machines, ElementsAre("db1 by web-1", "web-1 by web-1"));
  ASSERT_TRUE(ingest_->FindConnection("db1").has_value());
  EXPECT_EQ(ingest_->FindConnection("db1")->address, "box:1");

  // A subscriber to the machine makes the agent send each tick at once.
  link_->Take();
  observer_.watched = true;
  observer_.watched_machine = "db1";
  ingest_->UpdatePaces();
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_TRUE(responses[0].pace().live());

  std::thread asking([&] {
    EXPECT_OK(ingest_
                  ->EnumerateInstances({"db1"}, DiskRegistration().guid,
                                       absl::Minutes(1))
                  .front());
  });
  const v1::EnumerateInstances question = link_->WaitForQuestion();
  EXPECT_EQ(question.machine(), "db1");
  v1::CollectRequest answer;
  answer.mutable_instance_list()->set_request_id(question.request_id());
  EXPECT_OK(Handle(answer));
  asking.join();
  session_->Close();
  EXPECT_EQ(ingest_->FindConnection("db1"), std::nullopt);
}

// Other calls do not wait for the store meanwhile.
TEST_F(SessionTest, RefusesAMachineOnlyWhileItIsForgotten) {
  Welcomed();
  session_->Close();
  int calls = 0;
  gate_->on_forget = [&] {
    ++calls;
    EXPECT_FALSE(ingest_->IsConnected("web-1"));
    session_ = Connect();
    EXPECT_THAT(Handle(Hello()), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("web-1 is being")));
    EXPECT_THAT(ingest_->ForgetMachines({"web-1"}, /*dry_run=*/false),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("web-1")));
  };
  ASSERT_OK(ingest_->ForgetMachines({"web-1"}, /*dry_run=*/false));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(store_->FindMachine("web-1").has_value());
  Welcomed();
  EXPECT_TRUE(store_->FindMachine("web-1").has_value());

  // Another agent's plan may have the machine.
  v1::Machine other;
  other.set_name("db1");
  ASSERT_OK(store_->PutMachine({other}));
  writer_.Machine("db1");
  gate_->on_forget = [&] {
    EXPECT_THAT(Handle(Batch()), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("db1 is being")));
  };
  ASSERT_OK(ingest_->ForgetMachines({"db1"}, /*dry_run=*/false));
  EXPECT_FALSE(store_->FindMachine("db1").has_value());
  EXPECT_TRUE(ingest_->IsConnected("web-1"));
}

// The agent does not repeat its definitions.
TEST_F(SessionTest, AnAgentSpeaksForItsMachinesAfterAReconnect) {
  Welcomed();
  const uint32_t machine = writer_.Machine("db1");
  const uint32_t disk = writer_.Counterset(DiskRegistration());
  query_ = writer_.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
  instance_ = writer_.Instance(machine, disk, "C:");
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  observer_.watched = true;
  observer_.watched_machine = "db1";
  Restart();
  EXPECT_TRUE(Welcomed(Hello(2, 1)).epochs(0).dictionary_held());
  ASSERT_OK(Handle(Batch()));
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_TRUE(responses[0].pace().live());
  EXPECT_TRUE(ingest_->FindConnection("db1").has_value());
}

// All of the agent's data is in chunks, and its definitions are removed.
TEST_F(SessionTest, RequestsTheDictionaryOfAnEndedEpoch) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    session_->Close();
    session_.reset();
    AwaitCommits();
    ASSERT_OK(store_.Compact());
    if (restarts) Restart();
    const v1::Welcome welcome = Welcomed(Hello(sequence_ + 1, sequence_));
    EXPECT_EQ(welcome.epochs(0).durable_sequence(), sequence_);
    EXPECT_NE(welcome.epochs(0).durable_fingerprint(), 0);
    EXPECT_FALSE(welcome.epochs(0).dictionary_held());
    v1::CollectRequest dictionary;
    dictionary.mutable_dictionary()->set_epoch(kEpoch);
    *dictionary.mutable_dictionary()->mutable_definitions() =
        writer_.definitions();
    ASSERT_OK(Handle(dictionary));
    ASSERT_OK(Handle(Batch()));
    link_->WaitForAck(sequence_);
  }
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2", "3 C: 3"));
  session_->Close();
  EXPECT_TRUE(
      Welcomed(Hello(sequence_ + 1, sequence_)).epochs(0).dictionary_held());
}

TEST_F(SessionTest, RejectsALossOfAnUnauthorizedMachine) {
  Welcomed();
  v1::BatchContent content;
  v1::Loss* loss = content.add_losses();
  loss->set_machine("db2");
  loss->set_ticks(1);
  loss->set_cause(v1::LOSS_CAUSE_OVERRUN);
  loss->mutable_start()->set_seconds(1);
  loss->mutable_end()->set_seconds(2);
  v1::CollectRequest request;
  *request.mutable_batch() = MakeSealedBatch(kEpoch, 1, content);
  EXPECT_OK(Handle(request));
  link_->WaitForAck(1);
  const auto responses = link_->Take();
  ASSERT_EQ(responses.size(), 1);
  EXPECT_THAT(responses[0].reject().reason(),
              HasSubstr("Loss.machine is \"db2\""));
}

TEST_F(SessionTest, TimesOutIfAnAgentDoesNotAnswer) {
  Welcomed();
  const auto answers = ingest_->EnumerateInstances(
      {"web-1"}, DiskRegistration().guid, absl::ZeroDuration());
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kDeadlineExceeded,
                                   HasSubstr("web-1 does not answer")));
  // The answer arrives too late and is ignored.
  v1::CollectRequest answer;
  answer.mutable_instance_list()->set_request_id(
      link_->WaitForQuestion().request_id());
  EXPECT_OK(Handle(answer));
}

TEST_F(SessionTest, AcceptsACatalogueOnlyWithTheAnnouncedHash) {
  const std::string content = v1::CatalogueContent().SerializeAsString();
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_catalogue_hash(Sha256(content));
  EXPECT_TRUE(Welcomed(hello).catalogue_wanted());
  v1::CollectRequest catalogue;
  catalogue.mutable_catalogue()->set_compression(v1::COMPRESSION_NONE);
  catalogue.mutable_catalogue()->set_payload("something else");
  EXPECT_THAT(Handle(catalogue), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("does not have the hash")));
  catalogue.mutable_catalogue()->set_payload(content);
  EXPECT_OK(Handle(catalogue));
  session_->Close();
  EXPECT_FALSE(Welcomed(hello).catalogue_wanted());
}

}  // namespace
}  // namespace fleetperf::aggregator
