// The names and contents of the Linux countersets.

#include <openssl/evp.h>

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "agent/source/linux/counters.h"
#include "perflib/counter_type.h"
#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::RegistrationRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

// The values of winperf.h.
constexpr uint32_t CNT = 272696320;
constexpr uint32_t BULK = 272696576;
constexpr uint32_t RAW = 65536;
constexpr uint32_t LRAW = 65792;
constexpr uint32_t T100NS = 542180608;
constexpr uint32_t INV100 = 558957824;
constexpr uint32_t P100 = 542573824;
constexpr uint32_t AVGT = 805438464;
constexpr uint32_t AVGB = 1073874176;
constexpr uint32_t QLEN = 5571840;
constexpr uint32_t FRAC = 537003008;
constexpr uint32_t ELAPSED = 807666944;
constexpr uint32_t SAMPLE_FRACTION = 0x20C20400;
constexpr uint32_t SAMPLE_BASE = 0x40030401;
constexpr uint32_t AVERAGE_BASE = 0x40030402;
constexpr uint32_t RAW_BASE = 0x40030403;
constexpr uint32_t LARGE_RAW_BASE = 0x40030500;

struct ExpectedRegistration {
  const char* counterset;
  uint32_t instance_type;
  std::map<std::string, uint32_t> types;
};

