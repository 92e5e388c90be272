// The stores of several aggregators, asked over TLS.

#include "aggregator/peers/fleet_view.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/description.h"
#include "aggregator/peers/peer_calls.h"
#include "aggregator/peers/peers.h"
#include "aggregator/peers/sample_answer.h"
#include "base/certificates.h"
#include "base/credentials.h"
#include "base/files.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "base/tls_identity.h"
#include "fleetperf/v1/peer.grpc.pb.h"
#include "tests/support/disk_agent.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using testing::TestStore;

// Answers for a store whose machines all have the same time.
class StoreOfPeer : public v1::PeerService::Service {
 public:
  StoreOfPeer(Store* store, absl::Time now) : store_(*store), now_(now) {}

  grpc::Status Describe(
      grpc::ServerContext*, const v1::DescribeRequest* request,
      grpc::ServerWriter<v1::DescribeResponse>* writer) override {
    const auto description = DescribeStore(
        store_, [this](const std::string&) { return now_; }, *request,
        /*is_cancelled=*/nullptr);
    if (!description.ok()) return RpcFromStatus(description.status());
    return RpcFromStatus(
        SendDescription(*description, [&](const auto& response) {
          writer->Write(response);
          return absl::OkStatus();
        }));
  }

  grpc::Status ReadSamples(
      grpc::ServerContext*, const v1::ReadSamplesRequest* request,
      grpc::ServerWriter<v1::ReadSamplesResponse>* writer) override {
    return RpcFromStatus(AnswerReadSamples(store_, store_, *request,
                                           /*is_cancelled=*/nullptr,
                                           [&](const auto& response) {
                                             writer->Write(response);
                                             return absl::OkStatus();
                                           }));
  }

 private:
  Store& store_;
  const absl::Time now_;
};

// A store after a restart, whose newest samples are unknown.
class WithoutNewestSample : public testing::StoreWrapper {
 public:
  explicit WithoutNewestSample(Store* store) : StoreWrapper(store) {
    const Directory& known = store->directory();
    for (const std::string& machine : known.Machines()) {
      Directory::Entry entry = *known.Describe(machine);
      entry.newest_sample.reset();
      directory_.Add(machine, std::move(entry));
    }
  }

  const Directory& directory() const override { return directory_; }

 private:
  Directory directory_;
};

class FleetViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Time not_after = absl::Now() + absl::Hours(24);
    ASSERT_OK_AND_ASSIGN(const auto authority,
                         MakeAuthority("test", not_after));
    ASSERT_OK_AND_ASSIGN(const auto pair,
                         IssueCertificate(authority, {.role = Role::kAggregator,
                                                      .names = {"127.0.0.1"},
                                                      .not_after = not_after}));
    files_ = {.authority = directory_.File("authority.pem"),
              .certificate = directory_.File("peer.pem"),
              .key = directory_.File("peer.key")};
    ASSERT_OK(WriteFile(files_.authority, authority.certificate));
    ASSERT_OK(WriteFile(files_.certificate, pair.certificate));
    ASSERT_OK(WriteFile(files_.key, pair.key, FileAccess::kOwnerOnly));
    ASSERT_OK_AND_ASSIGN(identity_,
                         TlsIdentity::Load(files_, Role::kAggregator));
  }

  void TearDown() override {
    for (const auto& server : servers_) server->Shutdown();
  }

  void AddPeer(Store* store, absl::Time now) {
    const auto credentials = ServerCredentials(files_);
    ASSERT_OK(credentials);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
    builder.RegisterService(&services_.emplace_back(store, now));
    servers_.push_back(builder.BuildAndStart());
    ASSERT_NE(servers_.back(), nullptr);
    peers_.push_back(std::make_shared<PeerChannel>(
        absl::StrCat("127.0.0.1:", port), identity_));
  }

  // Returns a view of the own store and all peers.
  std::unique_ptr<FleetView> MakeView(absl::Time now) {
    auto view =
        FleetView::Make({.own = *own_,
                         .own_samples = *own_,
                         .now_of = [now](const std::string&) { return now; },
                         .peers = peers_},
                        v1::DescribeRequest(), /*paths=*/{});
    EXPECT_OK(view);
    EXPECT_TRUE((*view)->unreachable().empty());
    return *std::move(view);
  }

  // Commits samples of web-1 from `first` to `last` seconds.
  static absl::Status Send(TestStore* store, int first, int last) {
    DiskAgent agent(store);
    RETURN_IF_ERROR(agent.Connect());
    agent.Ticks(first, last, {{agent.Disk("C:"), 3}});
    return agent.Send();
  }

  static absl::StatusOr<std::vector<SeriesResult>> Query(ReadableStore& store) {
    return testing::CollectRangeQuery(
        {.paths = {"\\\\web-1\\Disk(*)\\*"},
         .start = At(0),
         .end = At(29),
         .step = absl::Seconds(10)},
        {.store = store, .now_of = [](const std::string&) { return At(29); }});
  }

  testing::TempDirectory directory_;
  TlsFiles files_;
  std::shared_ptr<const TlsIdentity> identity_;
  TestStore own_;
  std::deque<StoreOfPeer> services_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  Peers::List peers_;
};

