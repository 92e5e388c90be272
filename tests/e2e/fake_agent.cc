#include "tests/e2e/fake_agent.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/sha256.h"
#include "base/text/units.h"
#include "fleetperf/v1/collection.grpc.pb.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"
#include "perflib/guid.h"

namespace fleetperf::testing {
namespace {

constexpr uint32_t kMachineId = 1;
constexpr uint32_t kCountersetId = 2;
constexpr uint32_t kQueryId = 3;
constexpr uint32_t kInstanceId = 4;
constexpr uint32_t kCounterId = 7;

void AddDefinitions(const std::string& machine, v1::Definitions* definitions) {
  v1::MachineDefinition* machine_definition = definitions->add_machines();
  machine_definition->set_id(kMachineId);
  machine_definition->set_name(machine);
  v1::CountersetDefinition* counterset = definitions->add_countersets();
  counterset->set_id(kCountersetId);
  v1::CountersetRegistration* registration = counterset->mutable_registration();
  registration->set_guid(
      perflib::ParseGuid("{0e2e0e2e-0000-4000-8000-000000000001}")->Bytes());
  registration->set_name("Numbers");
  v1::CounterRegistration* counter = registration->add_counters();
  counter->set_counter_id(kCounterId);
  counter->set_type(perflib::kPerfCounterLargeRawcount);
  counter->set_name("Number");
  v1::QueryDefinition* query = definitions->add_queries();
  query->set_id(kQueryId);
  query->set_machine(kMachineId);
  query->set_counterset(kCountersetId);
  query->mutable_interval()->set_seconds(1);
  v1::ColumnDefinition* column = query->add_columns();
  column->set_counter_id(kCounterId);
  column->set_value_size(8);
  v1::InstanceDefinition* instance = definitions->add_instances();
  instance->set_id(kInstanceId);
  instance->set_machine(kMachineId);
  instance->set_counterset(kCountersetId);
}

void SetContent(const v1::BatchContent& content, v1::Batch* batch) {
  batch->set_payload(content.SerializeAsString());
  batch->set_content_size(static_cast<uint32_t>(batch->payload().size()));
  batch->set_fingerprint(Fingerprint(batch->payload()));
}

}  // namespace

struct FakeAgent::Stream {
  std::string address;
  std::unique_ptr<v1::CollectionService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::CollectRequest, v1::CollectResponse>>
      messages;
};

FakeAgent::FakeAgent(const std::string& address, const TlsFiles& tls,
                     const v1::Hello& hello)
    : stream_(std::make_unique<Stream>()) {
  const auto credentials = ClientCredentials(tls);
  stream_->address = address;
  stream_->stub =
      v1::CollectionService::NewStub(MakeChannel(address, *credentials));
  stream_->messages = stream_->stub->Collect(&stream_->context);
  v1::CollectRequest request;
  *request.mutable_hello() = hello;
  stream_->messages->Write(request);
}

FakeAgent::~FakeAgent() {
  if (stream_->messages != nullptr) Finish().IgnoreError();
}

bool FakeAgent::Send(const v1::CollectRequest& request) {
  return stream_->messages->Write(request);
}

std::optional<v1::CollectResponse> FakeAgent::Receive() {
  v1::CollectResponse response;
  if (!stream_->messages->Read(&response)) return std::nullopt;
  return response;
}

bool FakeAgent::ReceiveAck(uint64_t sequence) {
  for (uint64_t acknowledged = 0; acknowledged < sequence;) {
    const auto response = Receive();
    if (!response.has_value()) return false;
    if (response->has_ack()) acknowledged = response->ack().sequence();
  }
  return true;
}

absl::Status FakeAgent::Finish() {
  stream_->messages->WritesDone();
  v1::CollectResponse rest;
  while (stream_->messages->Read(&rest)) {
  }
  const grpc::Status status = stream_->messages->Finish();
  stream_->messages.reset();
  return StatusFromRpc(status, stream_->address);
}

v1::Hello MakeHello(const std::string& agent, uint64_t epoch, uint64_t first,
                    uint64_t last) {
  v1::Hello hello;
  hello.set_agent(agent);
  hello.set_epoch(epoch);
  v1::HeldEpoch* held = hello.add_held_epochs();
  held->set_epoch(epoch);
  held->set_first_sequence(first);
  held->set_last_sequence(last);
  return hello;
}

v1::CollectRequest MakeNumberBatch(const std::string& machine, uint64_t epoch,
                                   uint64_t sequence, int64_t start_100nsec) {
  v1::BatchContent content;
  if (sequence == 1) AddDefinitions(machine, content.mutable_definitions());
  v1::BlockColumns* block = content.add_blocks();
  const int64_t offset =
      static_cast<int64_t>(sequence) * perflib::kLinuxPerfFreq;
  block->add_perf_time_100nsec(start_100nsec + offset);
  block->add_perf_time_stamp(offset);
  block->add_perf_freq(perflib::kLinuxPerfFreq);
  v1::QueryColumns* query = block->add_queries();
  query->set_query(kQueryId);
  query->add_instances(kInstanceId);
  query->add_columns()->add_first(sequence);

  v1::CollectRequest request;
  v1::Batch* batch = request.mutable_batch();
  batch->set_epoch(epoch);
  batch->set_sequence(sequence);
  batch->set_compression(v1::COMPRESSION_NONE);
  SetContent(content, batch);
  return request;
}

void DeliverNumbers(FakeAgent& agent, uint64_t first, uint64_t last) {
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    ASSERT_TRUE(agent.Send(MakeNumberBatch(
        "box", kEpoch, sequence, perflib::PerfTime100NSecFromTime(kStart))));
    ASSERT_TRUE(agent.ReceiveAck(sequence));
  }
}

std::vector<double> StoredNumbers(const Deployment& deployment,
                                  absl::Time start) {
  std::vector<double> numbers;
  for (const auto& line : deployment.Json(
           {"query", "\\Numbers\\Number", "--from", FormatUtc(start), "--to",
            FormatUtc(start + absl::Seconds(1000)), "--step", "1s"})) {
    if (line["status"] == "ok") numbers.push_back(line["value"].get<double>());
  }
  return numbers;
}

void EditContent(const std::function<void(v1::BatchContent&)>& edit,
                 v1::CollectRequest* batch) {
  v1::BatchContent content;
  content.ParseFromString(batch->batch().payload());
  edit(content);
  SetContent(content, batch->mutable_batch());
}

}  // namespace fleetperf::testing
