#include "agent/source/linux/network/linux_socket.h"

#include <unistd.h>

#include <iterator>

#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kSockets,
  kTcpSockets,
  kTcpSocketsV6,
  kTcpOrphans,
  kTcpTimeWaits,
  kTcpAllocated,
  kTcpMemory,
  kTcpMemoryUsed,
  kTcpMemoryUsedBase,
  kUdpSockets,
  kUdpSocketsV6,
  kUdpMemory,
  kUdpMemoryUsed,
  kUdpMemoryUsedBase,
  kUdpLiteSockets,
  kUdpLiteSocketsV6,
  kRawSockets,
  kRawSocketsV6,
  kFragmentQueues,
  kFragmentMemory,
  kFragmentQueuesV6,
  kFragmentMemoryV6,
  kNumColumns
};

constexpr uint32_t kTcpMemoryUsedBaseId = kFirstLinuxCounterId + 100;
constexpr uint32_t kUdpMemoryUsedBaseId = kFirstLinuxCounterId + 101;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Sockets", "Sockets of any kind."},
     "sockets",
     "/proc/net/sockstat sockets used"},
    {{1, kPerfCounterRawcount, "TCP Sockets",
      "TCP sockets over IPv4 in any state but TIME-WAIT."},
     "sockets",
     "/proc/net/sockstat TCP inuse",
     "Includes listening sockets."},
    {{2, kPerfCounterRawcount, "TCP Sockets V6",
      "TCP sockets over IPv6 in any state but TIME-WAIT."},
     "sockets",
     "/proc/net/sockstat6 TCP6 inuse",
     "Includes listening sockets, and their connections over IPv4."},
    {{3, kPerfCounterRawcount, "TCP Sockets Orphaned",
      "TCP sockets that the program has closed but the kernel still needs."},
     "sockets",
     "/proc/net/sockstat TCP orphan",
     "Of all network namespaces and both families."},
    {{4, kPerfCounterRawcount, "TCP Sockets Time Wait",
      "TCP connections in the state TIME-WAIT."},
     "connections",
     "/proc/net/sockstat TCP tw",
     "Of both families."},
    {{5, kPerfCounterRawcount, "TCP Sockets Allocated",
      "TCP sockets that exist, bound or not."},
     "sockets",
     "/proc/net/sockstat TCP alloc",
     "Of all network namespaces and both families."},
    {{6, kPerfCounterLargeRawcount, "TCP Memory Bytes",
      "Memory of the buffers of TCP sockets."},
     "bytes",
     "/proc/net/sockstat TCP mem",
     "Of all network namespaces and both families."},
    {{7, kPerfRawFraction, "% TCP Memory Used",
      "TCP Memory Bytes as a percentage of their limit.", kTcpMemoryUsedBaseId},
     "%",
     "/proc/net/sockstat TCP mem, /proc/sys/net/ipv4/tcp_mem",
     "At 100 %, sockets fail to allocate memory."},
    {{kTcpMemoryUsedBaseId, kPerfRawBase, "", ""},
     "",
     "/proc/sys/net/ipv4/tcp_mem"},
    {{8, kPerfCounterRawcount, "UDP Sockets", "UDP sockets over IPv4."},
     "sockets",
     "/proc/net/sockstat UDP inuse"},
    {{9, kPerfCounterRawcount, "UDP Sockets V6", "UDP sockets over IPv6."},
     "sockets",
     "/proc/net/sockstat6 UDP6 inuse"},
    {{10, kPerfCounterLargeRawcount, "UDP Memory Bytes",
      "Memory of the buffers of UDP sockets."},
     "bytes",
     "/proc/net/sockstat UDP mem",
     "Of all network namespaces and both families."},
    {{11, kPerfRawFraction, "% UDP Memory Used",
      "UDP Memory Bytes as a percentage of their limit.", kUdpMemoryUsedBaseId},
     "%",
     "/proc/net/sockstat UDP mem, /proc/sys/net/ipv4/udp_mem",
     "At 100 %, datagrams are dropped."},
    {{kUdpMemoryUsedBaseId, kPerfRawBase, "", ""},
     "",
     "/proc/sys/net/ipv4/udp_mem"},
    {{12, kPerfCounterRawcount, "UDP-Lite Sockets",
      "UDP-Lite sockets over IPv4."},
     "sockets",
     "/proc/net/sockstat UDPLITE inuse"},
    {{13, kPerfCounterRawcount, "UDP-Lite Sockets V6",
      "UDP-Lite sockets over IPv6."},
     "sockets",
     "/proc/net/sockstat6 UDPLITE6 inuse"},
    {{14, kPerfCounterRawcount, "Raw Sockets", "Raw sockets over IPv4."},
     "sockets",
     "/proc/net/sockstat RAW inuse"},
    {{15, kPerfCounterRawcount, "Raw Sockets V6", "Raw sockets over IPv6."},
     "sockets",
     "/proc/net/sockstat6 RAW6 inuse"},
    {{16, kPerfCounterRawcount, "Fragment Queues",
      "IPv4 datagrams that wait for more fragments."},
     "datagrams",
     "/proc/net/sockstat FRAG inuse"},
    {{17, kPerfCounterLargeRawcount, "Fragment Memory Bytes",
      "Memory of the fragments of IPv4 datagrams."},
     "bytes",
     "/proc/net/sockstat FRAG memory"},
    {{18, kPerfCounterRawcount, "Fragment Queues V6",
      "IPv6 datagrams that wait for more fragments."},
     "datagrams",
     "/proc/net/sockstat6 FRAG6 inuse"},
    {{19, kPerfCounterLargeRawcount, "Fragment Memory Bytes V6",
      "Memory of the fragments of IPv6 datagrams."},
     "bytes",
     "/proc/net/sockstat6 FRAG6 memory"},
};
static_assert(std::size(kCounters) == kNumColumns);

