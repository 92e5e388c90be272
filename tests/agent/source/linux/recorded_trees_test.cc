// Compares countersets with an independent reading of recorded trees:
// processors, memory, processes, cgroups and networks.

#include "tests/agent/source/linux/recorded_trees.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kKib;
using testing::Reading;
using testing::WordList;

class RecordedTreesTest : public testing::RecordedTrees {
 protected:
  // Reads only these counters, because trees lack the files of others.
  Reading SampleOnly(const std::string& counterset,
                     const std::vector<std::string>& counters) {
    std::vector<uint32_t> ids;
    for (const auto& counter : Registration(counterset).counters) {
      if (std::find(counters.begin(), counters.end(), counter.name) !=
          counters.end()) {
        ids.push_back(counter.counter_id);
      }
    }
    return Sample(counterset, ids);
  }

  void ExpectProcessors();
  void ExpectInterfaces();
  void ExpectSoftnet();
  void ExpectProtocols();
  void ExpectMemory();
  void ExpectNodes();
  void ExpectProcess(const std::string& pid);
};

void RecordedTreesTest::ExpectProcessors() {
  const Reading reading = SampleOnly(
      "Processor", {"% User Time", "% Privileged Time", "% Idle Time",
                    "% Interrupt Time", "% DPC Time"});
  size_t cpus = 0;
  for (const WordList& words : Lines("proc/stat")) {
    if (words[0].size() < 4 || !absl::StartsWith(words[0], "cpu")) continue;
    ++cpus;
    const std::string cpu = words[0].substr(3);
    const auto jiffies = [&](size_t field) {
      return field < words.size() ? Number(words[field]) : 0;
    };
    EXPECT_EQ(reading.Get(cpu, "% User Time"),
              (jiffies(1) + jiffies(2)) * kJiffy);
    EXPECT_EQ(reading.Get(cpu, "% Privileged Time"),
              (jiffies(3) + jiffies(6) + jiffies(7)) * kJiffy);
    EXPECT_EQ(reading.Get(cpu, "% Idle Time"),
              (jiffies(4) + jiffies(5)) * kJiffy);
    EXPECT_EQ(reading.Get(cpu, "% Interrupt Time"), jiffies(6) * kJiffy);
    EXPECT_EQ(reading.Get(cpu, "% DPC Time"), jiffies(7) * kJiffy);
  }
  EXPECT_GT(cpus, 0u);
  EXPECT_EQ(reading.names.size(), cpus + 1);
  const std::string kSwitches = "Context Switches/sec";
  EXPECT_EQ(SampleOnly("System", {kSwitches}).Get("", kSwitches),
            Field("proc/stat", "ctxt"));
}

void RecordedTreesTest::ExpectInterfaces() {
  const Reading reading = Sample("Network Interface");
  size_t interfaces = 0;
  for (const WordList& words : Lines("proc/net/dev")) {
    if (words.size() != 17) continue;  // the header
    ++interfaces;
    const std::string& name = words[0];
    EXPECT_EQ(reading.Get(name, "Bytes Received/sec"), Number(words[1]));
    EXPECT_EQ(reading.Get(name, "Packets Received/sec"), Number(words[2]));
    EXPECT_EQ(reading.Get(name, "Packets Received Errors"), Number(words[3]));
    EXPECT_EQ(reading.Get(name, "Packets Received Discarded"),
              Number(words[4]));
    EXPECT_EQ(reading.Get(name, "Bytes Sent/sec"), Number(words[9]));
    EXPECT_EQ(reading.Get(name, "Packets Sent/sec"), Number(words[10]));
    EXPECT_EQ(reading.Get(name, "Packets Outbound Errors"), Number(words[11]));
  }
  EXPECT_GT(interfaces, 0u);
  EXPECT_EQ(reading.names.size(), interfaces);
}

void RecordedTreesTest::ExpectSoftnet() {
  const Reading reading = Sample("Linux Softnet");
  const std::vector<WordList> lines = Lines("proc/net/softnet_stat");
  EXPECT_EQ(reading.names.size(), lines.size() + 1);
  const std::pair<const char*, size_t> kFields[] = {
      {"Packets/sec", 0}, {"Packets Dropped", 1}, {"Time Squeezes/sec", 2}};
  for (const auto& [counter, field] : kFields) {
    for (size_t cpu = 0; cpu < lines.size(); ++cpu) {
      const uint64_t value = std::stoull(lines[cpu][field], nullptr, 16);
      EXPECT_EQ(reading.Get(absl::StrCat(cpu), counter), value) << cpu;
    }
  }
}

