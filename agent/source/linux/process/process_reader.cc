#include "agent/source/linux/process/process_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/cgroup/cgroup_name.h"
#include "agent/source/linux/process/process_list.h"
#include "agent/source/linux/process/process_name.h"
#include "agent/source/linux/text.h"
#include "base/status_macros.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

// A process seldom moves to another cgroup, mostly at its start.
constexpr int64_t kCgroupLifetime = 30 * perflib::kLinuxPerfFreq;

}  // namespace

ProcessReader::ProcessReader(std::string root, size_t max_open_files)
    : root_(std::move(root)), max_open_files_(max_open_files) {}

absl::StatusOr<size_t> ProcessReader::Count(const perflib::Clocks& clocks) {
  RETURN_IF_ERROR(ListProcesses(root_ + "/proc", &pids_));
  counted_at_ = clocks.perf_time_stamp;
  return pids_.size();
}

absl::Status ProcessReader::Begin(const perflib::Clocks& clocks) {
  if (std::exchange(counted_at_, std::nullopt) != clocks.perf_time_stamp) {
    RETURN_IF_ERROR(ListProcesses(root_ + "/proc", &pids_));
  }
  ++pass_;
  open_files_ = static_cast<size_t>(std::count_if(
      processes_.begin(), processes_.end(),
      [](const auto& entry) { return entry.second.stat.is_open(); }));
  return absl::OkStatus();
}

ProcessReader::Process* ProcessReader::Read(uint32_t pid, ProcessStat* stat) {
  auto entry = processes_.find(pid);
  bool was_open = entry != processes_.end() && entry->second.stat.is_open();
  bool is_read = entry != processes_.end() && ReadLine(entry->second, stat);
  if (!is_read) {
    // First sight, or the process ended and the pid may have been reused.
    if (entry != processes_.end()) processes_.erase(entry);
    if (was_open) --open_files_;
    was_open = false;
    entry = processes_.try_emplace(pid, pid, PathOf(pid, "stat")).first;
    is_read = ReadLine(entry->second, stat);
  }
  if (!is_read) {
    processes_.erase(entry);
    return nullptr;
  }
  Process& process = entry->second;
  process.pass = pass_;
  if (!was_open && open_files_++ >= max_open_files_) {
    process.stat.Close();
    --open_files_;
  }
  return &process;
}

bool ProcessReader::ReadLine(Process& process, ProcessStat* stat) {
  const auto line = process.stat.Read(&buffer_);
  if (!line.ok() || !ParseProcessStat(*line, stat)) return false;
  const uint64_t identity = ProcessIdentity(process.pid, *stat);
  const bool is_new = process.identity != identity;
  if (is_new) {
    process.identity = identity;
    process.threads = {};
  }
  if (is_new || process.name != stat->name) {
    process.name = std::string(stat->name);
    process.whole_name.clear();
    for (std::string& name : process.utf16_names) name.clear();
  }
  return true;
}

void ProcessReader::Finish() {
  absl::erase_if(processes_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
}

absl::string_view ProcessReader::Utf16Name(Process& process,
                                           ProcessNaming naming,
                                           const perflib::Clocks& clocks) {
  std::string& utf16_name = process.utf16_names[static_cast<size_t>(naming)];
  const bool is_old =
      naming == ProcessNaming::kCgroup &&
      clocks.perf_time_stamp - process.cgroup_read_at >= kCgroupLifetime;
  if (!utf16_name.empty() && !is_old) return utf16_name;
  if (process.whole_name.empty()) process.whole_name = ReadWholeName(process);
  std::string name = process.whole_name;
  if (naming != ProcessNaming::kName) absl::StrAppend(&name, ":", process.pid);
  if (naming == ProcessNaming::kCgroup) {
    process.cgroup_read_at = clocks.perf_time_stamp;
    name = absl::StrCat(CgroupName(CgroupOf(process.pid)), "/", name);
  }
  utf16_name = perflib::Utf16FromUtf8(name);
  return utf16_name;
}

// Reading the command line can wait for the process's memory, so it is read
// once per name.
std::string ProcessReader::ReadWholeName(const Process& process) {
  if (process.name.size() != kMaxKernelName) return process.name;
  const auto command_line =
      ProcFile(PathOf(process.pid, "cmdline"), ProcFile::Kind::kSmall)
          .Read(&buffer_);
  return std::string(WholeProcessName(process.name, command_line.value_or("")));
}

// Returns "" for the root. Lines are "12:memory:/system.slice/nginx.service",
// or "0::/..." for the unified hierarchy. On machines with both, systemd may
// use only its own.
std::string ProcessReader::CgroupOf(uint32_t pid) {
  auto text = ProcFile(PathOf(pid, "cgroup")).Read(&buffer_);
  if (!text.ok()) return "";
  absl::string_view best;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const size_t path = line.find(":/");
    if (path == absl::string_view::npos) continue;
    const bool is_of_systemd =
        absl::StartsWith(line, "0::") || line.find(":name=systemd:") < path;
    const absl::string_view cgroup = line.substr(path + 1);
    if (is_of_systemd && cgroup.size() > best.size()) best = cgroup;
  }
  return best == "/" ? "" : std::string(best);
}

bool ProcessReader::HasEnded(uint32_t pid) {
  return !ProcFile(PathOf(pid, "stat"), ProcFile::Kind::kSmall)
              .Read(&buffer_)
              .ok();
}

std::string ProcessReader::PathOf(uint32_t pid, absl::string_view file) const {
  return absl::StrCat(root_, "/proc/", pid, "/", file);
}

}  // namespace fleetperf::agent
