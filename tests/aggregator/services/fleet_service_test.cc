// Lists beyond the limit of a message, requested by the command line and by
// clients that name no page size.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/services/fleet_lists.h"
#include "aggregator/services/services.h"
#include "base/os/files.h"
#include "base/rpc/channel.h"
#include "base/sha256.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "cli/aggregators.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TestStore;

const absl::Time kNotAfter = absl::Now() + absl::Hours(1);

class UnwatchedObserver : public BatchObserver {
 public:
  void OnBatch(std::shared_ptr<const ReceivedBatch> /*batch*/) override {}
  bool IsWatched(const std::string& /*machine*/) override { return false; }
};

class FleetServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(authority_, MakeAuthority("test", kNotAfter));
    ASSERT_OK(
        WriteFile(directory_.File("authority.pem"), authority_.certificate));
    grpc::ServerBuilder builder;
    int port = 0;
    ASSERT_OK_AND_ASSIGN(const auto credentials,
                         ServerCredentials(Issue(Role::kAggregator)));
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    const auto aggregators = cli::Aggregators::Open(
        {.aggregators = {absl::StrCat("127.0.0.1:", port)},
         .tls = Issue(Role::kReader)});
    ASSERT_OK(aggregators);
    aggregators_ = std::make_unique<cli::Aggregators>(*aggregators);
    stub_ =
        v1::FleetService::NewStub(aggregators_->reached().front().channel());
  }

  void TearDown() override { server_->Shutdown(); }

  TlsFiles Issue(Role role) {
    const std::string stem = directory_.File(std::string(RoleName(role)));
    const auto pair = IssueCertificate(
        authority_,
        {.role = role, .names = {"127.0.0.1"}, .not_after = kNotAfter});
    EXPECT_OK(pair);
    EXPECT_OK(WriteFile(stem + ".pem", pair->certificate));
    EXPECT_OK(WriteFile(stem + ".key", pair->key, FileAccess::kOwnerOnly));
    return {.authority = directory_.File("authority.pem"),
            .certificate = stem + ".pem",
            .key = stem + ".key"};
  }

  // Returns the number of distinct JSON lines that the command prints.
  template <typename Command>
  size_t CountLines(const Command& command) {
    ::testing::internal::CaptureStdout();
    EXPECT_OK(command());
    const std::string output = ::testing::internal::GetCapturedStdout();
    const std::vector<absl::string_view> lines =
        absl::StrSplit(output, '\n', absl::SkipEmpty());
    const std::set<absl::string_view> different(lines.begin(), lines.end());
    EXPECT_EQ(different.size(), lines.size());
    return different.size();
  }

  // Calls `use` with each page of machines.
  template <typename Use>
  void ListMachines(v1::ListMachinesRequest request, const Use& use) {
    do {
      grpc::ClientContext context;
      v1::ListMachinesResponse response;
      const grpc::Status status =
          stub_->ListMachines(&context, request, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      use(response);
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
  }

  // Adds a machine with these countersets in its catalogue.
  void PutCatalogue(const std::string& machine,
                    const v1::CatalogueContent& catalogue) {
    const std::string content = catalogue.SerializeAsString();
    v1::Machine record;
    record.set_name(machine);
    ASSERT_OK(store_->PutMachine({record, Sha256(content)}));
    ASSERT_OK(store_->PutCatalogue(Sha256(content), content));
  }

  const testing::TempDirectory directory_;
  KeyPair authority_;
  TestStore store_;
  Fleet fleet_{&*store_};
  UnwatchedObserver observer_;
  Planner planner_{std::vector<PlanEntry>()};
  Ingest ingest_{&*store_, &observer_, &planner_, {}};
  ExpectedMachines expected_{&ingest_};
  OwnMachines own_machines_{&*store_, &ingest_, &expected_};
  CallerQuota quota_;
  const ReadScope scope_{*store_, fleet_,
                         [](const std::string&) { return absl::Now(); }};
  std::unique_ptr<grpc::Service> service_ =
      MakeFleetService(FleetLists(&scope_, &own_machines_, &quota_));
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<cli::Aggregators> aggregators_;
  std::unique_ptr<v1::FleetService::Stub> stub_;
};

// The maximum of Hello: 64 labels, 8 KiB.
void AddMostLabels(v1::Machine* machine) {
  for (int i = 0; i < kMaxLabels; ++i) {
    const std::string name = absl::StrCat("label-", i);
    (*machine->mutable_labels())[name] =
        std::string(kMaxLabelBytes / kMaxLabels - name.size(), 'x');
  }
}

TEST_F(FleetServiceTest, ListsAFleetWithTheMaximumOfLabels) {
  constexpr size_t kMachines = 10'000;
  for (size_t i = 0; i < kMachines; ++i) {
    v1::Machine machine;
    machine.set_name(absl::StrCat("web-", i));
    machine.set_agent(machine.name());
    AddMostLabels(&machine);
    ASSERT_OK(store_->PutMachine({machine}));
  }
  EXPECT_EQ(CountLines([&] {
              return cli::ListMachines(*aggregators_, cli::Format::kJson, {},
                                       /*verbose=*/false);
            }),
            kMachines);
  EXPECT_EQ(CountLines([&] {
              return cli::ListMachines(*aggregators_, cli::Format::kJson,
                                       {.machine = "web-99*"},
                                       /*verbose=*/true);
            }),
            111);
  // A request without a page size.
  size_t listed = 0;
  ListMachines({}, [&](const v1::ListMachinesResponse& response) {
    EXPECT_LT(response.ByteSizeLong(), size_t{kMaxMessageBytes} / 2);
    listed += static_cast<size_t>(response.machines_size());
  });
  EXPECT_EQ(listed, kMachines);
}

TEST_F(FleetServiceTest, ListsTheLabelsThatSelectMachines) {
  v1::Machine stored;
  stored.set_name("web-1");
  stored.set_agent("web-1");
  (*stored.mutable_labels())["role"] = "web";
  (*stored.mutable_labels())["owner"] = "bob";
  ASSERT_OK(store_->PutMachine({stored}));
  v1::Machine remote;
  remote.set_name("sql-1");
  remote.set_agent("web-1");
  ASSERT_OK(store_->PutMachine({remote}));
  expected_.Set({"web-2"});
  store_->SetLabelRules(LabelRules(
      {{.machines = {perflib::Pattern("web-*")},
        .labels = {{"role", "canary"}, {"owner", ""}}},
       {.machines = {perflib::Pattern("sql-1")}, .labels = {{"site", "b"}}}}));
  std::vector<std::string> listed;
  v1::ListMachinesRequest request;
  (*request.mutable_labels())["role"] = "can*";
  ListMachines(request, [&](const v1::ListMachinesResponse& response) {
    for (const v1::Machine& machine : response.machines()) {
      std::string& text = listed.emplace_back(machine.name());
      for (const auto& [name, value] :
           std::map(machine.labels().begin(), machine.labels().end())) {
        absl::StrAppend(&text, " ", name, "=", value);
      }
    }
  });
  EXPECT_THAT(listed,
              ::testing::ElementsAre("sql-1 role=canary site=b",
                                     "web-1 role=canary", "web-2 role=canary"));
}

// Some expected machines have connected, others have not.
TEST_F(FleetServiceTest, ListsExpectedMachinesInOrder) {
  constexpr int kConnected = 250;  // more than the service reads at a time
  const auto name_of = [](int i) { return absl::StrCat("m", 1000 + i); };
  ExpectedMachines::Names expected;
  for (int i = 0; i < 2 * kConnected; ++i) {
    v1::Machine machine;
    machine.set_name(name_of(i));
    if (i % 2 == 0) {
      ASSERT_OK(store_->PutMachine({machine}));
    }
    if (i % 3 == 0) expected.insert(machine.name());
  }
  expected_.Set(expected);
  v1::ListMachinesRequest request;
  request.set_page_size(7);
  int next = 0;
  ListMachines(request, [&](const v1::ListMachinesResponse& response) {
    for (const v1::Machine& machine : response.machines()) {
      while (next % 2 != 0 && next % 3 != 0) ++next;
      EXPECT_EQ(machine.name(), name_of(next));
      EXPECT_EQ(machine.expected(), next % 3 == 0) << machine.name();
      ++next;
    }
  });
  EXPECT_EQ(next, 2 * kConnected - 1);  // 499 is neither
}

TEST_F(FleetServiceTest, ListsCountersetsInPages) {
  constexpr size_t kCountersets = 3000;
  v1::CatalogueContent catalogue;
  for (uint32_t i = 0; i < kCountersets; ++i) {
    perflib::CountersetRegistration registration = {
        .guid = {.data1 = i},
        // Several countersets share a name.
        .name = absl::StrCat("Set ", i / 7),
        .help = std::string(8000, 'h'),
        .counters = {{.counter_id = 1, .name = "Counter"}}};
    *catalogue.add_countersets() = ToProto(registration);
  }
  PutCatalogue("web-1", catalogue);
  EXPECT_EQ(CountLines([&] {
              return cli::ListCountersets(*aggregators_, cli::Format::kJson,
                                          {});
            }),
            kCountersets);
  // A request without a page size gets the part that fits.
  grpc::ClientContext context;
  v1::ListCountersetsResponse response;
  const grpc::Status status = stub_->ListCountersets(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(response.countersets_size(), 1000);
  EXPECT_LT(size_t(response.countersets_size()), kCountersets);
}

TEST_F(FleetServiceTest, ListsCountersInPages) {
  perflib::CountersetRegistration registration = {.guid = {.data1 = 7},
                                                  .name = "Many"};
  for (uint32_t i = 0; i < kMaxCounters; ++i) {
    registration.counters.push_back(
        {.counter_id = i,
         .type = perflib::kPerfCounterRawcount,
         .name = absl::StrCat("Counter ", i),
         // One help text exceeds a message.
         .help = std::string(i == 0 ? 17 << 20 : 8000, 'h')});
  }
  v1::CatalogueContent catalogue;
  *catalogue.add_countersets() = ToProto(registration);
  PutCatalogue("web-1", catalogue);
  EXPECT_EQ(CountLines([&] {
              return cli::ListCounters(*aggregators_, cli::Format::kJson,
                                       "Many", {});
            }),
            kMaxCounters);
}

TEST_F(FleetServiceTest, ListsInstancesInPages) {
  constexpr size_t kInstances = 20'000;
  testing::TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query = agent.Query(machine, disk, absl::Seconds(1),
                                     {{testing::kQueueLength, 4}});
  std::vector<testing::BatchWriter::Row> tick;
  for (size_t i = 0; i < kInstances; ++i) {
    tick.push_back(
        {agent.Instance(machine, disk, absl::StrCat(i, std::string(1000, 'x'))),
         {i}});
  }
  agent.AddTick(query, ClocksAt(1), tick);
  ASSERT_OK(agent.Send());
  v1::Machine record;
  for (const std::string name : {"web-0", "web-1", "web-2"}) {
    record.set_name(name);
    ASSERT_OK(store_->PutMachine({record}));
  }
  EXPECT_EQ(CountLines([&] {
              return cli::ListInstances(*aggregators_, cli::Format::kJson,
                                        "Disk", {});
            }),
            kInstances);
  grpc::ClientContext context;
  v1::ListInstancesRequest request;
  request.set_counterset("Disk");
  v1::ListInstancesResponse response;
  const grpc::Status status =
      stub_->ListInstances(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(response.instances_size(), 1000);
}

// At a limit of processes.
TEST_F(FleetServiceTest, ListsInstancesIfNoThreadStarts) {
  testing::DiskAgent agent(&store_);
  agent.Ticks(1, 1, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const FleetLists lists(&scope_, &own_machines_, &quota_);
  v1::ListInstancesRequest request;
  request.set_counterset("Disk");
  v1::ListInstancesResponse response;
  const testing::NoNewThreads no_new_threads;
  ASSERT_OK(lists.ListInstances(request, {.key = "reader"}, &response));
  ASSERT_EQ(response.instances_size(), 1);
  EXPECT_EQ(response.instances(0).name(), "C:");
}

class FindTest : public FleetServiceTest {
 protected:
  void SetUp() override {
    FleetServiceTest::SetUp();
    testing::DiskAgent web(&store_);
    web.Ticks(1, 1, {{web.Disk("nginx:7"), 3}, {web.Disk("nginx:9"), 3}});
    ASSERT_OK(web.Send());
    testing::DiskAgent db(&store_, "db-1", 2);
    db.Ticks(1, 1, {{db.Disk("sda#1"), 3}, {db.Disk("postgres:5"), 3}});
    ASSERT_OK(db.Send());
    for (const std::string name : {"db-1", "web-1"}) {
      v1::Machine machine;
      machine.set_name(name);
      machine.set_agent(name);
      (*machine.mutable_labels())["role"] = name == "db-1" ? "sql" : "shop";
      ASSERT_OK(store_->PutMachine({machine}));
    }
    v1::CatalogueContent catalogue;
    *catalogue.add_countersets() = ToProto(Processor());
    *catalogue.add_countersets() =
        ToProto({.guid = {.data1 = 2},
                 .name = "IO",
                 .counters = {{.counter_id = 1,
                               .type = perflib::kPerfCounterRawcount,
                               .name = "Transfers"}}});
    PutCatalogue("offers", catalogue);
  }

  static perflib::CountersetRegistration Processor() {
    return {.guid = {.data1 = 1},
            .name = "Processor Information",
            .instance_type = perflib::kCountersetMultipleInstances,
            .counters = {{.counter_id = 1,
                          .type = perflib::kPerfCounterRawcount,
                          .name = "% User Time",
                          .help = "Time in programs. Queue Length."},
                         {.counter_id = 2,
                          .type = perflib::kPerfCounterRawcount,
                          .name = "% Processor Time"}}};
  }

  // Returns the paths that words find.
  std::vector<std::string> Find(const std::string& words,
                                v1::FindRequest request = {}) {
    request.set_words(words);
    grpc::ClientContext context;
    answer_.Clear();
    const grpc::Status status = stub_->Find(&context, request, &answer_);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> paths;
    for (const auto& found : answer_.found()) paths.push_back(found.path());
    return paths;
  }

  v1::FindResponse answer_;
};

TEST_F(FindTest, FindsCountersByEverydayWords) {
  EXPECT_THAT(Find("cpu usage"),
              ElementsAre("\\Processor Information(*)\\% Processor Time",
                          "\\Processor Information(*)\\% User Time"));
  EXPECT_FALSE(answer_.found(0).collected());
  EXPECT_EQ(answer_.found(0).kind(), v1::FindResponse::KIND_COUNTER);
  // A name comes before a help text.
  EXPECT_THAT(Find("queue length"),
              ElementsAre("\\Disk(*)\\Queue Length",
                          "\\Processor Information(*)\\% User Time"));
  EXPECT_TRUE(answer_.found(0).collected());
  // Of names, collected ones come first, although the other one is shorter.
  EXPECT_THAT(Find("transfers"),
              ElementsAre("\\Disk(*)\\Transfers/sec", "\\IO\\Transfers"));
}

TEST_F(FindTest, FindsInstancesAndMachines) {
  EXPECT_THAT(Find("nginx"), ElementsAre("\\Disk(nginx:*)\\*"));
  EXPECT_EQ(answer_.found(0).help(), "Disk, 2 instances, web-1");
  EXPECT_EQ(answer_.found(0).kind(), v1::FindResponse::KIND_INSTANCE);
  EXPECT_THAT(Find("postgres"), ElementsAre("\\Disk(postgres:5)\\*"));
  EXPECT_THAT(Find("sda"), ElementsAre("\\Disk(sda[#]1)\\*"));
  EXPECT_THAT(Find("web"), ElementsAre("\\\\web-1"));
  EXPECT_THAT(Find("sql"), ElementsAre("\\\\db-1"));
  EXPECT_EQ(answer_.found(0).help(), "role=sql");
  EXPECT_THAT(Find("postgers"), ElementsAre("\\Disk(postgres:5)\\*"));
  EXPECT_EQ(answer_.corrected_words(), "postgres");
}

TEST_F(FindTest, LimitsMachinesAndResults) {
  v1::FindRequest request;
  request.set_machine("web-*");
  EXPECT_THAT(Find("queue", request),
              ElementsAre("\\\\web-*\\Disk(*)\\Queue Length"));
  EXPECT_THAT(Find("postgres", request), IsEmpty());
  request.Clear();
  request.set_max_results(1);
  EXPECT_THAT(Find("time", request), ElementsAre("\\Disk(*)\\Up Time"));
  EXPECT_EQ(answer_.left_out(), 3);
}

TEST_F(FindTest, FindsInstancesOfACounterset) {
  v1::FindRequest request;
  request.set_counterset("disk");
  EXPECT_THAT(Find("nginx", request),
              ElementsAre("\\Disk(nginx:7)\\*", "\\Disk(nginx:9)\\*"));
  EXPECT_EQ(Find("", request).size(), 4);
  request.set_counterset("nothing");
  grpc::ClientContext context;
  EXPECT_EQ(stub_->Find(&context, request, &answer_).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(FindTest, RejectsTooFewAndTooManyWords) {
  for (const std::string& words : {std::string(" "), std::string(300, 'x')}) {
    v1::FindRequest request;
    request.set_words(words);
    grpc::ClientContext context;
    EXPECT_EQ(stub_->Find(&context, request, &answer_).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(FindTest, IsACommand) {
  ::testing::internal::CaptureStdout();
  EXPECT_OK(
      cli::Find(*aggregators_, cli::Format::kTable, {"cpu", "usage"}, {}, 20));
  EXPECT_THAT(
      ::testing::internal::GetCapturedStdout(),
      AllOf(StartsWith("PATH "),
            HasSubstr("\n\\Processor Information(*)\\% Processor Time "),
            HasSubstr(" counter "), HasSubstr(" no "),
            HasSubstr("Time in programs.")));
  const absl::Status none =
      cli::Find(*aggregators_, cli::Format::kTable, {"xyzzy"}, {}, 20);
  EXPECT_TRUE(cli::IsMissing(none));
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("nothing matches 'xyzzy'"));
}

}  // namespace
}  // namespace fleetperf::aggregator
