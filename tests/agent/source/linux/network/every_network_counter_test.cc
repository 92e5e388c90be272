// Every counter of the network, compared with this machine's files in /proc/net
// and /sys/class/net, and with those of recorded trees.

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::MachineFiles;
using testing::NumberIn;
using testing::WordList;

// A line of names and one of numbers, which both start with the protocol.
FieldsByInstance ReadPairs(const MachineFiles& files, const std::string& path) {
  const std::vector<WordList> lines = files.Lines(path);
  if (lines.empty()) return {};
  Fields fields;
  for (size_t line = 0; line + 1 < lines.size(); line += 2) {
    const WordList& names = lines[line];
    const WordList& numbers = lines[line + 1];
    for (size_t i = 1; i < std::min(names.size(), numbers.size()); ++i) {
      const auto number = NumberIn(numbers[i]);
      if (number.has_value()) fields[names[0] + " " + names[i]] = *number;
    }
  }
  return {{"", fields}};
}

FieldsByInstance ReadSnmp(const MachineFiles& files) {
  return ReadPairs(files, "proc/net/snmp");
}

FieldsByInstance ReadNetstat(const MachineFiles& files) {
  return ReadPairs(files, "proc/net/netstat");
}

FieldsByInstance ReadSnmp6(const MachineFiles& files) {
  if (!files.Has("proc/net/snmp6")) return {};
  Fields fields;
  files.AddNumbers("proc/net/snmp6", &fields);
  return {{"", fields}};
}

// RFC 4022, tcp.
CountersetFormulas Tcpv4Formulas() {
  return {
      .counterset = "TCPv4",
      .counters = {{"Segments/sec", {"Tcp InSegs", "Tcp OutSegs"}},
                   {"Connections Established", {"Tcp CurrEstab"}},
                   {"Connections Active", {"Tcp ActiveOpens"}},
                   {"Connections Passive", {"Tcp PassiveOpens"}},
                   {"Connection Failures", {"Tcp AttemptFails"}},
                   {"Connections Reset", {"Tcp EstabResets"}},
                   {"Segments Received/sec", {"Tcp InSegs"}},
                   {"Segments Sent/sec", {"Tcp OutSegs"}},
                   {"Segments Retransmitted/sec", {"Tcp RetransSegs"}},
                   {"Segments Received Errors", {"Tcp InErrs"}},
                   {"Segments Received Checksum Errors", {"Tcp InCsumErrors"}},
                   {"Resets Sent/sec", {"Tcp OutRsts"}}},
      .read = ReadSnmp,
  };
}

// RFC 4113, udp.
CountersetFormulas Udpv4Formulas() {
  return {
      .counterset = "UDPv4",
      .counters = {{"Datagrams/sec", {"Udp InDatagrams", "Udp OutDatagrams"}},
                   {"Datagrams Received/sec", {"Udp InDatagrams"}},
                   {"Datagrams No Port/sec", {"Udp NoPorts"}},
                   {"Datagrams Received Errors", {"Udp InErrors"}},
                   {"Datagrams Sent/sec", {"Udp OutDatagrams"}},
                   {"Receive Buffer Errors", {"Udp RcvbufErrors"}},
                   {"Send Buffer Errors", {"Udp SndbufErrors"}},
                   {"Received Checksum Errors", {"Udp InCsumErrors"}},
                   {"Receive Memory Errors", {"Udp MemErrors"}}},
      .read = ReadSnmp,
  };
}

// RFC 4293, ipSystemStatsTable.
CountersetFormulas Ipv4Formulas() {
  return {
      .counterset = "IPv4",
      .counters = {{"Datagrams/sec", {"Ip InReceives", "Ip OutRequests"}},
                   {"Datagrams Received/sec", {"Ip InReceives"}},
                   {"Datagrams Received Header Errors", {"Ip InHdrErrors"}},
                   {"Datagrams Received Address Errors", {"Ip InAddrErrors"}},
                   {"Datagrams Forwarded/sec", {"Ip ForwDatagrams"}},
                   {"Datagrams Received Unknown Protocol",
                    {"Ip InUnknownProtos"}},
                   {"Datagrams Received Discarded", {"Ip InDiscards"}},
                   {"Datagrams Received Delivered/sec", {"Ip InDelivers"}},
                   {"Datagrams Sent/sec", {"Ip OutRequests"}},
                   {"Datagrams Outbound Discarded", {"Ip OutDiscards"}},
                   {"Datagrams Outbound No Route", {"Ip OutNoRoutes"}},
                   {"Fragments Received/sec", {"Ip ReasmReqds"}},
                   {"Fragments Re-assembled/sec", {"Ip ReasmOKs"}},
                   {"Fragment Re-assembly Failures", {"Ip ReasmFails"}},
                   {"Fragmented Datagrams/sec", {"Ip FragOKs"}},
                   {"Fragmentation Failures", {"Ip FragFails"}},
                   {"Fragments Created/sec", {"Ip FragCreates"}},
                   {"Fragment Re-assembly Timeouts", {"Ip ReasmTimeout"}}},
      .read = ReadSnmp,
  };
}

