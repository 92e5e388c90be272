#include "tests/support/batch_writer.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/zstd.h"
#include "proto/conversions.h"

namespace fleetperf::testing {
namespace {

// Returns a difference modulo 2^64, as the wire carries it.
int64_t Difference(uint64_t newer, uint64_t older) {
  return static_cast<int64_t>(newer - older);
}

// An instance's rows in consecutive blocks.
struct Run {
  uint32_t instance;
  uint32_t first_block;
  std::vector<const BatchWriter::Row*> rows;

  uint32_t end() const {
    return first_block + static_cast<uint32_t>(rows.size());
  }
};

}  // namespace

uint32_t BatchWriter::Machine(const std::string& name) {
  v1::MachineDefinition definition;
  definition.set_id(next_id_);
  definition.set_name(name);
  *definitions_.add_machines() = definition;
  *content_.mutable_definitions()->add_machines() = definition;
  return next_id_++;
}

uint32_t BatchWriter::Counterset(
    const perflib::CountersetRegistration& registration) {
  v1::CountersetDefinition definition;
  definition.set_id(next_id_);
  *definition.mutable_registration() = ToProto(registration);
  *definitions_.add_countersets() = definition;
  *content_.mutable_definitions()->add_countersets() = definition;
  return next_id_++;
}

uint32_t BatchWriter::Query(uint32_t machine, uint32_t counterset,
                            absl::Duration interval,
                            const std::vector<Column>& columns) {
  v1::QueryDefinition definition;
  definition.set_id(next_id_);
  definition.set_machine(machine);
  definition.set_counterset(counterset);
  *definition.mutable_interval() = ToProto(interval);
  for (const Column& column : columns) {
    v1::ColumnDefinition* to = definition.add_columns();
    to->set_counter_id(column.counter_id);
    to->set_value_size(column.value_size);
    to->set_only_linked(column.only_linked);
    to->set_wraps(column.wraps);
  }
  columns_of_query_[next_id_] = columns.size();
  *definitions_.add_queries() = definition;
  *content_.mutable_definitions()->add_queries() = definition;
  return next_id_++;
}

uint32_t BatchWriter::Instance(uint32_t machine, uint32_t counterset,
                               const std::string& name, uint32_t instance_id,
                               uint32_t occurrence, bool is_born) {
  v1::InstanceDefinition definition;
  definition.set_id(next_id_);
  definition.set_machine(machine);
  definition.set_counterset(counterset);
  definition.set_name(name);
  definition.set_instance_id(instance_id);
  definition.set_occurrence(occurrence);
  definition.set_is_born(is_born);
  *definitions_.add_instances() = definition;
  *content_.mutable_definitions()->add_instances() = definition;
  return next_id_++;
}

void BatchWriter::Retire(uint32_t instance) {
  content_.add_retired_instances(instance);
}

void BatchWriter::Lose(const std::string& machine, absl::Time start,
                       absl::Time end, uint64_t ticks, v1::LossCause cause) {
  v1::Loss* loss = content_.add_losses();
  loss->set_machine(machine);
  *loss->mutable_start() = ToProto(start);
  *loss->mutable_end() = ToProto(end);
  loss->set_ticks(ticks);
  loss->set_cause(cause);
}

void BatchWriter::AddBlock(uint32_t handle, const perflib::Clocks& clocks,
                           std::vector<Result> results) {
  blocks_[handle].push_back({clocks, std::move(results)});
}

void BatchWriter::AddTick(uint32_t query, const perflib::Clocks& clocks,
                          std::vector<Row> rows) {
  AddBlock(query, clocks, {{query, std::move(rows)}});
}

v1::BatchContent BatchWriter::TakeContent() {
  for (const auto& [handle, blocks] : blocks_) {
    *content_.add_blocks() = Encode(blocks);
  }
  blocks_.clear();
  return std::exchange(content_, {});
}

v1::BlockColumns BatchWriter::Encode(const std::vector<Block>& blocks) const {
  v1::BlockColumns columns;
  perflib::Clocks last;
  std::vector<uint32_t> queries;
  for (const Block& block : blocks) {
    const perflib::Clocks& clocks = block.clocks;
    columns.add_perf_time_100nsec(
        Difference(clocks.perf_time_100nsec, last.perf_time_100nsec));
    columns.add_perf_time_stamp(
        Difference(clocks.perf_time_stamp, last.perf_time_stamp));
    columns.add_perf_freq(Difference(clocks.perf_freq, last.perf_freq));
    last = clocks;
    for (const Result& result : block.results) {
      if (std::count(queries.begin(), queries.end(), result.query) == 0) {
        queries.push_back(result.query);
      }
    }
  }
  for (const uint32_t query : queries) {
    *columns.add_queries() = EncodeQuery(query, blocks);
  }
  return columns;
}

v1::QueryColumns BatchWriter::EncodeQuery(
    uint32_t query, const std::vector<Block>& blocks) const {
  v1::QueryColumns columns;
  columns.set_query(query);
  std::vector<Run> runs;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    for (const Result& result : blocks[i].results) {
      if (result.query != query) continue;
      if (result.failure.has_value()) {
        v1::QueryFailure* failure = columns.add_failures();
        failure->set_block(i);
        failure->set_status(*result.failure);
      }
      for (const Row& row : result.rows) {
        const auto open =
            std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
              return run.instance == row.instance && run.end() == i;
            });
        Run& run = open != runs.end()
                       ? *open
                       : runs.emplace_back(
                             Run{.instance = row.instance, .first_block = i});
        run.rows.push_back(&row);
      }
    }
  }
  const bool whole = std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    return run.rows.size() == blocks.size();
  });
  uint32_t last_instance = 0;
  for (const Run& run : runs) {
    columns.add_instances(static_cast<int32_t>(run.instance - last_instance));
    last_instance = run.instance;
    if (whole) continue;
    columns.add_first_block(run.first_block);
    columns.add_block_count(static_cast<uint32_t>(run.rows.size()));
  }
  for (size_t c = 0; !runs.empty() && c < columns_of_query_.at(query); ++c) {
    v1::Column* column = columns.add_columns();
    uint32_t position = 0;
    bool constant = true;
    for (const Run& run : runs) {
      uint64_t last = 0;
      for (const Row* row : run.rows) {
        const bool first = row == run.rows.front();
        if (!row->values[c].has_value()) column->add_missing(position);
        const uint64_t value = row->values[c].value_or(last);
        if (first) {
          column->add_first(value);
        } else {
          column->add_differences(Difference(value, last));
          constant = constant && value == last;
        }
        last = value;
        ++position;
      }
    }
    if (constant) column->clear_differences();
  }
  return columns;
}

