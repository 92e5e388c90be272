#include "agent/source/linux/network/network_interface.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"
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
  kLinkUp,
  kOperationalState,
  kFullDuplex,
  kLinkChanges,
  kLinkDowns,
  kReceiveFifoErrors,
  kReceiveFrameErrors,
  kReceiveCrcErrors,
  kReceiveMissed,
  kReceiveNoHandler,
  kTransmitFifoErrors,
  kTransmitCarrierErrors,
  kCollisionCount,
  kCompressedReceivedPerSec,
  kCompressedSentPerSec,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterBulkCount, "Bytes Total/sec", "Bytes received and sent."},
     "bytes/s",
     "/proc/net/dev receive bytes + transmit bytes",
     "Of layer 2 for most drivers, without the frame's checksum."},
    {{1, kPerfCounterCounter, "Packets/sec", "Packets received and sent."},
     "packets/s",
     "/proc/net/dev receive packets + transmit packets"},
    {{2, kPerfCounterCounter, "Packets Received/sec", "Packets received."},
     "packets/s",
     "/proc/net/dev receive packets"},
    {{3, kPerfCounterCounter, "Packets Sent/sec", "Packets sent."},
     "packets/s",
     "/proc/net/dev transmit packets"},
    {{4, kPerfCounterLargeRawcount, "Current Bandwidth",
      "The link's speed in bits per second."},
     "bit/s",
     "/sys/class/net/*/speed",
     "Absent if the link has none, or if the driver does not know it. Read "
     "every "
     "30 s."},
    {{5, kPerfCounterBulkCount, "Bytes Received/sec", "Bytes received."},
     "bytes/s",
     "/proc/net/dev receive bytes"},
    {{6, kPerfCounterCounter, "Packets Received Unicast/sec",
      "Packets received that were not multicast."},
     "packets/s",
     "/proc/net/dev receive packets - receive multicast",
     "Includes broadcast packets, if the driver does not count them as "
     "multicast."},
    {{7, kPerfCounterCounter, "Packets Received Non-Unicast/sec",
      "Multicast packets received."},
     "packets/s",
     "/proc/net/dev receive multicast",
     "Some drivers count packets that the filter drops."},
    {{8, kPerfCounterRawcount, "Packets Received Discarded",
      "Packets received and dropped since the interface was made."},
     "packets",
     "/proc/net/dev receive drop",
     "Includes Receive Missed, and packets of unknown protocols."},
    {{9, kPerfCounterRawcount, "Packets Received Errors",
      "Packets received with errors since the interface was made."},
     "packets",
     "/proc/net/dev receive errs"},
    {{10, kPerfCounterBulkCount, "Bytes Sent/sec", "Bytes sent."},
     "bytes/s",
     "/proc/net/dev transmit bytes"},
    {{11, kPerfCounterRawcount, "Packets Outbound Discarded",
      "Packets to be sent that were dropped since the interface was made."},
     "packets",
     "/proc/net/dev transmit drop",
     "Drops of the queueing discipline are not counted."},
    {{12, kPerfCounterRawcount, "Packets Outbound Errors",
      "Packets that could not be sent since the interface was made."},
     "packets",
     "/proc/net/dev transmit errs"},
    {{kFirstLinuxCounterId + 0, kPerfCounterRawcount, "Link Up",
      "1 if the link is up, else 0."},
     "",
     "/sys/class/net/*/carrier",
     "0 if the interface is switched off. Read every 10 s, like all files "
     "of this directory."},
    {{kFirstLinuxCounterId + 1, kPerfCounterRawcount, "Operational State",
      "The state: 0 unknown, 1 not present, 2 down, 3 lower layer down, 4 "
      "testing, 5 dormant, 6 up."},
     "",
     "/sys/class/net/*/operstate",
     "The loopback and some virtual interfaces are always unknown."},
    {{kFirstLinuxCounterId + 2, kPerfCounterRawcount, "Full Duplex",
      "1 if the link can send and receive at the same time, else 0."},
     "",
     "/sys/class/net/*/duplex",
     "Absent if the interface does not know. Read every 30 s."},
    {{kFirstLinuxCounterId + 3, kPerfCounterLargeDelta, "Link Changes",
      "Times at which the link went up or down."},
     "times",
     "/sys/class/net/*/carrier_changes"},
    {{kFirstLinuxCounterId + 4, kPerfCounterLargeDelta, "Link Downs",
      "Times at which the link went down."},
     "times",
     "/sys/class/net/*/carrier_down_count"},
    {{kFirstLinuxCounterId + 5, kPerfCounterLargeDelta, "Receive FIFO Errors",
      "Packets lost because a queue of the adapter was full."},
     "packets",
     "/proc/net/dev receive fifo"},
    {{kFirstLinuxCounterId + 6, kPerfCounterLargeDelta, "Receive Frame Errors",
      "Packets received with a wrong length, alignment or checksum."},
     "packets",
     "/proc/net/dev receive frame",
     "Includes Receive CRC Errors."},
    {{kFirstLinuxCounterId + 7, kPerfCounterLargeDelta, "Receive CRC Errors",
      "Packets received with a wrong checksum of the frame."},
     "packets",
     "/sys/class/net/*/statistics/rx_crc_errors"},
    {{kFirstLinuxCounterId + 8, kPerfCounterLargeDelta, "Receive Missed",
      "Packets lost because the computer gave the adapter no buffer in time."},
     "packets",
     "/sys/class/net/*/statistics/rx_missed_errors"},
    {{kFirstLinuxCounterId + 9, kPerfCounterLargeDelta, "Receive No Handler",
      "Packets dropped because the interface is an inactive part of another."},
     "packets",
     "/sys/class/net/*/statistics/rx_nohandler",
     "For example of a bond."},
    {{kFirstLinuxCounterId + 10, kPerfCounterLargeDelta, "Transmit FIFO Errors",
      "Packets not sent because of errors of the adapter's queue."},
     "packets",
     "/proc/net/dev transmit fifo"},
    {{kFirstLinuxCounterId + 11, kPerfCounterLargeDelta,
      "Transmit Carrier Errors",
      "Packets not sent because of the link: its loss, or late collisions."},
     "packets",
     "/proc/net/dev transmit carrier"},
    {{kFirstLinuxCounterId + 12, kPerfCounterLargeDelta, "Collisions",
      "Collisions on a half duplex link."},
     "collisions",
     "/proc/net/dev transmit colls"},
    {{kFirstLinuxCounterId + 13, kPerfCounterCounter,
      "Packets Received Compressed/sec", "Compressed packets received."},
     "packets/s",
     "/proc/net/dev receive compressed",
     "Of SLIP, PPP and CAN drivers."},
    {{kFirstLinuxCounterId + 14, kPerfCounterCounter,
      "Packets Sent Compressed/sec", "Compressed packets sent."},
     "packets/s",
     "/proc/net/dev transmit compressed"},
};
static_assert(std::size(kCounters) == kNumColumns);