// RFC 2011, icmp.
CountersetFormulas IcmpFormulas() {
  return {
      .counterset = "ICMP",
      .counters = {{"Messages/sec", {"Icmp InMsgs", "Icmp OutMsgs"}},
                   {"Messages Received/sec", {"Icmp InMsgs"}},
                   {"Messages Received Errors", {"Icmp InErrors"}},
                   {"Received Dest. Unreachable", {"Icmp InDestUnreachs"}},
                   {"Received Time Exceeded", {"Icmp InTimeExcds"}},
                   {"Received Parameter Problem", {"Icmp InParmProbs"}},
                   {"Received Source Quench", {"Icmp InSrcQuenchs"}},
                   {"Received Redirect/sec", {"Icmp InRedirects"}},
                   {"Received Echo/sec", {"Icmp InEchos"}},
                   {"Received Echo Reply/sec", {"Icmp InEchoReps"}},
                   {"Received Timestamp/sec", {"Icmp InTimestamps"}},
                   {"Received Timestamp Reply/sec", {"Icmp InTimestampReps"}},
                   {"Received Address Mask", {"Icmp InAddrMasks"}},
                   {"Received Address Mask Reply", {"Icmp InAddrMaskReps"}},
                   {"Messages Sent/sec", {"Icmp OutMsgs"}},
                   {"Messages Outbound Errors", {"Icmp OutErrors"}},
                   {"Sent Destination Unreachable", {"Icmp OutDestUnreachs"}},
                   {"Sent Time Exceeded", {"Icmp OutTimeExcds"}},
                   {"Sent Parameter Problem", {"Icmp OutParmProbs"}},
                   {"Sent Source Quench", {"Icmp OutSrcQuenchs"}},
                   {"Sent Redirect/sec", {"Icmp OutRedirects"}},
                   {"Sent Echo/sec", {"Icmp OutEchos"}},
                   {"Sent Echo Reply/sec", {"Icmp OutEchoReps"}},
                   {"Sent Timestamp/sec", {"Icmp OutTimestamps"}},
                   {"Sent Timestamp Reply/sec", {"Icmp OutTimestampReps"}},
                   {"Sent Address Mask", {"Icmp OutAddrMasks"}},
                   {"Sent Address Mask Reply", {"Icmp OutAddrMaskReps"}},
                   {"Messages Received Checksum Errors", {"Icmp InCsumErrors"}},
                   {"Messages Limited Globally", {"Icmp OutRateLimitGlobal"}},
                   {"Messages Limited Per Host", {"Icmp OutRateLimitHost"}}},
      .read = ReadSnmp,
  };
}

// RFC 4113, udp.
CountersetFormulas Udpv6Formulas() {
  return {
      .counterset = "UDPv6",
      .counters = {{"Datagrams/sec", {"Udp6InDatagrams", "Udp6OutDatagrams"}},
                   {"Datagrams Received/sec", {"Udp6InDatagrams"}},
                   {"Datagrams No Port/sec", {"Udp6NoPorts"}},
                   {"Datagrams Received Errors", {"Udp6InErrors"}},
                   {"Datagrams Sent/sec", {"Udp6OutDatagrams"}},
                   {"Receive Buffer Errors", {"Udp6RcvbufErrors"}},
                   {"Send Buffer Errors", {"Udp6SndbufErrors"}},
                   {"Received Checksum Errors", {"Udp6InCsumErrors"}},
                   {"Receive Memory Errors", {"Udp6MemErrors"}}},
      .read = ReadSnmp6,
  };
}

