// Reads a machine's samples from an engine.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_ENGINE_READER_H_
#define FLEETPERF_AGGREGATOR_HISTORY_ENGINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/history/engine_frames.h"
#include "aggregator/history/engine_question.h"
#include "aggregator/history/query_client.h"
#include "aggregator/store/readable_store.h"

namespace fleetperf::aggregator {

// Used for one read. Thread-compatible.
class EngineReader {
 public:
  // `request` must have `selected`, and must outlive the reader, like `engine`.
  // `epochs`: see EngineFrames.
  EngineReader(SampleEngine* engine, const ReadableStore::ReadRequest* request,
               const std::map<uint32_t, uint64_t>& epochs);

  // Passes on the frames of the ticks from `from` to before `to`, in pieces of
  // time that fit into memory: those of each piece in the order of
  // EngineFrames. Calls ReadRequest::on_chunk before each piece and during
  // waits. Returns the errors of both callbacks, and those of the engine.
  absl::Status Read(absl::Time from, absl::Time to,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame);

 private:
  // The bounds are like PerfTime100NSec. Returns ResourceExhausted, before any
  // frame, if the piece is too long. Sets the size of the answers.
  absl::Status ReadPiece(int64_t begin, int64_t end, size_t* bytes,
                         EngineSeries* series);

  SampleEngine& engine_;
  const ReadableStore::ReadRequest& request_;
  const EngineQuestion question_;
  EngineFrames frames_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_ENGINE_READER_H_