struct Attribute {
  Column column;
  NetworkDevice::Attribute attribute;
};

constexpr Attribute kAttributes[] = {
    {kCurrentBandwidth, NetworkDevice::kSpeed},
    {kLinkUp, NetworkDevice::kLinkUp},
    {kOperationalState, NetworkDevice::kOperationalState},
    {kFullDuplex, NetworkDevice::kFullDuplex},
    {kLinkChanges, NetworkDevice::kLinkChanges},
    {kLinkDowns, NetworkDevice::kLinkDowns},
    {kReceiveCrcErrors, NetworkDevice::kCrcErrors},
    {kReceiveMissed, NetworkDevice::kMissed},
    {kReceiveNoHandler, NetworkDevice::kNoHandler}};

uint32_t IndexOf(NetworkDevice& device, const Clocks& clocks) {
  return static_cast<uint32_t>(
      device.Read(NetworkDevice::kIndex, clocks).value_or(0));
}

}  // namespace

constinit const LinuxCounterset NetworkInterface::kCounterset = {
    .guid = "{09e3d7c7-19fc-5a27-b44b-61e9cdd92f79}",
    .name = "Network Interface",
    .help = "Network interfaces.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "interfaces of the agent's namespace; aliases, `eth0:1`, of old "
        "kernels that list them",
    .counters = kCounters};

constinit const LinuxCounterset NetworkInterface::kAdapterCounterset = {
    .guid = "{31173262-a3a0-52ae-9e10-ca8172b94b2e}",
    .name = "Network Adapter",
    .help = "Network interfaces: the same as Network Interface.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "interfaces of the agent's namespace; aliases, `eth0:1`, of old "
        "kernels that list them",
    .counters = kCounters};

NetworkInterface::NetworkInterface(const std::string& root,
                                   const LinuxCounterset& counterset,
                                   std::shared_ptr<SharedSelection> selection)
    : Provider(MakeRegistration(counterset)),
      root_(root),
      dev_(root + "/proc/net/dev") {
  if (selection != nullptr) ShareSelection(std::move(selection));
}

