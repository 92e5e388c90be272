#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;
using testing::Values;

// As Linux 6 prints it, with made-up numbers that differ.
constexpr char kSnmp[] =
    "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors "
    "ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests "
    "OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails "
    "FragOKs FragFails FragCreates OutTransmits\n"
    "Ip: 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 "
    "116 117 118 119\n"
    "Icmp: InMsgs InErrors InCsumErrors InDestUnreachs InTimeExcds "
    "InParmProbs InSrcQuenchs InRedirects InEchos InEchoReps InTimestamps "
    "InTimestampReps InAddrMasks InAddrMaskReps OutMsgs OutErrors "
    "OutRateLimitGlobal OutRateLimitHost OutDestUnreachs OutTimeExcds "
    "OutParmProbs OutSrcQuenchs OutRedirects OutEchos OutEchoReps "
    "OutTimestamps OutTimestampReps OutAddrMasks OutAddrMaskReps\n"
    "Icmp: 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 "
    "216 217 218 219 220 221 222 223 224 225 226 227 228\n"
    "IcmpMsg: InType3 OutType8\n"
    "IcmpMsg: 800 801\n"
    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens "
    "AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs "
    "OutRsts InCsumErrors\n"
    "Tcp: 300 301 302 -1 304 305 306 307 308 309 310 311 312 313 314\n"
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors "
    "SndbufErrors InCsumErrors IgnoredMulti MemErrors\n"
    "Udp: 400 401 402 403 404 405 406 407 408\n"
    "UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors "
    "SndbufErrors InCsumErrors IgnoredMulti MemErrors\n"
    "UdpLite: 900 901 902 903 904 905 906 907 908\n";

constexpr char kSnmp6[] = R"(Ip6InReceives                   	500
Ip6InHdrErrors                  	501
Ip6InTooBigErrors               	502
Ip6InNoRoutes                   	503
Ip6InAddrErrors                 	504
Ip6InUnknownProtos              	505
Ip6InTruncatedPkts              	506
Ip6InDiscards                   	507
Ip6InDelivers                   	508
Ip6OutForwDatagrams             	509
Ip6OutRequests                  	510
Ip6OutDiscards                  	511
Ip6OutNoRoutes                  	512
Ip6ReasmTimeout                 	513
Ip6ReasmReqds                   	514
Ip6ReasmOKs                     	515
Ip6ReasmFails                   	516
Ip6FragOKs                      	517
Ip6FragFails                    	518
Ip6FragCreates                  	519
Ip6InMcastPkts                  	520
Ip6OutMcastPkts                 	521
Ip6InOctets                     	522
Ip6OutOctets                    	523
Ip6InMcastOctets                	524
Ip6OutMcastOctets               	525
Ip6InBcastOctets                	526
Ip6OutBcastOctets               	527
Ip6InNoECTPkts                  	528
Ip6InECT1Pkts                   	529
Ip6InECT0Pkts                   	530
Ip6InCEPkts                     	531
Ip6OutTransmits                 	532
Icmp6InMsgs                     	600
Icmp6InErrors                   	601
Icmp6OutMsgs                    	602
Icmp6OutErrors                  	603
Icmp6InCsumErrors               	604
Icmp6OutRateLimitHost           	605
Icmp6InDestUnreachs             	606
Icmp6InPktTooBigs               	607
Icmp6InTimeExcds                	608
Icmp6InParmProblems             	609
Icmp6InEchos                    	610
Icmp6InEchoReplies              	611
Icmp6InGroupMembQueries         	612
Icmp6InGroupMembResponses       	613
Icmp6InGroupMembReductions      	614
Icmp6InRouterSolicits           	615
Icmp6InRouterAdvertisements     	616
Icmp6InNeighborSolicits         	617
Icmp6InNeighborAdvertisements   	618
Icmp6InRedirects                	619
Icmp6InMLDv2Reports             	620
Icmp6OutDestUnreachs            	621
Icmp6OutPktTooBigs              	622
Icmp6OutTimeExcds               	623
Icmp6OutParmProblems            	624
Icmp6OutEchos                   	625
Icmp6OutEchoReplies             	626
Icmp6OutGroupMembQueries        	627
Icmp6OutGroupMembResponses      	628
Icmp6OutGroupMembReductions     	629
Icmp6OutRouterSolicits          	630
Icmp6OutRouterAdvertisements    	631
Icmp6OutNeighborSolicits        	632
Icmp6OutNeighborAdvertisements  	633
Icmp6OutRedirects               	634
Icmp6OutMLDv2Reports            	635
Icmp6InType1                    	636
Icmp6OutType135                 	637
Udp6InDatagrams                 	700
Udp6NoPorts                     	701
Udp6InErrors                    	702
Udp6OutDatagrams                	703
Udp6RcvbufErrors                	704
Udp6SndbufErrors                	705
Udp6InCsumErrors                	706
Udp6IgnoredMulti                	707
Udp6MemErrors                   	708
UdpLite6InDatagrams             	950
UdpLite6NoPorts                 	951
UdpLite6InErrors                	952
UdpLite6OutDatagrams            	953
UdpLite6RcvbufErrors            	954
UdpLite6SndbufErrors            	955
UdpLite6InCsumErrors            	956
UdpLite6IgnoredMulti            	957
UdpLite6MemErrors               	958
)";

