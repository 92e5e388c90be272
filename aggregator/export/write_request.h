// Encodes samples for Prometheus's remote write, version 1.0.
// https://prometheus.io/docs/specs/prw/remote_write_spec/

#ifndef FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_
#define FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "aggregator/samples/labels.h"

namespace fleetperf::aggregator {

struct ExportSample {
  int64_t unix_millis = 0;
  double value = 0;
};

// The value of a sample that ends a series: a certain NaN, whose bits no
// arithmetic keeps.
double StaleMarker();

// Returns the labels of a series as WriteRequestBuilder takes them. A label
// without a value counts as absent and is left out. Names must differ from the
// empty text; __name__ must be among them.
std::string EncodeLabels(const Labels& labels);

// Builds one request after the other, in memory that it keeps.
// Thread-compatible.
class WriteRequestBuilder {
 public:
  // Adds samples of the series whose labels EncodeLabels has returned, in the
  // order of their times. Does not allocate once the request has been as large
  // before. A no-op without samples.
  void Add(absl::string_view encoded_labels,
           absl::Span<const ExportSample> samples);

  // The bytes of the request before compression, and its samples.
  size_t size() const { return request_.size(); }
  size_t samples() const { return samples_; }

  // Returns the body of the request, compressed as one block of Snappy, and
  // starts a new one.
  std::string Take();

 private:
  std::string request_;  // a serialized prometheus.WriteRequest
  size_t samples_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_
