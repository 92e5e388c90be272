// Collects the raw series of an engine's answers, by query and instance.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_ENGINE_SERIES_H_
#define FLEETPERF_AGGREGATOR_HISTORY_ENGINE_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aggregator/history/engine_question.h"
#include "aggregator/history/matrix_reader.h"

namespace fleetperf::aggregator {

// The samples of all series with one meaning, in any order: an engine may have
// a series twice, or divide it.
using EngineSamples = std::vector<EngineSample>;

// The halves of numbers: RawLow and RawHigh.
struct EngineNumbers {
  EngineSamples low;
  EngineSamples high;
};

struct EngineInstance {
  EngineSamples presence;
  std::map<uint32_t, EngineNumbers> columns;  // by counter id
};

struct EngineQuery {
  std::string columns;  // ColumnsText; "" if it is unknown
  EngineNumbers perf_time;
  EngineNumbers perf_freq;
  EngineSamples perf_time_100ns;
  EngineSamples status;
  EngineSamples epoch;
  // By name, instance id and occurrence.
  using InstanceKey = std::tuple<std::string, uint32_t, uint32_t>;
  std::map<InstanceKey, EngineInstance> instances;
};

// Thread-compatible.
class EngineSeries : public MatrixSink {
 public:
  // `question` must outlive the object.
  explicit EngineSeries(const EngineQuestion* question)
      : question_(*question) {}

  // Leaves out series that the question does not need, or whose labels are
  // malformed.
  std::vector<EngineSample>* Begin(const EngineLabels& labels) override;

  // By the number of the counterset, and the texts of the interval and of the
  // query.
  using QueryKey = std::tuple<size_t, std::string, std::string>;
  std::map<QueryKey, EngineQuery>& queries() { return queries_; }

 private:
  const EngineQuestion& question_;
  std::map<QueryKey, EngineQuery> queries_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_ENGINE_SERIES_H_