// The fields of interest in Linux 6, in its order.
constexpr char kNetstat[] =
    "TcpExt: SyncookiesSent SyncookiesRecv SyncookiesFailed EmbryonicRsts "
    "PruneCalled RcvPruned OfoPruned OutOfWindowIcmps LockDroppedIcmps "
    "ArpFilter TW TWRecycled TWKilled PAWSActive PAWSEstab DelayedACKs "
    "DelayedACKLocked DelayedACKLost ListenOverflows ListenDrops TCPHPHits "
    "TCPPureAcks TCPHPAcks TCPRenoRecovery TCPSackRecovery TCPSACKReneging "
    "TCPSACKReorder TCPRenoReorder TCPTSReorder TCPFullUndo TCPPartialUndo "
    "TCPDSACKUndo TCPLossUndo TCPLostRetransmit TCPRenoFailures "
    "TCPSackFailures TCPLossFailures TCPFastRetrans TCPSlowStartRetrans "
    "TCPTimeouts TCPLossProbes TCPLossProbeRecovery TCPRcvCollapsed "
    "TCPDSACKRecv TCPAbortOnData TCPAbortOnClose TCPAbortOnMemory "
    "TCPAbortOnTimeout TCPAbortOnLinger TCPAbortFailed TCPMemoryPressures "
    "TCPMemoryPressuresChrono TCPSpuriousRTOs TCPBacklogDrop PFMemallocDrop"
    " TCPMinTTLDrop TCPDeferAcceptDrop IPReversePathFilter "
    "TCPTimeWaitOverflow TCPReqQFullDoCookies TCPReqQFullDrop "
    "TCPRetransFail TCPOFOQueue TCPOFODrop TCPChallengeACK "
    "TCPToZeroWindowAdv TCPSynRetrans TCPOrigDataSent TCPWinProbe "
    "TCPKeepAlive TCPDelivered TCPDeliveredCE TCPZeroWindowDrop TCPRcvQDrop"
    " TCPWqueueTooBig\n"
    "TcpExt: 1000 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010 1011 "
    "1012 1013 1014 1015 1016 1017 1018 1019 1020 1021 1022 1023 1024 1025 "
    "1026 1027 1028 1029 1030 1031 1032 1033 1034 1035 1036 1037 1038 1039 "
    "1040 1041 1042 1043 1044 1045 1046 1047 1048 1049 1050 1051 1052 1053 "
    "1054 1055 1056 1057 1058 1059 1060 1061 1062 1063 1064 1065 1066 1067 "
    "1068 1069 1070 1071 1072 1073 1074\n"
    "IpExt: InNoRoutes InTruncatedPkts InMcastPkts OutMcastPkts InBcastPkts"
    " OutBcastPkts InOctets OutOctets InMcastOctets OutMcastOctets "
    "InBcastOctets OutBcastOctets InCsumErrors InNoECTPkts InECT1Pkts "
    "InECT0Pkts InCEPkts ReasmOverlaps\n"
    "IpExt: 2000 2001 2002 2003 2004 2005 2006 2007 2008 2009 2010 2011 "
    "2012 2013 2014 2015 2016 2017\n"
    "MPTcpExt: MPCapableSYNRX\n"
    "MPTcpExt: 3000\n";

class NetworkProtocolsTest : public testing::LinuxFixture {
 protected:
  // Samples as of a new tick: providers share one reading per tick.
  Values Tick(absl::string_view counterset) {
    clock_.Advance(absl::Seconds(1));
    return Sample(counterset).rows.at("");
  }
};

