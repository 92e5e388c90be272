// Prints docs/reference/linux-counters.md.

#include <iostream>

#include "agent/source/linux/linux_countersets.h"
#include "tests/agent/source/linux/linux_counters_page.h"

int main() {
  std::cout << fleetperf::testing::LinuxCountersPage(
      fleetperf::agent::LinuxCountersets());
}
