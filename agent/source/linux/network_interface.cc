#include "agent/source/linux/network_interface.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kBytesTotalPerSec,
  kPacketsPerSec,
  kPacketsReceivedPerSec,
  kPacketsSentPerSec,
  kCurrentBandwidth,
  kBytesReceivedPerSec,
  kPacketsReceivedUnicastPerSec,
  kPacketsReceivedNonUnicastPerSec,
  kPacketsReceivedDiscarded,
  kPacketsReceivedErrors,
  kBytesSentPerSec,
  kPacketsOutboundDiscarded,
  kPacketsOutboundErrors,
  kNumColumns
};

constexpr CounterSpec kCounters[] = {
    {0, kPerfCounterBulkCount, "Bytes Total/sec", "Bytes received and sent."},
    {1, kPerfCounterCounter, "Packets/sec", "Packets received and sent."},
    {2, kPerfCounterCounter, "Packets Received/sec", "Packets received."},
    {3, kPerfCounterCounter, "Packets Sent/sec", "Packets sent."},
    {4, kPerfCounterLargeRawcount, "Current Bandwidth",
     "The link's speed in bits per second; 0 if it has none."},
    {5, kPerfCounterBulkCount, "Bytes Received/sec", "Bytes received."},
    {6, kPerfCounterCounter, "Packets Received Unicast/sec",
     "Packets received that were not multicast."},
    {7, kPerfCounterCounter, "Packets Received Non-Unicast/sec",
     "Multicast packets received."},
    {8, kPerfCounterRawcount, "Packets Received Discarded",
     "Packets received and dropped since the interface was made."},
    {9, kPerfCounterRawcount, "Packets Received Errors",
     "Packets received with errors since the interface was made."},
    {10, kPerfCounterBulkCount, "Bytes Sent/sec", "Bytes sent."},
    {11, kPerfCounterRawcount, "Packets Outbound Discarded",
     "Packets to be sent that were dropped since the interface was made."},
    {12, kPerfCounterRawcount, "Packets Outbound Errors",
     "Packets that could not be sent since the interface was made."},
};
static_assert(std::size(kCounters) == kNumColumns);

// The fields of a line of /proc/net/dev after the name, in its order.
enum Field {
  kReceivedBytes,
  kReceivedPackets,
  kReceivedErrors,
  kReceivedDropped,
  kReceivedFifo,
  kReceivedFrame,
  kReceivedCompressed,
  kReceivedMulticast,
  kSentBytes,
  kSentPackets,
  kSentErrors,
  kSentDropped,
  kNumFields
};

// A link's speed changes rarely, and some drivers are slow to report it.
constexpr int64_t kSpeedLifetime = 30 * kLinuxPerfFreq;
constexpr uint64_t kBitsPerMegabit = 1'000'000;

}  // namespace

NetworkInterface::NetworkInterface(const std::string& root)
    : Provider(MakeRegistration("{09e3d7c7-19fc-5a27-b44b-61e9cdd92f79}",
                                "Network Interface", "Network interfaces.",
                                kCountersetMultipleInstances, kCounters)),
      root_(root),
      dev_(root + "/proc/net/dev") {}

absl::Status NetworkInterface::Sample(ColumnSet needed, const Clocks& clocks,
                                      CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, dev_.Read(&buffer_));
  ++pass_;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    SkipSpaces(&line);
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;  // the two header lines
    const absl::string_view name = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    std::array<uint64_t, kNumFields> fields;
    for (uint64_t& field : fields) field = NumberOrZero(&line);

    const uint64_t bytes = fields[kReceivedBytes] + fields[kSentBytes];
    Interface& interface = GetInterface(name, fields[kReceivedPackets], bytes);
    interface.pass = pass_;
    // Some drivers count multicast packets before filtering them out.
    if (fields[kReceivedPackets] > fields[kReceivedMulticast]) {
      interface.unicast_packets =
          std::max(interface.unicast_packets,
                   fields[kReceivedPackets] - fields[kReceivedMulticast]);
    }
    sample->AddInstance(interface.utf16_name, interface.index);
    sample->Set(kBytesTotalPerSec, bytes);
    sample->Set(kPacketsPerSec,
                fields[kReceivedPackets] + fields[kSentPackets]);
    sample->Set(kPacketsReceivedPerSec, fields[kReceivedPackets]);
    sample->Set(kPacketsSentPerSec, fields[kSentPackets]);
    sample->Set(kBytesReceivedPerSec, fields[kReceivedBytes]);
    sample->Set(kPacketsReceivedUnicastPerSec, interface.unicast_packets);
    sample->Set(kPacketsReceivedNonUnicastPerSec, fields[kReceivedMulticast]);
    sample->Set(kPacketsReceivedDiscarded, fields[kReceivedDropped]);
    sample->Set(kPacketsReceivedErrors, fields[kReceivedErrors]);
    sample->Set(kBytesSentPerSec, fields[kSentBytes]);
    sample->Set(kPacketsOutboundDiscarded, fields[kSentDropped]);
    sample->Set(kPacketsOutboundErrors, fields[kSentErrors]);
    if (Has(needed, kCurrentBandwidth)) {
      ReadSpeed(std::string(name), clocks, interface);
      sample->Set(kCurrentBandwidth, interface.bits_per_second);
    }
  }
  absl::erase_if(interfaces_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
  return absl::OkStatus();
}

NetworkInterface::Interface& NetworkInterface::GetInterface(
    absl::string_view name, uint64_t received_packets, uint64_t bytes) {
  const auto [entry, is_new] = interfaces_.try_emplace(name);
  Interface& interface = entry->second;
  // Falling counters suggest that the interface was deleted and recreated.
  if (is_new || received_packets < interface.received_packets ||
      bytes < interface.bytes) {
    interface = {.utf16_name = Utf16FromUtf8(name), .index = ReadIndex(name)};
  }
  interface.received_packets = received_packets;
  interface.bytes = bytes;
  return interface;
}

uint32_t NetworkInterface::ReadIndex(absl::string_view name) {
  ProcFile file(absl::StrCat(root_, "/sys/class/net/", name, "/ifindex"),
                ProcFile::Kind::kSmall);
  auto text = file.Read(&small_buffer_);
  return text.ok() ? static_cast<uint32_t>(NumberOrZero(&*text)) : 0;
}

void NetworkInterface::ReadSpeed(const std::string& name, const Clocks& clocks,
                                 Interface& interface) {
  if (interface.speed_read_at != 0 &&
      clocks.perf_time_stamp - interface.speed_read_at < kSpeedLifetime) {
    return;
  }
  interface.speed_read_at = clocks.perf_time_stamp;
  ProcFile file(absl::StrCat(root_, "/sys/class/net/", name, "/speed"),
                ProcFile::Kind::kSmall);
  auto text = file.Read(&small_buffer_);  // fails where a link has no speed
  interface.bits_per_second =
      text.ok() ? NumberOrZero(&*text) * kBitsPerMegabit : 0;
}

}  // namespace fleetperf::agent