TEST_F(NetworkProtocolsTest, ReadsTcp) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("TCPv4"), (Values{
                               {"Segments/sec", 309 + 310},
                               {"Connections Established", 308},
                               {"Connections Active", 304},
                               {"Connections Passive", 305},
                               {"Connection Failures", 306},
                               {"Connections Reset", 307},
                               {"Segments Received/sec", 309},
                               {"Segments Sent/sec", 310},
                               {"Segments Retransmitted/sec", 311},
                               {"Segments Received Errors", 312},
                               {"Segments Received Checksum Errors", 314},
                               {"Resets Sent/sec", 313},
                           }));
}

TEST_F(NetworkProtocolsTest, ReadsUdp) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("UDPv4"), (Values{
                               {"Datagrams/sec", 400 + 403},
                               {"Datagrams Received/sec", 400},
                               {"Datagrams No Port/sec", 401},
                               {"Datagrams Received Errors", 402},
                               {"Datagrams Sent/sec", 403},
                               {"Receive Buffer Errors", 404},
                               {"Send Buffer Errors", 405},
                               {"Received Checksum Errors", 406},
                               {"Receive Memory Errors", 408},
                           }));
}

TEST_F(NetworkProtocolsTest, ReadsUdpOverIpV6) {
  Write("proc/net/snmp6", kSnmp6);
  EXPECT_EQ(Tick("UDPv6"), (Values{
                               {"Datagrams/sec", 700 + 703},
                               {"Datagrams Received/sec", 700},
                               {"Datagrams No Port/sec", 701},
                               {"Datagrams Received Errors", 702},
                               {"Datagrams Sent/sec", 703},
                               {"Receive Buffer Errors", 704},
                               {"Send Buffer Errors", 705},
                               {"Received Checksum Errors", 706},
                               {"Receive Memory Errors", 708},
                           }));
}

TEST_F(NetworkProtocolsTest, ReadsIp) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("IPv4"), (Values{
                              {"Datagrams/sec", 102 + 109},
                              {"Datagrams Received/sec", 102},
                              {"Datagrams Received Header Errors", 103},
                              {"Datagrams Received Address Errors", 104},
                              {"Datagrams Forwarded/sec", 105},
                              {"Datagrams Received Unknown Protocol", 106},
                              {"Datagrams Received Discarded", 107},
                              {"Datagrams Received Delivered/sec", 108},
                              {"Datagrams Sent/sec", 109},
                              {"Datagrams Outbound Discarded", 110},
                              {"Datagrams Outbound No Route", 111},
                              {"Fragments Received/sec", 113},
                              {"Fragments Re-assembled/sec", 114},
                              {"Fragment Re-assembly Failures", 115},
                              {"Fragmented Datagrams/sec", 116},
                              {"Fragmentation Failures", 117},
                              {"Fragments Created/sec", 118},
                              {"Fragment Re-assembly Timeouts", 112},
                          }));
}

TEST_F(NetworkProtocolsTest, ReadsIpV6) {
  Write("proc/net/snmp6", kSnmp6);
  EXPECT_EQ(Tick("IPv6"), (Values{
                              {"Datagrams/sec", 500 + 510},
                              {"Datagrams Received/sec", 500},
                              {"Datagrams Received Header Errors", 501},
                              {"Datagrams Received Address Errors", 504},
                              {"Datagrams Forwarded/sec", 509},
                              {"Datagrams Received Unknown Protocol", 505},
                              {"Datagrams Received Discarded", 507},
                              {"Datagrams Received Delivered/sec", 508},
                              {"Datagrams Sent/sec", 510},
                              {"Datagrams Outbound Discarded", 511},
                              {"Datagrams Outbound No Route", 512},
                              {"Fragments Received/sec", 514},
                              {"Fragments Re-assembled/sec", 515},
                              {"Fragment Re-assembly Failures", 516},
                              {"Fragmented Datagrams/sec", 517},
                              {"Fragmentation Failures", 518},
                              {"Fragments Created/sec", 519},
                              {"Fragment Re-assembly Timeouts", 513},
                              {"Bytes Received/sec", 522},
                              {"Bytes Sent/sec", 523},
                              {"Datagrams Received Too Big", 502},
                              {"Datagrams Received No Route", 503},
                              {"Datagrams Received Truncated", 506},
                              {"Multicast Datagrams Received/sec", 520},
                              {"Multicast Datagrams Sent/sec", 521},
                              {"Congestion Marks Received/sec", 531},
                          }));
}

