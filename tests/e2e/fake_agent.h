// An agent whose messages a test sends one by one.

#ifndef FLEETPERF_TESTS_E2E_FAKE_AGENT_H_
#define FLEETPERF_TESTS_E2E_FAKE_AGENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {

// The epoch of most tests, and the start time of its ticks.
inline constexpr uint64_t kEpoch = 7;
inline constexpr absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

// A stream to an aggregator. Thread-compatible.
class FakeAgent {
 public:
  // Connects and sends `hello`.
  FakeAgent(const std::string& address, const TlsFiles& tls,
            const v1::Hello& hello);
  ~FakeAgent();

  // Returns false if the stream has ended.
  bool Send(const v1::CollectRequest& request);
  // Blocks until the next message. Returns std::nullopt if the stream has
  // ended.
  std::optional<v1::CollectResponse> Receive();
  // Receives until `sequence` is acknowledged. Returns false if the stream has
  // ended.
  bool ReceiveAck(uint64_t sequence);

  // Ends the stream and returns its status.
  absl::Status Finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// Returns the Hello of an agent with one epoch, which holds the batches from
// `first` to `last`.
v1::Hello MakeHello(const std::string& agent, uint64_t epoch, uint64_t first,
                    uint64_t last);

// Returns a batch of one tick of the counterset "Numbers". The counterset has
// no instances and one counter, "Number", a PERF_COUNTER_LARGE_RAWCOUNT whose
// value is the sequence. Tick n is n seconds after `start_100nsec`. The first
// batch of an epoch contains the definitions.
v1::CollectRequest MakeNumberBatch(const std::string& machine, uint64_t epoch,
                                   uint64_t sequence, int64_t start_100nsec);

// Sends the batches from `first` to `last` of "box" in kEpoch and waits for the
// acknowledgment of each.
void DeliverNumbers(FakeAgent& agent, uint64_t first, uint64_t last);

// Returns the values of "Number" that the aggregator has stored for the 1,000 s
// from `start`.
std::vector<double> StoredNumbers(const Deployment& deployment,
                                  absl::Time start);

// Applies `edit` to the content of a batch.
void EditContent(const std::function<void(v1::BatchContent&)>& edit,
                 v1::CollectRequest* batch);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_FAKE_AGENT_H_
