// An agent whose every message a test decides.

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
#include "base/credentials.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {

// An epoch, for tests to which its number does not matter, and when its ticks
// start.
inline constexpr uint64_t kEpoch = 7;
inline constexpr absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

// One stream to an aggregator, used step by step.
class FakeAgent {
 public:
  // Connects and says Hello.
  FakeAgent(const std::string& address, const TlsFiles& tls,
            const v1::Hello& hello);
  ~FakeAgent();

  // False if the stream has ended.
  bool Send(const v1::CollectRequest& request);
  // The next message; nothing if the stream has ended.
  std::optional<v1::CollectResponse> Receive();
  // Receives until this sequence is acknowledged; false if the stream ended.
  bool ReceiveAck(uint64_t sequence);

  // Ends the stream; its status.
  absl::Status Finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// Hello of an agent with one epoch, of which it holds these batches.
v1::Hello MakeHello(const std::string& agent, uint64_t epoch, uint64_t first,
                    uint64_t last);

// A batch of one tick of the counterset "Numbers", which has no instances and
// one counter, "Number", a PERF_COUNTER_LARGE_RAWCOUNT whose value is the
// sequence. Tick n is n seconds after `start_100nsec`. The first batch of an
// epoch defines what is used.
v1::CollectRequest MakeNumberBatch(const std::string& machine, uint64_t epoch,
                                   uint64_t sequence, int64_t start_100nsec);

// Sends batches first..last of "box" in kEpoch, each when the one before is
// acknowledged.
void DeliverNumbers(FakeAgent& agent, uint64_t first, uint64_t last);

// The values of "Number" that an aggregator has, of 1,000 s from a start.
std::vector<double> StoredNumbers(const Deployment& deployment,
                                  absl::Time start);

// Changes the contents of a batch.
void EditContent(const std::function<void(v1::BatchContent&)>& edit,
                 v1::CollectRequest* batch);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_FAKE_AGENT_H_
