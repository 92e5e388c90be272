#include "cli/decode_records.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {
namespace {

using perflib::HeaderType;
using perflib::ParsedBlock;
using perflib::QueryResult;

std::string TypeName(HeaderType type) {
  switch (type) {
    case HeaderType::kErrorReturn:
      return "PERF_ERROR_RETURN";
    case HeaderType::kSingleCounter:
      return "PERF_SINGLE_COUNTER";
    case HeaderType::kMultipleCounters:
      return "PERF_MULTIPLE_COUNTERS";
    case HeaderType::kMultipleInstances:
      return "PERF_MULTIPLE_INSTANCES";
    case HeaderType::kCounterset:
      return "PERF_COUNTERSET";
  }
  return absl::StrCat("unknown (", static_cast<uint32_t>(type), ")");
}

Record ClockFields(const ParsedBlock& block) {
  return {{.name = "perf_time", .value = block.header.perf_time_stamp},
          {.name = "perf_time_100ns", .value = block.header.perf_time_100nsec},
          {.name = "perf_freq", .value = block.header.perf_freq}};
}

// Returns the record of the block itself.
Record BlockRecord(const std::string& file, const ParsedBlock& block) {
  Record record = {
      {.name = "file", .value = file},
      {.name = "total_size", .value = uint32_t{block.header.total_size}},
      {.name = "queries", .value = uint32_t{block.header.num_counters}}};
  for (Field& clock : ClockFields(block)) record.push_back(std::move(clock));
  return record;
}

Record ErrorRecord(uint32_t query, const QueryResult& result) {
  return {{.name = "query", .value = query},
          {.name = "result", .value = TypeName(result.type)},
          {.name = "status", .value = uint32_t{result.status}}};
}

// Returns the number of values per instance, or of all values if there are no
// instances.
size_t ColumnsOf(const ParsedBlock& block, const QueryResult& result) {
  return HasCounterIds(result.type) ? block.CounterIds(result).size() : 1;
}

// The fields that identify a value, all null.
struct ValueFields {
  Field counter{.name = "counter"};
  Field instance{.name = "instance"};
  Field instance_id{.name = "instance_id"};
  Field size{.name = "size"};
  Field value{.name = "value"};

  void SetInstance(const ParsedBlock& block, const QueryResult& result,
                   size_t i) {
    const perflib::InstanceView& view = block.Instances(result)[i];
    instance.value = block.Name(view);
    instance_id.value = uint32_t{view.instance_id};
  }

  // Sets the fields of the `i`-th value of the result.
  void SetValue(const ParsedBlock& block, const QueryResult& result, size_t i) {
    const size_t columns = ColumnsOf(block, result);
    const auto ids = block.CounterIds(result);
    if (!ids.empty()) counter.value = uint32_t{ids[i % columns]};
    if (result.instances.count > 0) SetInstance(block, result, i / columns);
    const uint32_t bytes = block.ValueSizes(result)[i];
    if (bytes != perflib::kRejectedValue) size.value = uint32_t{bytes};
    if (bytes == sizeof(uint32_t) || bytes == sizeof(uint64_t)) {
      value.value = absl::StrCat(block.Values(result)[i]);
    }
  }
};

// Returns the position of the value of a counter in a result, for the instance
// of the `i`-th value of `of`.
std::optional<size_t> FindValue(const ParsedBlock& block, const QueryResult& of,
                                size_t i, const QueryResult& result,
                                uint32_t counter_id) {
  const auto ids = block.CounterIds(result);
  const auto id = std::find(ids.begin(), ids.end(), counter_id);
  if (!ids.empty() && id == ids.end()) return std::nullopt;
  const size_t column = ids.empty() ? 0 : static_cast<size_t>(id - ids.begin());
  if (of.instances.count == 0) return column;
  const perflib::InstanceView& wanted =
      block.Instances(of)[i / ColumnsOf(block, of)];
  for (size_t k = 0; k < result.instances.count; ++k) {
    const perflib::InstanceView& instance = block.Instances(result)[k];
    if (instance.instance_id == wanted.instance_id &&
        block.Name(instance) == block.Name(wanted)) {
      return k * ColumnsOf(block, result) + column;
    }
  }
  return std::nullopt;
}

// Adds the type of the `i`-th value of a result, and the values of the counters
// that its formula names, as in raw samples.
class FormulaFields {
 public:
  FormulaFields(const ParsedBlock& block, const CaptureTypes& types,
                uint32_t query)
      : block_(block), types_(types), query_(query) {}

