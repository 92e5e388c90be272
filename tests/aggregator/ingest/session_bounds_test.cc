// Tests of the bounds on an agent's statements, and of their removal after the
// agent has disconnected.

#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

using enum absl::StatusCode;
using ::testing::Contains;
using ::testing::Not;

TEST_F(SessionTest, RefusesAHelloBeyondTheBounds) {
  const struct {
    std::function<void(v1::Hello*)> edit;
    std::string message;
  } kCases[] = {
      {[](v1::Hello* hello) { hello->set_agent(std::string(1 << 19, 'a')); },
       "Hello.agent has 524288 bytes, more than 253"},
      {[](v1::Hello* hello) { hello->set_catalogue_hash("short"); },
       "Hello.catalogue_hash has 5 bytes instead of 32"},
      {[](v1::Hello* hello) {
         for (int i = 0; i < 65; ++i) {
           (*hello->mutable_labels())[absl::StrCat(i)] = "";
         }
       },
       "Hello.labels has 65 labels, more than 64"},
      {[](v1::Hello* hello) {
         (*hello->mutable_labels())["rack"] = std::string(1 << 19, 'x');
       },
       "Hello.labels[\"rack\"] has 524288 bytes, more than 1024"},
      {[](v1::Hello* hello) {
         (*hello->mutable_labels())[std::string(129, 'n')] = "x";
       },
       "in Hello.labels has 129 bytes, more than 128"},
      {[](v1::Hello* hello) {
         for (int i = 0; i < 9; ++i) {
           (*hello->mutable_labels())[absl::StrCat(i)] = std::string(1000, 'x');
         }
       },
       "Hello.labels has 9009 bytes, more than 8192"},
      {[](v1::Hello* hello) { (*hello->mutable_labels())["a"] = "b\nc"; },
       "Hello.labels[\"a\"] is \"b\\nc\"; labels must not contain control "
       "characters"}};
  for (const auto& test : kCases) {
    v1::CollectRequest hello = Hello();
    test.edit(hello.mutable_hello());
    const auto session = Connect();
    EXPECT_THAT(session->Handle(hello),
                StatusIs(kInvalidArgument, HasSubstr(test.message)));
  }
  EXPECT_THAT(store_->GetMachines(), IsEmpty());
  EXPECT_EQ(ingest_->sizes(), KnownAgents::Sizes());
}

TEST_F(SessionTest, AcceptsAHelloAtTheBounds) {
  v1::CollectRequest hello = Hello();
  for (int i = 0; i < 64; ++i) {
    const std::string name = absl::StrCat("größe ", i);
    (*hello.mutable_hello()->mutable_labels())[name] =
        std::string(128 - name.size(), 'x');
  }
  hello.mutable_hello()->set_catalogue_hash(std::string(32, 'h'));
  Welcomed(hello);
  ASSERT_THAT(store_->GetMachines(), SizeIs(1));
  EXPECT_EQ(store_->GetMachines()[0].machine.labels_size(), 64);
}

TEST_F(SessionTest, TruncatesFactsOfAHello) {
  v1::CollectRequest request = Hello();
  v1::Hello& hello = *request.mutable_hello();
  hello.set_agent_version(std::string(1 << 19, 'v'));
  // Characters of two bytes, which must not be split.
  std::string system = "x";
  for (int i = 0; i < 1000; ++i) system += "ü";
  hello.set_operating_system(system);
  hello.mutable_batch_period()->set_seconds(-5);
  hello.mutable_time()->set_seconds(INT64_MAX);
  Welcomed(request);
  const v1::Machine machine = store_->GetMachines()[0].machine;
  EXPECT_EQ(machine.agent_version(), std::string(256, 'v'));
  EXPECT_EQ(machine.operating_system(), system.substr(0, 255));
  auto connection = ingest_->FindConnection("web-1");
  ASSERT_TRUE(connection.has_value());
  EXPECT_EQ(connection->batch_period, absl::ZeroDuration());
  // Protobuf limits timestamps to the end of the year 9999.
  EXPECT_LT(connection->skew, absl::Hours(24 * 366 * 8000));
  session_->Close();
  hello.mutable_batch_period()->set_seconds(INT64_MAX);
  Welcomed(request);
  EXPECT_EQ(ingest_->FindConnection("web-1")->batch_period, absl::Minutes(5));
}

