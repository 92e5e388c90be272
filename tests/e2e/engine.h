// A time series database that tests export to.

#ifndef FLEETPERF_TESTS_E2E_ENGINE_H_
#define FLEETPERF_TESTS_E2E_ENGINE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "tests/bench/http_client.h"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {

// An engine with Prometheus's protocols, and its data. Thread-compatible.
class Engine {
 public:
  // `package` is "prometheus" or "victoria-metrics".
  Engine(std::string package, std::string executable)
      : package_(std::move(package)),
        executable_(std::move(executable)),
        port_(bench::FreePort()) {}

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  std::string url() const {
    return absl::StrCat("http://", address(), "/api/v1/write");
  }

  // `more` is added to the configuration of Prometheus.
  void Start(const std::string& more = "");
  // VictoriaMetrics has no log: killed, it loses what it has acknowledged.
  void Stop();

  // Returns the result of an instant query.
  nlohmann::json Query(const std::string& query, absl::Time time);

 private:
  const std::string package_;
  const std::string executable_;
  const int port_;
  TempDirectory directory_;
  std::unique_ptr<Process> process_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_ENGINE_H_