struct ProtocolCounter {
  const char* counterset;
  const char* counter;
  const char* file;
  const char* protocol;
  const char* key;
};

constexpr ProtocolCounter kProtocolCounters[] = {
    {"TCPv4", "Connections Established", "snmp", "Tcp", "CurrEstab"},
    {"TCPv4", "Connections Active", "snmp", "Tcp", "ActiveOpens"},
    {"TCPv4", "Connections Passive", "snmp", "Tcp", "PassiveOpens"},
    {"TCPv4", "Connection Failures", "snmp", "Tcp", "AttemptFails"},
    {"TCPv4", "Segments Received/sec", "snmp", "Tcp", "InSegs"},
    {"TCPv4", "Segments Sent/sec", "snmp", "Tcp", "OutSegs"},
    {"TCPv4", "Segments Retransmitted/sec", "snmp", "Tcp", "RetransSegs"},
    {"UDPv4", "Datagrams Received/sec", "snmp", "Udp", "InDatagrams"},
    {"UDPv4", "Datagrams Sent/sec", "snmp", "Udp", "OutDatagrams"},
    {"UDPv4", "Receive Buffer Errors", "snmp", "Udp", "RcvbufErrors"},
    {"IPv4", "Datagrams Received/sec", "snmp", "Ip", "InReceives"},
    {"IPv4", "Datagrams Sent/sec", "snmp", "Ip", "OutRequests"},
    {"IPv4", "Datagrams Received Delivered/sec", "snmp", "Ip", "InDelivers"},
    {"Linux Network Protocol", "TCP Listen Overflows", "netstat", "TcpExt",
     "ListenOverflows"},
    {"Linux Network Protocol", "TCP Listen Drops", "netstat", "TcpExt",
     "ListenDrops"},
    {"Linux Network Protocol", "TCP Retransmission Timeouts/sec", "netstat",
     "TcpExt", "TCPTimeouts"},
    {"Linux Network Protocol", "TCP Delayed Acknowledgements/sec", "netstat",
     "TcpExt", "DelayedACKs"},
    {"Linux Network Protocol", "TCP SYN Retransmits/sec", "netstat", "TcpExt",
     "TCPSynRetrans"},
    {"Linux Network Protocol", "IP Bytes Received/sec", "netstat", "IpExt",
     "InOctets"},
};

