// fleetperf-pmc on a simulated machine.

#include "driver/pmc/command_line.h"
#include "driver/pmc/simulation/simulated_machine.h"

int main(int argc, char** argv) {
  return fleetperf::pmc::RunCommandLine(argc, argv,
                                        fleetperf::pmc::SimulatedMachine());
}
