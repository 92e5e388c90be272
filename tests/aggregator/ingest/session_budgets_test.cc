// Tests of the budgets that all agents with one certificate share.

#include "aggregator/ingest/certificate_budgets.h"
#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

using enum absl::StatusCode;
using Cost = CertificateBudgets::Cost;

constexpr absl::Duration kNoPause;

class SessionBudgetsTest : public SessionTest {
 protected:
  // Opens a stream with a certificate of these names.
  std::shared_ptr<Session> ConnectAs(std::vector<std::string> names) {
    link_ = std::make_shared<Link>();
    return std::make_shared<Session>(
        ingest_.get(),
        PeerIdentity{.names = std::move(names), .role = Role::kAgent}, "box:1",
        link_);
  }
  // Expects that the stream of another certificate works and is not paused.
  void ExpectOthersWork() {
    const auto other = ConnectAs({"web-2"});
    v1::CollectRequest hello = Hello();
    hello.mutable_hello()->set_agent("web-2");
    EXPECT_OK(other->Handle(hello));
    EXPECT_EQ(other->Pause(), kNoPause);
    other->Close();
  }
  // Returns a kilobyte that inflates to 12 MiB and is no batch.
  v1::CollectRequest InflatingBatch() {
    const std::string content(12 << 20, '\xFF');
    v1::CollectRequest request;
    v1::Batch& batch = *request.mutable_batch();
    batch.set_epoch(kEpoch);
    batch.set_sequence(++sequence_);
    ZstdCompress(content, batch.mutable_payload());
    batch.set_compression(v1::COMPRESSION_ZSTD);
    batch.set_content_size(content.size());
    batch.set_fingerprint(Fingerprint(batch.payload()));
    return request;
  }
  // Returns the reasons of the pauses that the agent was asked for.
  std::vector<std::string> Reasons() {
    std::vector<std::string> reasons;
    for (const v1::CollectResponse& response : link_->Take()) {
      if (response.has_throttle()) {
        reasons.push_back(response.throttle().reason());
      }
    }
    return reasons;
  }
};

TEST_F(SessionBudgetsTest, ChargesARejectionItsInflatedBytes) {
  Welcomed();
  int rejected = 0;
  for (; session_->Pause() == kNoPause && rejected < 100; ++rejected) {
    ASSERT_OK(Handle(InflatingBatch()));
  }
  EXPECT_LE(rejected, 5);
  EXPECT_THAT(Reasons(), ElementsAre(HasSubstr("(max_work_per_second)")));
  EXPECT_THAT(ingest_->FindConnection("web-1")->limits_broken,
              ElementsAre(Pair("max_work_per_second", 1)));
  // In the long run, a batch of 22 ms is read every two seconds at most.
  absl::Duration paused;
  for (int i = 0; i < 10; ++i) {
    paused += session_->Pause();
    clock_.Advance(session_->Pause());
    ASSERT_OK(Handle(InflatingBatch()));
  }
  EXPECT_GE(paused, absl::Seconds(17));
  AwaitCommits();
  ExpectOthersWork();
}

TEST_F(SessionBudgetsTest, AllNamesOfACertificateShareItsBudgets) {
  Welcomed();
  while (session_->Pause() == kNoPause) ASSERT_OK(Handle(InflatingBatch()));
  AwaitCommits();
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_agent("db1");
  // The order and the case of the names do not matter.
  const auto same = ConnectAs({"DB1", "db3", "web-1"});
  EXPECT_GT(same->Pause(), kNoPause);
  EXPECT_THAT(same->CheckBudgets(),
              StatusIs(kResourceExhausted, HasSubstr("try again")));
  // A stream without a Hello holds nothing. The error says when to try again.
  EXPECT_THAT(
      same->Handle(hello),
      StatusIs(kResourceExhausted, AllOf(HasSubstr("(max_work_per_second)"),
                                         HasSubstr("try again in "))));
  ExpectOthersWork();
  clock_.Advance(same->Pause());
  EXPECT_OK(same->Handle(hello));
  same->Close();
}