// A number of a line such as "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 228".
struct Field {
  absl::string_view section;
  absl::string_view name;
  Column column;
  bool in_pages = false;  // rather than in the column's unit
};

constexpr Field kFields[] = {
    {"sockets", "used", kSockets},
    {"TCP", "inuse", kTcpSockets},
    {"TCP", "orphan", kTcpOrphans},
    {"TCP", "tw", kTcpTimeWaits},
    {"TCP", "alloc", kTcpAllocated},
    {"TCP", "mem", kTcpMemory, true},
    {"TCP", "mem", kTcpMemoryUsed},
    {"UDP", "inuse", kUdpSockets},
    {"UDP", "mem", kUdpMemory, true},
    {"UDP", "mem", kUdpMemoryUsed},
    {"UDPLITE", "inuse", kUdpLiteSockets},
    {"RAW", "inuse", kRawSockets},
    {"FRAG", "inuse", kFragmentQueues},
    {"FRAG", "memory", kFragmentMemory},
    {"TCP6", "inuse", kTcpSocketsV6},
    {"UDP6", "inuse", kUdpSocketsV6},
    {"UDPLITE6", "inuse", kUdpLiteSocketsV6},
    {"RAW6", "inuse", kRawSocketsV6},
    {"FRAG6", "inuse", kFragmentQueuesV6},
    {"FRAG6", "memory", kFragmentMemoryV6},
};

constexpr ColumnSet kSockstat6Columns =
    Bit(kTcpSocketsV6) | Bit(kUdpSocketsV6) | Bit(kUdpLiteSocketsV6) |
    Bit(kRawSocketsV6) | Bit(kFragmentQueuesV6) | Bit(kFragmentMemoryV6);
constexpr ColumnSet kLimitColumns =
    Bit(kTcpMemoryUsedBase) | Bit(kUdpMemoryUsedBase);
constexpr ColumnSet kSockstatColumns =
    ~(kSockstat6Columns | kLimitColumns) & (Bit(kNumColumns) - 1);

// Returns the last number of "min pressure max", in pages. The file exists only
// in the initial network namespace.
std::optional<uint64_t> ReadLimit(const std::string& path) {
  const std::string line = ReadFirstLine(path);
  absl::string_view text = line;
  NextWord(&text);
  NextWord(&text);
  return NextNumber(&text);
}

}  // namespace

constinit const LinuxCounterset LinuxSocket::kCounterset = {
    .guid = "{e9bc9570-1165-54da-8ad9-da92eac5b3bd}",
    .name = "Linux Socket",
    .help = "Sockets and the memory of their buffers.",
    .instance_type = kCountersetSingleInstance,
    .counters = kCounters};

LinuxSocket::LinuxSocket(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      page_size_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      sockstat_(root + "/proc/net/sockstat", ProcFile::Kind::kSmall),
      sockstat6_(root + "/proc/net/sockstat6", ProcFile::Kind::kSmall),
      tcp_limits_path_(root + "/proc/sys/net/ipv4/tcp_mem"),
      udp_limits_path_(root + "/proc/sys/net/ipv4/udp_mem") {}

absl::Status LinuxSocket::Sample(ColumnSet needed, const Clocks& clocks,
                                 CountersetSample* sample) {
  sample->AddInstance("", 0);
  if ((needed & kSockstatColumns) != 0) {
    ReadSockets(sockstat_, sample);
  }
  if ((needed & kSockstat6Columns) != 0) {
    ReadSockets(sockstat6_, sample);
  }
  if ((needed & kLimitColumns) == 0) return absl::OkStatus();
  if (read_limits_.IsDue(clocks)) {
    tcp_limit_ = ReadLimit(tcp_limits_path_);
    udp_limit_ = ReadLimit(udp_limits_path_);
  }
  if (tcp_limit_.has_value()) sample->Set(kTcpMemoryUsedBase, *tcp_limit_);
  if (udp_limit_.has_value()) sample->Set(kUdpMemoryUsedBase, *udp_limit_);
  return absl::OkStatus();
}

void LinuxSocket::ReadSockets(ProcFile& file, CountersetSample* sample) {
  auto text = file.Read(&buffer_);
  if (!text.ok()) return sample->Note(OkIfNotFound(text.status()));
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const absl::string_view section = absl::StripSuffix(NextWord(&line), ":");
    while (!line.empty()) {
      const absl::string_view name = NextWord(&line);
      absl::string_view word = NextWord(&line);
      const auto number = NextNumber(&word);
      if (!number.has_value()) continue;
      for (const Field& field : kFields) {
        if (field.section != section || field.name != name) continue;
        sample->Set(field.column,
                    field.in_pages ? *number * page_size_ : *number);
      }
    }
  }
}

}  // namespace fleetperf::agent
