#include "agent/source/linux/process/thread_counts.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_list.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

// Returns the growth of a count. A count that fell is that of another thread
// with the same number.
uint64_t GrowthOrRestart(uint64_t before, uint64_t now) {
  return now >= before ? now - before : now;
}

}  // namespace

bool ReadThreadCounts(const std::string& directory, std::string* buffer,
                      ThreadCounts* counts) {
  auto status = ProcFile(directory + "/status").Read(buffer);
  if (!status.ok()) return false;
  std::optional<uint64_t> voluntary;
  std::optional<uint64_t> involuntary;
  absl::string_view line;
  while (NextLine(&*status, &line)) {
    const absl::string_view key = NextWord(&line);
    if (key == "voluntary_ctxt_switches:") {
      voluntary = NextNumber(&line);
    } else if (key == "nonvoluntary_ctxt_switches:") {
      involuntary = NextNumber(&line);
    }
  }
  if (!voluntary.has_value() || !involuntary.has_value()) return false;
  counts->voluntary_switches = *voluntary;
  counts->involuntary_switches = *involuntary;
  // "7554965 1457105 3": time on a processor, on a run queue, and time slices.
  auto schedule =
      ProcFile(directory + "/schedstat", ProcFile::Kind::kSmall).Read(buffer);
  if (!schedule.ok()) return true;
  NextNumber(&*schedule);
  const std::optional<uint64_t> run_delay = NextNumber(&*schedule);
  counts->has_run_delay = run_delay.has_value();
  counts->run_delay = run_delay.value_or(0);
  return true;
}

bool ProcessThreadCounts::Update(const std::string& directory, uint32_t pid,
                                 uint64_t threads, std::string* buffer) {
  ++pass_;
  std::vector<uint32_t> tids = {pid};
  if (threads > 1 && !ListProcesses(directory, &tids).ok()) {
    return false;
  }
  bool is_read = false;
  for (const uint32_t tid : tids) is_read |= Add(directory, tid, buffer);
  absl::erase_if(threads_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
  return is_read;
}

bool ProcessThreadCounts::Add(const std::string& directory, uint32_t tid,
                              std::string* buffer) {
  ThreadCounts now;
  if (!ReadThreadCounts(absl::StrCat(directory, "/", tid), buffer, &now)) {
    return false;
  }
  Known& known = threads_[tid];
  if (!now.has_run_delay) now.run_delay = known.counts.run_delay;
  known.pass = pass_;
  for (const auto count :
       {&ThreadCounts::voluntary_switches, &ThreadCounts::involuntary_switches,
        &ThreadCounts::run_delay}) {
    total_.*count += GrowthOrRestart(known.counts.*count, now.*count);
  }
  total_.has_run_delay = now.has_run_delay;
  known.counts = now;
  return true;
}

}  // namespace fleetperf::agent