// Of the files that the tree has. Fields that the kernel lacks are absent.
void RecordedTreesTest::ExpectProtocols() {
  size_t compared = 0;
  for (const ProtocolCounter& row : kProtocolCounters) {
    const std::string path = absl::StrCat("proc/net/", row.file);
    if (!std::filesystem::exists(PathOf(path))) continue;
    EXPECT_EQ(Sample(row.counterset).Get("", row.counter),
              ProtocolField(path, row.protocol, row.key))
        << row.counter;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

void RecordedTreesTest::ExpectMemory() {
  const std::string meminfo = "proc/meminfo";
  const Reading memory = Sample("Memory");
  const std::pair<const char*, WordList> kSums[] = {
      {"Total Bytes", {"MemTotal"}},
      {"Free & Zero Page List Bytes", {"MemFree"}},
      {"Cache Bytes", {"Cached", "Buffers", "SReclaimable"}},
      {"Modified Page List Bytes", {"Dirty", "Writeback"}},
      {"Pool Nonpaged Bytes", {"SUnreclaim", "KernelStack", "PageTables"}},
      {"Anonymous Bytes", {"AnonPages"}},
      {"Committed Bytes", {"Committed_AS"}},
      {"Swap Free Bytes", {"SwapFree"}}};
  for (const auto& [counter, keys] : kSums) {
    uint64_t kib = 0;
    for (const std::string& key : keys) kib += Field(meminfo, key);
    EXPECT_EQ(memory.Get("", counter), kib * kKib) << counter;
  }
  const uint64_t available = Field(meminfo, "MemAvailable");
  EXPECT_EQ(memory.Get("", "Available Bytes").value_or(0), available * kKib);
  const std::string vmstat = "proc/vmstat";
  EXPECT_EQ(memory.Get("", "Page Faults/sec"), Field(vmstat, "pgfault"));
  EXPECT_EQ(memory.Get("", "Page Reads/sec"), Field(vmstat, "pgmajfault"));
}

// Lines of a node's meminfo: Node 0 MemTotal: 5 kB.
void RecordedTreesTest::ExpectNodes() {
  const Reading reading = Sample("NUMA Node Memory");
  const std::string nodes = "sys/devices/system/node/";
  uint64_t total = 0;
  for (const std::string& node : reading.names) {
    if (node == "_Total") continue;
    std::map<std::string, uint64_t> kib;
    for (const WordList& words : Lines(nodes + "node" + node + "/meminfo")) {
      if (words.size() > 3) kib[words[2]] = Number(words[3]);
    }
    total += kib["MemTotal"] / 1024;
    EXPECT_EQ(reading.Get(node, "Total MBytes"), kib["MemTotal"] / 1024);
    EXPECT_EQ(reading.Get(node, "Free & Zero Page List MBytes"),
              kib["MemFree"] / 1024);
    EXPECT_EQ(reading.Get(node, "Anonymous MBytes"), kib["AnonPages"] / 1024);
    const std::string numastat = nodes + "node" + node + "/numastat";
    EXPECT_EQ(reading.Get(node, "Numa Hits/sec"), Field(numastat, "numa_hit"));
    EXPECT_EQ(reading.Get(node, "Remote Allocations/sec"),
              Field(numastat, "other_node"));
  }
  EXPECT_GE(reading.names.size(), 2u);
  // Parts of a MiB add up.
  EXPECT_GE(*reading.Get("_Total", "Total MBytes"), total);
  EXPECT_LT(*reading.Get("_Total", "Total MBytes"),
            total + reading.names.size());
}

// Hundreds of processors, and an old kernel.
TEST_F(RecordedTreesTest, BigMachine) {
  Unpack("bigsys-root-hpbl920gen8");
  ExpectProcessors();
  ExpectInterfaces();
  ExpectSoftnet();
  ExpectProtocols();
}

TEST_F(RecordedTreesTest, Workstation) {
  Unpack("scsi-map-root-001", "./proc");
  ExpectProcessors();
  ExpectSoftnet();
  // Lines of interrupts: the label, a number for each processor, the names.
  const Reading interrupts = Sample("Linux Interrupts");
  const std::vector<WordList> lines = Lines("proc/interrupts");
  const size_t cpus = lines.at(0).size();
  for (const WordList& words : lines) {
    if (words.size() < 1 + cpus || words[0] == "CPU0") continue;
    uint64_t sum = 0;
    for (size_t i = 1; i <= cpus; ++i) sum += Number(words[i]);
    if (sum == 0) continue;
    uint64_t number;
    std::string name = words[0];
    if (absl::SimpleAtoi(words[0], &number)) {
      name = absl::StrCat(words.back(), ":", words[0]);
    }
    if (interrupts.rows.count(name) == 0) continue;  // shared by devices
    EXPECT_EQ(interrupts.Get(name, "Interrupts/sec"), sum) << name;
  }
  EXPECT_TRUE(interrupts.Get("i8042:1", "Interrupts/sec").has_value());
  EXPECT_TRUE(interrupts.Get("LOC", "Interrupts/sec").has_value());
  for (const WordList& words : Lines("proc/softirqs")) {
    if (words[0] != "NET_RX" && words[0] != "TIMER") continue;
    uint64_t sum = 0;
    for (size_t i = 1; i < words.size(); ++i) sum += Number(words[i]);
    EXPECT_EQ(interrupts.Get("softirq " + words[0], "Interrupts/sec"), sum);
  }
}

class RecordedMemoryTest : public RecordedTreesTest,
                           public ::testing::WithParamInterface<int> {};

TEST_P(RecordedMemoryTest, AgreesWithTheTree) {
  Unpack(absl::StrCat("meminfo-root-00", GetParam()));
  ExpectMemory();
  ExpectNodes();
  ExpectProcessors();
}

INSTANTIATE_TEST_SUITE_P(Trees, RecordedMemoryTest, ::testing::Range(1, 8));

TEST_F(RecordedTreesTest, ProtocolsOfOldAndNewKernels) {
  Unpack("procnet-4.15.14-root-001");
  ExpectInterfaces();
  ExpectProtocols();
  for (const char* version : {"2.6.32", "3.19.0", "5.14.7"}) {
    SCOPED_TRACE(version);
    Copy(absl::StrCat("procnet-snmp-", version), "proc/net/snmp");
    Copy(absl::StrCat("procnet-snmp6-", version), "proc/net/snmp6");
    clock_.Advance(absl::Seconds(1));
    ExpectProtocols();
    EXPECT_EQ(Sample("IPv6").Get("", "Datagrams Received/sec"),
              Field("proc/net/snmp6", "Ip6InReceives"));
    EXPECT_EQ(Sample("UDPv6").Get("", "Datagrams Sent/sec"),
              Field("proc/net/snmp6", "Udp6OutDatagrams"));
  }
}

TEST_F(RecordedTreesTest, Pressure) {
  Unpack("pressure-root-002");
  const Reading reading = Sample("Linux Pressure");
  for (const char* resource : {"cpu", "memory", "io", "irq"}) {
    for (const WordList& words :
         Lines(absl::StrCat("proc/pressure/", resource))) {
      const WordList total = absl::StrSplit(words.back(), '=');
      ASSERT_EQ(total[0], "total");
      EXPECT_EQ(reading.Get(resource, words[0] == "some" ? "% Some Stall Time"
                                                         : "% Full Stall Time"),
                Number(total[1]) * 10);  // from us
    }
  }
}

TEST_F(RecordedTreesTest, Cgroups) {
  Unpack("cgroups-root-004");
  const Reading reading = Sample("Linux Cgroup");
  size_t compared = 0;
  const std::string root = PathOf("sys/fs/cgroup");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    const std::string path = entry.path().string().substr(root.size());
    const std::string directory = "sys/fs/cgroup" + path + "/";
    if (reading.rows.count(path) == 0) continue;  // a container's short name
    if (!std::filesystem::exists(PathOf(directory + "memory.current")))
      continue;
    ++compared;
    EXPECT_EQ(reading.Get(path, "% Processor Time"),
              Field(directory + "cpu.stat", "usage_usec") * 10);
    EXPECT_EQ(reading.Get(path, "Memory Bytes"),
              Number(Lines(directory + "memory.current").at(0).at(0)));
    EXPECT_EQ(reading.Get(path, "Anonymous Bytes"),
              Field(directory + "memory.stat", "anon"));
    EXPECT_EQ(reading.Get(path, "Tasks"),
              Number(Lines(directory + "pids.current").at(0).at(0)));
  }
  EXPECT_GT(compared, 20u);
}

void RecordedTreesTest::ExpectProcess(const std::string& pid) {
  const std::string directory = "proc/" + pid + "/";
  std::string stat;
  std::getline(std::ifstream(PathOf(directory + "stat")), stat);
  // Field 3, the state, is word 0.
  const WordList words = absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');
  const auto field = [&](size_t number) {
    return Number(words.at(number - 3));
  };
  const Reading reading = Sample("Process V2");
  for (const std::string& name : reading.names) {
    if (!absl::EndsWith(name, ":" + pid)) continue;
    EXPECT_EQ(reading.Get(name, "% User Time"), field(14) * kJiffy);
    EXPECT_EQ(reading.Get(name, "% Privileged Time"), field(15) * kJiffy);
    EXPECT_EQ(reading.Get(name, "Thread Count"), field(20));
    EXPECT_EQ(reading.Get(name, "Virtual Bytes"), field(23));
    EXPECT_EQ(reading.Get(name, "Page Faults/sec"), field(10) + field(12));
    EXPECT_EQ(reading.Get(name, "IO Write Bytes/sec"),
              Field(directory + "io", "wchar"));
    EXPECT_EQ(reading.Get(name, "Working Set Peak"),
              Field(directory + "status", "VmHWM") * kKib);
    return;
  }
  ADD_FAILURE() << "no process " << pid << " among "
                << absl::StrJoin(reading.names, ", ");
}

TEST_F(RecordedTreesTest, Processes) {
  Unpack("procpid-5.5.7-root-007");
  Write("proc/uptime", "1000000.00 1.00\n");
  for (const auto& entry :
       std::filesystem::directory_iterator(PathOf("proc"))) {
    const std::string pid = entry.path().filename();
    if (entry.is_directory()) ExpectProcess(pid);
  }
}

}  // namespace
}  // namespace fleetperf::agent
