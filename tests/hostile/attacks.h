// Attacks on a running aggregator.

#ifndef FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
#define FLEETPERF_TESTS_HOSTILE_ATTACKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/credentials.h"
#include "tests/e2e/deployment.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {

struct Target {
  std::string address;
  int port = 0;
  int page_port = 0;  // 0: there is no page
  TlsFiles agent;     // of Attackers()
  TlsFiles reader;    // of the reader "evil"
  uint64_t seed = 0;  // of random attacks
  // Only for attacks on clocks.
  const Deployment* deployment = nullptr;
  SteppedClock* clock = nullptr;  // the aggregator's
};

// The agents and machines of attacks. The last two are those of the recorded
// streams in tests/fixtures.
inline const std::vector<std::string>& Attackers() {
  static const auto& names =
      *new std::vector<std::string>{"evil", "evil2", "web-1", "db-1"};
  return names;
}

// Returns whether the attack must end.
using Stop = std::function<bool()>;

struct Attack {
  const char* name;
  // Attacks until `stop` returns true. Connections that the aggregator ends are
  // opened again.
  std::function<void(const Target&, const Stop& stop)> run;
};

// Attacks without a certificate, or with any.
std::vector<Attack> ConnectionAttacks();
// Attacks with an agent's certificate.
std::vector<Attack> AgentAttacks();
// Wrong clocks, of agents and of the aggregator.
std::vector<Attack> ClockAttacks();
// Attacks on the port of the page, without an identity or with a reader's.
std::vector<Attack> PageAttacks();
// Attacks with a reader's certificate.
std::vector<Attack> ReaderAttacks();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
