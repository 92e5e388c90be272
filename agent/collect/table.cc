#include "agent/collect/table.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using perflib::HeaderType;
using perflib::InstanceView;
using perflib::ParsedBlock;
using perflib::QueryResult;

// Returns whether the result has rows, complete or in part.
bool HasRows(const QueryResult& result) {
  if (result.complete) return true;
  return HasInstances(result.type) ? result.instances.count > 0
                                   : result.values.count > 0;
}

// Distinguishes the instances of a list. Twins have the same name and id and
// differ only in their order.
class OccurrenceCounter {
 public:
  explicit OccurrenceCounter(const ParsedBlock& block) : block_(block) {}

  // Returns a key that is unique in the list.
  std::string Next(const InstanceView& instance) {
    std::string key =
        absl::StrCat(instance.instance_id, " ", block_.NameBytes(instance));
    const uint32_t occurrence = seen_[key]++;
    return absl::StrCat(occurrence, " ", key);
  }

 private:
  const ParsedBlock& block_;
  absl::flat_hash_map<std::string, uint32_t> seen_;
};

// Returns, for each instance of `list`, its position in `rows`, if present.
std::vector<std::optional<size_t>> FindRows(
    const ParsedBlock& block, absl::Span<const InstanceView> rows,
    absl::Span<const InstanceView> list) {
  absl::flat_hash_map<std::string, size_t> row_of;
  OccurrenceCounter row_counter(block);
  for (size_t row = 0; row < rows.size(); ++row) {
    row_of[row_counter.Next(rows[row])] = row;
  }
  std::vector<std::optional<size_t>> found;
  OccurrenceCounter list_counter(block);
  for (const InstanceView& instance : list) {
    const auto entry = row_of.find(list_counter.Next(instance));
    found.push_back(entry != row_of.end() ? std::optional(entry->second)
                                          : std::nullopt);
  }
  return found;
}

}  // namespace

bool Table::Assemble(const ParsedBlock& block, absl::Span<const Part> parts) {
  block_ = &block;
  failure_status_ = 0;
  row_result_ = nullptr;
  for (const Part& part : parts) {
    const QueryResult& result = *part.result;
    if (result.type == HeaderType::kErrorReturn) {
      if (failure_status_ == 0) failure_status_ = result.status;
    } else if (HasRows(result) &&
               (row_result_ == nullptr ||
                (!row_result_->complete && result.complete))) {
      row_result_ = &result;
    }
  }
  if (row_result_ == nullptr) return false;

  rows_.clear();
  if (HasInstances(row_result_->type)) {
    const auto instances = block.Instances(*row_result_);
    rows_.assign(instances.begin(), instances.end());
  } else {
    rows_.emplace_back();  // nameless
  }
  values_.assign(counter_ids_.size() * rows_.size(), 0);
  sizes_.assign(counter_ids_.size() * rows_.size(), 0);
  for (const Part& part : parts) AddPart(part);
  return true;
}

absl::string_view Table::Utf16Name(size_t row) const {
  return block_->NameBytes(rows_[row]);
}

void Table::AddPart(const Part& part) {
  const QueryResult& result = *part.result;
  if (result.type == HeaderType::kErrorReturn) return;
  if (HasInstances(result.type) != HasInstances(row_result_->type)) return;

  const std::vector<std::optional<size_t>> columns = ColumnsOf(part);
  const auto values = block_->Values(result);
  const auto sizes = block_->ValueSizes(result);
  std::vector<std::optional<size_t>> row_of;  // empty: same rows as the table
  if (!HasSameInstances(result)) {
    row_of = FindRows(*block_, rows_, block_->Instances(result));
  }
  const size_t instances =
      HasInstances(result.type) ? result.instances.count : 1;
  for (size_t i = 0; i < instances; ++i) {
    const std::optional<size_t> row = row_of.empty() ? i : row_of[i];
    if (!row.has_value()) continue;
    for (size_t c = 0; c < columns.size(); ++c) {
      const size_t from = i * columns.size() + c;
      if (!columns[c].has_value() || from >= values.size()) continue;
      const size_t to = *columns[c] * rows_.size() + *row;
      values_[to] = values[from];
      sizes_[to] = sizes[from];
    }
  }
}

bool Table::HasSameInstances(const QueryResult& result) const {
  if (&result == row_result_ || !HasInstances(result.type)) return true;
  const auto instances = block_->Instances(result);
  return std::equal(instances.begin(), instances.end(), rows_.begin(),
                    rows_.end(),
                    [this](const InstanceView& a, const InstanceView& b) {
                      return a.instance_id == b.instance_id &&
                             block_->NameBytes(a) == block_->NameBytes(b);
                    });
}

// Returns, for each column of the result, the column of the table that it
// fills, if any.
std::vector<std::optional<size_t>> Table::ColumnsOf(const Part& part) const {
  const uint32_t named[] = {part.counter_id};
  const absl::Span<const uint32_t> ids =
      part.counter_id == perflib::kWildcardCounter
          ? block_->CounterIds(*part.result)
          : absl::MakeConstSpan(named);
  std::vector<std::optional<size_t>> columns;
  for (const uint32_t id : ids) {
    const auto found = std::find(counter_ids_.begin(), counter_ids_.end(), id);
    columns.push_back(found != counter_ids_.end()
                          ? std::optional<size_t>(found - counter_ids_.begin())
                          : std::nullopt);
  }
  return columns;
}

}  // namespace fleetperf::agent