TEST_F(SessionBudgetsTest, RefusesALongFirstMessage) {
  v1::CollectRequest hello = Hello();
  (*hello.mutable_hello()->mutable_labels())["rack"] =
      std::string(15 << 20, 'x');
  const std::string message = hello.SerializeAsString();
  EXPECT_THAT(Connect()->HandleSerialized(message),
              StatusIs(kInvalidArgument, HasSubstr("more than 1048576")));
  // Few of them exhaust the budget.
  for (int i = 0; i < 3; ++i)
    Connect()->HandleSerialized(message).IgnoreError();
  EXPECT_THAT(Connect()->Handle(Hello()),
              StatusIs(kResourceExhausted, HasSubstr("try again")));
  ExpectOthersWork();
}

TEST_F(SessionBudgetsTest, LimitsNewEpochs) {
  uint64_t epoch = 1000;
  absl::Status status;
  int hellos = 0;
  for (; status.ok() && hellos < 100; ++hellos) {
    clock_.Advance(absl::Seconds(20));  // for the work
    v1::CollectRequest hello = Hello(1, 0, ++epoch);
    for (int i = 1; i < 1000; ++i) {
      hello.mutable_hello()->add_held_epochs()->set_epoch(++epoch);
    }
    const auto session = Connect();
    status = session->Handle(hello);
    session->Close();
  }
  EXPECT_EQ(hellos, 6);
  EXPECT_THAT(status, StatusIs(kResourceExhausted,
                               HasSubstr("(max_new_epochs_per_hour)")));
  ExpectOthersWork();
}

TEST_F(SessionBudgetsTest, DoesNotCountKnownEpochsAsNew) {
  v1::CollectRequest hello = Hello();
  for (int i = 1; i < 1000; ++i) {
    hello.mutable_hello()->add_held_epochs()->set_epoch(1000 + i);
  }
  for (int i = 0; i < 20; ++i) {
    const auto session = Connect();
    ASSERT_OK(session->Handle(hello));
    AwaitCommits();
    session->Close();
    clock_.Advance(absl::Seconds(10));
  }
}

TEST_F(SessionBudgetsTest, LimitsDefinitions) {
  Welcomed();
  v1::CollectRequest request;
  v1::Dictionary& dictionary = *request.mutable_dictionary();
  dictionary.set_epoch(kEpoch);
  dictionary.set_more(true);
  for (uint32_t id = 1; id <= 50'000; ++id) {
    v1::InstanceDefinition& instance =
        *dictionary.mutable_definitions()->add_instances();
    instance.set_id(id);
    instance.set_name(std::string(300, 'x'));
  }
  const auto bytes = static_cast<double>(request.ByteSizeLong());
  double sent = 0;
  while (session_->Pause() == kNoPause && sent < 1e9) {
    ASSERT_OK(Handle(request));
    sent += bytes;
  }
  // A burst has 64 MiB, the definitions of a million instances.
  EXPECT_GT(sent, 32 << 20);
  EXPECT_LT(sent, 128 << 20);
  EXPECT_THAT(Reasons(), ElementsAre(HasSubstr("(max_work_per_second)")));
  ExpectOthersWork();
}

// Returns a field of protobuf's wire format.
std::string Field(char tag, const std::string& bytes) {
  std::string field(1, tag);
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) {
    field.push_back(static_cast<char>(0x80 | (size & 0x7F)));
  }
  field.push_back(static_cast<char>(size));
  return field + bytes;
}

std::string Repeat(const std::string& element, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += element;
  return all;
}

// The tags of v1::BatchContent.
constexpr char kDefinitionsTag = 0x0A;
constexpr char kBlocksTag = 0x12;
constexpr char kRetiredTag = 0x1A;
constexpr char kLossesTag = 0x22;
// The tags of instances in v1::Definitions, and of queries in v1::BlockColumns.
constexpr char kPartsTag = 0x22;

v1::CollectRequest BatchOf(const std::string& content, uint64_t sequence) {
  v1::CollectRequest request;
  v1::Batch& batch = *request.mutable_batch();
  batch.set_epoch(kEpoch);
  batch.set_sequence(sequence);
  ZstdCompress(content, batch.mutable_payload());
  batch.set_compression(v1::COMPRESSION_ZSTD);
  batch.set_content_size(static_cast<uint32_t>(content.size()));
  batch.set_fingerprint(Fingerprint(batch.payload()));
  return request;
}