const ExpectedRegistration kExpected[] = {
    {"ICMP",
     0,
     {{"Messages/sec", CNT},
      {"Messages Received/sec", CNT},
      {"Messages Received Errors", RAW},
      {"Received Dest. Unreachable", RAW},
      {"Received Time Exceeded", RAW},
      {"Received Parameter Problem", RAW},
      {"Received Source Quench", RAW},
      {"Received Redirect/sec", CNT},
      {"Received Echo/sec", CNT},
      {"Received Echo Reply/sec", CNT},
      {"Received Timestamp/sec", CNT},
      {"Received Timestamp Reply/sec", CNT},
      {"Received Address Mask", RAW},
      {"Received Address Mask Reply", RAW},
      {"Messages Sent/sec", CNT},
      {"Messages Outbound Errors", RAW},
      {"Sent Destination Unreachable", RAW},
      {"Sent Time Exceeded", RAW},
      {"Sent Parameter Problem", RAW},
      {"Sent Source Quench", RAW},
      {"Sent Redirect/sec", CNT},
      {"Sent Echo/sec", CNT},
      {"Sent Echo Reply/sec", CNT},
      {"Sent Timestamp/sec", CNT},
      {"Sent Timestamp Reply/sec", CNT},
      {"Sent Address Mask", RAW},
      {"Sent Address Mask Reply", RAW}}},
    {"ICMPv6",
     0,
     {{"Messages/sec", CNT},
      {"Messages Received/sec", CNT},
      {"Messages Received Errors", RAW},
      {"Received Dest. Unreachable", RAW},
      {"Received Packet Too Big", RAW},
      {"Received Time Exceeded", RAW},
      {"Received Parameter Problem", RAW},
      {"Received Echo/sec", CNT},
      {"Received Echo Reply/sec", CNT},
      {"Received Membership Query", RAW},
      {"Received Membership Report", RAW},
      {"Received Membership Reduction", RAW},
      {"Received Router Solicit", RAW},
      {"Received Router Advert", RAW},
      {"Received Neighbor Solicit", RAW},
      {"Received Neighbor Advert", RAW},
      {"Received Redirect/sec", CNT},
      {"Messages Sent/sec", CNT},
      {"Messages Outbound Errors", RAW},
      {"Sent Destination Unreachable", RAW},
      {"Sent Packet Too Big", RAW},
      {"Sent Time Exceeded", RAW},
      {"Sent Parameter Problem", RAW},
      {"Sent Echo/sec", CNT},
      {"Sent Echo Reply/sec", CNT},
      {"Sent Membership Query", RAW},
      {"Sent Membership Report", RAW},
      {"Sent Membership Reduction", RAW},
      {"Sent Router Solicit", RAW},
      {"Sent Router Advert", RAW},
      {"Sent Neighbor Solicit", RAW},
      {"Sent Neighbor Advert", RAW},
      {"Sent Redirect/sec", CNT}}},
    {"IPv4",
     0,
     {{"Datagrams/sec", CNT},
      {"Datagrams Received/sec", CNT},
      {"Datagrams Received Header Errors", RAW},
      {"Datagrams Received Address Errors", RAW},
      {"Datagrams Forwarded/sec", CNT},
      {"Datagrams Received Unknown Protocol", RAW},
      {"Datagrams Received Discarded", RAW},
      {"Datagrams Received Delivered/sec", CNT},
      {"Datagrams Sent/sec", CNT},
      {"Datagrams Outbound Discarded", RAW},
      {"Datagrams Outbound No Route", RAW},
      {"Fragments Received/sec", CNT},
      {"Fragments Re-assembled/sec", CNT},
      {"Fragment Re-assembly Failures", RAW},
      {"Fragmented Datagrams/sec", CNT},
      {"Fragmentation Failures", RAW},
      {"Fragments Created/sec", CNT}}},
    {"IPv6",
     0,
     {{"Datagrams/sec", CNT},
      {"Datagrams Received/sec", CNT},
      {"Datagrams Received Header Errors", RAW},
      {"Datagrams Received Address Errors", RAW},
      {"Datagrams Forwarded/sec", CNT},
      {"Datagrams Received Unknown Protocol", RAW},
      {"Datagrams Received Discarded", RAW},
      {"Datagrams Received Delivered/sec", CNT},
      {"Datagrams Sent/sec", CNT},
      {"Datagrams Outbound Discarded", RAW},
      {"Datagrams Outbound No Route", RAW},
      {"Fragments Received/sec", CNT},
      {"Fragments Re-assembled/sec", CNT},
      {"Fragment Re-assembly Failures", RAW},
      {"Fragmented Datagrams/sec", CNT},
      {"Fragmentation Failures", RAW},
      {"Fragments Created/sec", CNT}}},
    {"TCPv4",
     0,
     {{"Segments/sec", CNT},
      {"Connections Established", RAW},
      {"Connections Active", RAW},
      {"Connections Passive", RAW},
      {"Connection Failures", RAW},
      {"Connections Reset", RAW},
      {"Segments Received/sec", CNT},
      {"Segments Sent/sec", CNT},
      {"Segments Retransmitted/sec", CNT}}},
    {"UDPv4",
     0,
     {{"Datagrams/sec", CNT},
      {"Datagrams Received/sec", CNT},
      {"Datagrams No Port/sec", CNT},
      {"Datagrams Received Errors", RAW},
      {"Datagrams Sent/sec", CNT}}},
    {"UDPv6",
     0,
     {{"Datagrams/sec", CNT},
      {"Datagrams Received/sec", CNT},
      {"Datagrams No Port/sec", CNT},
      {"Datagrams Received Errors", RAW},
      {"Datagrams Sent/sec", CNT}}},
    {"Memory",
     0,
     {{"Available Bytes", LRAW},
      {"Available KBytes", LRAW},
      {"Available MBytes", LRAW},
      {"Committed Bytes", LRAW},
      {"Commit Limit", LRAW},
      {"% Committed Bytes In Use", FRAC},
      {"Page Faults/sec", CNT},
      {"Pages Input/sec", CNT},
      {"Page Reads/sec", CNT},
      {"Pages Output/sec", CNT},
      {"Pages/sec", CNT},
      {"Cache Bytes", LRAW},
      {"Free & Zero Page List Bytes", LRAW},
      {"Modified Page List Bytes", LRAW},
      {"Standby Cache Normal Priority Bytes", LRAW},
      {"Pool Nonpaged Bytes", LRAW},
      {"Pool Paged Bytes", LRAW},
      {"Transition Faults/sec", CNT},
      {"Transition Pages RePurposed/sec", CNT}}},
    {"Network Adapter",
     2,
     {{"Bytes Total/sec", BULK},
      {"Packets/sec", CNT},
      {"Packets Received/sec", CNT},
      {"Packets Sent/sec", CNT},
      {"Current Bandwidth", LRAW},
      {"Bytes Received/sec", BULK},
      {"Packets Received Unicast/sec", CNT},
      {"Packets Received Non-Unicast/sec", CNT},
      {"Packets Received Discarded", RAW},
      {"Packets Received Errors", RAW},
      {"Bytes Sent/sec", BULK},
      {"Packets Outbound Discarded", RAW},
      {"Packets Outbound Errors", RAW}}},
    {"Network Interface",
     2,
     {{"Bytes Total/sec", BULK},
      {"Packets/sec", CNT},
      {"Packets Received/sec", CNT},
      {"Packets Sent/sec", CNT},
      {"Current Bandwidth", LRAW},
      {"Bytes Received/sec", BULK},
      {"Packets Received Unicast/sec", CNT},
      {"Packets Received Non-Unicast/sec", CNT},
      {"Packets Received Discarded", RAW},
      {"Packets Received Errors", RAW},
      {"Bytes Sent/sec", BULK},
      {"Packets Outbound Discarded", RAW},
      {"Packets Outbound Errors", RAW}}},
    {"Paging File", 6, {{"% Usage", FRAC}, {"% Usage Peak", FRAC}}},
    {"PhysicalDisk",
     6,
     {{"% Disk Read Time", P100},
      {"% Disk Write Time", P100},
      {"% Disk Time", P100},
      {"% Idle Time", P100},
      {"Current Disk Queue Length", RAW},
      {"Avg. Disk Queue Length", QLEN},
      {"Avg. Disk Read Queue Length", QLEN},
      {"Avg. Disk Write Queue Length", QLEN},
      {"Avg. Disk sec/Transfer", AVGT},
      {"Avg. Disk sec/Read", AVGT},
      {"Avg. Disk sec/Write", AVGT},
      {"Disk Transfers/sec", CNT},
      {"Disk Reads/sec", CNT},
      {"Disk Writes/sec", CNT},
      {"Disk Bytes/sec", BULK},
      {"Disk Read Bytes/sec", BULK},
      {"Disk Write Bytes/sec", BULK},
      {"Avg. Disk Bytes/Transfer", AVGB},
      {"Avg. Disk Bytes/Read", AVGB},
      {"Avg. Disk Bytes/Write", AVGB}}},
    {"Linux Cgroup Process",
     6,
     {{"% Processor Time", T100NS},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Elapsed Time", ELAPSED},
      {"Thread Count", RAW},
      {"Priority Base", RAW},
      {"Handle Count", RAW},
      {"Page Faults/sec", CNT},
      {"Virtual Bytes", LRAW},
      {"Virtual Bytes Peak", LRAW},
      {"Working Set", LRAW},
      {"Working Set Peak", LRAW},
      {"Working Set - Private", LRAW},
      {"Private Bytes", LRAW},
      {"Page File Bytes", LRAW},
      {"IO Read Operations/sec", BULK},
      {"IO Write Operations/sec", BULK},
      {"IO Data Operations/sec", BULK},
      {"IO Read Bytes/sec", BULK},
      {"IO Write Bytes/sec", BULK},
      {"IO Data Bytes/sec", BULK},
      {"ID Process", RAW},
      {"Creating Process ID", RAW}}},
    {"Process",
     6,
     {{"% Processor Time", T100NS},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Elapsed Time", ELAPSED},
      {"Thread Count", RAW},
      {"Priority Base", RAW},
      {"Handle Count", RAW},
      {"Page Faults/sec", CNT},
      {"Virtual Bytes", LRAW},
      {"Virtual Bytes Peak", LRAW},
      {"Working Set", LRAW},
      {"Working Set Peak", LRAW},
      {"Working Set - Private", LRAW},
      {"Private Bytes", LRAW},
      {"Page File Bytes", LRAW},
      {"IO Read Operations/sec", BULK},
      {"IO Write Operations/sec", BULK},
      {"IO Data Operations/sec", BULK},
      {"IO Read Bytes/sec", BULK},
      {"IO Write Bytes/sec", BULK},
      {"IO Data Bytes/sec", BULK},
      {"ID Process", RAW},
      {"Creating Process ID", RAW}}},
    {"Process V2",
     6,
     {{"% Processor Time", T100NS},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Elapsed Time", ELAPSED},
      {"Thread Count", RAW},
      {"Priority Base", RAW},
      {"Handle Count", RAW},
      {"Page Faults/sec", CNT},
      {"Virtual Bytes", LRAW},
      {"Virtual Bytes Peak", LRAW},
      {"Working Set", LRAW},
      {"Working Set Peak", LRAW},
      {"Working Set - Private", LRAW},
      {"Private Bytes", LRAW},
      {"Page File Bytes", LRAW},
      {"IO Read Operations/sec", BULK},
      {"IO Write Operations/sec", BULK},
      {"IO Data Operations/sec", BULK},
      {"IO Read Bytes/sec", BULK},
      {"IO Write Bytes/sec", BULK},
      {"IO Data Bytes/sec", BULK},
      {"ID Process", RAW},
      {"Creating Process ID", RAW}}},
    {"Processor Information",
     6,
     {{"% Processor Time", INV100},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Interrupts/sec", CNT},
      {"% DPC Time", T100NS},
      {"% Interrupt Time", T100NS},
      {"DPCs Queued/sec", CNT},
      {"% Idle Time", T100NS},
      {"% C1 Time", T100NS},
      {"% C2 Time", T100NS},
      {"% C3 Time", T100NS},
      {"C1 Transitions/sec", BULK},
      {"C2 Transitions/sec", BULK},
      {"C3 Transitions/sec", BULK},
      {"Processor Frequency", RAW},
      {"% of Maximum Frequency", RAW},
      {"Clock Interrupts/sec", CNT},
      {"Parking Status", RAW},
      {"% Performance Limit", RAW},
      {"Average Idle Time", P100},
      {"Idle Break Events/sec", BULK},
      {"% Processor Performance", AVGB},
      {"% Processor Utility", AVGB},
      {"% Privileged Utility", AVGB},
      {"", AVERAGE_BASE}}},
    {"Processor",
     6,
     {{"% Processor Time", INV100},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Interrupts/sec", CNT},
      {"% DPC Time", T100NS},
      {"% Interrupt Time", T100NS},
      {"DPCs Queued/sec", CNT},
      {"% Idle Time", T100NS},
      {"% C1 Time", T100NS},
      {"% C2 Time", T100NS},
      {"% C3 Time", T100NS},
      {"C1 Transitions/sec", BULK},
      {"C2 Transitions/sec", BULK},
      {"C3 Transitions/sec", BULK}}},
    {"RDMA Activity",
     2,
     {{"RDMA Completion Queue Errors", LRAW},
      {"RDMA Inbound Bytes/sec", BULK},
      {"RDMA Outbound Bytes/sec", BULK},
      {"RDMA Inbound Frames/sec", BULK},
      {"RDMA Outbound Frames/sec", BULK}}},
    {"LogicalDisk",
     6,
     {{"% Free Space", FRAC},
      {"Free Megabytes", RAW},
      {"% Disk Read Time", P100},
      {"% Disk Write Time", P100},
      {"% Disk Time", P100},
      {"% Idle Time", P100},
      {"Current Disk Queue Length", RAW},
      {"Avg. Disk Queue Length", QLEN},
      {"Avg. Disk Read Queue Length", QLEN},
      {"Avg. Disk Write Queue Length", QLEN},
      {"Avg. Disk sec/Transfer", AVGT},
      {"Avg. Disk sec/Read", AVGT},
      {"Avg. Disk sec/Write", AVGT},
      {"Disk Transfers/sec", CNT},
      {"Disk Reads/sec", CNT},
      {"Disk Writes/sec", CNT},
      {"Disk Bytes/sec", BULK},
      {"Disk Read Bytes/sec", BULK},
      {"Disk Write Bytes/sec", BULK},
      {"Avg. Disk Bytes/Transfer", AVGB},
      {"Avg. Disk Bytes/Read", AVGB},
      {"Avg. Disk Bytes/Write", AVGB}}},
    {"Job Object",
     6,
     {{"Current % Processor Time", T100NS},
      {"Current % User Mode Time", T100NS},
      {"Current % Kernel Mode Time", T100NS},
      {"Pages/Sec", CNT},
      {"Process Count - Active", RAW},
      {"Total mSec - Processor", LRAW},
      {"Total mSec - User Mode", LRAW},
      {"Total mSec - Kernel Mode", LRAW}}},
    {"Energy Meter", 2, {{"Energy", LRAW}, {"Power", BULK}}},
    {"GPU Engine",
     2,
     {{"Running Time", LRAW}, {"Utilization Percentage", T100NS}}},
    {"GPU Process Memory",
     2,
     {{"Total Committed", LRAW},
      {"Dedicated Usage", LRAW},
      {"Shared Usage", LRAW}}},
    {"GPU Adapter Memory",
     2,
     {{"Total Committed", LRAW},
      {"Dedicated Usage", LRAW},
      {"Shared Usage", LRAW}}},
    {"NUMA Node Memory",
     6,
     {{"Total MBytes", RAW},
      {"Free & Zero Page List MBytes", RAW},
      {"Standby List MBytes", RAW},
      {"Available MBytes", RAW}}},
    {"Thermal Zone Information",
     2,
     {{"Temperature", RAW}, {"High Precision Temperature", RAW}}},
    {"System",
     0,
     {{"Context Switches/sec", CNT},
      {"Processes", RAW},
      {"Threads", RAW},
      {"Processor Queue Length", RAW},
      {"System Up Time", ELAPSED}}},
    {"Thread",
     2,
     {{"Context Switches/sec", CNT},
      {"% Processor Time", T100NS},
      {"% User Time", T100NS},
      {"% Privileged Time", T100NS},
      {"Elapsed Time", ELAPSED},
      {"Priority Current", RAW},
      {"Thread State", RAW},
      {"ID Process", RAW},
      {"ID Thread", RAW}}},
};

