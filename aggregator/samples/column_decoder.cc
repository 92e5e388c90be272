#include "aggregator/samples/column_decoder.h"

#include <cstddef>

#include "aggregator/samples/batch_fields.h"
#include "aggregator/samples/wire_reader.h"
#include "base/coding.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {
namespace {

// Reads the positions without a value in the selected runs.
absl::Status ReadMissing(absl::string_view missing,
                         const std::vector<Frame::Run>& runs,
                         const std::vector<uint32_t>& run_numbers,
                         FrameColumn* to) {
  VarintReader positions(missing);
  auto number = run_numbers.begin();
  uint32_t begin = 0;  // of the run among the selected ones
  while (positions.left() > 0) {
    const auto position = static_cast<uint32_t>(positions.Next());
    while (number != run_numbers.end() &&
           runs[*number].begin + runs[*number].tick_count <= position) {
      begin += runs[*number++].tick_count;
    }
    if (number == run_numbers.end()) break;
    if (position >= runs[*number].begin) {
      to->missing.push_back(begin + position - runs[*number].begin);
    }
  }
  return positions.ok() ? absl::OkStatus()
                        : Malformed("Column.missing cannot be read");
}

absl::Status DecodeRunsOfColumn(absl::string_view message,
                                const std::vector<Frame::Run>& runs,
                                const std::vector<uint32_t>& run_numbers,
                                FrameColumn* to) {
  ColumnFields column;
  RETURN_IF_ERROR(column.Read(message));
  to->constant = column.differences.empty();
  VarintReader first(column.first);
  VarintReader later(column.differences);
  to->values.reserve(run_numbers.size());
  uint32_t next = 0;  // the run at which the readers are
  for (const uint32_t number : run_numbers) {
    first.SkipVarints(number - next);
    if (!to->constant && number > next) {
      const uint32_t values = runs[number].begin - runs[next].begin;
      later.SkipVarints(values - (number - next));
    }
    next = number + 1;
    uint64_t last = first.Next();
    to->values.push_back(last);
    if (to->constant) continue;
    for (uint32_t tick = 1; tick < runs[number].tick_count; ++tick) {
      to->values.push_back(last += UnZigZag(later.Next()));
    }
  }
  if (!first.ok() || !later.ok()) return Malformed("a Column cannot be read");
  return ReadMissing(column.missing, runs, run_numbers, to);
}

}  // namespace

absl::Status DecodeColumns(absl::string_view encoded,
                           const std::vector<Frame::Run>& runs,
                           const std::vector<uint32_t>& run_numbers,
                           const std::vector<bool>& wanted, Frame* frame) {
  frame->runs.clear();
  frame->runs.reserve(run_numbers.size());
  uint32_t begin = 0;
  for (const uint32_t number : run_numbers) {
    Frame::Run& run = frame->runs.emplace_back(runs[number]);
    run.begin = begin;
    begin += run.tick_count;
  }
  frame->columns.assign(wanted.size(), {});
  FieldReader reader(encoded);
  for (size_t column = 0; reader.Next();) {
    if (reader.field() != v1::QueryColumns::kColumnsFieldNumber) continue;
    if (column == wanted.size()) break;
    if (wanted[column]) {
      RETURN_IF_ERROR(DecodeRunsOfColumn(reader.Bytes(), runs, run_numbers,
                                         &frame->columns[column]));
    }
    ++column;
  }
  return CheckReadable(reader, "QueryColumns");
}

}  // namespace fleetperf::aggregator
