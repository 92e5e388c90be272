// A store in a directory of its own, and agents that write to it without a
// wire in between.

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
  TestStore() { Open(); }

  aggregator::Store& operator*() { return *store_; }
  aggregator::Store* operator->() { return store_.get(); }
  const std::string& path() const { return directory_.path(); }

  // As a restart of the aggregator does.
  void Reopen();
  void Close();
  void Open();

  // Moves all that can be moved.
  absl::Status Compact(absl::Time idle_since = absl::InfiniteFuture());

  // Moves and thins all that was received before.
  absl::Status Thin(aggregator::Resolution resolution,
                    absl::Time received_before = absl::InfiniteFuture());

  // Opened once, until Reopen.
  aggregator::StoredEpoch& Epoch(const std::string& agent, uint64_t epoch);
  // Nobody has it open any more.
  void CloseEpoch(const std::string& agent, uint64_t epoch) {
    epochs_.erase({agent, epoch});
  }

  // The samples of a machine, as they come: "10 C: 5 -" is, 10 s after the
  // start, instance C: with values 5 and none.
  std::vector<std::string> Read(const std::string& machine,
                                absl::Time from = absl::InfinitePast(),
                                absl::Time to = absl::InfiniteFuture());
  // Its losses: "spool_full 3..5".
  std::vector<std::string> ReadLosses(const std::string& machine);

 private:
  TempDirectory directory_;
  std::unique_ptr<aggregator::Store> store_;
  std::map<std::pair<std::string, uint64_t>, aggregator::StoredEpoch> epochs_;
};

// The ticks of frames, as TestStore::Read tells them.
std::vector<std::string> ToText(const aggregator::Frame& frame);

// An agent process.
class TestAgent : public BatchWriter {
 public:
  TestAgent(TestStore* store, std::string name, uint64_t epoch = 1)
      : store_(*store), name_(std::move(name)), epoch_(epoch) {}

  // Enters the machine of its name into the fleet, as Hello does.
  absl::Status Connect();

  // A batch of everything since the last call, as ingest hands it on.
  absl::StatusOr<std::shared_ptr<const aggregator::ReceivedBatch>> TakeBatch(
      absl::Time received = kStart);
  absl::Status Keep(const aggregator::ReceivedBatch& batch);

  // TakeBatch and Keep.
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
