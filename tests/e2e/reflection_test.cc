// gRPC's reflection, with which programs call an aggregator without its .proto
// files.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/tls/credentials.h"
#include "tests/e2e/deployment.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sends a ServerReflectionRequest and returns the bytes of the response.
std::string Reflect(grpc::GenericStub& stub, const std::string& request) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kPatience));
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(request);
  const auto call = stub.PrepareUnaryCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      grpc::ByteBuffer(&bytes, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  EXPECT_TRUE(status.ok()) << status.error_message();
  grpc::Slice slice;
  EXPECT_TRUE(response.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
}

TEST(Reflection, ListsTheServicesAndTheirMessages) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  grpc::GenericStub stub(
      MakeChannel(deployment.address(),
                  *ClientCredentials(deployment.Issue("reader", {"program"}))));
  EXPECT_THAT(Reflect(stub, "\x3A\x01*"),  // list_services
              AllOf(HasSubstr("fleetperf.v1.QueryService"),
                    HasSubstr("fleetperf.v1.SubscriptionService"),
                    HasSubstr("fleetperf.v1.FleetService"),
                    HasSubstr("fleetperf.v1.PlanService"),
                    HasSubstr("fleetperf.v1.AdministrationService")));
  const std::string symbol = "fleetperf.v1.QueryService";
  EXPECT_THAT(Reflect(stub, "\x22" + std::string(1, symbol.size()) + symbol),
              AllOf(HasSubstr("fleetperf/v1/query.proto"),
                    HasSubstr("QueryRangeRequest")));
}

}  // namespace
}  // namespace fleetperf::testing