// Returns the name-based UUID, version 5, of RFC 4122.
std::string Uuid5(const std::string& name_space, const std::string& name) {
  const std::string text = name_space + name;
  unsigned char hash[EVP_MAX_MD_SIZE];
  EVP_Digest(text.data(), text.size(), hash, nullptr, EVP_sha1(), nullptr);
  hash[6] = static_cast<unsigned char>((hash[6] & 0x0F) | 0x50);
  hash[8] = static_cast<unsigned char>((hash[8] & 0x3F) | 0x80);
  return std::string(reinterpret_cast<char*>(hash), 16);
}

class RegistrationTest : public testing::LinuxFixture {
 protected:
  // With a PMU, which adds a counterset.
  RegistrationTest() {
    auto machine = std::make_shared<perf_event::SimulatedSystem>();
    machine->SetRate(
        perf_event::Hardware(perf_event::HardwareEvent::kInstructions), 1);
    events_ = std::move(machine);
  }

  std::vector<CountersetRegistration> All() {
    std::vector<std::string> warnings;
    auto registrations =
        LoadRegistrations(source(), {}, std::atomic<bool>(false), &warnings)
            .value();
    EXPECT_THAT(warnings, ElementsAre());
    return registrations;
  }
};

TEST_F(RegistrationTest, HasWindowsNamesAndTypes) {
  std::set<std::string> names;  // without those that only Linux has
  for (const CountersetRegistration& set : All()) {
    if (!absl::StartsWith(set.name, "Linux ")) names.insert(set.name);
  }
  EXPECT_EQ(names.erase("Hardware Counters"), 1);
  EXPECT_EQ(names.erase("fleetperf Collection"), 1);
  for (const ExpectedRegistration& expected : kExpected) {
    SCOPED_TRACE(expected.counterset);
    names.erase(expected.counterset);
    const CountersetRegistration& set = Registration(expected.counterset);
    EXPECT_EQ(set.instance_type, expected.instance_type);
    std::map<std::string, uint32_t> types;
    for (const CounterRegistration& counter : set.counters) {
      if (counter.counter_id < 1000) types[counter.name] = counter.type;
    }
    EXPECT_EQ(types, expected.types);
  }
  EXPECT_THAT(names, IsEmpty());
}

