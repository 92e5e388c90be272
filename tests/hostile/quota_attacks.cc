// Attacks that take more of something than a certificate may have: decoded
// elements, connections, memory for values that are not read.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/subscriber.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/http2_connection.h"

namespace fleetperf::testing {
namespace {

constexpr size_t kContentBytes = 15'700'000;

// Returns a field of protobuf's wire format.
std::string WireField(char tag, const std::string& bytes) {
  std::string field(1, tag);
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) {
    field.push_back(static_cast<char>(0x80 | (size & 0x7F)));
  }
  field.push_back(static_cast<char>(size));
  return field + bytes;
}

std::string Fill(const std::string& element, size_t bytes) {
  std::string all;
  all.reserve(bytes);
  while (all.size() < bytes) all += element;
  return all;
}

// Returns batches of elements of two bytes or less, one of each kind. Each is
// sent as some hundred bytes.
std::vector<v1::CollectRequest> TinyElements() {
  const std::string parts = Fill(WireField(0x22, ""), kContentBytes);
  std::vector<v1::CollectRequest> requests;
  for (const std::string& content :
       {WireField(0x1A, std::string(kContentBytes, 1)),  // retired instances
        Fill(WireField(0x12, ""), kContentBytes),        // blocks
        WireField(0x12, parts),                          // queries
        WireField(0x0A, parts),                          // instances
        parts,                                           // losses
        // As many as are allowed.
        WireField(0x1A, std::string(1'000'000, 1)),
        WireField(0x0A, Fill(WireField(0x22, ""), 400'000))}) {
    v1::Batch& batch = *requests.emplace_back().mutable_batch();
    batch.set_epoch(kEpoch);
    ZstdCompress(content, batch.mutable_payload());
    batch.set_compression(v1::COMPRESSION_ZSTD);
    batch.set_content_size(static_cast<uint32_t>(content.size()));
    batch.set_fingerprint(Fingerprint(batch.payload()));
  }
  return requests;
}

void SendTinyElements(const Target& target, const Stop& stop) {
  std::vector<v1::CollectRequest> requests = TinyElements();
  while (!stop()) {
    FakeAgent agent(target.address, target.agent,
                    MakeHello(target.name, kEpoch, 1, 0));
    for (uint64_t sequence = 1; !stop(); ++sequence) {
      v1::CollectRequest& request = requests[sequence % requests.size()];
      request.mutable_batch()->set_sequence(sequence);
      if (!agent.Send(request)) break;
    }
  }
}

// Dictionaries of instances of two bytes, which gRPC's messages may have eight
// million of.
void SendTinyDefinitions(const Target& target, const Stop& stop) {
  v1::CollectRequest request;
  v1::Dictionary& dictionary = *request.mutable_dictionary();
  dictionary.set_epoch(kEpoch);
  dictionary.set_more(true);
  dictionary.mutable_definitions()->ParseFromString(
      Fill(WireField(0x22, ""), 3'900'000));
  while (!stop()) {
    FakeAgent agent(target.address, target.agent,
                    MakeHello(target.name, kEpoch, 1, 0));
    while (!stop() && agent.Send(request)) {
    }
  }
}

// Holds as many connections as it can get.
void HoldConnections(const Target& target, const Stop& stop) {
  constexpr size_t kWanted = 1500;
  std::vector<std::unique_ptr<Http2Connection>> open;
  for (size_t tried = 0; tried < kWanted && !stop(); ++tried) {
    open.push_back(
        std::make_unique<Http2Connection>(target.port, target.agent));
  }
  while (!stop()) {
    std::erase_if(open, [&](const auto& connection) {
      return stop() || !connection->ReadAndAcknowledge();
    });
  }
}

// A tick of 5,000 instances.
v1::CollectRequest MakeWideBatch(const std::string& agent, uint64_t sequence,
                                 absl::Time start) {
  constexpr uint32_t kInstances = 5000;
  constexpr uint32_t kFirstId = 100;
  v1::CollectRequest request = MakeNumberBatch(
      agent, kEpoch, sequence, perflib::PerfTime100NSecFromTime(start));
  EditContent(
      [&](v1::BatchContent& content) {
        if (sequence == 1) {
          v1::CountersetRegistration& registration =
              *content.mutable_definitions()
                   ->mutable_countersets(0)
                   ->mutable_registration();
          registration.set_name("Wide");
          registration.mutable_guid()->back() = 2;
          registration.set_instance_type(2);
          const v1::InstanceDefinition one = content.definitions().instances(0);
          for (uint32_t i = 0; i < kInstances; ++i) {
            v1::InstanceDefinition& more =
                *content.mutable_definitions()->add_instances();
            more = one;
            more.set_id(kFirstId + i);
            more.set_name(absl::StrCat("instance ", i));
          }
        }
        v1::QueryColumns& query =
            *content.mutable_blocks(0)->mutable_queries(0);
        query.clear_instances();
        query.mutable_columns(0)->clear_first();
        for (uint32_t i = 0; i < kInstances; ++i) {
          query.add_instances(i == 0 ? kFirstId : 1);
          query.mutable_columns(0)->add_first(sequence + i);
        }
      },
      &request);
  return request;
}

// Subscriptions to all series of an agent of the attacker, which are never
// read.
void SubscribeWithoutReading(const Target& target, const Stop& stop) {
  constexpr size_t kSubscriptions = 500;
  const absl::Time start = absl::Now() - absl::Seconds(1);
  v1::SubscribeRequest request;
  request.add_paths(absl::StrCat("\\\\", target.name, "\\Wide(*)\\Number"));
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  FakeAgent agent(target.address, target.agent,
                  MakeHello(target.name, kEpoch, 1, 0));
  for (uint64_t sequence = 1; !stop(); ++sequence) {
    if (!agent.Send(MakeWideBatch(target.name, sequence, start)) ||
        !agent.ReceiveAck(sequence)) {
      return;
    }
    for (int i = 0; i < 50 && subscribers.size() < kSubscriptions; ++i) {
      subscribers.push_back(
          std::make_unique<Subscriber>(target.address, target.reader, request));
    }
  }
}

}  // namespace

std::vector<Attack> QuotaAttacks() {
  return {{"elements of two bytes", SendTinyElements},
          {"tiny definitions", SendTinyDefinitions},
          {"connections", HoldConnections},
          {"unread subscriptions", SubscribeWithoutReading}};
}

}  // namespace fleetperf::testing
