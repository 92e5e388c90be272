#include "agent/deliver/batch_builder.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {
namespace {

// An instance and the consecutive blocks that contain it. `rows` are its
// positions in these blocks.
struct Run {
  uint32_t instance = 0;
  uint32_t first_block = 0;
  std::vector<uint32_t> rows;
};

// The samples of one query in consecutive blocks; null if the query failed or
// was not part of the block.
using QueryBlocks = std::vector<const QuerySamples*>;

int64_t Difference(uint64_t later, uint64_t earlier) {
  return static_cast<int64_t>(later - earlier);
}

std::vector<Run> FindRuns(const QueryBlocks& blocks) {
  std::vector<Run> runs;
  // The open run of each instance. Usually a block has the same instances as
  // the previous one, and the run is found at the same position.
  absl::flat_hash_map<uint32_t, size_t> run_of;
  std::vector<size_t> run_at;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b] == nullptr) continue;
    const auto& instances = blocks[b]->instances;
    run_at.resize(instances.size(), 0);
    for (size_t row = 0; row < instances.size(); ++row) {
      size_t& run = run_at[row];
      if (run >= runs.size() || runs[run].instance != instances[row]) {
        const auto open = run_of.find(instances[row]);
        run = open != run_of.end() ? open->second : runs.size();
      }
      if (run < runs.size() &&
          runs[run].first_block + runs[run].rows.size() != b) {
        run = runs.size();  // the instance was absent
      }
      if (run == runs.size()) {
        runs.push_back({.instance = instances[row],
                        .first_block = static_cast<uint32_t>(b)});
        run_of[instances[row]] = run;
      }
      runs[run].rows.push_back(static_cast<uint32_t>(row));
    }
  }
  return runs;
}

void AddRuns(const std::vector<Run>& runs, size_t num_blocks,
             v1::QueryColumns* columns) {
  uint32_t last_instance = 0;
  bool all_whole = true;
  for (const Run& run : runs) {
    columns->add_instances(static_cast<int32_t>(run.instance - last_instance));
    last_instance = run.instance;
    all_whole = all_whole && run.rows.size() == num_blocks;
  }
  if (all_whole) return;
  for (const Run& run : runs) {
    columns->add_first_block(run.first_block);
    columns->add_block_count(static_cast<uint32_t>(run.rows.size()));
  }
}

void AddColumn(const QueryBlocks& blocks, const std::vector<Run>& runs,
               size_t column, v1::Column* to) {
  bool all_zero = true;
  uint32_t position = 0;
  for (const Run& run : runs) {
    uint64_t last = 0;
    for (size_t i = 0; i < run.rows.size(); ++i, ++position) {
      const QuerySamples& samples = *blocks[run.first_block + i];
      const size_t at = column * samples.instances.size() + run.rows[i];
      const bool present = samples.present.empty() || samples.present[at] != 0;
      // A missing value repeats the previous value, which costs nothing.
      const uint64_t value = present ? samples.values[at] : last;
      if (!present) to->add_missing(position);
      if (i == 0) {
        to->add_first(value);
      } else {
        to->add_differences(Difference(value, last));
        all_zero = all_zero && value == last;
      }
      last = value;
    }
  }
  if (all_zero) to->clear_differences();
}

void AddClocks(absl::Span<const BlockSamples> blocks, v1::BlockColumns* to) {
  perflib::Clocks last = {};
  const auto difference = [](int64_t later, int64_t earlier) {
    return Difference(static_cast<uint64_t>(later),
                      static_cast<uint64_t>(earlier));
  };
  for (const BlockSamples& block : blocks) {
    const perflib::Clocks& clocks = block.clocks;
    to->add_perf_time_100nsec(
        difference(clocks.perf_time_100nsec, last.perf_time_100nsec));
    to->add_perf_time_stamp(
        difference(clocks.perf_time_stamp, last.perf_time_stamp));
    to->add_perf_freq(difference(clocks.perf_freq, last.perf_freq));
    last = clocks;
  }
}