TEST_F(NetworkProtocolsTest, ReadsIcmp) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("ICMP"), (Values{
                              {"Messages/sec", 200 + 214},
                              {"Messages Received/sec", 200},
                              {"Messages Received Errors", 201},
                              {"Received Dest. Unreachable", 203},
                              {"Received Time Exceeded", 204},
                              {"Received Parameter Problem", 205},
                              {"Received Source Quench", 206},
                              {"Received Redirect/sec", 207},
                              {"Received Echo/sec", 208},
                              {"Received Echo Reply/sec", 209},
                              {"Received Timestamp/sec", 210},
                              {"Received Timestamp Reply/sec", 211},
                              {"Received Address Mask", 212},
                              {"Received Address Mask Reply", 213},
                              {"Messages Sent/sec", 214},
                              {"Messages Outbound Errors", 215},
                              {"Sent Destination Unreachable", 218},
                              {"Sent Time Exceeded", 219},
                              {"Sent Parameter Problem", 220},
                              {"Sent Source Quench", 221},
                              {"Sent Redirect/sec", 222},
                              {"Sent Echo/sec", 223},
                              {"Sent Echo Reply/sec", 224},
                              {"Sent Timestamp/sec", 225},
                              {"Sent Timestamp Reply/sec", 226},
                              {"Sent Address Mask", 227},
                              {"Sent Address Mask Reply", 228},
                              {"Messages Received Checksum Errors", 202},
                              {"Messages Limited Globally", 216},
                              {"Messages Limited Per Host", 217},
                          }));
}

TEST_F(NetworkProtocolsTest, ReadsIcmpV6) {
  Write("proc/net/snmp6", kSnmp6);
  EXPECT_EQ(Tick("ICMPv6"), (Values{
                                {"Messages/sec", 600 + 602},
                                {"Messages Received/sec", 600},
                                {"Messages Received Errors", 601},
                                {"Received Dest. Unreachable", 606},
                                {"Received Packet Too Big", 607},
                                {"Received Time Exceeded", 608},
                                {"Received Parameter Problem", 609},
                                {"Received Echo/sec", 610},
                                {"Received Echo Reply/sec", 611},
                                {"Received Membership Query", 612},
                                {"Received Membership Report", 613},
                                {"Received Membership Reduction", 614},
                                {"Received Router Solicit", 615},
                                {"Received Router Advert", 616},
                                {"Received Neighbor Solicit", 617},
                                {"Received Neighbor Advert", 618},
                                {"Received Redirect/sec", 619},
                                {"Messages Sent/sec", 602},
                                {"Messages Outbound Errors", 603},
                                {"Sent Destination Unreachable", 621},
                                {"Sent Packet Too Big", 622},
                                {"Sent Time Exceeded", 623},
                                {"Sent Parameter Problem", 624},
                                {"Sent Echo/sec", 625},
                                {"Sent Echo Reply/sec", 626},
                                {"Sent Membership Query", 627},
                                {"Sent Membership Report", 628},
                                {"Sent Membership Reduction", 629},
                                {"Sent Router Solicit", 630},
                                {"Sent Router Advert", 631},
                                {"Sent Neighbor Solicit", 632},
                                {"Sent Neighbor Advert", 633},
                                {"Sent Redirect/sec", 634},
                                {"Messages Received Checksum Errors", 604},
                                {"Messages Limited Per Host", 605},
                                {"Received Membership Report 2", 620},
                                {"Sent Membership Report 2", 635},
                            }));
}

