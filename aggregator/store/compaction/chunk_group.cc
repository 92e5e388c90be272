#include "aggregator/store/compaction/chunk_group.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

std::vector<bool> WantedColumns(const CollectedQuery& query, bool only_raw) {
  std::vector<bool> wanted;
  for (const CollectedQuery::Column& column : query.columns) {
    // Walker::Follow needs kProblem of thinned data.
    wanted.push_back(!only_raw || column.role == ColumnRole::kRaw ||
                     column.role == ColumnRole::kProblem);
  }
  return wanted;
}

}  // namespace

absl::StatusOr<FrameGroup> ChunkGroupReader::Read(const StoredChunk& stored) {
  return Read(stored, /*only_raw=*/false);
}

absl::StatusOr<FrameGroup> ChunkGroupReader::ReadRawValues(
    const StoredChunk& stored) {
  return Read(stored, /*only_raw=*/true);
}

absl::StatusOr<FrameGroup> ChunkGroupReader::Read(const StoredChunk& stored,
                                                  bool only_raw) {
  ASSIGN_OR_RETURN(Chunk chunk,
                   OpenChunk(database_, /*snapshot=*/nullptr, stored));
  FrameGroup group;
  for (size_t section = 0; section < chunk.sections(); ++section) {
    auto& query = queries_[chunk.ShapeOf(section)];
    if (query == nullptr) {
      ASSIGN_OR_RETURN(query, numbers_.ShapeOf(chunk.ShapeOf(section)));
    }
    ASSIGN_OR_RETURN(Frame frame,
                     chunk.Read(section, query, WantedColumns(*query, only_raw),
                                {}, nullptr));
    group.push_back(std::make_shared<const Frame>(std::move(frame)));
  }
  return group;
}

absl::StatusOr<std::vector<uint32_t>> PutNewChunk(const ChunkKey& key,
                                                  const NewChunk& chunk,
                                                  KeyNumbers* numbers,
                                                  Changes* changes) {
  absl::Status status;
  std::vector<uint32_t> shapes;
  const EncodedChunk encoded =
      chunk.builder.Finish([&](const CollectedQuery& query) {
        const auto shape = numbers->GetShape(query);
        status.Update(shape.status());
        return shapes.emplace_back(shape.ok() ? *shape : 0);
      });
  RETURN_IF_ERROR(status);
  std::sort(shapes.begin(), shapes.end());
  PutChunk(key, chunk.received, shapes, encoded, changes);
  return shapes;
}

}  // namespace fleetperf::aggregator
