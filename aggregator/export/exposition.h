// Writes values as text for scrapers: OpenMetrics 1.0, or the text format of
// Prometheus.
// https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
// https://prometheus.io/docs/instrumenting/exposition_formats/

#ifndef FLEETPERF_AGGREGATOR_EXPORT_EXPOSITION_H_
#define FLEETPERF_AGGREGATOR_EXPORT_EXPOSITION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/export/write_request.h"

namespace fleetperf::aggregator {

enum class ExpositionFormat { kOpenMetrics, kPrometheusText };

// The values of a scrape. The series of a metric may be added in any order:
// both formats want them together, so they are kept until the end.
// Thread-compatible.
class Exposition {
 public:
  explicit Exposition(ExpositionFormat format) : format_(format) {}

  // Adds the value of a series whose labels EncodeLabels has returned. Each
  // metric is a gauge.
  void Add(absl::string_view encoded_labels, const ExportSample& sample);

  // Adds the number of machines that the text lacks, as a metric, and if the
  // format has comments, one for each with the reason.
  void AddLeftOut(const std::vector<std::string>& machines,
                  absl::string_view reason);

  // The bytes of the whole text.
  size_t bytes() const;

  // Calls `write` with the text, in parts that are not empty, metrics in the
  // order of their names. Returns its first error. Must be called last.
  absl::Status Write(absl::FunctionRef<absl::Status(std::string part)> write);

 private:
  // The end of OpenMetrics, which tells a whole text from a part of one.
  absl::string_view End() const;

  ExpositionFormat format_;
  absl::flat_hash_map<std::string, std::string> metrics_;  // texts by name
  size_t bytes_ = 0;                                       // of these texts
  std::string line_;
  std::string comments_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_EXPOSITION_H_
