// Attacks on a running aggregator.

#ifndef FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
#define FLEETPERF_TESTS_HOSTILE_ATTACKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tls/credentials.h"
#include "tests/e2e/deployment.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {

struct Target {
  std::string address;
  int port = 0;
  int page_port = 0;       // 0: there is no page
  int enrolment_port = 0;  // of `fleetperf pki serve`; 0: there is none
  std::string name;        // of the attacker's agent and of its own machine
  std::string from;        // its address, for the page
  TlsFiles agent;          // of AttackerNames(name)
  TlsFiles reader;         // of the reader of this name
  uint64_t seed = 0;       // of random attacks
  // Only for attacks on clocks.
  const Deployment* deployment = nullptr;
  SteppedClock* clock = nullptr;  // the aggregator's
};

// The agents and machines of the certificate of an attacker. The last two are
// those of the recorded streams in tests/fixtures.
inline std::vector<std::string> AttackerNames(const std::string& name) {
  return {name, name + "2", "web-1", "db-1"};
}

// Returns whether the attack must end.
using Stop = std::function<bool()>;

struct Attack {
  std::string name;
  // Attacks until `stop` returns true. Connections that the aggregator ends are
  // opened again.
  std::function<void(const Target&, const Stop& stop)> run;
};

// Attacks on the port that `port` selects, without a certificate. `prefix`
// begins their names.
std::vector<Attack> StrangerAttacks(const std::string& prefix,
                                    int Target::*port);
// The same on `fleetperf pki serve`, and others.
std::vector<Attack> EnrolmentAttacks();
// Attacks on the aggregator's port, without a certificate or with any.
std::vector<Attack> ConnectionAttacks();
// Attacks with an agent's certificate.
std::vector<Attack> AgentAttacks();
// Wrong clocks, of agents and of the aggregator.
std::vector<Attack> ClockAttacks();
// Attacks on the port of the page, without an identity or with a reader's.
std::vector<Attack> PageAttacks();
// Attacks of one agent and one reader that take more than a certificate may
// have.
std::vector<Attack> QuotaAttacks();
// Attacks with a reader's certificate.
std::vector<Attack> ReaderAttacks();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
