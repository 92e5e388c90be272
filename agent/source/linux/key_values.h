// Files of lines with a key and a number.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_KEY_VALUES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_KEY_VALUES_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/text.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// A column that is a line's number times a factor.
struct KeyColumn {
  absl::string_view key;
  size_t column;
  uint64_t factor = 1;
};

constexpr ColumnSet ColumnsOf(absl::Span<const KeyColumn> columns) {
  ColumnSet set = 0;
  for (const KeyColumn& column : columns) set |= Bit(column.column);
  return set;
}

// Sets the columns whose keys have a line "KEY NUMBER". `columns` should be in
// the order of the lines, which makes the search cheap. A key may occur in
// several neighboring elements.
inline void SetKeyColumns(absl::string_view text,
                          absl::Span<const KeyColumn> columns,
                          CountersetSample* sample) {
  absl::string_view line;
  size_t next = 0;
  while (NextLine(&text, &line)) {
    const absl::string_view key = NextWord(&line);
    // The search starts after the previous line's columns. It wraps around.
    for (size_t tried = 0; tried < columns.size(); ++tried) {
      const size_t i = (next + tried) % columns.size();
      if (columns[i].key != key) continue;
      const uint64_t number = NumberOrZero(&line);
      for (next = i; next < columns.size() && columns[next].key == key;
           ++next) {
        sample->Set(columns[next].column, number * columns[next].factor);
      }
      break;
    }
  }
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_KEY_VALUES_H_