v1::Batch MakeBatch(uint64_t epoch, uint64_t sequence,
                    const v1::BatchContent& content,
                    v1::Compression compression) {
  v1::Batch batch;
  batch.set_epoch(epoch);
  batch.set_sequence(sequence);
  batch.set_compression(compression);
  std::string bytes = content.SerializeAsString();
  batch.set_content_size(static_cast<uint32_t>(bytes.size()));
  if (compression == v1::COMPRESSION_ZSTD) {
    ZstdCompress(bytes, batch.mutable_payload());
  } else {
    batch.set_payload(std::move(bytes));
  }
  return batch;
}

v1::Batch MakeSealedBatch(uint64_t epoch, uint64_t sequence,
                          const v1::BatchContent& content,
                          v1::Compression compression) {
  v1::Batch batch = MakeBatch(epoch, sequence, content, compression);
  batch.set_fingerprint(Fingerprint(batch.payload()));
  return batch;
}

absl::StatusOr<aggregator::DecodedBatch> Decode(
    const v1::BatchContent& content, aggregator::Dictionary* dictionary,
    const aggregator::BatchLimits& limits,
    const aggregator::QueryFilter& filter) {
  const std::string bytes = content.SerializeAsString();
  ASSIGN_OR_RETURN(const aggregator::BatchContents contents,
                   aggregator::ParseContents(bytes));
  return aggregator::DecodeBatch(contents, limits, filter, dictionary);
}

}  // namespace fleetperf::testing