// RFC 4293, ipSystemStatsTable.
CountersetFormulas Ipv6Formulas() {
  return {
      .counterset = "IPv6",
      .counters = {{"Datagrams/sec", {"Ip6InReceives", "Ip6OutRequests"}},
                   {"Datagrams Received/sec", {"Ip6InReceives"}},
                   {"Datagrams Received Header Errors", {"Ip6InHdrErrors"}},
                   {"Datagrams Received Address Errors", {"Ip6InAddrErrors"}},
                   {"Datagrams Forwarded/sec", {"Ip6OutForwDatagrams"}},
                   {"Datagrams Received Unknown Protocol",
                    {"Ip6InUnknownProtos"}},
                   {"Datagrams Received Discarded", {"Ip6InDiscards"}},
                   {"Datagrams Received Delivered/sec", {"Ip6InDelivers"}},
                   {"Datagrams Sent/sec", {"Ip6OutRequests"}},
                   {"Datagrams Outbound Discarded", {"Ip6OutDiscards"}},
                   {"Datagrams Outbound No Route", {"Ip6OutNoRoutes"}},
                   {"Fragments Received/sec", {"Ip6ReasmReqds"}},
                   {"Fragments Re-assembled/sec", {"Ip6ReasmOKs"}},
                   {"Fragment Re-assembly Failures", {"Ip6ReasmFails"}},
                   {"Fragmented Datagrams/sec", {"Ip6FragOKs"}},
                   {"Fragmentation Failures", {"Ip6FragFails"}},
                   {"Fragments Created/sec", {"Ip6FragCreates"}},
                   {"Fragment Re-assembly Timeouts", {"Ip6ReasmTimeout"}},
                   {"Bytes Received/sec", {"Ip6InOctets"}},
                   {"Bytes Sent/sec", {"Ip6OutOctets"}},
                   {"Datagrams Received Too Big", {"Ip6InTooBigErrors"}},
                   {"Datagrams Received No Route", {"Ip6InNoRoutes"}},
                   {"Datagrams Received Truncated", {"Ip6InTruncatedPkts"}},
                   {"Multicast Datagrams Received/sec", {"Ip6InMcastPkts"}},
                   {"Multicast Datagrams Sent/sec", {"Ip6OutMcastPkts"}},
                   {"Congestion Marks Received/sec", {"Ip6InCEPkts"}}},
      .read = ReadSnmp6,
  };
}

// RFC 2466, ipv6IcmpTable.
CountersetFormulas Icmpv6Formulas() {
  return {
      .counterset = "ICMPv6",
      .counters =
          {{"Messages/sec", {"Icmp6InMsgs", "Icmp6OutMsgs"}},
           {"Messages Received/sec", {"Icmp6InMsgs"}},
           {"Messages Received Errors", {"Icmp6InErrors"}},
           {"Received Dest. Unreachable", {"Icmp6InDestUnreachs"}},
           {"Received Packet Too Big", {"Icmp6InPktTooBigs"}},
           {"Received Time Exceeded", {"Icmp6InTimeExcds"}},
           {"Received Parameter Problem", {"Icmp6InParmProblems"}},
           {"Received Echo/sec", {"Icmp6InEchos"}},
           {"Received Echo Reply/sec", {"Icmp6InEchoReplies"}},
           {"Received Membership Query", {"Icmp6InGroupMembQueries"}},
           {"Received Membership Report", {"Icmp6InGroupMembResponses"}},
           {"Received Membership Reduction", {"Icmp6InGroupMembReductions"}},
           {"Received Router Solicit", {"Icmp6InRouterSolicits"}},
           {"Received Router Advert", {"Icmp6InRouterAdvertisements"}},
           {"Received Neighbor Solicit", {"Icmp6InNeighborSolicits"}},
           {"Received Neighbor Advert", {"Icmp6InNeighborAdvertisements"}},
           {"Received Redirect/sec", {"Icmp6InRedirects"}},
           {"Messages Sent/sec", {"Icmp6OutMsgs"}},
           {"Messages Outbound Errors", {"Icmp6OutErrors"}},
           {"Sent Destination Unreachable", {"Icmp6OutDestUnreachs"}},
           {"Sent Packet Too Big", {"Icmp6OutPktTooBigs"}},
           {"Sent Time Exceeded", {"Icmp6OutTimeExcds"}},
           {"Sent Parameter Problem", {"Icmp6OutParmProblems"}},
           {"Sent Echo/sec", {"Icmp6OutEchos"}},
           {"Sent Echo Reply/sec", {"Icmp6OutEchoReplies"}},
           {"Sent Membership Query", {"Icmp6OutGroupMembQueries"}},
           {"Sent Membership Report", {"Icmp6OutGroupMembResponses"}},
           {"Sent Membership Reduction", {"Icmp6OutGroupMembReductions"}},
           {"Sent Router Solicit", {"Icmp6OutRouterSolicits"}},
           {"Sent Router Advert", {"Icmp6OutRouterAdvertisements"}},
           {"Sent Neighbor Solicit", {"Icmp6OutNeighborSolicits"}},
           {"Sent Neighbor Advert", {"Icmp6OutNeighborAdvertisements"}},
           {"Sent Redirect/sec", {"Icmp6OutRedirects"}},
           {"Messages Received Checksum Errors", {"Icmp6InCsumErrors"}},
           {"Messages Limited Per Host", {"Icmp6OutRateLimitHost"}},
           {"Received Membership Report 2", {"Icmp6InMLDv2Reports"}},
           {"Sent Membership Report 2", {"Icmp6OutMLDv2Reports"}}},
      .read = ReadSnmp6,
  };
}

