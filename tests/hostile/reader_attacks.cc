#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "tests/e2e/subscriber.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/http2_connection.h"

namespace fleetperf::testing {
namespace {

// Asks for an expression until it is time to stop.
void AskFor(const Target& target, const Stop& stop, const std::string& path) {
  const auto stub = v1::QueryService::NewStub(
      MakeChannel(target.address, *ClientCredentials(target.reader)));
  v1::QueryRangeRequest request;
  request.add_paths(path);
  while (!stop()) {
    grpc::ClientContext context;
    context.set_deadline(RpcDeadline(absl::Seconds(2)));
    const auto reader = stub->QueryRange(&context, request);
    v1::QueryRangeResponse response;
    while (reader->Read(&response)) {
    }
    reader->Finish();
  }
}

std::string Repeated(const std::string& text, size_t bytes) {
  std::string repeated;
  while (repeated.size() < bytes) repeated += text;
  return repeated;
}

void AskForLongExpressions(const Target& target, const Stop& stop) {
  AskFor(target, stop,
         Repeated("\\Numbers\\Number + ", 1 << 20) + "\\Numbers\\Number");
}

void AskForParentheses(const Target& target, const Stop& stop) {
  AskFor(target, stop, Repeated("(", 1 << 20));
}

void SubscribeToManyPaths(const Target& target, const Stop& stop) {
  v1::SubscribeRequest request;
  for (int i = 0; i < 400'000; ++i) {
    request.add_paths(absl::StrCat("\\Numbers\\N", i));
  }
  while (!stop()) {
    Subscriber subscriber(target.address, target.reader, request);
    subscriber.Read();
  }
}

void SubscribeOften(const Target& target, const Stop& stop) {
  v1::SubscribeRequest request;
  request.add_paths("\\Numbers\\Number");
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  while (!stop()) {
    if (subscribers.size() > 2000) continue;
    subscribers.push_back(
        std::make_unique<Subscriber>(target.address, target.reader, request));
  }
}

// Calls of gRPC's reflection service, which wait for requests that never come.
void NeverFinish(const Target& target, const Stop& stop) {
  constexpr char kReflect[] =
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  constexpr size_t kConnections = 4;
  constexpr uint32_t kStreams = 128;
  std::vector<std::unique_ptr<Http2Connection>> connections;
  while (!stop()) {
    std::erase_if(connections,
                  [](auto& one) { return !one->ReadAndAcknowledge(); });
    if (connections.size() == kConnections) continue;
    auto connection =
        std::make_unique<Http2Connection>(target.port, target.reader);
    for (uint32_t i = 0; i < kStreams; ++i) {
      connection->Send(CallFrame(2 * i + 1, kReflect));
    }
    connections.push_back(std::move(connection));
  }
}

}  // namespace

std::vector<Attack> ReaderAttacks() {
  return {{"long expressions", AskForLongExpressions},
          {"parentheses", AskForParentheses},
          {"400,000 paths", SubscribeToManyPaths},
          {"2,000 subscriptions", SubscribeOften},
          {"calls without an end", NeverFinish}};
}

}  // namespace fleetperf::testing
