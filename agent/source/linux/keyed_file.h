// A file of lines "KEY number" or "KEY: number kB", such as /proc/meminfo and
// /proc/vmstat.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// Adds a line's number, times a factor, to a column.
struct KeyedTerm {
  absl::string_view key;
  size_t column;
  uint64_t factor = 1;
};

// Remembers the terms of each line, because a kernel's files have the same
// lines at every reading. Thread-compatible.
class KeyedFile {
 public:
  // `terms` must outlive this object. Terms with the same key are neighbors.
  KeyedFile(std::string path, absl::Span<const KeyedTerm> terms);

  // Sets the columns in the last row of `sample` whose keys occur in the file.
  // Does not read the file if no term's column is needed. `buffer` can be
  // shared by many files.
  absl::Status Read(ColumnSet needed, std::string* buffer,
                    CountersetSample* sample);

 private:
  struct Line {
    std::string key;
    size_t first_term;  // terms_.size() if there is none
  };

  const Line& GetLine(size_t number, absl::string_view key);

  ProcFile file_;
  const absl::Span<const KeyedTerm> terms_;
  ColumnSet columns_ = 0;
  std::vector<Line> lines_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_
