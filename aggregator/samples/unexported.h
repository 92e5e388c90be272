// Samples of the store that an export has not taken. An export takes every
// sample that arrives while the store keeps cursors (Store::KeepExportCursors),
// each once, and again after a crash.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_UNEXPORTED_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_UNEXPORTED_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// How far samples were taken, for Store::SetExported: changes of records of the
// store.
struct ExportProgress {
  std::string cursor_key;
  std::string cursor;
  std::vector<std::string> taken_chunks;  // keys
};

struct UnexportedRequest {
  std::string machine;
  // See Store::ReadRequest.
  std::function<bool(const CollectedQuery&)> filter = nullptr;
  std::function<std::vector<bool>(const CollectedQuery&)> columns = nullptr;
  // The intervals of the machine's queries. Each query's ticks of the last few
  // intervals before the unexported ones are passed on, too.
  std::vector<absl::Duration> intervals = {};
};

// Receives the samples of one machine, those of each series in the order of
// epochs and sequences. An error ends the read, which returns it.
class UnexportedSink {
 public:
  virtual ~UnexportedSink() = default;

  // Called first, if there is anything. `received` is about the time of receipt
  // of the oldest batch that was not taken; `lost` is the approximate number of
  // values that were removed or thinned before they were taken.
  virtual void Begin(absl::Time received, uint64_t lost) = 0;
  // Announces a frame with ticks. Those before `first_new`, perhaps all, were
  // taken before, and only serve as the older ones of pieces.
  virtual absl::Status BeginFrame(const Frame& frame, uint32_t first_new) = 0;
  // Adds the frame's next new ticks, up to before `end`.
  virtual absl::Status AddTicks(uint32_t begin, uint32_t end) = 0;
  // Everything so far is taken once this progress is stored.
  virtual void Advance(ExportProgress progress) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_UNEXPORTED_H_
