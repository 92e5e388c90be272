// Lists beyond the limit of a message, requested by the command line and by
// clients without support for pages.

#include "aggregator/services/fleet_service.h"

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
#include "aggregator/cli/commands.h"
#include "aggregator/cli/connection.h"
#include "aggregator/cli/output.h"
#include "aggregator/ingest/ingest.h"
#include "base/channel.h"
#include "base/credentials.h"
#include "base/files.h"
#include "base/sha256.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
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
    const auto connection =
        cli::Connection::Open({.aggregator = absl::StrCat("127.0.0.1:", port),
                               .tls = Issue(Role::kReader)});
    ASSERT_OK(connection);
    connection_ = std::make_unique<cli::Connection>(*connection);
    stub_ = v1::FleetService::NewStub(connection_->channel());
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
    ASSERT_OK(store_->PutMachine(record, Sha256(content)));
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
  WorkSlots slots_{{}};
  const Peers peers_{{}, nullptr};
  const ReadScopes scopes_{&*store_, &fleet_,
                           [](const std::string&) { return absl::Now(); },
                           &peers_};
  std::unique_ptr<grpc::Service> service_ =
      MakeFleetService(FleetLists(&scopes_, &own_machines_, &slots_));
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<cli::Connection> connection_;
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
    ASSERT_OK(store_->PutMachine(machine, ""));
  }
  EXPECT_EQ(CountLines([&] {
              return cli::ListMachines(*connection_, cli::Format::kJson, {},
                                       /*verbose=*/false);
            }),
            kMachines);
  EXPECT_EQ(CountLines([&] {
              return cli::ListMachines(*connection_, cli::Format::kJson,
                                       {.machine = "web-99*"},
                                       /*verbose=*/true);
            }),
            111);
  // The request of earlier versions, which follow the tokens.
  size_t listed = 0;
  ListMachines({}, [&](const v1::ListMachinesResponse& response) {
    EXPECT_LT(response.ByteSizeLong(), size_t{kMaxMessageBytes} / 2);
    listed += static_cast<size_t>(response.machines_size());
  });
  EXPECT_EQ(listed, kMachines);
}

// Earlier versions did not limit labels.
TEST_F(FleetServiceTest, ListsAMachineThatWasStoredWithSixteenMiBOfLabels) {
  v1::Machine machine;
  for (const std::string name : {"web-1", "web-2", "web-3"}) {
    machine.set_name(name);
    machine.set_agent(name);
    ASSERT_OK(store_->PutMachine(machine, ""));
    (*machine.mutable_labels())["large"] = std::string(16 << 20, 'x');
    machine.set_operating_system(std::string(1 << 20, 'y'));
  }
  EXPECT_EQ(CountLines([&] {
              return cli::ListMachines(*connection_, cli::Format::kJson, {},
                                       /*verbose=*/false);
            }),
            3);
}

TEST_F(FleetServiceTest, ListsTheLabelsThatSelectMachines) {
  v1::Machine stored;
  stored.set_name("web-1");
  stored.set_agent("web-1");
  (*stored.mutable_labels())["role"] = "web";
  (*stored.mutable_labels())["owner"] = "bob";
  ASSERT_OK(store_->PutMachine(stored, ""));
  v1::Machine remote;
  remote.set_name("sql-1");
  remote.set_agent("web-1");
  ASSERT_OK(store_->PutMachine(remote, ""));
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
      ASSERT_OK(store_->PutMachine(machine, ""));
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
              return cli::ListCountersets(*connection_, cli::Format::kJson, {});
            }),
            kCountersets);
  // A client without support for pages gets the part that fits.
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
              return cli::ListCounters(*connection_, cli::Format::kJson, "Many",
                                       {});
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
    ASSERT_OK(store_->PutMachine(record, ""));
  }
  EXPECT_EQ(CountLines([&] {
              return cli::ListInstances(*connection_, cli::Format::kJson,
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
  const FleetLists lists(&scopes_, &own_machines_, &slots_);
  v1::ListInstancesRequest request;
  request.set_counterset("Disk");
  v1::ListInstancesResponse response;
  const testing::NoNewThreads no_new_threads;
  ASSERT_OK(lists.ListInstances(request, {.key = "reader"}, &response));
  ASSERT_EQ(response.instances_size(), 1);
  EXPECT_EQ(response.instances(0).name(), "C:");
}

}  // namespace
}  // namespace fleetperf::aggregator