// The ids published by Microsoft.
TEST_F(RegistrationTest, HasWindowsIdsInProcessorInformation) {
  const std::map<uint32_t, std::string> kIds = {
      {0, "% Processor Time"},
      {1, "% User Time"},
      {2, "% Privileged Time"},
      {3, "Interrupts/sec"},
      {4, "% DPC Time"},
      {5, "% Interrupt Time"},
      {6, "DPCs Queued/sec"},
      {8, "% Idle Time"},
      {9, "% C1 Time"},
      {10, "% C2 Time"},
      {11, "% C3 Time"},
      {12, "C1 Transitions/sec"},
      {13, "C2 Transitions/sec"},
      {14, "C3 Transitions/sec"},
      {16, "Parking Status"},
      {17, "Processor Frequency"},
      {18, "% of Maximum Frequency"},
      {20, "Clock Interrupts/sec"},
      {21, "Average Idle Time"},
      {22, ""},
      {23, "Idle Break Events/sec"},
      {24, "% Processor Performance"},
      {25, ""},
      {26, "% Processor Utility"},
      {27, ""},
      {28, "% Privileged Utility"},
      {30, "% Performance Limit"},
      {1000, "% Steal Time"},
      {1001, "% Guest Time"},
      {1002, "% IO Wait Time"},
      {1003, "Thermal Throttles"},
      {1004, "% Thermal Throttle Time"},
      {1999, ""},  // the start of a life
  };
  std::map<uint32_t, std::string> ids;
  for (const auto& counter : Registration("Processor Information").counters) {
    ids[counter.counter_id] = counter.name;
  }
  EXPECT_EQ(ids, kIds);
}