// The kernel's snmp_counter.rst.
CountersetFormulas LinuxNetworkProtocolFormulas() {
  return {
      .counterset = "Linux Network Protocol",
      .counters =
          {{"TCP Fast Retransmits/sec", {"TcpExt TCPFastRetrans"}},
           {"TCP Slow Start Retransmits/sec", {"TcpExt TCPSlowStartRetrans"}},
           {"TCP SYN Retransmits/sec", {"TcpExt TCPSynRetrans"}},
           {"TCP Lost Retransmits/sec", {"TcpExt TCPLostRetransmit"}},
           {"TCP Retransmits Failed", {"TcpExt TCPRetransFail"}},
           {"TCP Retransmission Timeouts/sec", {"TcpExt TCPTimeouts"}},
           {"TCP Spurious Timeouts/sec", {"TcpExt TCPSpuriousRTOs"}},
           {"TCP Loss Probes/sec", {"TcpExt TCPLossProbes"}},
           {"TCP Loss Probe Recoveries/sec", {"TcpExt TCPLossProbeRecovery"}},
           {"TCP Recoveries/sec",
            {"TcpExt TCPSackRecovery", "TcpExt TCPRenoRecovery"}},
           {"TCP Duplicate Acknowledgements/sec", {"TcpExt TCPDSACKRecv"}},
           {"TCP Segments Reordered/sec",
            {"TcpExt TCPSACKReorder", "TcpExt TCPRenoReorder",
             "TcpExt TCPTSReorder"}},
           {"TCP SACK Renegings", {"TcpExt TCPSACKReneging"}},
           {"TCP Segments Out Of Order/sec", {"TcpExt TCPOFOQueue"}},
           {"TCP Listen Overflows", {"TcpExt ListenOverflows"}},
           {"TCP Listen Drops", {"TcpExt ListenDrops"}},
           {"TCP Request Queue Drops", {"TcpExt TCPReqQFullDrop"}},
           {"TCP SYN Cookies Sent/sec", {"TcpExt SyncookiesSent"}},
           {"TCP SYN Cookies Received/sec", {"TcpExt SyncookiesRecv"}},
           {"TCP SYN Cookies Failed", {"TcpExt SyncookiesFailed"}},
           {"TCP Half-Open Resets", {"TcpExt EmbryonicRsts"}},
           {"TCP Deferred Accept Drops", {"TcpExt TCPDeferAcceptDrop"}},
           {"TCP Backlog Drops", {"TcpExt TCPBacklogDrop"}},
           {"TCP Receive Queue Drops", {"TcpExt TCPRcvQDrop"}},
           {"TCP Zero Window Drops", {"TcpExt TCPZeroWindowDrop"}},
           {"TCP Out Of Order Drops", {"TcpExt TCPOFODrop"}},
           {"TCP Minimum TTL Drops", {"TcpExt TCPMinTTLDrop"}},
           {"Emergency Memory Drops", {"TcpExt PFMemallocDrop"}},
           {"TCP Prunes", {"TcpExt PruneCalled"}},
           {"TCP Receive Queue Prunes", {"TcpExt RcvPruned"}},
           {"TCP Out Of Order Prunes", {"TcpExt OfoPruned"}},
           {"TCP Segments Collapsed/sec", {"TcpExt TCPRcvCollapsed"}},
           {"TCP Memory Pressures", {"TcpExt TCPMemoryPressures"}},
           {"TCP Memory Pressure Milliseconds/sec",
            {"TcpExt TCPMemoryPressuresChrono"}},
           {"TCP Send Queue Too Big", {"TcpExt TCPWqueueTooBig"}},
           {"TCP Aborts On Memory", {"TcpExt TCPAbortOnMemory"}},
           {"TCP Aborts On Timeout", {"TcpExt TCPAbortOnTimeout"}},
           {"TCP Aborts On Data/sec", {"TcpExt TCPAbortOnData"}},
           {"TCP Aborts On Close/sec", {"TcpExt TCPAbortOnClose"}},
           {"TCP Aborts On Linger", {"TcpExt TCPAbortOnLinger"}},
           {"TCP Aborts Failed", {"TcpExt TCPAbortFailed"}},
           {"TCP Time Waits/sec", {"TcpExt TW"}},
           {"TCP Time Wait Overflows", {"TcpExt TCPTimeWaitOverflow"}},
           {"TCP Timestamp Rejects", {"TcpExt PAWSEstab"}},
           {"TCP Zero Windows Sent/sec", {"TcpExt TCPToZeroWindowAdv"}},
           {"TCP Window Probes/sec", {"TcpExt TCPWinProbe"}},
           {"TCP Keep-Alives/sec", {"TcpExt TCPKeepAlive"}},
           {"TCP Delayed Acknowledgements/sec", {"TcpExt DelayedACKs"}},
           {"TCP Challenge Acknowledgements/sec", {"TcpExt TCPChallengeACK"}},
           {"TCP Segments Delivered/sec", {"TcpExt TCPDelivered"}},
           {"TCP Congestion Marks/sec", {"TcpExt TCPDeliveredCE"}},
           {"TCP Data Segments Sent/sec", {"TcpExt TCPOrigDataSent"}},
           {"IP Reverse Path Drops", {"TcpExt IPReversePathFilter"}},
           {"IP Bytes Received/sec", {"IpExt InOctets"}},
           {"IP Bytes Sent/sec", {"IpExt OutOctets"}},
           {"IP Multicast Datagrams Received/sec", {"IpExt InMcastPkts"}},
           {"IP Multicast Datagrams Sent/sec", {"IpExt OutMcastPkts"}},
           {"IP Broadcast Datagrams Received/sec", {"IpExt InBcastPkts"}},
           {"IP Broadcast Datagrams Sent/sec", {"IpExt OutBcastPkts"}},
           {"IP Congestion Marks Received/sec", {"IpExt InCEPkts"}},
           {"IP Datagrams Received No Route", {"IpExt InNoRoutes"}},
           {"IP Datagrams Received Truncated", {"IpExt InTruncatedPkts"}},
           {"IP Received Checksum Errors", {"IpExt InCsumErrors"}}},
      .read = ReadNetstat,
  };
}

