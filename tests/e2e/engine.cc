#include "tests/e2e/engine.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/e2e/deployment.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {

void Engine::Start(const std::string& more) {
  const bool is_prometheus = package_ == "prometheus";
  std::vector<std::string> command = {executable_};
  if (is_prometheus) {
    // Samples that are sent again after a crash would be out of order.
    Deployment::Write(
        directory_.File("prometheus.yml"),
        "storage: {tsdb: {out_of_order_time_window: 1d}}\n" + more);
    command.insert(command.end(),
                   {"--config.file=" + directory_.File("prometheus.yml"),
                    "--storage.tsdb.path=" + directory_.File("data"),
                    "--web.listen-address=" + address(),
                    "--web.enable-remote-write-receiver"});
  } else {
    command.insert(command.end(),
                   {"-httpListenAddr=" + address(),
                    "-storageDataPath=" + directory_.File("data"),
                    "-search.latencyOffset=0s"});
  }
  process_ = std::make_unique<Process>(command);
  bool is_ready = false;
  Retry([&] {
    is_ready = bench::HttpClient(port_)
                   .Get(is_prometheus ? "/-/ready" : "/health")
                   .ok();
    return is_ready;
  });
  ASSERT_TRUE(is_ready) << process_->error();
}

void Engine::Stop() {
  process_->Signal(package_ == "prometheus" ? SIGKILL : SIGTERM);
  process_->Wait();
}

nlohmann::json Engine::Query(const std::string& query, absl::Time time) {
  const auto body = bench::HttpClient(port_).Get(
      "/api/v1/query", {{"query", query},
                        {"time", absl::StrCat(absl::ToUnixSeconds(time))},
                        {"nocache", "1"}});
  EXPECT_TRUE(body.ok()) << body.status();
  if (!body.ok()) return {};
  return nlohmann::json::parse(*body)["data"]["result"];
}

}  // namespace fleetperf::testing