absl::Status NetworkInterface::Sample(ColumnSet needed, const Clocks& clocks,
                                      CountersetSample* sample) {
  ++pass_;
  if (auto text = ReadOrNote(dev_, &buffer_, sample)) {
    absl::string_view line;
    while (NextLine(&*text, &line)) {
      SkipSpaces(&line);
      // The last one: an alias, of old kernels, is called "eth0:1".
      const size_t colon = line.rfind(':');
      if (colon == absl::string_view::npos) continue;  // the two header lines
      AddInterface(line.substr(0, colon), ParseFields(line.substr(colon + 1)),
                   needed, clocks, sample);
    }
  } else {
    const std::string links = root_ + "/sys/class/net/";
    for (const std::string& name : ListNames(links)) {
      // Not a file such as bonding_masters.
      if (!FileExists(absl::StrCat(links, name, "/ifindex"))) continue;
      AddInterface(name, Fields(), needed, clocks, sample);
    }
  }
  absl::erase_if(interfaces_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
  return absl::OkStatus();
}

NetworkInterface::Fields NetworkInterface::ParseFields(absl::string_view text) {
  Fields fields;
  for (std::optional<uint64_t>& field : fields) {
    absl::string_view word = NextWord(&text);
    field = NextNumber(&word);
  }
  return fields;
}

void NetworkInterface::AddInterface(absl::string_view name,
                                    const Fields& fields, ColumnSet needed,
                                    const Clocks& clocks,
                                    CountersetSample* sample) {
  if (!selection().Contains(name)) return;
  Interface& interface = GetInterface(name, fields, clocks);
  sample->AddInstance(interface.utf16_name, interface.index);
  AddCounts(interface, fields, sample);
  AddLink(needed, clocks, interface.device, sample);
}

NetworkInterface::Interface& NetworkInterface::GetInterface(
    absl::string_view name, const Fields& fields, const Clocks& clocks) {
  auto entry = interfaces_.find(name);
  if (entry == interfaces_.end() || IsReplaced(entry->second, fields, clocks)) {
    NetworkDevice device(root_, name);
    const uint32_t index = IndexOf(device, clocks);
    entry = interfaces_
                .insert_or_assign(std::string(name),
                                  Interface{.device = std::move(device),
                                            .index = index,
                                            .utf16_name = Utf16FromUtf8(name)})
                .first;
  }
  Interface& interface = entry->second;
  const std::optional<uint64_t> received = fields[kReceivedPackets];
  const std::optional<uint64_t> multicast = fields[kReceivedMulticast];
  interface.pass = pass_;
  interface.received_packets = received.value_or(interface.received_packets);
  interface.bytes =
      Sum(fields[kReceivedBytes], fields[kSentBytes]).value_or(interface.bytes);
  // Some drivers count multicast packets before filtering them out.
  if (received.has_value() && multicast.has_value() && *received > *multicast) {
    interface.unicast_packets =
        std::max(interface.unicast_packets, *received - *multicast);
  }
  return interface;
}

// Whether another interface has the name now: it has another number, or its
// counters are lower.
bool NetworkInterface::IsReplaced(Interface& interface, const Fields& fields,
                                  const Clocks& clocks) {
  const std::optional<uint64_t> bytes =
      Sum(fields[kReceivedBytes], fields[kSentBytes]);
  return fields[kReceivedPackets].value_or(interface.received_packets) <
             interface.received_packets ||
         bytes.value_or(interface.bytes) < interface.bytes ||
         IndexOf(interface.device, clocks) != interface.index;
}

void NetworkInterface::AddCounts(const Interface& interface,
                                 const Fields& fields,
                                 CountersetSample* sample) {
  sample->Set(kBytesTotalPerSec,
              Sum(fields[kReceivedBytes], fields[kSentBytes]));
  sample->Set(kPacketsPerSec,
              Sum(fields[kReceivedPackets], fields[kSentPackets]));
  sample->Set(kPacketsReceivedPerSec, fields[kReceivedPackets]);
  sample->Set(kPacketsSentPerSec, fields[kSentPackets]);
  sample->Set(kBytesReceivedPerSec, fields[kReceivedBytes]);
  if (fields[kReceivedPackets].has_value() &&
      fields[kReceivedMulticast].has_value()) {
    sample->Set(kPacketsReceivedUnicastPerSec, interface.unicast_packets);
  }
  sample->Set(kPacketsReceivedNonUnicastPerSec, fields[kReceivedMulticast]);
  sample->Set(kPacketsReceivedDiscarded, fields[kReceivedDropped]);
  sample->Set(kPacketsReceivedErrors, fields[kReceivedErrors]);
  sample->Set(kBytesSentPerSec, fields[kSentBytes]);
  sample->Set(kPacketsOutboundDiscarded, fields[kSentDropped]);
  sample->Set(kPacketsOutboundErrors, fields[kSentErrors]);
  sample->Set(kReceiveFifoErrors, fields[kReceivedFifo]);
  sample->Set(kReceiveFrameErrors, fields[kReceivedFrame]);
  sample->Set(kTransmitFifoErrors, fields[kSentFifo]);
  sample->Set(kTransmitCarrierErrors, fields[kSentCarrier]);
  sample->Set(kCollisionCount, fields[kCollisions]);
  sample->Set(kCompressedReceivedPerSec, fields[kReceivedCompressed]);
  sample->Set(kCompressedSentPerSec, fields[kSentCompressed]);
}

void NetworkInterface::AddLink(ColumnSet needed, const Clocks& clocks,
                               NetworkDevice& device,
                               CountersetSample* sample) {
  for (const auto& [column, attribute] : kAttributes) {
    if (!Has(needed, column)) continue;
    const std::optional<uint64_t> value = device.Read(attribute, clocks);
    if (value.has_value()) sample->Set(column, *value);
  }
}

}  // namespace fleetperf::agent
