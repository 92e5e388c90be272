// A store in a temporary directory, and agents that commit to it directly,
// without gRPC.

#ifndef FLEETPERF_TESTS_SUPPORT_TEST_STORE_H_
#define FLEETPERF_TESTS_SUPPORT_TEST_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/store/store.h"
#include "tests/support/batch_writer.h"
#include "tests/support/raw_samples.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {

class TestStore {
 public:
  // `max_recent_bytes`: see OpenRocksDbStore.
  explicit TestStore(uint64_t max_recent_bytes = 0)
      : max_recent_bytes_(max_recent_bytes) {
    Open();
  }

  aggregator::Store& operator*() { return *store_; }
  aggregator::Store* operator->() { return store_.get(); }
  const std::string& path() const { return directory_.path(); }

  // Closes and opens the store, like a restart of the aggregator.
  void Reopen();
  void Close();
  void Open();

  // Compacts until no more batches can be moved into chunks.
  absl::Status Compact(absl::Time idle_since = absl::InfiniteFuture());

  // Compacts and thins all batches received before `received_before`.
  absl::Status Thin(aggregator::Resolution resolution,
                    absl::Time received_before = absl::InfiniteFuture());

  // Returns an epoch, which stays open until CloseEpoch or Close. Opens it on
  // first use.
  aggregator::StoredEpoch& Epoch(const std::string& agent, uint64_t epoch);
  // Releases the epoch.
  void CloseEpoch(const std::string& agent, uint64_t epoch) {
    epochs_.erase({agent, epoch});
  }

  // Returns the samples of a machine in the order of Store::Read. "10 C: 5 -"
  // is a sample of instance C: 10 s after kStart; its second value is missing.
  std::vector<std::string> Read(const std::string& machine,
                                absl::Time from = absl::InfinitePast(),
                                absl::Time to = absl::InfiniteFuture());
  // Returns the losses of a machine. "spool_full 3..5" is a loss from 3 s to 5
  // s after kStart.
  std::vector<std::string> ReadLosses(const std::string& machine);

 private:
  const uint64_t max_recent_bytes_;
  TempDirectory directory_;
  std::unique_ptr<aggregator::Store> store_;
  std::map<std::pair<std::string, uint64_t>, aggregator::StoredEpoch> epochs_;
};

// Returns the ticks of a frame in the format of TestStore::Read.
std::vector<std::string> ToText(const aggregator::Frame& frame);

// An agent process whose batches go to a TestStore. Thread-compatible.
class TestAgent : public BatchWriter {
 public:
  TestAgent(TestStore* store, std::string name, uint64_t epoch = 1)
      : store_(*store), name_(std::move(name)), epoch_(epoch) {}

  // Registers the agent's machine with the store, as Hello does with the key of
  // a certificate.
  absl::Status Connect(const std::string& certificate = "");

  // Returns a batch of everything added since the last call, in the form that
  // ingest passes on.
  absl::StatusOr<std::shared_ptr<const aggregator::ReceivedBatch>> TakeBatch(
      absl::Time received = kStart);
  // Commits a batch to the store.
  absl::Status Keep(const aggregator::ReceivedBatch& batch);

  // Calls TakeBatch, then Keep.
  absl::Status Send(absl::Time received = kStart);

  uint64_t next_sequence = 1;

 private:
  std::shared_ptr<aggregator::Epoch> epoch_of_batches_;
  TestStore& store_;
  const std::string name_;
  const uint64_t epoch_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_TEST_STORE_H_
