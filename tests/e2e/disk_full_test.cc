// Tests of a full and of a read-only disk. With a full one, the aggregator
// accepts no new samples, but continues to answer queries, until the disk has
// space again.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/store.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/tls/credentials.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/small_disk.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using grpc::health::v1::HealthCheckResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kDiskSize = 300 * kMiB;

bool may_mount = false;

v1::CollectRequest Batch(uint64_t sequence) {
  return MakeNumberBatch("box", kEpoch, sequence,
                         perflib::PerfTime100NSecFromTime(kStart));
}

// Asks the aggregator's health service.
HealthCheckResponse::ServingStatus Health(const Deployment& deployment,
                                          const TlsFiles& tls,
                                          const std::string& service = "") {
  const auto credentials = ClientCredentials(tls);
  EXPECT_OK(credentials);
  if (!credentials.ok()) return HealthCheckResponse::UNKNOWN;
  const auto stub = grpc::health::v1::Health::NewStub(
      MakeChannel(deployment.address(), *credentials));
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kPatience));
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

TEST(DiskFull, PausesIngestUntilDiskHasSpace) {
  if (!may_mount) GTEST_SKIP() << "this process may not mount file systems";
  Deployment deployment;
  std::filesystem::create_directory(deployment.File("store"));
  SmallDisk disk(deployment.File("store"), kDiskSize);
  auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const TlsFiles probe = deployment.Issue("reader", {"probe"});
  {
    FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 9));
    ASSERT_TRUE(agent.Receive().has_value());
    agent.Send(Batch(1));
    ASSERT_TRUE(agent.ReceiveAck(1));
    EXPECT_EQ(Health(deployment, probe), HealthCheckResponse::SERVING);
    uint64_t sent = 1;
    int pauses = 0;
    // First only the space reserved for maintenance is left, then none.
    for (const uint64_t left : {32 * kMiB, uint64_t{0}}) {
      disk.Fill(left);
      agent.Send(Batch(++sent));
      agent.Send(Batch(++sent));
      ASSERT_TRUE(aggregator->WaitForError(
          "not accepting samples until the disk has space: ", ++pauses));
      EXPECT_THAT(aggregator->error(),
                  HasSubstr(" MiB are free in " + deployment.File("store")));
      EXPECT_EQ(StoredNumbers(deployment, kStart).size(), sent - 2);
      EXPECT_EQ(Health(deployment, probe), HealthCheckResponse::NOT_SERVING);
      EXPECT_EQ(Health(deployment, probe, "live"),
                HealthCheckResponse::SERVING);
      disk.Free();
      ASSERT_TRUE(agent.ReceiveAck(sent));
      EXPECT_EQ(Health(deployment, probe), HealthCheckResponse::SERVING);
      ASSERT_TRUE(aggregator->WaitForError(
          "the disk has space: accepting samples again", pauses));
    }
  }
  EXPECT_THAT(StoredNumbers(deployment, kStart), ElementsAre(1, 2, 3, 4, 5));
  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  aggregator = deployment.StartAggregator();
  EXPECT_THAT(StoredNumbers(deployment, kStart), ElementsAre(1, 2, 3, 4, 5));
  aggregator.reset();
}

TEST(DiskFull, StoreAcceptsWritesAgain) {
  if (!may_mount) GTEST_SKIP() << "this process may not mount file systems";
  const TempDirectory directory;
  const TempDirectory elsewhere;
  SmallDisk disk(directory.path(), kDiskSize);
  const std::string path = directory.File("store");
  auto store = aggregator::OpenRocksDbStore(path);
  ASSERT_OK(store);
  // Incompressible. Before RocksDB 9 writes files, it gives back the rest of
  // the 70 MiB that it has reserved for the log. The files must need more than
  // that.
  std::string content(4 * kMiB, '\0');
  std::mt19937 random(1);
  for (char& byte : content) byte = static_cast<char>(random());
  int kept = 0;
  const auto hash = [](int number) {
    return std::string(32, static_cast<char>('0' + number));
  };
  // Opening the store removes catalogues without a machine.
  for (int i = 0; i < 20; ++i) {
    v1::Machine machine;
    machine.set_name(absl::StrCat("web-", i));
    ASSERT_OK((*store)->PutMachine({machine, hash(i)}));
  }
  const auto put = [&] {
    const absl::Status status = (*store)->PutCatalogue(hash(kept), content);
    kept += status.ok();
    return status;
  };
  const auto is_full =
      StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_);
  for (int i = 0; i < 10; ++i) ASSERT_OK(put());
  ASSERT_OK((*store)->CheckRoom());
  // First space for maintenance is left, but not for what agents send; then
  // none at all.
  disk.Fill(/*left=*/40 * kMiB);
  EXPECT_THAT((*store)->CheckRoom(), is_full);
  EXPECT_THAT(put(), is_full);
  disk.Fill(/*left=*/18 * kMiB);
  EXPECT_THAT(put(), is_full);
  // RocksDB refuses all writes after one of its own has failed. A backup fails
  // in this way, because it first flushes memory to files.
  disk.Fill(/*left=*/0);
  EXPECT_THAT(
      (*store)->Backup(elsewhere.File("backup"),
                       [](uint64_t, uint64_t) { return absl::OkStatus(); }),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("No space left")));
  EXPECT_THAT((*store)->CheckRoom(), is_full);
  EXPECT_THAT(put(), is_full);
  EXPECT_EQ((*store)->GetCatalogue(hash(0)).value().size(), content.size());

  disk.Free();
  ASSERT_OK((*store)->CheckRoom());
  const absl::Time deadline = absl::Now() + kPatience;
  absl::Status status;
  do {
    status = put();
  } while (absl::IsResourceExhausted(status) && absl::Now() < deadline);
  ASSERT_OK(status);
  store->reset();
  store = aggregator::OpenRocksDbStore(path);
  ASSERT_OK(store);
  EXPECT_EQ(kept, 11);
  for (int i = 0; i < kept; ++i) {
    EXPECT_TRUE((*store)->HasCatalogue(hash(i))) << i;
  }
  store->reset();
}

// `verify` needs no right to write, and still notices a running aggregator.
TEST(ReadOnlyDisk, IsVerified) {
  if (!may_mount) GTEST_SKIP() << "this process may not mount file systems";
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  {
    FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 9));
    ASSERT_TRUE(agent.Receive().has_value());
    agent.Send(Batch(1));
    ASSERT_TRUE(agent.ReceiveAck(1));
  }
  const ReadOnlyMount disk(deployment.File("store"), deployment.File("mount"));
  const auto verify = [&] {
    return RunCommand({Deployment::Executable("fleetperf-aggregator"), "verify",
                       disk.path(), "--config",
                       deployment.File("aggregator.yaml")});
  };
  const Result refused = verify();
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("another process has it open"));
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);
  const Result verified = verify();
  EXPECT_EQ(verified.status, 0) << verified.error;
  EXPECT_THAT(verified.output, HasSubstr("batches in the log"));
}

}  // namespace
}  // namespace fleetperf::testing

int main(int argc, char** argv) {
  fleetperf::testing::may_mount = fleetperf::testing::EnterMountNamespace();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
