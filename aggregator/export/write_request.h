// Encodes samples for Prometheus's remote write, version 1.0.
// https://prometheus.io/docs/specs/prw/remote_write_spec/

#ifndef FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_
#define FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
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

// Calls `use` with each label of a result of EncodeLabels, in order.
void ForEachLabel(
    absl::string_view encoded,
    absl::FunctionRef<void(absl::string_view name, absl::string_view value)>
        use);

// Builds one request after the other, in memory that it keeps.
// Thread-compatible.
class WriteRequestBuilder {
 public:
  // Adds samples of the series whose labels EncodeLabels has returned, in the
  // order of their times. Does not allocate once the request has been as large
  // before. A no-op without samples.
  void Add(absl::string_view encoded_labels,
           absl::Span<const ExportSample> samples);

  // The series that follow are those of another machine.
  void BeginMachine() { ++machine_; }

  // The bytes of the request before compression, and its samples.
  size_t size() const { return request_.size(); }
  size_t samples() const { return SamplesBefore(series()); }

  // Each call of Add with samples counts as a series.
  size_t series() const { return series_.size(); }
  // The samples of the series from `begin` to before `end`.
  size_t SamplesIn(size_t begin, size_t end) const {
    return SamplesBefore(end) - SamplesBefore(begin);
  }
  // Whether two series are of the same machine.
  bool IsSameMachine(size_t one, size_t other) const {
    return series_[one].machine == series_[other].machine;
  }
  // Returns the body of a request with these series, compressed as one block of
  // Snappy.
  std::string Encode(size_t begin, size_t end) const;
  // Starts a new request.
  void Clear();

  // Returns the body of the request, and starts a new one.
  std::string Take();

 private:
  struct Series {
    size_t end;      // in request_
    size_t samples;  // up to and with this series
    size_t machine;
  };
  size_t SamplesBefore(size_t number) const {
    return number == 0 ? 0 : series_[number - 1].samples;
  }
  size_t EndBefore(size_t number) const {
    return number == 0 ? 0 : series_[number - 1].end;
  }

  std::string request_;  // a serialized prometheus.WriteRequest
  std::vector<Series> series_;
  size_t machine_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_WRITE_REQUEST_H_