TEST_F(RegistrationTest, LinksLeadToCountersOfTheRightType) {
  const std::map<uint32_t, uint32_t> kBaseOfType = {
      {AVGT, AVERAGE_BASE},
      {AVGB, AVERAGE_BASE},
      {FRAC, RAW_BASE},
      {P100, LARGE_RAW_BASE},
      {SAMPLE_FRACTION, SAMPLE_BASE}};
  for (const CountersetRegistration& set : All()) {
    const auto type_of = [&](uint32_t id) -> std::optional<uint32_t> {
      const CounterRegistration* counter = set.FindCounter(id);
      if (counter == nullptr) return std::nullopt;
      return counter->type;
    };
    for (const CounterRegistration& counter : set.counters) {
      SCOPED_TRACE(set.name + " " + counter.name);
      const auto base = kBaseOfType.find(counter.type);
      if (base != kBaseOfType.end()) {
        EXPECT_EQ(type_of(counter.base_counter_id), base->second);
      } else {
        EXPECT_EQ(counter.base_counter_id, perflib::kNoCounter);
      }
      // Only agent/collect reads when a life began.
      const bool elapsed =
          counter.type == ELAPSED && counter.counter_id != kLifeStartId;
      EXPECT_EQ(type_of(counter.perf_time_id),
                elapsed ? std::optional(LRAW) : std::nullopt);
      EXPECT_EQ(type_of(counter.perf_freq_id),
                elapsed ? std::optional(LRAW) : std::nullopt);
      EXPECT_EQ(counter.multi_id, perflib::kNoCounter);
    }
  }
}

