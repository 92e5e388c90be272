// A server with Prometheus's remote write and query protocols.

#ifndef FLEETPERF_TESTS_BENCH_PEER_SERVER_H_
#define FLEETPERF_TESTS_BENCH_PEER_SERVER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "tests/bench/http_client.h"
#include "tests/bench/server.h"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {

// The base of all such servers.
class PeerServer : public Server {
 public:
  const std::string& name() const override { return name_; }
  pid_t pid() const override { return process_->pid(); }

  absl::Status Prepare(const Workload& workload,
                       int ticks_per_message) override;
  uint64_t prepared_samples() const override { return samples_; }
  absl::Status Send() override;

  absl::StatusOr<uint64_t> CountSamples() override;
  absl::StatusOr<Answer> Ask(Question question, const Scope& scope) override;

 protected:
  // `rate_surplus` is added to the step to get the range over which the
  // server's rate() covers exactly one step.
  PeerServer(std::string name, absl::Duration rate_surplus);

  // Starts the server and waits until it answers a GET of `path`.
  absl::Status Run(const std::vector<std::string>& command,
                   const std::string& path);

  int port() const { return port_; }
  HttpClient& client() { return client_; }
  testing::Process& process() { return *process_; }
  // Returns the path of a file in the server's directory.
  std::string File(const std::string& name) const {
    return directory_.File(name);
  }

 private:
  // Senders of remote writes use several connections. All samples of a machine
  // use the same one, because they have to arrive in order.
  static constexpr size_t kConnections = 4;

  // Returns the result of a query.
  absl::StatusOr<nlohmann::json> Get(const std::string& path,
                                     const HttpClient::Parameters& parameters,
                                     absl::Duration* took);

  const std::string name_;
  const absl::Duration rate_surplus_;
  const int port_;
  HttpClient client_;
  testing::TempDirectory directory_;
  std::unique_ptr<testing::Process> process_;
  Workload workload_;
  std::array<std::vector<std::string>, kConnections> requests_;
  uint64_t samples_ = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_PEER_SERVER_H_
