#include "agent/source/linux/disk/linux_nfs_client.h"

#include <iterator>
#include <optional>

#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kCalls,
  kRetransmissions,
  kAuthenticationRefreshes,
  kReads,
  kWrites,
  kCommits,
  kOpens,
  kCloses,
  kLocks,
  kGetAttributes,
  kSetAttributes,
  kLookups,
  kAccessChecks,
  kReadDirectories,
  kCreates,
  kRemoves,
  kRenames,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterCounter, "Calls/sec", "Requests to servers."},
     "calls/s",
     "/proc/net/rpc/nfs rpc field 1",
     "Of all mounts and versions of NFS."},
    {{1, kPerfCounterCounter, "Retransmissions/sec",
      "Requests sent again because no answer came in time."},
     "calls/s",
     "/proc/net/rpc/nfs rpc field 2"},
    {{2, kPerfCounterCounter, "Authentication Refreshes/sec",
      "Renewals of the credentials of requests."},
     "renewals/s",
     "/proc/net/rpc/nfs rpc field 3"},
    {{3, kPerfCounterCounter, "Reads/sec", "Reads."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 read + proc4 read"},
    {{4, kPerfCounterCounter, "Writes/sec", "Writes."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 write + proc4 write"},
    {{5, kPerfCounterCounter, "Commits/sec",
      "Requests to write data to disk that the server holds in memory."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 commit + proc4 commit"},
    {{6, kPerfCounterCounter, "Opens/sec", "Opens of files."},
     "requests/s",
     "/proc/net/rpc/nfs proc4 open + open_noattr",
     "Version 4 only: version 3 has no opens."},
    {{7, kPerfCounterCounter, "Closes/sec", "Closes of files."},
     "requests/s",
     "/proc/net/rpc/nfs proc4 close",
     "Version 4 only."},
    {{8, kPerfCounterCounter, "Locks/sec", "Locks and unlocks of files."},
     "requests/s",
     "/proc/net/rpc/nfs proc4 lock + lockt + locku",
     "Version 4 only: version 3 has another protocol for locks."},
    {{9, kPerfCounterCounter, "Get Attributes/sec", "Queries of attributes."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 getattr + proc4 getattr"},
    {{10, kPerfCounterCounter, "Set Attributes/sec", "Changes of attributes."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 setattr + proc4 setattr"},
    {{11, kPerfCounterCounter, "Lookups/sec",
      "Lookups of names in directories."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 lookup + proc4 lookup + lookup_root"},
    {{12, kPerfCounterCounter, "Access Checks/sec", "Checks of access rights."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 access + proc4 access"},
    {{13, kPerfCounterCounter, "Read Directories/sec", "Reads of directories."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 readdir + readdirplus + proc4 readdir"},
    {{14, kPerfCounterCounter, "Creates/sec",
      "Creations of files, directories, links and special files."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 create + mkdir + symlink + mknod + link + proc4 "
     "link + symlink + create",
     "Version 4 creates files with an open."},
    {{15, kPerfCounterCounter, "Removes/sec",
      "Removals of files and directories."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 remove + rmdir + proc4 remove"},
    {{16, kPerfCounterCounter, "Renames/sec",
      "Renames of files and directories."},
     "requests/s",
     "/proc/net/rpc/nfs proc3 rename + proc4 rename"},
};
static_assert(std::size(kCounters) == kNumColumns);

// A number of a line, which is added to a column.
struct Term {
  absl::string_view line;
  size_t number;  // from 0; number 0 of "proc3" is how many follow
  Column column;
};

// In ascending order within a line. The order of requests is that of the
// protocol in version 3 and that of the kernel's enumeration in version 4,
// which grows at its end.
constexpr Term kTerms[] = {
    {"rpc", 0, kCalls},
    {"rpc", 1, kRetransmissions},
    {"rpc", 2, kAuthenticationRefreshes},
    {"proc3", 2, kGetAttributes},     // getattr
    {"proc3", 3, kSetAttributes},     // setattr
    {"proc3", 4, kLookups},           // lookup
    {"proc3", 5, kAccessChecks},      // access
    {"proc3", 7, kReads},             // read
    {"proc3", 8, kWrites},            // write
    {"proc3", 9, kCreates},           // create
    {"proc3", 10, kCreates},          // mkdir
    {"proc3", 11, kCreates},          // symlink
    {"proc3", 12, kCreates},          // mknod
    {"proc3", 13, kRemoves},          // remove
    {"proc3", 14, kRemoves},          // rmdir
    {"proc3", 15, kRenames},          // rename
    {"proc3", 16, kCreates},          // link
    {"proc3", 17, kReadDirectories},  // readdir
    {"proc3", 18, kReadDirectories},  // readdirplus
    {"proc3", 22, kCommits},          // commit
    {"proc4", 2, kReads},             // read
    {"proc4", 3, kWrites},            // write
    {"proc4", 4, kCommits},           // commit
    {"proc4", 5, kOpens},             // open
    {"proc4", 7, kOpens},             // open_noattr
    {"proc4", 9, kCloses},            // close
    {"proc4", 10, kSetAttributes},    // setattr
    {"proc4", 15, kLocks},            // lock
    {"proc4", 16, kLocks},            // lockt
    {"proc4", 17, kLocks},            // locku
    {"proc4", 18, kAccessChecks},     // access
    {"proc4", 19, kGetAttributes},    // getattr
    {"proc4", 20, kLookups},          // lookup
    {"proc4", 21, kLookups},          // lookup_root
    {"proc4", 22, kRemoves},          // remove
    {"proc4", 23, kRenames},          // rename
    {"proc4", 24, kCreates},          // link
    {"proc4", 25, kCreates},          // symlink
    {"proc4", 26, kCreates},          // create
    {"proc4", 30, kReadDirectories},  // readdir
};

}  // namespace

constinit const LinuxCounterset LinuxNfsClient::kCounterset = {
    .guid = "{84fda019-87d2-568c-ac2b-8633046b3116}",
    .name = "Linux NFS Client",
    .help = "Requests of mounted NFS file systems, versions 3 and 4.",
    .instance_type = kCountersetSingleInstance,
    .counters = kCounters};

LinuxNfsClient::LinuxNfsClient(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      file_(root + "/proc/net/rpc/nfs"),
      counters_(std::size(kTerms)) {}

absl::Status LinuxNfsClient::Sample(ColumnSet needed, const Clocks&,
                                    CountersetSample* sample) {
  sample->AddInstance("", 0);
  if (needed == 0) return absl::OkStatus();
  auto text = file_.Read(&buffer_);
  if (!text.ok()) return OkIfNotFound(text.status());
  absl::string_view line;
  while (NextLine(&*text, &line)) ReadLine(line, sample);
  return absl::OkStatus();
}

void LinuxNfsClient::ReadLine(absl::string_view line,
                              CountersetSample* sample) {
  const absl::string_view name = NextWord(&line);
  size_t next = 0;
  for (size_t i = 0; i < std::size(kTerms); ++i) {
    const Term& term = kTerms[i];
    if (term.line != name) continue;
    for (; next < term.number; ++next) NextWord(&line);
    absl::string_view word = NextWord(&line);
    if (word.empty()) return;  // an older kernel has fewer
    const auto number = NextNumber(&word);
    ++next;
    sample->Add(term.column, number.has_value()
                                 ? std::optional(counters_[i].Update(*number))
                                 : std::nullopt);
  }
}

}  // namespace fleetperf::agent