// Lines such as "TCP: inuse 8 orphan 0 mem 2", of which memory is in pages but
// for fragments. The third number of the limits is the highest.
FieldsByInstance ReadSockets(const MachineFiles& files) {
  Fields fields;
  for (const char* path : {"proc/net/sockstat", "proc/net/sockstat6"}) {
    for (const WordList& words : files.Lines(path)) {
      for (size_t i = 1; i + 1 < words.size(); i += 2) {
        const auto number = NumberIn(words[i + 1]);
        if (number.has_value()) fields[words[0] + " " + words[i]] = *number;
      }
    }
  }
  if (fields.empty()) return {};
  for (const char* limit : {"tcp_mem", "udp_mem"}) {
    const WordList words =
        files.Line(std::string("proc/sys/net/ipv4/") + limit);
    if (words.size() == 3) fields[limit] = *NumberIn(words[2]);
  }
  return {{"", fields}};
}

CountersetFormulas LinuxSocketFormulas() {
  const auto page = static_cast<uint64_t>(getpagesize());
  return {
      .counterset = "Linux Socket",
      .counters = {{"Sockets", {"sockets used"}},
                   {"TCP Sockets", {"TCP inuse"}},
                   {"TCP Sockets V6", {"TCP6 inuse"}},
                   {"TCP Sockets Orphaned", {"TCP orphan"}},
                   {"TCP Sockets Time Wait", {"TCP tw"}},
                   {"TCP Sockets Allocated", {"TCP alloc"}},
                   {"TCP Memory Bytes", {"TCP mem"}, page},
                   {"% TCP Memory Used", {"TCP mem"}},
                   {"id:1100", {"tcp_mem"}},  // of which it is a percentage
                   {"UDP Sockets", {"UDP inuse"}},
                   {"UDP Sockets V6", {"UDP6 inuse"}},
                   {"UDP Memory Bytes", {"UDP mem"}, page},
                   {"% UDP Memory Used", {"UDP mem"}},
                   {"id:1101", {"udp_mem"}},
                   {"UDP-Lite Sockets", {"UDPLITE inuse"}},
                   {"UDP-Lite Sockets V6", {"UDPLITE6 inuse"}},
                   {"Raw Sockets", {"RAW inuse"}},
                   {"Raw Sockets V6", {"RAW6 inuse"}},
                   {"Fragment Queues", {"FRAG inuse"}},
                   {"Fragment Memory Bytes", {"FRAG memory"}},
                   {"Fragment Queues V6", {"FRAG6 inuse"}},
                   {"Fragment Memory Bytes V6", {"FRAG6 memory"}}},
      .read = ReadSockets,
  };
}

// The columns of /proc/net/dev after the interface.
constexpr const char* kDeviceFields[] = {
    "receive bytes",       "receive packets",   "receive errs",
    "receive drop",        "receive fifo",      "receive frame",
    "receive compressed",  "receive multicast", "transmit bytes",
    "transmit packets",    "transmit errs",     "transmit drop",
    "transmit fifo",       "transmit colls",    "transmit carrier",
    "transmit compressed",
};

