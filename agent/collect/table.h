// The values of one counterset in a block, assembled from the results of its
// queries.
//
// A counterset is queried either with one query for all its counters or with
// one query per counter. A block therefore has one or more results for it, each
// with its own list of instances.

#ifndef FLEETPERF_AGENT_COLLECT_TABLE_H_
#define FLEETPERF_AGENT_COLLECT_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/block_reader.h"

namespace fleetperf::agent {

// Reuses memory from tick to tick. Views the parsed block, which must outlive
// it. Thread-compatible.
class Table {
 public:
  // `counter_ids` are the columns.
  explicit Table(std::vector<uint32_t> counter_ids)
      : counter_ids_(std::move(counter_ids)) {}

  // A result that belongs to the table and the counter of its query. The
  // counter is kWildcardCounter if the result itself names its counters.
  struct Part {
    const perflib::QueryResult* result;
    uint32_t counter_id;
  };

  // Replaces the contents. The rows are the instances of the first complete
  // result. Returns false if every part is an error return or has no rows.
  bool Assemble(const perflib::ParsedBlock& block,
                absl::Span<const Part> parts);

  // After Assemble() returned false: the dwStatus of the first part with an
  // error status, or 0 if the bytes were rejected.
  uint32_t failure_status() const { return failure_status_; }

  // Whether the table has all instances.
  bool complete() const { return row_result_->complete; }

  size_t rows() const { return rows_.size(); }
  // Returns the instance name of a row; empty if the counterset has no
  // instances.
  absl::string_view Utf16Name(size_t row) const;
  uint32_t InstanceId(size_t row) const { return rows_[row].instance_id; }

  // Values are stored by column, one per row. The size is dwDataSize: 4 or 8 if
  // there is a value.
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
