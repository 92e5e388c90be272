#include "driver/pmc/experiments/experiment.h"

namespace fleetperf::pmc {

absl::Span<const Experiment* const> Experiments() {
  static constexpr const Experiment* kExperiments[] = {
      &kTscExperiment,       &kBackToBackExperiment, &kFactorialExperiment,
      &kLoopsExperiment,     &kThreeNopsExperiment,  &kNineNopsExperiment,
      &kFrequencyExperiment, &kSleepExperiment,      &kAddsExperiment,
      &kStridesExperiment,   &kLoadExperiment};
  return kExperiments;
}

}  // namespace fleetperf::pmc
