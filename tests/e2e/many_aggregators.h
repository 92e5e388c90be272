// Several aggregators and the agents that spread over them.

#ifndef FLEETPERF_TESTS_E2E_MANY_AGGREGATORS_H_
#define FLEETPERF_TESTS_E2E_MANY_AGGREGATORS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/tls/credentials.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/https_client.h"
#include "tests/e2e/process.h"

namespace fleetperf::testing {

// Tick n of an agent is n seconds after the start, and its Number is
// NumberOf. Thread-compatible.
class ManyAggregators : public ::testing::Test {
 protected:
  explicit ManyAggregators(uint64_t agents = 300, absl::Time start = kStart);

  // Returns "m-007".
  static std::string AgentName(uint64_t agent);
  // Returns the value of a tick. The default is the tick.
  virtual uint64_t NumberOf(uint64_t agent, uint64_t tick) const;

  // Starts an aggregator, at its former address if it had one. `more` is added
  // to its configuration.
  void StartOne(const std::string& name, const std::string& more = "");
  void Kill(const std::string& name);
  const std::string& AddressOf(const std::string& name) {
    return aggregators_[name].address;
  }
  // Returns the address of the page of an aggregator that was started with
  // PageSection.
  std::string PageOf(const std::string& name);
  static std::string PageSection(const std::string& name);
  // Returns a client of the page, with the rights of a reader.
  HttpsClient BrowserOf(const std::string& name);

  // Returns the first of the aggregators in the agent's order of preference,
  // except `unreachable`.
  std::string Choose(uint64_t agent, const std::string& unreachable = "");
  // Connects an agent to an aggregator, again if it is connected to it.
  void Connect(uint64_t agent, const std::string& name, uint64_t first,
               uint64_t last);
  // Sends the ticks from `first` to `last` of an agent to the aggregator that
  // it is connected to.
  void Send(uint64_t agent, uint64_t first, uint64_t last);
  // Waits until the ticks up to `last` of an agent, or of all, are stored.
  void AwaitAck(uint64_t agent, uint64_t last);
  void AwaitAcks(uint64_t last);
  // Returns the aggregator that an agent was last connected to.
  const std::string& AggregatorOf(uint64_t agent) {
    return streams_[agent].aggregator;
  }
  // Returns the agents that are connected to an aggregator.
  std::set<std::string> AgentsOf(const std::string& name) const;

  // Returns the lines of a command at one aggregator.
  std::vector<nlohmann::json> Ask(const std::string& name,
                                  std::vector<std::string> arguments);
  // Returns the machines that an aggregator lists.
  std::set<std::string> MachinesOf(const std::string& name);
  // Checks that the stores of all aggregators together have each tick up to
  // `last` of each agent once.
  void ExpectEachTickOnce(uint64_t last);

  // Returns the port of an address.
  static int PortOf(const std::string& address);

  const uint64_t agents_;
  const absl::Time start_;
  Deployment deployment_;
  TlsFiles agents_tls_;
  TlsFiles reader_tls_;

 private:
  struct Aggregator {
    std::string address = "127.0.0.1:0";
    std::unique_ptr<Process> process;
  };
  struct Stream {
    std::string aggregator;
    std::unique_ptr<FakeAgent> agent;
  };

  v1::CollectRequest BatchOf(uint64_t agent, uint64_t tick,
                             bool is_first) const;

  std::map<std::string, Aggregator> aggregators_;
  std::map<uint64_t, Stream> streams_;
  // The agents whose definitions an aggregator has.
  std::map<std::string, std::set<uint64_t>> defined_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_MANY_AGGREGATORS_H_
