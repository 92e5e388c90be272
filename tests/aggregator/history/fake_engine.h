// An engine in memory, with the raw series of a store. Names and labels are
// those of raw_names.h; times and halves of numbers follow
// docs/reference/prometheus-names.md.

#ifndef FLEETPERF_TESTS_AGGREGATOR_HISTORY_FAKE_ENGINE_H_
#define FLEETPERF_TESTS_AGGREGATOR_HISTORY_FAKE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/history/query_client.h"
#include "aggregator/samples/labels.h"
#include "aggregator/store/store.h"

namespace fleetperf::testing {

// Thread-compatible.
class FakeEngine : public aggregator::SampleEngine {
 public:
  // Takes samples of an agent's epoch.
  void Add(const std::string& machine, uint64_t epoch,
           const aggregator::Frame& frame);
  // Takes all samples of a machine in full resolution. Its agent has its name.
  absl::Status Export(aggregator::Store* store, const std::string& machine);

  // Answers selectors of EngineQuestion with a range. Ignores the matcher of
  // instances, as an engine may return others, too.
  absl::StatusOr<std::string> Query(const std::string& expression,
                                    absl::Time time,
                                    const aggregator::OnWait& on_wait) override;
  const std::string& name() const override { return name_; }

  // The questions so far.
  std::vector<std::string> expressions;
  // An error instead of answers.
  absl::Status failure;
  // Larger answers are errors.
  size_t max_answer = size_t{1} << 30;

 private:
  const std::string name_ = "the fake engine";
  // JSON texts of values by time.
  std::map<aggregator::Labels, std::map<int64_t, std::string>> series_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGGREGATOR_HISTORY_FAKE_ENGINE_H_