// Adds the columns of a single block. Skips the search for runs, which takes
// most of the time. The spool stores each tick in this form before it is in a
// batch.
void AddOnlyBlock(const QuerySamples& samples, v1::QueryColumns* columns) {
  const size_t rows = samples.instances.size();
  uint32_t last_instance = 0;
  columns->mutable_instances()->Reserve(static_cast<int>(rows));
  for (const uint32_t instance : samples.instances) {
    columns->add_instances(static_cast<int32_t>(instance - last_instance));
    last_instance = instance;
  }
  for (size_t at = 0; at < samples.values.size(); at += rows) {
    v1::Column* column = columns->add_columns();
    const uint64_t* values = samples.values.data() + at;
    column->mutable_first()->Add(values, values + rows);
    if (samples.present.empty()) continue;
    for (size_t row = 0; row < rows; ++row) {
      if (samples.present[at + row] != 0) continue;
      column->add_missing(static_cast<uint32_t>(row));
    }
  }
}

void AddQuery(uint32_t query, const QueryBlocks& blocks, v1::BlockColumns* to) {
  v1::QueryColumns* columns = to->add_queries();
  columns->set_query(query);
  if (blocks.size() == 1 && !blocks[0]->failed) {
    return AddOnlyBlock(*blocks[0], columns);
  }
  QueryBlocks sound = blocks;
  size_t num_columns = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b] == nullptr) continue;
    if (blocks[b]->failed) {
      v1::QueryFailure* failure = columns->add_failures();
      failure->set_block(static_cast<uint32_t>(b));
      failure->set_status(blocks[b]->failure_status);
      sound[b] = nullptr;
    } else if (!blocks[b]->instances.empty()) {
      num_columns = blocks[b]->values.size() / blocks[b]->instances.size();
    }
  }
  const std::vector<Run> runs = FindRuns(sound);
  AddRuns(runs, blocks.size(), columns);
  for (size_t column = 0; column < num_columns; ++column) {
    AddColumn(sound, runs, column, columns->add_columns());
  }
}

// Groups the blocks by query. Nearly always, all blocks have the same queries.
std::map<uint32_t, QueryBlocks> QueriesOf(
    absl::Span<const BlockSamples> blocks) {
  std::map<uint32_t, QueryBlocks> queries;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const QuerySamples& samples : blocks[b].queries) {
      QueryBlocks& of_query = queries[samples.query];
      of_query.resize(blocks.size(), nullptr);
      of_query[b] = &samples;
    }
  }
  return queries;
}

void AddBlocks(absl::Span<const BlockSamples> blocks,
               v1::BatchContent* content) {
  v1::BlockColumns* to = content->add_blocks();
  AddClocks(blocks, to);
  for (const auto& [query, of_query] : QueriesOf(blocks)) {
    AddQuery(query, of_query, to);
  }
}

}  // namespace

void AddBlock(const BlockSamples& block, v1::BatchContent* content) {
  AddBlocks(absl::MakeConstSpan(&block, 1), content);
}

v1::Batch PackBatch(std::string content) {
  v1::Batch batch;
  batch.set_content_size(static_cast<uint32_t>(content.size()));
  ZstdCompress(content, batch.mutable_payload());
  if (batch.payload().size() < content.size()) {
    batch.set_compression(v1::COMPRESSION_ZSTD);
  } else {
    batch.set_compression(v1::COMPRESSION_NONE);
    batch.set_payload(std::move(content));
  }
  batch.set_fingerprint(Fingerprint(batch.payload()));
  return batch;
}

void BatchBuilder::Add(BlockSamples block) {
  values_ += block.CountValues();
  blocks_[block.handle].push_back(std::move(block));
}

void BatchBuilder::Build(v1::BatchContent* content) {
  for (const auto& [handle, blocks] : blocks_) AddBlocks(blocks, content);
  blocks_.clear();
  values_ = 0;
}

}  // namespace fleetperf::agent
