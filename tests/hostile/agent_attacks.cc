#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "tests/e2e/fake_agent.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/message_fuzzer.h"

namespace fleetperf::testing {
namespace {

// Sends what `next` returns, which gets the number of messages sent before on
// the stream, on one stream after the other.
void FloodStreams(const Target& target, const Stop& stop,
                  const v1::Hello& hello,
                  const std::function<v1::CollectRequest(uint64_t)>& next) {
  while (!stop()) {
    FakeAgent agent(target.address, target.agent, hello);
    uint64_t sent = 0;
    while (!stop() && agent.Send(next(sent))) ++sent;
  }
}

// Definitions of an epoch, again and again.
void SendDictionaries(const Target& target, const Stop& stop) {
  uint32_t id = 1000;
  FloodStreams(target, stop, MakeHello(target.name, kEpoch, 1, 0),
               [&](uint64_t) {
                 v1::CollectRequest request;
                 v1::Dictionary& dictionary = *request.mutable_dictionary();
                 dictionary.set_epoch(kEpoch);
                 dictionary.set_more(true);
                 for (int i = 0; i < 2000; ++i) {
                   v1::InstanceDefinition& instance =
                       *dictionary.mutable_definitions()->add_instances();
                   instance.set_id(++id);
                   instance.set_machine(1);
                   instance.set_counterset(2);
                   instance.set_name(absl::StrCat(std::string(200, 'x'), id));
                 }
                 return request;
               });
}

// A new catalogue on each stream.
void SendCatalogues(const Target& target, const Stop& stop) {
  for (int number = 0; !stop(); ++number) {
    v1::CatalogueContent content;
    for (int i = 0; i < 100; ++i) {
      v1::CountersetRegistration& registration = *content.add_countersets();
      registration.set_name(absl::StrCat("Set ", number, " ", i));
      registration.set_help(std::string(20'000, 'h'));
    }
    const std::string payload = content.SerializeAsString();
    v1::Hello hello = MakeHello(target.name, kEpoch, 1, 0);
    hello.set_catalogue_hash(Sha256(payload));
    FakeAgent agent(target.address, target.agent, hello);
    v1::CollectRequest request;
    request.mutable_catalogue()->set_payload(payload);
    request.mutable_catalogue()->set_content_size(
        static_cast<uint32_t>(payload.size()));
    agent.Send(request);
  }
}

// A thousand new epochs on each stream.
void AnnounceEpochs(const Target& target, const Stop& stop) {
  uint64_t epoch = uint64_t{1} << 40;
  while (!stop()) {
    v1::Hello hello = MakeHello(target.name, ++epoch, 1, 0);
    for (int i = 1; i < 1000; ++i) {
      hello.add_held_epochs()->set_epoch(++epoch);
    }
    FakeAgent agent(target.address, target.agent, hello);
    agent.Receive();
  }
}

// The largest messages that gRPC accepts.
void SendHugeHellos(const Target& target, const Stop& stop) {
  v1::Hello hello = MakeHello(target.name, kEpoch, 1, 0);
  (*hello.mutable_labels())["label"] = std::string(15 << 20, 'x');
  while (!stop()) {
    FakeAgent agent(target.address, target.agent, hello);
    agent.Receive();
  }
}

// Batches of a kilobyte that inflate to 12 MB and are wrong at their end.
void SendInflatingBatches(const Target& target, const Stop& stop) {
  const auto make = [&](uint64_t sequence) {
    v1::CollectRequest request =
        MakeNumberBatch(target.name, kEpoch, sequence, int64_t{1} << 57);
    EditContent(
        [](v1::BatchContent& content) {
          auto& column =
              *content.mutable_blocks(0)->mutable_queries(0)->mutable_columns(
                  0);
          for (int i = 0; i < 12 << 20; ++i) column.add_differences(0);
        },
        &request);
    v1::Batch& batch = *request.mutable_batch();
    batch.set_content_size(static_cast<uint32_t>(batch.payload().size()));
    std::string compressed;
    ZstdCompress(batch.payload(), &compressed);
    batch.set_payload(compressed);
    batch.set_fingerprint(Fingerprint(batch.payload()));
    batch.set_compression(v1::COMPRESSION_ZSTD);
    return request;
  };
  const v1::CollectRequest first = make(1);
  v1::CollectRequest later = make(2);
  while (!stop()) {
    FakeAgent agent(target.address, target.agent,
                    MakeHello(target.name, kEpoch, 1, 0));
    uint64_t next = 1;
    while (!stop()) {
      later.mutable_batch()->set_sequence(next);
      if (!agent.Send(next == 1 ? first : later)) break;
      ++next;
    }
  }
}

// One certificate in many spellings, each with a stream.
void SpellNames(const Target& target, const Stop& stop) {
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (unsigned spelling = 0; !stop(); ++spelling) {
    std::string name = target.name;
    for (size_t i = 0; i < name.size(); ++i) {
      if ((spelling >> i & 1) != 0) name[i] = absl::ascii_toupper(name[i]);
    }
    agents.push_back(std::make_unique<FakeAgent>(
        target.address, target.agent, MakeHello(name, kEpoch, 1, 0)));
    agents.back()->Send(MakeNumberBatch(name, kEpoch, 1, int64_t{1} << 57));
    if (agents.size() > 16) agents.erase(agents.begin());
  }
}

// Batches that are rejected.
void SendMalformedBatches(const Target& target, const Stop& stop) {
  FloodStreams(
      target, stop, MakeHello(target.name, kEpoch, 1, 0), [&](uint64_t sent) {
        v1::CollectRequest request =
            MakeNumberBatch(target.name, kEpoch, sent + 1, int64_t{1} << 57);
        if (sent > 0) {
          request.mutable_batch()->set_payload("\xff\xff\xff");
          request.mutable_batch()->set_fingerprint(
              Fingerprint(request.batch().payload()));
        }
        return request;
      });
}

}  // namespace

std::vector<Attack> AgentAttacks() {
  return {{"dictionaries", SendDictionaries},
          {"catalogues", SendCatalogues},
          {"epochs", AnnounceEpochs},
          {"Hellos of 15 MB", SendHugeHellos},
          {"batches that inflate", SendInflatingBatches},
          {"malformed batches", SendMalformedBatches},
          {"names in many spellings", SpellNames},
          {"changed messages", FuzzMessages}};
}

}  // namespace fleetperf::testing