TEST_F(NetworkProtocolsTest, ReadsNetstat) {
  Write("proc/net/netstat", kNetstat);
  EXPECT_EQ(Tick("Linux Network Protocol"),
            (Values{
                {"TCP Fast Retransmits/sec", 1037},
                {"TCP Slow Start Retransmits/sec", 1038},
                {"TCP SYN Retransmits/sec", 1066},
                {"TCP Lost Retransmits/sec", 1033},
                {"TCP Retransmits Failed", 1061},
                {"TCP Retransmission Timeouts/sec", 1039},
                {"TCP Spurious Timeouts/sec", 1052},
                {"TCP Loss Probes/sec", 1040},
                {"TCP Loss Probe Recoveries/sec", 1041},
                {"TCP Recoveries/sec", 1023 + 1024},
                {"TCP Duplicate Acknowledgements/sec", 1043},
                {"TCP Segments Reordered/sec", 1026 + 1027 + 1028},
                {"TCP SACK Renegings", 1025},
                {"TCP Segments Out Of Order/sec", 1062},
                {"TCP Listen Overflows", 1018},
                {"TCP Listen Drops", 1019},
                {"TCP Request Queue Drops", 1060},
                {"TCP SYN Cookies Sent/sec", 1000},
                {"TCP SYN Cookies Received/sec", 1001},
                {"TCP SYN Cookies Failed", 1002},
                {"TCP Half-Open Resets", 1003},
                {"TCP Deferred Accept Drops", 1056},
                {"TCP Backlog Drops", 1053},
                {"TCP Receive Queue Drops", 1073},
                {"TCP Zero Window Drops", 1072},
                {"TCP Out Of Order Drops", 1063},
                {"TCP Minimum TTL Drops", 1055},
                {"Emergency Memory Drops", 1054},
                {"TCP Prunes", 1004},
                {"TCP Receive Queue Prunes", 1005},
                {"TCP Out Of Order Prunes", 1006},
                {"TCP Segments Collapsed/sec", 1042},
                {"TCP Memory Pressures", 1050},
                {"TCP Memory Pressure Milliseconds/sec", 1051},
                {"TCP Send Queue Too Big", 1074},
                {"TCP Aborts On Memory", 1046},
                {"TCP Aborts On Timeout", 1047},
                {"TCP Aborts On Data/sec", 1044},
                {"TCP Aborts On Close/sec", 1045},
                {"TCP Aborts On Linger", 1048},
                {"TCP Aborts Failed", 1049},
                {"TCP Time Waits/sec", 1010},
                {"TCP Time Wait Overflows", 1058},
                {"TCP Timestamp Rejects", 1014},
                {"TCP Zero Windows Sent/sec", 1065},
                {"TCP Window Probes/sec", 1068},
                {"TCP Keep-Alives/sec", 1069},
                {"TCP Delayed Acknowledgements/sec", 1015},
                {"TCP Challenge Acknowledgements/sec", 1064},
                {"TCP Segments Delivered/sec", 1070},
                {"TCP Congestion Marks/sec", 1071},
                {"TCP Data Segments Sent/sec", 1067},
                {"IP Reverse Path Drops", 1057},
                {"IP Bytes Received/sec", 2006},
                {"IP Bytes Sent/sec", 2007},
                {"IP Multicast Datagrams Received/sec", 2002},
                {"IP Multicast Datagrams Sent/sec", 2003},
                {"IP Broadcast Datagrams Received/sec", 2004},
                {"IP Broadcast Datagrams Sent/sec", 2005},
                {"IP Congestion Marks Received/sec", 2016},
                {"IP Datagrams Received No Route", 2000},
                {"IP Datagrams Received Truncated", 2001},
                {"IP Received Checksum Errors", 2012},
            }));
}

// Linux 4.18 lacks some fields, which stay absent.
TEST_F(NetworkProtocolsTest, OmitsFieldsThatTheKernelLacks) {
  Write("proc/net/snmp",
        "Tcp: CurrEstab InSegs OutSegs\nTcp: 3 40 500\n"
        "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors "
        "SndbufErrors InCsumErrors IgnoredMulti\n"
        "Udp: 1 2 3 4 5 6 7 8\n");
  EXPECT_EQ(Tick("TCPv4"), (Values{{"Segments/sec", 540},
                                   {"Connections Established", 3},
                                   {"Segments Received/sec", 40},
                                   {"Segments Sent/sec", 500}}));
  const Values udp = Tick("UDPv4");
  EXPECT_EQ(udp.at("Received Checksum Errors"), 7);
  EXPECT_EQ(udp.count("Receive Memory Errors"), 0);
}

TEST_F(NetworkProtocolsTest, HasNoValuesWithoutTheFile) {
  for (const char* counterset : {"TCPv4", "UDPv6", "Linux Network Protocol"}) {
    const Reading reading = Sample(counterset);
    EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
    EXPECT_EQ(reading.rows.at(""), Values{}) << counterset;
  }
}

TEST_F(NetworkProtocolsTest, FollowsTheFiles) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("UDPv4").at("Datagrams Sent/sec"), 403);
  Write("proc/net/snmp", "Udp: OutDatagrams\nUdp: 5000000000\n");
  EXPECT_EQ(Tick("UDPv4").at("Datagrams Sent/sec"), 5'000'000'000);
  // A module was loaded.
  Write("proc/net/snmp6", kSnmp6);
  EXPECT_EQ(Tick("UDPv6").at("Datagrams Sent/sec"), 703);
}

// Countersets of the same file share one reading per tick.
TEST_F(NetworkProtocolsTest, ReadsAFileOncePerTick) {
  Write("proc/net/snmp", kSnmp);
  EXPECT_EQ(Tick("UDPv4").at("Datagrams Sent/sec"), 403);
  Write("proc/net/snmp", "Tcp: CurrEstab\nTcp: 1\n");
  EXPECT_EQ(Sample("TCPv4").Get("", "Connections Established"), 308);
  EXPECT_EQ(Tick("TCPv4").at("Connections Established"), 1);
}

}  // namespace
}  // namespace fleetperf::agent