TEST_F(SessionTest, IgnoresInvalidDefaultScales) {
  Welcomed();
  perflib::CountersetRegistration registration = DiskRegistration();
  registration.help = "a help text";
  for (size_t i = 0; i < registration.counters.size(); ++i) {
    registration.counters[i].default_scale = static_cast<int32_t>(i) + 7;
  }
  const uint32_t machine = writer_.Machine("web-1");
  const uint32_t disk = writer_.Counterset(registration);
  query_ = writer_.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
  instance_ = writer_.Instance(machine, disk, "C:");
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  EXPECT_THAT(link_->events(), ElementsAre("ack 1"));
  std::vector<int32_t> scales;
  ASSERT_OK(store_->Read(
      {.machine = "web-1",
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {}},
      [&](const Frame& frame) {
        const auto& stored = frame.query->schema->registration;
        EXPECT_EQ(stored.help, "");
        for (const auto& counter : stored.counters) {
          scales.push_back(counter.default_scale);
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  EXPECT_THAT(scales, ElementsAre(7, 8, 9, 10, 0, 0, 0, 0));
}

TEST_F(SessionTest, CountsViolationsOfKnownLimitsOnly) {
  Welcomed();
  for (int i = 0; i < 3; ++i) {
    writer_.Lose(absl::StrCat("db2 (max_made_up_", i, ")"), kStart, kStart, 1,
                 v1::LOSS_CAUSE_OVERRUN);
    ASSERT_OK(Handle(Batch()));
  }
  link_->WaitForAck(3);
  EXPECT_EQ(ingest_->FindConnection("web-1")->rejected_batches, 3);
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken, IsEmpty());
}

// Names in certificates are case-insensitive.
TEST_F(SessionTest, LimitsMachinesPerAgent) {
  limits_.max_machines_of_agent = 1;  // in addition to its own
  Restart();
  Welcomed();
  uint32_t refused = 0;
  for (const std::string name : {"web-1", "db1", "db3"}) {
    refused = writer_.Machine(name);
    ASSERT_OK(Handle(Batch()));
  }
  EXPECT_THAT(store_->directory().Machines(), ElementsAre("db1", "web-1"));

  // Only batches with samples of that machine are rejected.
  const uint32_t disk = writer_.Counterset(DiskRegistration());
  const uint32_t query =
      writer_.Query(refused, disk, absl::Seconds(1), {{kQueueLength}});
  writer_.AddTick(query, ClocksAt(4),
                  {{writer_.Instance(refused, disk, "C:"), {4}}});
  ASSERT_OK(Handle(Batch()));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(5);
  EXPECT_THAT(link_->events(), Contains("reject 4"));
  EXPECT_THAT(Stored(), ElementsAre("1 C: 1", "2 C: 2", "3 C: 3", "5 C: 5"));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_machines_of_agent", 2)));
}

// Beyond the limit, the agent gives up one counterset for each new one.
TEST_F(SessionTest, LimitsOwnedCountersets) {
  limits_.max_owned_countersets = 3;
  Restart();
  Welcomed();
  for (int i = 0; i < 10; ++i) {
    perflib::CountersetRegistration registration = DiskRegistration();
    registration.guid.data1 += static_cast<uint32_t>(i);
    writer_.Query(writer_.Machine("db1"), writer_.Counterset(registration),
                  absl::Seconds(1), {{kQueueLength}});
    ASSERT_OK(Handle(Batch()));
  }
  EXPECT_EQ(ingest_->sizes().owned_countersets, 3);
}

TEST_F(SessionTest, LimitsMachinesOfTheFleet) {
  limits_.max_machines = 1;
  Restart();
  Welcomed();
  const auto other = std::make_shared<Session>(
      ingest_.get(), PeerIdentity{.names = {"web-2"}, .role = Role::kAgent},
      "box:2", std::make_shared<Link>());
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_agent("web-2");
  EXPECT_THAT(other->Handle(hello),
              StatusIs(kResourceExhausted, HasSubstr("(max_machines)")));
  session_->Close();
  Welcomed();  // is already in the fleet
}

// Otherwise, an acknowledged batch would be read with other definitions than
// those it was decoded with.
TEST_F(SessionTest, AnIdKeepsItsFirstDefinition) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  v1::Definitions others;
  v1::QueryDefinition& query = *others.add_queries();
  query.set_id(query_);
  query.set_machine(1);
  query.set_counterset(2);
  *query.mutable_interval() = ToProto(absl::Seconds(1));
  for (const uint32_t counter : {testing::kTransfers, kQueueLength}) {
    query.add_columns()->set_counter_id(counter);
    query.mutable_columns()->rbegin()->set_value_size(8);
  }
  v1::InstanceDefinition& instance = *others.add_instances();
  instance.set_id(instance_);
  instance.set_machine(1);
  instance.set_counterset(2);
  instance.set_name("D:");
  v1::CollectRequest request = Batch();
  v1::BatchContent content;
  ASSERT_TRUE(content.ParseFromString(request.batch().payload()));
  *content.mutable_definitions() = others;
  *request.mutable_batch() = MakeSealedBatch(kEpoch, 2, content);
  ASSERT_OK(Handle(request));
  link_->WaitForAck(2);
  const std::vector<std::string> stored = Stored();
  EXPECT_THAT(stored, SizeIs(2));
  EXPECT_THAT(stored, Not(Contains(HasSubstr("D:"))));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_definitions_of_id", 1)));
  Restart();
  EXPECT_EQ(Stored(), stored);

  // The definitions are not in memory now.
  Welcomed(Hello(3));
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  *dictionary.mutable_dictionary()->mutable_definitions() = others;
  ASSERT_OK(Handle(dictionary));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_definitions_of_id", 1)));
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(3);
  Restart();
  EXPECT_THAT(Stored(), SizeIs(3));
  EXPECT_THAT(Stored(), Not(Contains(HasSubstr("D:"))));
}

// A Dictionary repeats what the store has, and adds what it lacks.
TEST_F(SessionTest, ADictionaryAddsOnlyMissingDefinitions) {
  Welcomed();
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(1);
  Restart();
  Welcomed(Hello(2));
  const uint32_t added = writer_.Instance(1, 2, "D:");
  v1::CollectRequest dictionary;
  dictionary.mutable_dictionary()->set_epoch(kEpoch);
  *dictionary.mutable_dictionary()->mutable_definitions() =
      writer_.definitions();
  writer_.TakeContent();
  ASSERT_OK(Handle(dictionary));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken, IsEmpty());
  instance_ = added;
  ASSERT_OK(Handle(Batch()));
  link_->WaitForAck(2);
  EXPECT_THAT(Stored(), ElementsAre(HasSubstr("C:"), HasSubstr("D:")));
}

TEST_F(SessionTest, LimitsCountersOfACatalogue) {
  v1::CatalogueContent parsed;
  // Two bytes per counter.
  for (int i = 0; i < 101; ++i) {
    auto* counterset = parsed.add_countersets();
    for (int j = 0; j < 1000; ++j) counterset->add_counters();
  }
  const std::string content = parsed.SerializeAsString();
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_catalogue_hash(Sha256(content));
  Welcomed(hello);
  v1::CollectRequest catalogue;
  catalogue.mutable_catalogue()->set_compression(v1::COMPRESSION_NONE);
  catalogue.mutable_catalogue()->set_payload(content);
  EXPECT_THAT(
      Handle(catalogue),
      StatusIs(kInvalidArgument, HasSubstr("101000 counters, more than")));
  EXPECT_FALSE(store_->HasCatalogue(Sha256(content)));
}

// The catalogue has an empty group, field 100. A parser that supports groups
// continues after it, so a counter that stops there would miss the rest.
TEST_F(SessionTest, RejectsACatalogueWithGroups) {
  const std::string group = {'\xA3', '\x06', '\xA4', '\x06'};
  v1::CatalogueContent two_bytes_each;
  for (int i = 0; i < 10; ++i) two_bytes_each.add_countersets();
  v1::CatalogueContent within;
  within.add_countersets()->ParseFromString(group);
  for (const std::string& content : {group + two_bytes_each.SerializeAsString(),
                                     within.SerializeAsString()}) {
    ASSERT_TRUE(v1::CatalogueContent().ParseFromString(content));
    session_ = Connect();
    v1::CollectRequest hello = Hello();
    hello.mutable_hello()->set_catalogue_hash(Sha256(content));
    Welcomed(hello);
    v1::CollectRequest catalogue;
    catalogue.mutable_catalogue()->set_compression(v1::COMPRESSION_NONE);
    catalogue.mutable_catalogue()->set_payload(content);
    EXPECT_THAT(Handle(catalogue),
                StatusIs(kInvalidArgument,
                         HasSubstr("Catalogue.payload is not a catalogue")));
    EXPECT_FALSE(store_->HasCatalogue(Sha256(content)));
  }
}

TEST_F(SessionTest, LimitsInstancesOfAnAnswer) {
  Welcomed();
  std::vector<Ingest::InstanceNames> answers;
  std::thread asks([&] {
    answers = ingest_->EnumerateInstances({"web-1"}, DiskRegistration().guid,
                                          absl::Minutes(1));
  });
  v1::CollectRequest answer;
  answer.mutable_instance_list()->set_request_id(
      link_->WaitForQuestion().request_id());
  for (int i = 0; i < 100'001; ++i) {
    answer.mutable_instance_list()->add_instances();
  }
  EXPECT_OK(Handle(answer));
  asks.join();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("100001 instances, more than")));
}