// Elements take two bytes or less, and compress to almost nothing.
TEST_F(SessionBudgetsTest, RejectsMoreElementsThanAreAllowed) {
  Welcomed();
  const std::map<std::string, std::string> contents = {
      {"max_blocks", Repeat(Field(kBlocksTag, ""), 200'000)},
      {"max_queries", Field(kBlocksTag, Repeat(Field(kPartsTag, ""), 200'000))},
      {"max_columns",
       Field(kBlocksTag, Field(kPartsTag, Repeat(Field(0x2A, ""), 2'000'000)))},
      {"max_definitions",
       Field(kDefinitionsTag, Repeat(Field(kPartsTag, ""), 300'000))},
      {"max_losses", Repeat(Field(kLossesTag, ""), 200'000)},
      {"max_retired", Field(kRetiredTag, std::string(2'000'000, 1))}};
  for (const auto& [limit, content] : contents) {
    ASSERT_OK(Handle(BatchOf(content, ++sequence_))) << limit;
    clock_.Advance(session_->Pause());
    AwaitCommits();
    EXPECT_EQ(ingest_->FindConnection("web-1")->limits_broken[limit], 1u)
        << limit;
  }
}

// A batch of a hundred bytes may retire a million instances, which are removed
// one by one.
TEST_F(SessionBudgetsTest, ChargesRetiredInstances) {
  Welcomed();
  const std::string retired = Field(kRetiredTag, std::string(1'000'000, 1));
  absl::Duration paused;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(Handle(BatchOf(retired, ++sequence_)));
    paused += session_->Pause();
    clock_.Advance(session_->Pause());
  }
  EXPECT_GT(paused, absl::Minutes(59));  // two million an hour
  EXPECT_THAT(Reasons(), ::testing::Contains(HasSubstr("retired instances")));
  ExpectOthersWork();
}

TEST_F(SessionBudgetsTest, CountsElementsOfMessagesBeforeItParsesThem) {
  Welcomed();
  const std::string instances = Repeat(Field(kPartsTag, ""), 300'000);
  // CollectRequest.dictionary, Dictionary.definitions.
  EXPECT_THAT(
      session_->HandleSerialized(Field(0x1A, Field(0x12, instances))),
      StatusIs(kInvalidArgument, HasSubstr("definitions, more than 250000")));
  EXPECT_THAT(session_->HandleSerialized("\x0B\x0C"),  // a group
              StatusIs(kInvalidArgument, HasSubstr("not a CollectRequest")));
  EXPECT_OK(session_->HandleSerialized(
      BatchOf(Field(kLossesTag, ""), ++sequence_).SerializeAsString()));
}

TEST_F(SessionBudgetsTest, LimitsDefinitionsToAShareOfTheDisk) {
  IngestLimits limits;
  FitDefinitions(uint64_t{1} << 40, &limits);
  EXPECT_EQ(limits.max_definition_bytes_per_hour, 1 << 30);
  FitDefinitions(uint64_t{8} << 30, &limits);
  EXPECT_EQ(limits.max_definition_bytes_per_hour, 128 << 20);
  FitDefinitions(0, &limits);
  EXPECT_EQ(limits.max_definition_bytes_per_hour, 16 << 20);
}

TEST_F(SessionBudgetsTest, LimitsCatalogues) {
  absl::Status status;
  int catalogues = 0;
  for (; status.ok() && catalogues < 100; ++catalogues) {
    clock_.Advance(absl::Seconds(3));  // for the work
    v1::CatalogueContent content;
    content.add_countersets()->set_help(
        std::string(8 << 20, static_cast<char>('a' + catalogues)));
    v1::CollectRequest request;
    v1::Catalogue& catalogue = *request.mutable_catalogue();
    content.SerializeToString(catalogue.mutable_payload());
    catalogue.set_content_size(
        static_cast<uint32_t>(catalogue.payload().size()));
    catalogue.set_compression(v1::COMPRESSION_NONE);
    v1::CollectRequest hello = Hello();
    hello.mutable_hello()->set_catalogue_hash(Sha256(catalogue.payload()));
    const auto session = Connect();
    status = session->Handle(hello);
    if (status.ok()) {
      ASSERT_OK(session->Handle(request));
    }
    AwaitCommits();
    session->Close();
  }
  EXPECT_EQ(catalogues, 18);
  EXPECT_THAT(status, StatusIs(kResourceExhausted,
                               HasSubstr("(max_catalogue_bytes_per_hour)")));
  ExpectOthersWork();
}

// What honest agents do at most, see docs/design/decisions.md.
// While the disk is full, batches of one certificate must not fill the memory.
TEST_F(SessionBudgetsTest, BoundsBatchesThatAreNotStoredYet) {
  CallerQuota& quota = CallerQuota::OfProcess();
  quota.SetLimits(Pool::kBatchBytes, 2000);
  const auto held = [&] { return quota.counts(Pool::kBatchBytes).held; };
  Welcomed();
  const auto connect = [&](const std::vector<std::string>& names) {
    const auto session = ConnectAs(names);
    v1::CollectRequest hello = Hello();
    hello.mutable_hello()->set_agent(names.back());
    EXPECT_OK(session->Handle(hello));
    return session;
  };
  const auto same = connect({"web-1", "db3", "db1"});
  const auto other = connect({"web-2"});
  ASSERT_EQ(held(), 0);
  gate_->Hold();
  while (session_->HasRoom()) ASSERT_OK(session_->Handle(Batch()));
  EXPECT_GE(held(), 2000);
  EXPECT_FALSE(same->HasRoom());
  EXPECT_TRUE(other->HasRoom());
  gate_->Release();
  AwaitCommits();
  EXPECT_TRUE(session_->HasRoom());
  EXPECT_EQ(held(), 0);
  quota.SetLimits(Pool::kBatchBytes, int64_t{64} << 20);
}

TEST(CertificateBudgets, SufficeForAnHonestAgent) {
  const IngestLimits limits;
  absl::Duration now = absl::Hours(1);
  CertificateBudgets budgets(limits, now);
  // It starts with a million instances of 60 bytes, in its dictionary.
  budgets.Charge(Cost::kEpochs, 1, now);
  budgets.Charge(Cost::kDefinitions, 60e6, now);
  budgets.Charge(Cost::kWork, kParsedWork * 60e6, now);
  EXPECT_EQ(budgets.debt(now).pause, kNoPause);
  now += absl::Seconds(10);
  // It catches up for an hour: eight batches every 50 ms, a million samples a
  // second of 8 bytes each.
  for (int i = 0; i < 3600 * 20; ++i) {
    budgets.Charge(Cost::kWork, 8 * kMessageWork + 8e6 / 20, now);
    budgets.Charge(Cost::kWork, 8 * (20 * kQueryWork + 600 * kColumnWork), now);
    ASSERT_EQ(budgets.debt(now).pause, kNoPause);
    now += absl::Milliseconds(50);
  }
  // Its process restarts every minute, with 100,000 instances and 1000 epochs
  // in its spool.
  for (int i = 0; i < 100; ++i) {
    budgets.Charge(Cost::kEpochs, 1, now);
    budgets.Charge(Cost::kWork, kNewEpochWork + 1000 * kEpochWork, now);
    budgets.Charge(Cost::kDefinitions, 6e6, now);
    budgets.Charge(Cost::kWork, (1 + kParsedWork) * 6e6, now);
    ASSERT_EQ(budgets.debt(now).pause, kNoPause);
    now += absl::Minutes(1);
  }
}

TEST(BudgetTable, ForgetsFullBudgetsWithoutAStream) {
  BudgetTable table({});
  absl::Duration now = absl::Hours(1);
  const auto name = [](int i) {
    return PeerIdentity{.names = {absl::StrCat("web-", i)},
                        .role = Role::kAgent};
  };
  const auto held = table.Of(name(0), now);
  for (int i = 1; i < 100; ++i) table.Of(name(i), now);
  table.Of(name(1), now)->Charge(Cost::kEpochs, kMaxNewEpochsPerHour, now);
  EXPECT_EQ(table.size(), 100);
  now += absl::Minutes(2);
  table.Of(name(0), now);
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.Of(name(0), now), held);
  now += absl::Hours(1);
  table.Of(name(0), now);
  EXPECT_EQ(table.size(), 1);
}

TEST(BudgetTable, DistinguishesCertificatesByNamesAndRole) {
  BudgetTable table({});
  const auto budgets = table.Of({{"a", "b"}, Role::kAgent}, kNoPause);
  EXPECT_EQ(table.Of({{"B", "A"}, Role::kAgent}, kNoPause), budgets);
  EXPECT_NE(table.Of({{"a"}, Role::kAgent}, kNoPause), budgets);
  EXPECT_NE(table.Of({{"a", "b"}, Role::kReader}, kNoPause), budgets);
}

}  // namespace
}  // namespace fleetperf::aggregator