// The kernel's sysfs-class-net: a carrier and a speed cannot be read while the
// interface is down, and some interfaces have no speed or one of -1.
void AddLink(const MachineFiles& files, const std::string& directory,
             Fields* fields) {
  constexpr uint64_t kMegabit = 1'000'000;
  const uint64_t speed = files.Number(directory + "speed").value_or(0);
  if (speed > 0) (*fields)["speed"] = speed * kMegabit;
  if (files.Has(directory + "carrier")) {
    (*fields)["up"] = files.Number(directory + "carrier").value_or(0);
  }
  const std::map<WordList, uint64_t> kStates = {
      {{"unknown"}, 0}, {{"notpresent"}, 1},
      {{"down"}, 2},    {{"lowerlayerdown"}, 3},
      {{"testing"}, 4}, {{"dormant"}, 5},
      {{"up"}, 6}};
  const auto state = kStates.find(files.Line(directory + "operstate"));
  if (state != kStates.end()) (*fields)["state"] = state->second;
  const WordList duplex = files.Line(directory + "duplex");
  if (duplex == WordList{"full"}) (*fields)["full duplex"] = 1;
  if (duplex == WordList{"half"}) (*fields)["full duplex"] = 0;
  for (const char* file :
       {"carrier_changes", "carrier_down_count", "statistics/rx_crc_errors",
        "statistics/rx_missed_errors", "statistics/rx_nohandler"}) {
    files.AddNumber(directory + file, file, fields);
  }
}

FieldsByInstance ReadInterfaces(const MachineFiles& files) {
  FieldsByInstance interfaces;
  for (const WordList& words : files.Lines("proc/net/dev")) {
    if (words.size() != 1 + std::size(kDeviceFields)) continue;  // the header
    Fields& fields = interfaces[words[0]];
    for (size_t i = 0; i < std::size(kDeviceFields); ++i) {
      fields[kDeviceFields[i]] = *NumberIn(words[1 + i]);
    }
    // Drivers may count multicast packets that the interface drops.
    const uint64_t packets = fields["receive packets"];
    fields["unicast"] =
        packets - std::min(packets, fields["receive multicast"]);
    AddLink(files, "sys/class/net/" + words[0] + "/", &fields);
  }
  return interfaces;
}

CountersetFormulas InterfaceFormulas(const std::string& counterset) {
  return {
      .counterset = counterset,
      .counters = {{"Bytes Total/sec", {"receive bytes", "transmit bytes"}},
                   {"Packets/sec", {"receive packets", "transmit packets"}},
                   {"Packets Received/sec", {"receive packets"}},
                   {"Packets Sent/sec", {"transmit packets"}},
                   {"Current Bandwidth", {"speed"}},
                   {"Bytes Received/sec", {"receive bytes"}},
                   {"Packets Received Unicast/sec", {"unicast"}},
                   {"Packets Received Non-Unicast/sec", {"receive multicast"}},
                   {"Packets Received Discarded", {"receive drop"}},
                   {"Packets Received Errors", {"receive errs"}},
                   {"Bytes Sent/sec", {"transmit bytes"}},
                   {"Packets Outbound Discarded", {"transmit drop"}},
                   {"Packets Outbound Errors", {"transmit errs"}},
                   {"Link Up", {"up"}},
                   {"Operational State", {"state"}},
                   {"Full Duplex", {"full duplex"}},
                   {"Link Changes", {"carrier_changes"}},
                   {"Link Downs", {"carrier_down_count"}},
                   {"Receive FIFO Errors", {"receive fifo"}},
                   {"Receive Frame Errors", {"receive frame"}},
                   {"Receive CRC Errors", {"statistics/rx_crc_errors"}},
                   {"Receive Missed", {"statistics/rx_missed_errors"}},
                   {"Receive No Handler", {"statistics/rx_nohandler"}},
                   {"Transmit FIFO Errors", {"transmit fifo"}},
                   {"Transmit Carrier Errors", {"transmit carrier"}},
                   {"Collisions", {"transmit colls"}},
                   {"Packets Received Compressed/sec", {"receive compressed"}},
                   {"Packets Sent Compressed/sec", {"transmit compressed"}}},
      .read = ReadInterfaces,
  };
}

// Hexadecimal numbers, of which the 13th is the CPU's since Linux 5.10. Older
// kernels have lines for the online CPUs, which are all in the trees.
FieldsByInstance ReadSoftnet(const MachineFiles& files) {
  FieldsByInstance cpus;
  for (const WordList& words : files.Lines("proc/net/softnet_stat")) {
    const auto number = [&](size_t field) {
      return std::stoull(words.at(field - 1), nullptr, 16);
    };
    const size_t cpu = words.size() >= 13 ? number(13) : cpus.size();
    Fields& fields = cpus[absl::StrCat(cpu)];
    for (size_t field = 1; field <= words.size(); ++field) {
      fields[absl::StrCat("field ", field)] = number(field);
    }
  }
  return cpus;
}

// softnet_seq_show() of the kernel's net/core/net-procfs.c.
CountersetFormulas LinuxSoftnetFormulas() {
  return {.counterset = "Linux Softnet",
          .counters = {{"Packets/sec", {"field 1"}},
                       {"Packets Dropped", {"field 2"}},
                       {"Time Squeezes/sec", {"field 3"}},
                       {"RPS Wakeups/sec", {"field 10"}},
                       {"Flow Limit Drops", {"field 11"}},
                       {"Backlog Length", {"field 12"}}},
          .read = ReadSoftnet};
}