// Opens and closes a stream of an agent that speaks for another machine, owns a
// counterset and has lost definitions.
void ComeAndGo(Ingest* ingest, const std::string& name) {
  auto link = std::make_shared<Link>();
  const std::string other = absl::StrCat("of-", name);
  const auto session = std::make_shared<Session>(
      ingest, PeerIdentity{.names = {name, other}, .role = Role::kAgent},
      "box:1", link);
  v1::CollectRequest request;
  v1::Hello* hello = request.mutable_hello();
  hello->set_agent(name);
  hello->set_epoch(kEpoch);
  v1::HeldEpoch* held = hello->add_held_epochs();
  held->set_epoch(kEpoch);
  held->set_first_sequence(1);
  ASSERT_OK(session->Handle(request));
  BatchWriter writer;
  const uint32_t machine = writer.Machine(other);
  const uint32_t disk = writer.Counterset(DiskRegistration());
  writer.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
  v1::BatchContent content = writer.TakeContent();
  content.add_blocks()->add_queries()->set_query(99);  // not defined
  content.mutable_blocks(0)->add_perf_time_100nsec(1);
  content.mutable_blocks(0)->add_perf_time_stamp(1);
  content.mutable_blocks(0)->add_perf_freq(1);
  v1::CollectRequest batch;
  *batch.mutable_batch() = MakeSealedBatch(kEpoch, 1, content);
  EXPECT_THAT(session->Handle(batch),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is not defined")));
  session->Close();
}

TEST_F(SessionTest, ForgetsDisconnectedAgents) {
  constexpr size_t kAgents = 10'000;
  for (size_t i = 0; i < kAgents; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        ComeAndGo(ingest_.get(), absl::StrCat("agent-", i)));
  }
  // Their state is retained for a while, in case they reconnect.
  EXPECT_EQ(ingest_->sizes(),
            (KnownAgents::Sizes{.agents = kAgents,
                                .owned_countersets = kAgents,
                                .lost_dictionaries = kAgents}));
  clock_.Advance(absl::Hours(24));
  ComeAndGo(ingest_.get(), "web-1");
  EXPECT_EQ(ingest_->sizes(),
            (KnownAgents::Sizes{
                .agents = 1, .owned_countersets = 1, .lost_dictionaries = 1}));
}

}  // namespace
}  // namespace fleetperf::aggregator
