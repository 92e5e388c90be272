#include "tests/support/test_store.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/ingest/epoch.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::testing {

using aggregator::Frame;
using aggregator::ReceivedBatch;

void TestStore::Open() {
  auto store = aggregator::OpenRocksDbStore(directory_.path(), &Clock::Real(),
                                            max_recent_bytes_);
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  store_ = *std::move(store);
}

void TestStore::Reopen() {
  Close();
  Open();
}

void TestStore::Close() {
  epochs_.clear();
  store_.reset();
}

absl::Status TestStore::Compact(absl::Time idle_since) {
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, store_->Compact(idle_since));
  }
  return absl::OkStatus();
}

absl::Status TestStore::Thin(aggregator::Resolution resolution,
                             absl::Time received_before) {
  RETURN_IF_ERROR(Compact(received_before));
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, store_->Thin(resolution, received_before));
  }
  return absl::OkStatus();
}

aggregator::StoredEpoch& TestStore::Epoch(const std::string& agent,
                                          uint64_t epoch) {
  const auto [entry, is_new] = epochs_.try_emplace({agent, epoch});
  if (is_new) {
    auto opened = store_->OpenEpoch(agent, epoch, {});
    if (!opened.ok()) throw std::runtime_error(opened.status().ToString());
    entry->second = *std::move(opened);
  }
  return entry->second;
}

std::vector<std::string> ToText(const Frame& frame) {
  std::vector<std::string> ticks;
  for (size_t run = 0; run < frame.runs.size(); ++run) {
    const Frame::Run& of_instance = frame.runs[run];
    for (uint32_t tick = 0; tick < of_instance.tick_count; ++tick) {
      const absl::Time time = perflib::TimeFromPerfTime100NSec(
          (*frame.clocks)[of_instance.first_tick + tick].perf_time_100nsec);
      std::string& text = ticks.emplace_back(
          absl::StrFormat("%g %s", absl::ToDoubleSeconds(time - kStart),
                          of_instance.instance->name));
      for (size_t i = 0; i < frame.columns.size(); ++i) {
        if (frame.query->columns[i].role != aggregator::ColumnRole::kRaw) {
          continue;
        }
        const aggregator::FrameColumn& column = frame.columns[i];
        const bool missing = column.IsMissing(of_instance.begin + tick);
        absl::StrAppend(
            &text, " ",
            missing ? "-" : absl::StrCat(frame.Value(column, run, tick)));
      }
    }
  }
  return ticks;
}

std::vector<std::string> TestStore::Read(const std::string& machine,
                                         absl::Time from, absl::Time to) {
  std::vector<std::string> all;
  const absl::Status status = store_->Read(
      {.machine = machine, .from = from, .to = to, .filter = {}},
      [&](const Frame& frame) {
        for (std::string& tick : ToText(frame)) all.push_back(std::move(tick));
        return absl::OkStatus();
      },
      [](const aggregator::Loss&) {});
  if (!status.ok()) all.push_back(status.ToString());
  return all;
}

std::vector<std::string> TestStore::ReadLosses(const std::string& machine) {
  std::vector<std::string> losses;
  const absl::Status status = store_->Read(
      {.machine = machine,
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {}},
      [](const Frame&) { return absl::OkStatus(); },
      [&](const aggregator::Loss& loss) {
        losses.push_back(
            absl::StrFormat("%s %g..%g", NameOf(loss.cause),
                            absl::ToDoubleSeconds(loss.start - kStart),
                            absl::ToDoubleSeconds(loss.end - kStart)));
      });
  if (!status.ok()) losses.push_back(status.ToString());
  return losses;
}

absl::StatusOr<std::shared_ptr<const ReceivedBatch>> TestAgent::TakeBatch(
    absl::Time received) {
  const v1::BatchContent content = TakeContent();
  aggregator::Dictionary& dictionary = *store_.Epoch(name_, epoch_).dictionary;
  auto batch = std::make_shared<ReceivedBatch>();
  if (epoch_of_batches_ == nullptr) {
    epoch_of_batches_ = std::make_shared<aggregator::Epoch>(
        name_, epoch_,
        aggregator::StoredEpoch{.number = store_.Epoch(name_, epoch_).number});
  }
  batch->epoch = epoch_of_batches_;
  batch->sequence = next_sequence++;
  batch->received = received;
  batch->batch = MakeBatch(epoch_, batch->sequence, content);
  batch->fingerprint = Fingerprint(batch->batch.payload());
  if (content.has_definitions()) {
    batch->definitions =
        std::make_unique<v1::Definitions>(content.definitions());
    RETURN_IF_ERROR(dictionary.Apply(content.definitions()));
  }
  ASSIGN_OR_RETURN(batch->decoded, Decode(content, &dictionary));
  for (const uint32_t instance : content.retired_instances()) {
    dictionary.Retire(instance);
  }
  return std::shared_ptr<const ReceivedBatch>(std::move(batch));
}

absl::Status TestAgent::Connect(const std::string& certificate) {
  v1::Machine machine;
  machine.set_name(name_);
  machine.set_agent(name_);
  return store_->PutMachine({.machine = machine, .certificate = certificate});
}

absl::Status TestAgent::Keep(const ReceivedBatch& batch) {
  const aggregator::BatchToCommit to_commit{
      .epoch_number = store_.Epoch(name_, epoch_).number,
      .sequence = batch.sequence,
      .agent = name_,
      .fingerprint = batch.fingerprint,
      .received = batch.received,
      .batch = &batch.batch,
      .definitions = batch.definitions.get(),
      .decoded = &batch.decoded};
  return store_->Commit({to_commit});
}

absl::Status TestAgent::Send(absl::Time received) {
  ASSIGN_OR_RETURN(const auto batch, TakeBatch(received));
  return Keep(*batch);
}

}  // namespace fleetperf::testing
