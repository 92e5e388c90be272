// Files whose absence a sample notes, because other machines have them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NOTED_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NOTED_FILE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// As ProcFile::Read. Returns std::nullopt, and notes it in `sample`, if the
// file cannot be read or is empty, as a file that is masked by /dev/null.
std::optional<absl::string_view> ReadOrNote(ProcFile& file, std::string* buffer,
                                            CountersetSample* sample);

// Same for a file that always has a count above 0. Also returns std::nullopt if
// all counts are 0: a sandbox, such as gVisor, does not count them.
std::optional<absl::string_view> ReadCountsOrNote(ProcFile& file,
                                                  std::string* buffer,
                                                  CountersetSample* sample);

// Notes that a sandbox does not count what is in the file.
void NoteStub(const ProcFile& file, CountersetSample* sample);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NOTED_FILE_H_
