#include "base/status_macros.h"
#include "driver/pmc/experiments/experiment.h"

namespace fleetperf::pmc {
namespace {

Row TscRow(const char* label, const Growth& growth) {
  const double seconds = absl::ToDoubleSeconds(growth.time);
  std::optional<double> hertz;
  if (growth.timestamp && seconds > 0) hertz = *growth.timestamp / seconds;
  return {label,
          {{"TSC cycles", growth.timestamp},
           {"seconds", seconds, 6},
           {"TSC cycles/s", hertz}}};
}

absl::StatusOr<Report> RunTsc(Lab& lab) {
  Report report;
  ASSIGN_OR_RETURN(const Growth asleep,
                   lab.Measure([&] { lab.processor().Sleep(lab.period()); }));
  ASSIGN_OR_RETURN(const Growth busy, lab.Measure([&] { lab.BeBusy(); }));
  if (!asleep.timestamp || *asleep.timestamp == 0) {
    report.notes.emplace_back("this processor has no timestamp counter");
    return report;
  }
  report.rows = {TscRow("asleep", asleep), TscRow("busy", busy)};
  return report;
}

}  // namespace

const Experiment kTscExperiment = {
    "tsc", "The timestamp counter over a second of sleep, and of work",
    "Reads the timestamp counter (RDTSCP) and a clock around a second of "
    "sleep,\n"
    "and around a second of work.\n"
    "Expected: the same growth both times, e.g. 3.50 G at a base frequency of\n"
    "3.5 GHz. The counter is time in units of the base frequency; it counts\n"
    "neither cycles nor work. Needs no PMU.",
    RunTsc};

}  // namespace fleetperf::pmc
