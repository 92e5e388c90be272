#include "agent/source/linux/disk/linux_nfs_mount.h"

#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/disk/mount_table.h"
#include "agent/source/linux/octal_escapes.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kOperationsPerSec,
  kReadsPerSec,
  kWritesPerSec,
  kReadBytesPerSec,
  kWriteBytesPerSec,
  kSecondsPerOperation,
  kSecondsPerRead,
  kSecondsPerWrite,
  kResponseTime,
  kQueueTime,
  kRetransmissions,
  kTimeouts,
  kErrors,
  kConnects,
  kOperationsBase,
  kReadsBase,
  kWritesBase,
  kNumColumns
};

constexpr uint32_t kOperationsBaseId = kFirstLinuxCounterId + 100;
constexpr uint32_t kReadsBaseId = kFirstLinuxCounterId + 101;
constexpr uint32_t kWritesBaseId = kFirstLinuxCounterId + 102;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterCounter, "Operations/sec", "Requests of any kind."},
     "requests/s",
     "/proc/self/mountstats per-op statistics field 1"},
    {{1, kPerfCounterCounter, "Reads/sec", "Requests to read files."},
     "requests/s",
     "/proc/self/mountstats READ field 1"},
    {{2, kPerfCounterCounter, "Writes/sec", "Requests to write files."},
     "requests/s",
     "/proc/self/mountstats WRITE field 1"},
    {{3, kPerfCounterBulkCount, "Read Bytes/sec",
      "Bytes read from the server."},
     "bytes/s",
     "/proc/self/mountstats bytes field 5",
     "Without reads that the cache answers."},
    {{4, kPerfCounterBulkCount, "Write Bytes/sec",
      "Bytes written to the server."},
     "bytes/s",
     "/proc/self/mountstats bytes field 6"},
    {{5, kPerfAverageTimer, "Avg. sec/Operation",
      "The average time of a request, from its start to its end.",
      kOperationsBaseId},
     "s",
     "/proc/self/mountstats per-op statistics field 8",
     "Counted in milliseconds."},
    {{6, kPerfAverageTimer, "Avg. sec/Read", "The average time of a read.",
      kReadsBaseId},
     "s",
     "/proc/self/mountstats READ field 8"},
    {{7, kPerfAverageTimer, "Avg. sec/Write", "The average time of a write.",
      kWritesBaseId},
     "s",
     "/proc/self/mountstats WRITE field 8"},
    {{8, kPerfAverageTimer, "Avg. Response sec/Operation",
      "The average time from the sending of a request to its answer.",
      kOperationsBaseId},
     "s",
     "/proc/self/mountstats per-op statistics field 7",
     "The share of the network and the server."},
    {{9, kPerfAverageTimer, "Avg. Queue sec/Operation",
      "The average time that a request waited to be sent.", kOperationsBaseId},
     "s",
     "/proc/self/mountstats per-op statistics field 6",
     "The share of this machine."},
    {{10, kPerfCounterLargeDelta, "Retransmissions",
      "Requests that were sent again."},
     "requests",
     "/proc/self/mountstats per-op statistics field 2 - field 1"},
    {{11, kPerfCounterLargeDelta, "Timeouts",
      "Requests that had no answer after all retransmissions."},
     "requests",
     "/proc/self/mountstats per-op statistics field 3",
     "Hard mounts then start over."},
    {{12, kPerfCounterLargeDelta, "Errors",
      "Requests that ended with an error."},
     "requests",
     "/proc/self/mountstats per-op statistics field 9",
     "Includes harmless ones, such as a lookup of a file that does not exist. "
     "Since Linux 5.3."},
    {{13, kPerfCounterLargeDelta, "Connects",
      "Connections to the server that were opened."},
     "connections",
     "/proc/self/mountstats xprt field 4",
     "Over TCP and RDMA."},
    {{kOperationsBaseId, kPerfAverageBase, "", ""},
     "",
     "/proc/self/mountstats per-op statistics field 1"},
    {{kReadsBaseId, kPerfAverageBase, "", ""},
     "",
     "/proc/self/mountstats READ field 1"},
    {{kWritesBaseId, kPerfAverageBase, "", ""},
     "",
     "/proc/self/mountstats WRITE field 1"},
};
static_assert(std::size(kCounters) == kNumColumns);

// Returns by how much a number exceeds another one.
std::optional<uint64_t> Excess(std::optional<uint64_t> number,
                               std::optional<uint64_t> other) {
  if (!number.has_value() || !other.has_value()) return std::nullopt;
  return *number > *other ? *number - *other : 0;
}

}  // namespace

constinit const LinuxCounterset LinuxNfsMount::kCounterset = {
    .guid = "{8eb1e5c5-c363-50a3-b98a-178b140367bf}",
    .name = "Linux NFS Mount",
    .help = "Requests and response times of mounted NFS file systems.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "mount points",
    .counters = kCounters};