// A line of names, and for each CPU a line of hexadecimal numbers.
FieldsByInstance ReadConntrack(const MachineFiles& files) {
  Fields fields;
  files.AddNumber("proc/sys/net/netfilter/nf_conntrack_count", "count",
                  &fields);
  files.AddNumber("proc/sys/net/netfilter/nf_conntrack_max", "max", &fields);
  const std::vector<WordList> lines = files.Lines("proc/net/stat/nf_conntrack");
  for (size_t line = 1; line < lines.size(); ++line) {
    for (size_t i = 0; i < std::min(lines[0].size(), lines[line].size()); ++i) {
      fields[lines[0][i]] += std::stoull(lines[line][i], nullptr, 16);
    }
  }
  if (fields.empty()) return {};
  return {{"", fields}};
}

CountersetFormulas LinuxConntrackFormulas() {
  return {.counterset = "Linux Conntrack",
          .counters = {{"Entries", {"count"}},
                       {"Entries Limit", {"max"}},
                       {"% Entries Used", {"count"}},
                       {"id:1100", {"max"}},  // of which it is a percentage
                       {"Insert Failures", {"insert_failed"}},
                       {"Drops", {"drop"}},
                       {"Early Drops", {"early_drop"}},
                       {"Chains Too Long", {"chainlength"}},
                       {"Invalid Packets/sec", {"invalid"}},
                       {"ICMP Errors/sec", {"icmp_error"}},
                       {"Found/sec", {"found"}},
                       {"Clashes/sec", {"clashres"}},
                       {"Search Restarts/sec", {"search_restart"}}},
          .read = ReadConntrack};
}

// Adds the sockets of a file to those of IPv4 and IPv6. Lines: a number, the
// local address and port, the remote ones, the state, the bytes to be sent and
// those received, all in hexadecimal. For a listening socket, the latter are
// connections.
void AddConnections(const MachineFiles& files, const std::string& path,
                    FieldsByInstance* families) {
  constexpr size_t kLocalAddress = 1;
  constexpr size_t kState = 5;
  constexpr size_t kSend = 6;
  constexpr size_t kReceive = 7;
  constexpr uint64_t kListen = 10;
  constexpr char kMapped[] = "0000000000000000FFFF0000";  // ::ffff:a.b.c.d
  constexpr size_t kV4AddressSize = 8;
  for (const WordList& words : files.Lines(path)) {
    if (words.size() <= kReceive || words[0] == "sl") continue;  // the header
    const auto number = [&](size_t word) {
      return std::stoull(words[word], nullptr, 16);
    };
    const std::string& address = words[kLocalAddress];
    const bool is_v4 =
        address.size() == kV4AddressSize || absl::StartsWith(address, kMapped);
    Fields& fields = (*families)[is_v4 ? "IPv4" : "IPv6"];
    ++fields[absl::StrCat("state ", number(kState))];
    if (number(kState) == kListen) {
      fields["accepted"] += number(kReceive);
    } else {
      fields["received"] += number(kReceive);
      fields["to be sent"] += number(kSend);
    }
  }
}

FieldsByInstance ReadConnections(const MachineFiles& files) {
  if (!files.Has("proc/net/tcp")) return {};
  constexpr uint64_t kStates = 11;
  Fields none = {{"received", 0}, {"to be sent", 0}, {"accepted", 0}};
  for (uint64_t state = 1; state <= kStates; ++state) {
    none[absl::StrCat("state ", state)] = 0;
  }
  FieldsByInstance families = {{"IPv4", none}, {"IPv6", none}};
  AddConnections(files, "proc/net/tcp", &families);
  AddConnections(files, "proc/net/tcp6", &families);
  return families;
}

// The states of the kernel's include/net/tcp_states.h.
CountersetFormulas LinuxTcpConnectionFormulas() {
  return {.counterset = "Linux TCP Connection",
          .counters = {{"Established", {"state 1"}},
                       {"SYN Sent", {"state 2"}},
                       {"SYN Received", {"state 3"}},
                       {"FIN Wait 1", {"state 4"}},
                       {"FIN Wait 2", {"state 5"}},
                       {"Time Wait", {"state 6"}},
                       {"Close Wait", {"state 8"}},
                       {"Last ACK", {"state 9"}},
                       {"Listen", {"state 10"}},
                       {"Closing", {"state 11"}},
                       {"Receive Queue Bytes", {"received"}},
                       {"Send Queue Bytes", {"to be sent"}},
                       {"Accept Queue Length", {"accepted"}}},
          .read = ReadConnections,
          // The files have neither closed sockets nor the limit of the queues:
          // linux_tcp_connection_test.cc.
          .elsewhere = {"Closed", "Accept Queues Full"}};
}

