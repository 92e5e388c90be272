// The values of one counterset in a block, put together from the results of the
// queries that asked for it.
//
// A counterset is queried either with one query for all its counters or with
// one for each, so that a block has one or several results for it, each with
// its own list of instances.

#ifndef FLEETPERF_AGENT_COLLECT_TABLE_H_
#define FLEETPERF_AGENT_COLLECT_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/block_reader.h"

namespace fleetperf::agent {

// Keeps its memory from tick to tick. Views the block it was made from.
class Table {
 public:
  // The counters that make the columns.
  explicit Table(std::vector<uint32_t> counter_ids)
      : counter_ids_(std::move(counter_ids)) {}

  // A result that belongs to the table, and the counter that its query named:
  // kWildcardCounter if the result tells its counters itself.
  struct Part {
    const perflib::QueryResult* result;
    uint32_t counter_id;
  };

  // Replaces the contents. The rows are the instances of the first complete
  // result. False if every part is an error return or has no rows to tell.
  bool Assemble(const perflib::ParsedBlock& block,
                absl::Span<const Part> parts);

  // If Assemble returned false: the dwStatus of the first part that has one,
  // 0 if the bytes were rejected.
  uint32_t failure_status() const { return failure_status_; }

  // Whether all instances are here.
  bool complete() const { return row_result_->complete; }

  size_t rows() const { return rows_.size(); }
  // The row's instance: without a name where the counterset has none.
  absl::string_view Utf16Name(size_t row) const;
  uint32_t InstanceId(size_t row) const { return rows_[row].instance_id; }

  // Column by column, in each one value per row. The size is dwDataSize: 4 or 8
  // where there is a value.
  uint64_t Value(size_t column, size_t row) const {
    return values_[column * rows_.size() + row];
  }
  uint32_t ValueSize(size_t column, size_t row) const {
    return sizes_[column * rows_.size() + row];
  }

 private:
  void AddPart(const Part& part);
  bool HasSameInstances(const perflib::QueryResult& result) const;
  std::vector<std::optional<size_t>> ColumnsOf(const Part& part) const;

  const std::vector<uint32_t> counter_ids_;
  const perflib::ParsedBlock* block_ = nullptr;
  const perflib::QueryResult* row_result_ = nullptr;
  std::vector<perflib::InstanceView> rows_;
  std::vector<uint64_t> values_;
  std::vector<uint32_t> sizes_;
  uint32_t failure_status_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_TABLE_H_
