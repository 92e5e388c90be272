#include "aggregator/own/own_collection.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/samples/machine_name.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr uint32_t kValueSize = sizeof(uint64_t);
// The ids of the definitions, of which there is one of each kind.
constexpr uint32_t kMachineId = 1;
constexpr uint32_t kCountersetId = 1;
constexpr uint32_t kQueryId = 1;
constexpr uint32_t kInstanceId = 1;

}  // namespace

OwnCollection::OwnCollection(std::string machine,
                             const OwnCounterset* counterset, Ingest* ingest,
                             const Clock* clock)
    : machine_(CanonicalName(machine)),
      counterset_(*counterset),
      ingest_(*ingest),
      clock_(*clock),
      wakeup_(clock),
      thread_([this] { Run(); }) {}

OwnCollection::~OwnCollection() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    wakeup_.Notify();
  }
  thread_.join();
}

void OwnCollection::Run() {
  // Ticks that are overdue are skipped.
  for (absl::Duration due = clock_.Monotonic();;
       due = std::max(due + kInterval, clock_.Monotonic())) {
    {
      absl::MutexLock lock(&mutex_);
      wakeup_.Await(
          &mutex_, due - clock_.Monotonic(),
          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
      if (stopping_) return;
    }
    const absl::Status status = TakeTick();
    if (status.ok()) continue;
    ingest_.log().Warn("own counters",
                       absl::StrCat("cannot store the aggregator's own "
                                    "counters: ",
                                    status.message()));
  }
}

absl::Status OwnCollection::TakeTick() {
  if (epoch_ == nullptr || epoch_->broken()) RETURN_IF_ERROR(BeginEpoch());
  // The store is behind. Skipping the tick loses no counts: the counters are
  // cumulative.
  if (epoch_->received() - epoch_->durable() >=
      ingest_.limits().max_unacknowledged_batches) {
    return absl::OkStatus();
  }
  auto received = std::make_shared<ReceivedBatch>();
  received->epoch = epoch_;
  received->sequence = epoch_->received() + 1;
  received->received = clock_.Now();
  v1::Batch& batch = received->batch;
  batch.set_epoch(epoch_->id());
  batch.set_sequence(received->sequence);
  batch.set_compression(v1::COMPRESSION_NONE);
  batch.set_payload(MakeContent().SerializeAsString());
  batch.set_content_size(static_cast<uint32_t>(batch.payload().size()));
  received->fingerprint = Fingerprint(batch.payload());
  ASSIGN_OR_RETURN(const BatchContents contents,
                   ParseBatch(batch, ingest_.limits().batch));
  received->definitions = contents.definitions;
  if (contents.definitions != nullptr) {
    RETURN_IF_ERROR(epoch_->dictionary().Apply(*contents.definitions));
  }
  ASSIGN_OR_RETURN(received->decoded,
                   DecodeBatch(contents, ingest_.limits().batch,
                               /*filter=*/nullptr, &epoch_->dictionary()));
  epoch_->SetReceived(received->sequence);
  ingest_.Accept(std::move(received));
  return absl::OkStatus();
}

absl::Status OwnCollection::BeginEpoch() {
  absl::BitGen random;
  ASSIGN_OR_RETURN(epoch_, ingest_.OpenEpoch(OwnAgentName(machine_),
                                             absl::Uniform<uint64_t>(random)));
  return absl::OkStatus();
}

v1::BatchContent OwnCollection::MakeContent() {
  v1::BatchContent content;
  if (epoch_->received() == 0) {
    *content.mutable_definitions() = MakeDefinitions();
  }
  const perflib::Clocks clocks =
      perflib::LinuxClocks(clock_.Monotonic(), clock_.Now());
  v1::BlockColumns* block = content.add_blocks();
  block->add_perf_time_100nsec(clocks.perf_time_100nsec);
  block->add_perf_time_stamp(clocks.perf_time_stamp);
  block->add_perf_freq(clocks.perf_freq);
  v1::QueryColumns* query = block->add_queries();
  query->set_query(kQueryId);
  query->add_instances(kInstanceId);
  for (const std::optional<uint64_t>& value : counterset_.Read()) {
    v1::Column* column = query->add_columns();
    column->add_first(value.value_or(0));
    if (!value.has_value()) column->add_missing(0);
  }
  return content;
}

v1::Definitions OwnCollection::MakeDefinitions() const {
  v1::Definitions definitions;
  v1::MachineDefinition* machine = definitions.add_machines();
  machine->set_id(kMachineId);
  machine->set_name(machine_);
  v1::CountersetDefinition* counterset = definitions.add_countersets();
  counterset->set_id(kCountersetId);
  *counterset->mutable_registration() = ToProto(counterset_.registration());
  v1::QueryDefinition* query = definitions.add_queries();
  query->set_id(kQueryId);
  query->set_machine(kMachineId);
  query->set_counterset(kCountersetId);
  *query->mutable_interval() = ToProto(kInterval);
  for (const auto& counter : counterset_.registration().counters) {
    v1::ColumnDefinition* column = query->add_columns();
    column->set_counter_id(counter.counter_id);
    column->set_value_size(kValueSize);
  }
  v1::InstanceDefinition* instance = definitions.add_instances();
  instance->set_id(kInstanceId);
  instance->set_machine(kMachineId);
  instance->set_counterset(kCountersetId);
  return definitions;
}

}  // namespace fleetperf::aggregator