TEST_F(RegistrationTest, CountersHaveKnownTypesHelpAndUniqueNames) {
  for (const CountersetRegistration& set : All()) {
    SCOPED_TRACE(set.name);
    EXPECT_NE(set.help, "");
    EXPECT_NE(set.provider_name, "");
    std::set<uint32_t> ids;
    std::set<std::string> names;
    for (const CounterRegistration& counter : set.counters) {
      EXPECT_TRUE(ids.insert(counter.counter_id).second) << counter.counter_id;
      EXPECT_NE(perflib::FindCounterType(counter.type), nullptr);
      const bool shown = (counter.attrib & perflib::kAttribNoDisplayable) == 0;
      EXPECT_EQ(shown, !counter.name.empty());
      EXPECT_EQ(shown, !counter.help.empty());
      if (!shown) continue;
      EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    }
  }
}

TEST_F(RegistrationTest, ScaledNumbersAreShownAsRealNumbers) {
  for (const CountersetRegistration& set : All()) {
    for (const CounterRegistration& counter : set.counters) {
      EXPECT_EQ((counter.attrib & perflib::kAttribDisplayAsReal) != 0,
                counter.default_scale != 0)
          << counter.name;
    }
  }
}

TEST_F(RegistrationTest, LoadAveragesAreInHundredthsAndClocksInMicroseconds) {
  for (const CounterRegistration& counter : Registration("System").counters) {
    const bool load = absl::StartsWith(counter.name, "Load Average");
    const bool clock = absl::StartsWith(counter.name, "Clock ") &&
                       counter.name != "Clock Synchronized";
    EXPECT_EQ(counter.default_scale, load    ? -2
                                     : clock ? -6
                                             : 0)
        << counter.name;
  }
}

