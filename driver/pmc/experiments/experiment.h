// Experiments that show what the counters of a CPU mean.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_EXPERIMENT_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_EXPERIMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/pmc/experiments/lab.h"
#include "driver/pmc/experiments/report.h"

namespace fleetperf::pmc {

struct Experiment {
  const char* name;     // "factorial"
  const char* summary;  // a line
  const char* text;     // what is measured, the expected result, its meaning
  // A part that the machine cannot do is a note.
  absl::StatusOr<Report> (*run)(Lab& lab);
};

// In the order in which they explain each other.
absl::Span<const Experiment* const> Experiments();

extern const Experiment kTscExperiment;
extern const Experiment kBackToBackExperiment;
extern const Experiment kFactorialExperiment;
extern const Experiment kLoopsExperiment;
extern const Experiment kThreeNopsExperiment;
extern const Experiment kNineNopsExperiment;
extern const Experiment kFrequencyExperiment;
extern const Experiment kSleepExperiment;
extern const Experiment kAddsExperiment;
extern const Experiment kStridesExperiment;
extern const Experiment kLoadExperiment;

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_EXPERIMENT_H_
