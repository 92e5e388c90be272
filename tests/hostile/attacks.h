// Attacks on a running aggregator.

#ifndef FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
#define FLEETPERF_TESTS_HOSTILE_ATTACKS_H_

#include <functional>
#include <string>
#include <vector>

#include "base/credentials.h"

namespace fleetperf::testing {

struct Target {
  std::string address;
  int port = 0;
  TlsFiles agent;   // of the agent "evil" and the machine "evil2"
  TlsFiles reader;  // of the reader "evil"
};

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
// Attacks with a reader's certificate.
std::vector<Attack> ReaderAttacks();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_ATTACKS_H_