class NetworkOfThisMachineTest : public testing::EveryCounterFixture {
 protected:
  NetworkOfThisMachineTest() { UseThisMachine(); }
};

TEST_F(NetworkOfThisMachineTest, Tcpv4) { ExpectEveryCounter(Tcpv4Formulas()); }
TEST_F(NetworkOfThisMachineTest, Udpv4) { ExpectEveryCounter(Udpv4Formulas()); }
TEST_F(NetworkOfThisMachineTest, Ipv4) { ExpectEveryCounter(Ipv4Formulas()); }
TEST_F(NetworkOfThisMachineTest, Icmp) { ExpectEveryCounter(IcmpFormulas()); }
TEST_F(NetworkOfThisMachineTest, Udpv6) { ExpectEveryCounter(Udpv6Formulas()); }
TEST_F(NetworkOfThisMachineTest, Ipv6) { ExpectEveryCounter(Ipv6Formulas()); }
TEST_F(NetworkOfThisMachineTest, Icmpv6) {
  ExpectEveryCounter(Icmpv6Formulas());
}
TEST_F(NetworkOfThisMachineTest, LinuxNetworkProtocol) {
  ExpectEveryCounter(LinuxNetworkProtocolFormulas());
}
TEST_F(NetworkOfThisMachineTest, LinuxSocket) {
  ExpectEveryCounter(LinuxSocketFormulas());
}
TEST_F(NetworkOfThisMachineTest, LinuxTcpConnection) {
  if (Sample("Linux TCP Connection").names.empty()) {
    GTEST_SKIP() << "no socket diagnostics";
  }
  ExpectEveryCounter(LinuxTcpConnectionFormulas());
}
TEST_F(NetworkOfThisMachineTest, NetworkInterface) {
  ExpectEveryCounter(InterfaceFormulas("Network Interface"));
}
TEST_F(NetworkOfThisMachineTest, NetworkAdapter) {
  ExpectEveryCounter(InterfaceFormulas("Network Adapter"));
}
TEST_F(NetworkOfThisMachineTest, LinuxSoftnet) {
  ExpectEveryCounter(LinuxSoftnetFormulas());
}
TEST_F(NetworkOfThisMachineTest, LinuxConntrack) {
  ExpectEveryCounter(LinuxConntrackFormulas());
}

class RecordedNetworkTest : public testing::RecordedTrees {};

// Hundreds of processors, and an old kernel.
TEST_F(RecordedNetworkTest, BigMachine) {
  Unpack("bigsys-root-hpbl920gen8");
  for (const CountersetFormulas& formulas :
       {Tcpv4Formulas(), Udpv4Formulas(), Ipv4Formulas(), IcmpFormulas(),
        Udpv6Formulas(), Ipv6Formulas(), Icmpv6Formulas(),
        LinuxNetworkProtocolFormulas(), LinuxSocketFormulas(),
        LinuxSoftnetFormulas(), InterfaceFormulas("Network Interface")}) {
    ExpectEveryCounter(formulas);
  }
}

TEST_F(RecordedNetworkTest, ProcessorsOfALaptop) {
  Unpack("scsi-map-root-001", "./proc");
  ExpectEveryCounter(LinuxSoftnetFormulas());
}

TEST_F(RecordedNetworkTest, Linux415) {
  Unpack("procnet-4.15.14-root-001");
  ExpectEveryCounter(LinuxNetworkProtocolFormulas());
  ExpectEveryCounter(InterfaceFormulas("Network Interface"));
}

TEST_F(RecordedNetworkTest, LinkOfAServer) {
  UnpackProcfs("proc/net/");
  UnpackProcfs("sys/class/net/");
  ExpectEveryCounter(InterfaceFormulas("Network Interface"));
  ExpectEveryCounter(InterfaceFormulas("Network Adapter"));
  ExpectEveryCounter(LinuxSocketFormulas());
}

class RecordedProtocolsTest
    : public testing::RecordedTrees,
      public ::testing::WithParamInterface<const char*> {};

TEST_P(RecordedProtocolsTest, AgreeWithTheFiles) {
  Copy(absl::StrCat("procnet-snmp-", GetParam()), "proc/net/snmp");
  Copy(absl::StrCat("procnet-snmp6-", GetParam()), "proc/net/snmp6");
  for (const CountersetFormulas& formulas :
       {Tcpv4Formulas(), Udpv4Formulas(), Ipv4Formulas(), IcmpFormulas(),
        Udpv6Formulas(), Ipv6Formulas(), Icmpv6Formulas()}) {
    ExpectEveryCounter(formulas);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedProtocolsTest,
                         ::testing::Values("2.6.32", "3.19.0", "5.14.7"));

}  // namespace
}  // namespace fleetperf::agent