LinuxNfsMount::LinuxNfsMount(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      file_(DirectoryOfMounts(root) + "/mountstats") {}

absl::Status LinuxNfsMount::Sample(ColumnSet, const Clocks&,
                                   CountersetSample* sample) {
  auto text = file_.Read(&buffer_);
  if (!text.ok()) return OkIfNotFound(text.status());
  ++pass_;
  Lines lines;
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    if (absl::ConsumePrefix(&line, "device ")) {
      AddMount(lines, sample);
      lines = BeginMount(line);
    } else if (!lines.mount_point.empty()) {
      ReadLine(line, lines);
    }
  }
  AddMount(lines, sample);
  absl::erase_if(mounts_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
  return absl::OkStatus();
}

// Parses "server:/home mounted on /home with fstype nfs4 statvers=1.1".
LinuxNfsMount::Lines LinuxNfsMount::BeginMount(absl::string_view line) {
  NextWord(&line);
  NextWord(&line);
  NextWord(&line);
  const absl::string_view mount_point = NextWord(&line);
  NextWord(&line);
  NextWord(&line);
  const absl::string_view type = NextWord(&line);
  Lines lines;
  if (type == "nfs" || type == "nfs4") lines.mount_point = mount_point;
  return lines;
}

void LinuxNfsMount::ReadLine(absl::string_view line, Lines& lines) {
  const absl::string_view key = NextWord(&line);
  if (lines.in_operations) {
    AddOperation(key, line, lines);
  } else if (key == "per-op") {
    lines.in_operations = true;
  } else if (key == "age:") {
    lines.age = NextNumber(&line).value_or(0);
  } else if (key == "bytes:") {
    for (int i = 0; i < 4; ++i) NextWord(&line);  // those of programs
    lines.Add(kReadBytesPerSec, NextNumber(&line));
    lines.Add(kWriteBytesPerSec, NextNumber(&line));
  } else if (key == "xprt:") {
    // A mount can have several connections.
    const absl::string_view protocol = NextWord(&line);
    if (protocol != "tcp" && protocol != "rdma") return;
    NextWord(&line);  // the port
    NextWord(&line);  // binds
    lines.Add(kConnects, NextNumber(&line));
  }
}

// Parses the numbers of requests, transmissions, timeouts, bytes sent, bytes
// received, the milliseconds in the queue, until the answer and of all, and the
// number of errors.
void LinuxNfsMount::AddOperation(absl::string_view name,
                                 absl::string_view numbers, Lines& lines) {
  SkipSpaces(&numbers);
  if (numbers.empty() || !absl::ascii_isdigit(numbers.front())) return;
  const auto milliseconds = [&] {
    return Times(NextNumber(&numbers), k100NSecPerMillisecond);
  };
  const auto requests = NextNumber(&numbers);
  const auto transmissions = NextNumber(&numbers);
  const auto timeouts = NextNumber(&numbers);
  NextWord(&numbers);
  NextWord(&numbers);
  const auto queue = milliseconds();
  const auto response = milliseconds();
  const auto time = milliseconds();
  lines.Add(kOperationsPerSec, requests);
  lines.Add(kOperationsBase, requests);
  lines.Add(kSecondsPerOperation, time);
  lines.Add(kResponseTime, response);
  lines.Add(kQueueTime, queue);
  lines.Add(kRetransmissions, Excess(transmissions, requests));
  lines.Add(kTimeouts, timeouts);
  // Since Linux 5.3.
  if (!numbers.empty()) lines.Add(kErrors, NextNumber(&numbers));
  if (name == "READ:") {
    lines.Add(kReadsPerSec, requests);
    lines.Add(kReadsBase, requests);
    lines.Add(kSecondsPerRead, time);
  } else if (name == "WRITE:") {
    lines.Add(kWritesPerSec, requests);
    lines.Add(kWritesBase, requests);
    lines.Add(kSecondsPerWrite, time);
  }
}

void LinuxNfsMount::AddMount(const Lines& lines, CountersetSample* sample) {
  if (lines.mount_point.empty()) return;
  const auto [entry, is_new] = mounts_.try_emplace(lines.mount_point);
  Mount& mount = entry->second;
  // Of several mounts at the same place, the first one counts.
  if (mount.pass == pass_) return;
  if (is_new) mount.utf16_name = Utf16FromUtf8(DecodeOctal(lines.mount_point));
  if (is_new || lines.age < mount.age) mount.id = next_id_++;
  mount.age = lines.age;
  mount.pass = pass_;
  sample->AddInstance(mount.utf16_name, mount.id);
  for (size_t column = 0; column < kNumColumns; ++column) {
    if (!Has(lines.present & ~lines.incomplete, column)) continue;
    sample->Set(column, lines.values[column]);
  }
}

}  // namespace fleetperf::agent
