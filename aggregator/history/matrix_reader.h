// Reads what an engine answers to a query for samples: a matrix, in JSON.
// https://prometheus.io/docs/prometheus/latest/querying/api/

#ifndef FLEETPERF_AGGREGATOR_HISTORY_MATRIX_READER_H_
#define FLEETPERF_AGGREGATOR_HISTORY_MATRIX_READER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

struct EngineSample {
  int64_t unix_millis = 0;
  double value = 0;  // a number
};

// The labels of a series, in the order of the answer.
class EngineLabels {
 public:
  void Clear() { labels_.clear(); }
  void Add(absl::string_view name, absl::string_view value) {
    labels_.emplace_back(name, value);
  }
  size_t size() const { return labels_.size(); }
  // Returns "" for a label that is missing.
  absl::string_view Find(absl::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> labels_;
};

class MatrixSink {
 public:
  virtual ~MatrixSink() = default;
  // Returns where the samples of the next series are appended, in the order of
  // the answer; null if they are not needed. The vector must stay valid until
  // the next call.
  virtual std::vector<EngineSample>* Begin(const EngineLabels& labels) = 0;
};

// Passes on the series of an answer, whose bytes are overwritten. Samples that
// are not numbers, such as staleness markers, are left out. Memory: that of the
// labels of one series, besides the sink's.
//
// DataLoss: the answer is malformed. The sink may have a part of it.
// Unavailable: the engine answers with an error, or knows that it answers with
//     a part of its samples.
absl::Status ReadMatrix(std::string json, MatrixSink* sink);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_MATRIX_READER_H_
