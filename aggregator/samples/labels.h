// Labels of machines.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_LABELS_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_LABELS_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// Values by name.
using Labels = std::map<std::string, std::string>;

// The limits of the labels from one place: an agent, or an entry of the
// configuration.
inline constexpr int kMaxLabels = 64;
inline constexpr size_t kMaxLabelNameBytes = 128;
inline constexpr size_t kMaxLabelValueBytes = 1024;
inline constexpr size_t kMaxLabelBytes = 8 << 10;  // all names and values

// Returns InvalidArgument if the labels exceed a limit or have control
// characters. The message begins with `field`.
absl::Status CheckLabels(absl::string_view field, const Labels& labels);

// Sets labels. An empty value removes the label.
void SetLabels(const Labels& values, Labels* labels);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_LABELS_H_