  void Add(size_t i, Record* record) const {
    const std::optional<uint32_t> counter = CounterOf(i);
    if (!counter.has_value()) return;
    const CounterFormula* formula = types_.Find(query_, *counter);
    if (formula == nullptr) return;
    record->push_back(
        {.name = "type", .value = perflib::CounterTypeName(formula->type)});
    record->push_back(Linked("base", i, formula->denominator_id));
    record->push_back(Linked("frequency", i, formula->frequency_id));
    record->push_back(Linked("multi", i, formula->multi_id));
  }

  std::optional<uint32_t> CounterOf(size_t i) const {
    const auto ids = block_.CounterIds(block_.results[query_]);
    if (ids.empty()) return types_.CounterOf(query_);
    return ids[i % ids.size()];
  }

 private:
  Field Linked(const char* name, size_t i,
               std::optional<uint32_t> counter_id) const {
    Field field{.name = name, .detail = true};
    if (!counter_id.has_value()) return field;
    const std::optional<uint32_t> query = types_.QueryOf(query_, *counter_id);
    if (!query.has_value() || *query >= block_.results.size()) return field;
    const QueryResult& result = block_.results[*query];
    const auto at =
        FindValue(block_, block_.results[query_], i, result, *counter_id);
    if (!at.has_value() || *at >= result.values.count) return field;
    const uint32_t bytes = block_.ValueSizes(result)[*at];
    if (bytes == sizeof(uint32_t) || bytes == sizeof(uint64_t)) {
      field.value = uint64_t{block_.Values(result)[*at]};
    }
    return field;
  }

  const ParsedBlock& block_;
  const CaptureTypes& types_;
  const uint32_t query_;
};

Record ValueRecord(uint32_t query, const QueryResult& result,
                   const ValueFields& fields) {
  return {{.name = "query", .value = query},
          {.name = "result", .value = TypeName(result.type)},
          fields.counter,
          fields.instance,
          fields.instance_id,
          fields.size,
          fields.value};
}

// Produces the rows of one result.
class ResultRows {
 public:
  ResultRows(const ParsedBlock& block, uint32_t query, UseRecord use)
      : block_(block),
        result_(block.results[query]),
        query_(query),
        use_(use) {}

  void ForEach() {
    const size_t columns = ColumnsOf(block_, result_);
    const size_t instances = result_.instances.count;
    if (instances == 0) UseValues(0, result_.values.count, {});
    for (size_t i = 0; i < instances; ++i) {
      ValueFields fields;
      fields.SetInstance(block_, result_, i);
      UseValues(i * columns, (i + 1) * columns, fields);
    }
  }

 private:
  // Emits the values in [begin, end), or one row with `empty` if there are
  // none.
  void UseValues(size_t begin, size_t end, const ValueFields& empty) {
    end = std::min<size_t>(end, result_.values.count);
    if (begin >= end) UseRow(empty);
    for (size_t i = begin; i < end; ++i) {
      ValueFields fields;
      fields.SetValue(block_, result_, i);
      UseRow(fields);
    }
  }

  void UseRow(const ValueFields& fields) {
    Field status{.name = "status", .value = uint64_t{result_.status}};
    if (!result_.complete) {
      status.text = absl::StrCat(result_.status, " (incomplete)");
    }
    Record row = ValueRecord(query_, result_, fields);
    row.push_back(std::move(status));
    use_(row);
  }

  const ParsedBlock& block_;
  const QueryResult& result_;
  const uint32_t query_;
  const UseRecord use_;
};

}  // namespace

void ForEachDecodedObject(const std::string& file, const ParsedBlock& block,
                          const CaptureTypes& types, UseRecord use) {
  use(BlockRecord(file, block));
  for (uint32_t query = 0; query < block.results.size(); ++query) {
    const QueryResult& result = block.results[query];
    if (result.type == HeaderType::kErrorReturn) {
      use(ErrorRecord(query, result));
    }
    for (size_t i = 0; i < result.values.count; ++i) {
      if (block.ValueSizes(result)[i] == perflib::kRejectedValue) continue;
      ValueFields fields;
      fields.SetValue(block, result, i);
      const FormulaFields formula(block, types, query);
      if (const auto counter = formula.CounterOf(i)) {
        fields.counter.value = *counter;
      }
      Record record = ValueRecord(query, result, fields);
      for (Field& clock : ClockFields(block))
        record.push_back(std::move(clock));
      formula.Add(i, &record);
      use(record);
    }
  }
}

void ForEachDecodedRow(const ParsedBlock& block, UseRecord use) {
  for (uint32_t query = 0; query < block.results.size(); ++query) {
    ResultRows(block, query, use).ForEach();
  }
}

}  // namespace fleetperf::cli
