// Texts of lines "KEY number" or "KEY: number kB", such as /proc/meminfo and
// the files of cgroups.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_KEYED_TEXT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_KEYED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// Adds a line's number, times a factor, to a column.
struct KeyedTerm {
  absl::string_view key;
  size_t column;
  uint64_t factor = 1;
  // Whether some kernels lack the line, and the sum is right without it.
  bool is_optional = false;
};

inline constexpr bool kIsOptional = true;

constexpr ColumnSet ColumnsOf(absl::Span<const KeyedTerm> terms) {
  ColumnSet columns = 0;
  for (const KeyedTerm& term : terms) columns |= Bit(term.column);
  return columns;
}

// Remembers the terms of each line, because a kernel's files have the same
// lines at every reading. Thread-compatible.
class KeyedText {
 public:
  // `terms` must outlive this object. Terms with the same key are neighbors.
  // The key is preceded by `words_before` words.
  explicit KeyedText(absl::Span<const KeyedTerm> terms,
                     size_t words_before = 0);

  // The columns of all terms.
  ColumnSet columns() const { return columns_; }

  // Sets the columns in the last row of `sample` whose keys occur in the text.
  // A column stays absent without the number of one of its terms, unless the
  // term is optional and its line is missing.
  void SetColumns(absl::string_view text, CountersetSample* sample);

 private:
  struct Line {
    std::string key;
    size_t first_term;  // terms_.size() if there is none
  };

  const Line& GetLine(size_t number, absl::string_view key);

  const absl::Span<const KeyedTerm> terms_;
  const size_t words_before_;
  const ColumnSet columns_;
  std::vector<uint8_t> seen_;  // by term, in the last text
  std::vector<Line> lines_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_KEYED_TEXT_H_