// Watts are counted in microjoules, and frequencies in cycles per 100 ns.
TEST_F(RegistrationTest, HardwareCountersAreInWattsAndMegahertz) {
  std::map<std::string, int> scales;
  for (const auto& counter : Registration("Hardware Counters").counters) {
    if (counter.default_scale != 0) {
      scales[counter.name] = counter.default_scale;
    }
  }
  EXPECT_EQ(scales, (std::map<std::string, int>{{"Active Frequency", 1},
                                                {"Average Frequency", 1},
                                                {"Package Power", -6},
                                                {"Memory Power", -6}}));
}

TEST_F(RegistrationTest, GuidsAreMicrosoftsOrDerivedFromNames) {
  const std::map<std::string, std::string> kMicrosofts = {
      {"Processor Information", "{b4fc721a-0378-476f-89ba-a5a79f810b36}"},
      {"GPU Engine", "{978c167d-4764-4d9c-9824-14747351dc81}"},
      {"GPU Process Memory", "{f802502b-77b4-4713-81b3-3be05759da5d}"},
      {"GPU Adapter Memory", "{be2139c7-ab81-424d-b107-d87f7c9322ac}"},
  };
  const std::string dns = testing::FromHex(
      "6ba7b8109dad11d180b400c04fd430c8");  // RFC 4122, appendix C
  const std::string name_space = Uuid5(dns, "countersets.fleetperf");
  EXPECT_EQ(absl::BytesToHexString(name_space),
            "508393bcf57858b5a25e96369ee5e498");
  for (const CountersetRegistration& set : All()) {
    std::string digits = absl::BytesToHexString(Uuid5(name_space, set.name));
    for (const size_t dash : {20, 16, 12, 8}) digits.insert(dash, "-");
    const auto microsofts = kMicrosofts.find(set.name);
    EXPECT_EQ(set.guid.ToString(), microsofts != kMicrosofts.end()
                                       ? microsofts->second
                                       : "{" + digits + "}")
        << set.name;
  }
}

TEST_F(RegistrationTest, AnswersEveryRequest) {
  const CountersetRegistration& system = Registration("System");
  const auto ask = [&](RegistrationRequest request, uint32_t argument = 0) {
    return source().QueryCounterSetRegistrationInfo(system.guid, request,
                                                    argument);
  };
  for (const RegistrationRequest name :
       {RegistrationRequest::kCountersetName,
        RegistrationRequest::kCountersetEnglishName}) {
    EXPECT_EQ(perflib::ReadString(ask(name).value()).value(), "System");
  }
  for (const RegistrationRequest names :
       {RegistrationRequest::kCounterNames,
        RegistrationRequest::kCounterEnglishNames}) {
    const auto strings = perflib::ReadStringBuffer(ask(names).value()).value();
    EXPECT_EQ(strings.front().text, "Context Switches/sec");
  }
  EXPECT_EQ(perflib::ReadCounterStruct(
                ask(RegistrationRequest::kCounterStruct, 4).value())
                ->type,
            ELAPSED);
  EXPECT_THAT(ask(RegistrationRequest::kCounterStruct, 999),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("(4202)")));
  EXPECT_EQ(perflib::ReadGuid(ask(RegistrationRequest::kProviderGuid).value())
                ->ToString(),
            "{383487a6-3676-4870-a4e7-d45b30c35629}");
  EXPECT_THAT(ask(static_cast<RegistrationRequest>(99)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(87)")));
  EXPECT_THAT(source().QueryCounterSetRegistrationInfo(
                  {}, RegistrationRequest::kCountersetStruct, 0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("(4200)")));
}

}  // namespace
}  // namespace fleetperf::agent