TEST_F(FleetViewTest, JoinsTheSamplesOfAMachineThatMoved) {
  TestStore all;
  TestStore second;
  TestStore third;
  DiskAgent other(&second, "db-1");  // takes the first number of an epoch
  other.Ticks(0, 1, {{other.Disk("C:"), 1}});
  ASSERT_OK(other.Send());
  ASSERT_OK(Send(&all, 0, 29));
  ASSERT_OK(Send(&own_, 0, 9));
  ASSERT_OK(Send(&second, 5, 19));
  ASSERT_OK(Send(&third, 20, 29));
  AddPeer(&*second, At(29));
  AddPeer(&*third, At(29));
  const auto view = MakeView(At(29));
  EXPECT_EQ(view->HolderOf("web-1"), peers_[1].get());
  ASSERT_OK_AND_ASSIGN(const auto expected, Query(*all));
  ASSERT_OK_AND_ASSIGN(const auto joined, Query(*view));
  ASSERT_EQ(joined.size(), expected.size());
  for (size_t i = 0; i < joined.size(); ++i) {
    EXPECT_EQ(joined[i].series.path(), expected[i].series.path());
    ASSERT_EQ(joined[i].points.size(), expected[i].points.size());
    for (size_t j = 0; j < joined[i].points.size(); ++j) {
      const Point& point = joined[i].points[j];
      EXPECT_EQ(point.value.result.value,
                expected[i].points[j].value.result.value);
      EXPECT_EQ(point.value.coverage, expected[i].points[j].value.coverage);
    }
  }
}

// The clock was two days ahead while the agent was at the peer.
TEST_F(FleetViewTest, PrefersTheStoreThatTheMachineIsConnectedTo) {
  constexpr int kTwoDays = 2 * 24 * 3600;
  TestStore before;
  ASSERT_OK(Send(&before, kTwoDays, kTwoDays + 9));
  ASSERT_OK(Send(&own_, 20, 29));
  AddPeer(&*before, At(31));
  const auto view = MakeView(At(29));
  EXPECT_EQ(view->HolderOf("web-1"), nullptr);
  EXPECT_EQ(view->NowOf("web-1"), At(29));
  EXPECT_EQ(view->directory().NewestSample("web-1"), At(29));
}

TEST_F(FleetViewTest, ReadsStoresWhoseNewestSampleIsUnknown) {
  TestStore before;
  ASSERT_OK(Send(&before, 0, 9));
  WithoutNewestSample restarted(&*before);
  AddPeer(&restarted, At(29));
  ASSERT_OK_AND_ASSIGN(const auto results, Query(*MakeView(At(29))));
  ASSERT_EQ(results.size(), 2);
  EXPECT_FALSE(results[0].points.empty());
}

// At a limit of processes.
TEST_F(FleetViewTest, AsksAllPeersIfNoThreadStarts) {
  ASSERT_OK(Send(&own_, 0, 9));
  TestStore other;
  for (int i = 0; i < 2; ++i) {
    AddPeer(&*other, At(29));
    servers_.back()->Shutdown();  // it would need threads, too
  }
  const testing::NoNewThreads no_new_threads;
  ASSERT_OK_AND_ASSIGN(
      const auto view,
      FleetView::Make({.own = *own_,
                       .own_samples = *own_,
                       .now_of = [](const std::string&) { return At(29); },
                       .peers = peers_},
                      v1::DescribeRequest(), /*paths=*/{}));
  EXPECT_EQ(view->HolderOf("web-1"), nullptr);
  ASSERT_EQ(view->unreachable().size(), 2);
  EXPECT_EQ(view->unreachable()[1].address(), peers_[1]->address());
  const auto lists = ListMachinesOfPeers(/*parent=*/nullptr, peers_, {});
  ASSERT_EQ(lists.size(), 2);
  EXPECT_EQ(lists[1].address, peers_[1]->address());
  EXPECT_EQ(lists[1].page.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fleetperf::aggregator
