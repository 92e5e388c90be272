// fleetperf-pmc: reads the hardware counters of this machine.

#include "driver/pmc/command_line.h"
#include "driver/pmc/machine.h"

int main(int argc, char** argv) {
  return fleetperf::pmc::RunCommandLine(argc, argv,
                                        fleetperf::pmc::RealMachine());
}
