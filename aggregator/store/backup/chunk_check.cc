#include "aggregator/store/backup/chunk_check.h"

#include <vector>

#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<uint64_t> CountValues(const Database& database,
                                     const KeyNumbers& numbers,
                                     const StoredChunk& stored) {
  uint64_t values = 0;
  ASSIGN_OR_RETURN(Chunk chunk,
                   OpenChunk(database, /*snapshot=*/nullptr, stored));
  for (size_t section = 0; section < chunk.sections(); ++section) {
    ASSIGN_OR_RETURN(const auto query, numbers.ShapeOf(chunk.ShapeOf(section)));
    ASSIGN_OR_RETURN(const Frame frame,
                     chunk.Read(section, query,
                                std::vector<bool>(query->columns.size(), true),
                                {}, nullptr));
    for (const Frame::Run& run : frame.runs) {
      values += run.tick_count * frame.columns.size();
    }
  }
  return values;
}

}  // namespace fleetperf::aggregator
