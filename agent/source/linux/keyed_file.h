// A file with a KeyedText.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "agent/source/linux/keyed_text.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// Thread-compatible.
class KeyedFile {
 public:
  // As KeyedText.
  KeyedFile(std::string path, absl::Span<const KeyedTerm> terms)
      : file_(std::move(path)), text_(terms) {}

  // Sets the columns in the last row of `sample` whose keys occur in the file.
  // Does not read the file if no term's column is needed. Notes if there is
  // nothing to read. `buffer` can be shared by many files.
  void Read(ColumnSet needed, std::string* buffer, CountersetSample* sample) {
    if ((needed & text_.columns()) == 0) return;
    if (const auto text = ReadCountsOrNote(file_, buffer, sample)) {
      text_.SetColumns(*text, sample);
    }
  }

 private:
  ProcFile file_;
  KeyedText text_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_KEYED_FILE_H_
