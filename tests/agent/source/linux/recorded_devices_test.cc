// Compares countersets with an independent reading of recorded trees: disks,
// sensors, energy, NFS and RDMA.

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/agent/source/linux/disk/disk_fields.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;
using testing::WordList;

class RecordedDevicesTest : public testing::RecordedTrees {
 protected:
  void ExpectDisks();
  void ExpectNfsClient(const std::string& path);
  void ExpectNfsMounts();
  // `zones`: the instances by the name of their directory.
  void ExpectEnergy(const std::map<std::string, std::string>& zones);
};

// Devices without a directory in /sys/block, which some trees lack, are block
// devices.
void RecordedDevicesTest::ExpectDisks() {
  const Reading disks = Sample("PhysicalDisk");
  const Reading block_devices = Sample("Linux Block Device");
  size_t compared = 0;
  for (const WordList& line : Lines("proc/diskstats")) {
    constexpr size_t kInFlight = 9;
    if (!testing::DiskField(line, 11).has_value()) continue;
    if (*testing::DiskField(line, 1) + *testing::DiskField(line, 5) == 0) {
      continue;  // never used
    }
    ++compared;
    std::string name = line[2];
    const std::string map_name = "sys/block/" + name + "/dm/name";
    if (std::filesystem::exists(PathOf(map_name))) name = Line(map_name);
    const Reading& reading = disks.rows.contains(name) ? disks : block_devices;
    for (const testing::DiskSum& sum : testing::DiskSums()) {
      EXPECT_EQ(reading.Get(name, sum.counter), testing::ValueOf(sum, line))
          << name << " " << sum.counter;
    }
    EXPECT_EQ(reading.Get(name, "Current Disk Queue Length"),
              testing::DiskField(line, kInFlight));
  }
  EXPECT_GT(compared, 0u);
}

TEST_F(RecordedDevicesTest, DisksOfALaptop) {
  Unpack("scsi-map-root-001",
         "./proc/diskstats ./sys/block ./sys/devices/virtual/block");
  ExpectDisks();
  EXPECT_THAT(Sample("PhysicalDisk").names,
              UnorderedElementsAre("nvme0n1", "sda", "sdb", "sdc", "sdd", "sde",
                                   "_Total"));
}

TEST_F(RecordedDevicesTest, DisksOfABigMachine) {
  Unpack("bigsys-root-hpbl920gen8", "proc/diskstats");
  ExpectDisks();
}

class RecordedBlockDevicesTest : public RecordedDevicesTest,
                                 public ::testing::WithParamInterface<int> {};

// The device mapper, MD, and kernels of different ages.
TEST_P(RecordedBlockDevicesTest, AgreesWithTheTree) {
  Unpack(absl::StrCat("blkdev-root-00", GetParam()));
  ExpectDisks();
}

INSTANTIATE_TEST_SUITE_P(Trees, RecordedBlockDevicesTest,
                         ::testing::Range(1, 8));

// The kernel's hwmon/sysfs-interface.rst. Values that are negative are absent.
TEST_F(RecordedDevicesTest, Sensors) {
  Unpack("scsi-map-root-001", "--wildcards '*/hwmon[0-9]*'");
  const std::map<std::string, std::string> kCounters = {
      {"temp_input", "Temperature"},
      {"temp_max", "Temperature Maximum"},
      {"temp_crit", "Temperature Critical"},
      {"fan_input", "Fan Speed"},
      {"in_input", "Voltage"},
      {"curr_input", "Current"},
      {"power_input", "Power"},
      {"humidity_input", "Humidity"}};
  std::map<std::string, std::vector<uint64_t>> expected;
  for (const std::string& chip :
       LinkDirectories("sys/devices", "hwmon", "sys/class/hwmon")) {
    const std::string directory = "sys/class/hwmon/" + chip;
    for (const std::string& file : Files().Names(directory)) {
      // "temp1_input" is "temp_input".
      std::string kind = file;
      std::erase_if(kind, [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
      const auto counter = kCounters.find(kind);
      const auto value = Files().Number(directory + "/" + file);
      if (counter == kCounters.end() || !value.has_value()) continue;
      expected[counter->second].push_back(*value);
    }
  }
  std::map<std::string, std::vector<uint64_t>> actual;
  for (const auto& [name, values] : Sample("Linux Hardware Monitor").rows) {
    for (const auto& [counter, value] : values) {
      actual[counter].push_back(value);
    }
  }
  EXPECT_FALSE(expected["Temperature"].empty());
  for (auto& [counter, values] : expected) {
    EXPECT_THAT(actual[counter], UnorderedElementsAreArray(values)) << counter;
  }
}

TEST_F(RecordedDevicesTest, ThermalZones) {
  Unpack("scsi-map-root-001", "--wildcards '*/thermal_zone[0-9]*'");
  const WordList zones =
      LinkDirectories("sys/devices", "thermal_zone", "sys/class/thermal");
  const Reading reading = Sample("Thermal Zone Information");
  EXPECT_EQ(zones.size(), 7u);
  EXPECT_EQ(reading.names.size(), zones.size());
  for (const std::string& zone : zones) {
    const std::string directory = "sys/class/thermal/" + zone;
    const std::string name =
        absl::StrCat(Line(directory + "/type"), ":",
                     absl::StripPrefix(zone, "thermal_zone"));
    // 0 °C are 273150 mK.
    const uint64_t millikelvins = 273'150 + Number(Line(directory + "/temp"));
    EXPECT_EQ(reading.Get(name, "Temperature"), millikelvins / 1000) << name;
    EXPECT_EQ(reading.Get(name, "High Precision Temperature"),
              millikelvins / 100)
        << name;
  }
}

void RecordedDevicesTest::ExpectEnergy(
    const std::map<std::string, std::string>& zones) {
  const Reading reading = Sample("Energy Meter");
  EXPECT_EQ(reading.names.size(), zones.size());
  for (const auto& [zone, name] : zones) {
    // The file may be filled up with zeros.
    const std::string energy =
        Line("sys/class/powercap/" + zone + "/energy_uj");
    const uint64_t microjoules = Number(energy);
    EXPECT_EQ(reading.Get(name, "Power"), microjoules) << name;
    // A watt-hour is 3600 joules.
    const long double picowatt_hours =
        static_cast<long double>(microjoules) * 1e6L / 3600;
    EXPECT_EQ(reading.Get(name, "Energy"),
              static_cast<uint64_t>(picowatt_hours))
        << name;
  }
}

TEST_F(RecordedDevicesTest, EnergyOfTwoSockets) {
  Unpack("../denki/bigsystem", "--strip-components=1");
  LinkDirectories("sys/class/powercap/intel-rapl",
                  "intel-rapl:", "sys/class/powercap");
  ExpectEnergy({{"intel-rapl:0", "RAPL_Package1_PKG"},
                {"intel-rapl:0:0", "RAPL_Package1_PP0"},
                {"intel-rapl:1", "RAPL_Package0_PKG"},
                {"intel-rapl:1:0", "RAPL_Package0_PP0"}});
}

TEST_F(RecordedDevicesTest, EnergyOfALaptop) {
  Unpack("../denki/Thinkpad_L480_bat_busy", "--strip-components=1");
  LinkDirectories("sys/class/powercap/intel-rapl",
                  "intel-rapl:", "sys/class/powercap");
  ExpectEnergy({{"intel-rapl:0", "RAPL_Package0_PKG"},
                {"intel-rapl:0:0", "RAPL_Package0_PP0"},
                {"intel-rapl:0:1", "RAPL_Package0_PP1"},
                {"intel-rapl:0:2", "RAPL_Package0_DRAM"},
                {"intel-rapl:1", "RAPL_psys"}});
}

// The numbers of requests by name, of both versions.
class NfsRequests {
 public:
  // `line`: "proc4", how many numbers follow, the numbers.
  void Add(const WordList& line, const WordList& names) {
    for (size_t i = 0; i < names.size() && i + 2 < line.size(); ++i) {
      numbers_[names[i]] += std::stoull(line[i + 2]);
    }
  }
  uint64_t Sum(const WordList& names) const {
    uint64_t sum = 0;
    for (const std::string& name : names) sum += numbers_.at(name);
    return sum;
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

// Names are those of RFC 1813, in its order, and of nfsstat(8).
void RecordedDevicesTest::ExpectNfsClient(const std::string& path) {
  const WordList kVersion3 = absl::StrSplit(
      "null getattr setattr lookup access readlink read write create mkdir "
      "symlink mknod remove rmdir rename link readdir readdirplus fsstat "
      "fsinfo pathconf commit",
      ' ');
  const WordList kVersion4 = absl::StrSplit(
      "null read write commit open open_conf open_noat open_dgrd close setattr "
      "fsinfo renew setclntid confirm lock lockt locku access getattr lookup "
      "lookup_root remove rename link symlink create4 pathconf statfs readlink "
      "readdir",
      ' ');
  const std::map<std::string, WordList> kCounters = {
      {"Reads/sec", {"read"}},
      {"Writes/sec", {"write"}},
      {"Commits/sec", {"commit"}},
      {"Opens/sec", {"open", "open_noat"}},
      {"Closes/sec", {"close"}},
      {"Locks/sec", {"lock", "lockt", "locku"}},
      {"Get Attributes/sec", {"getattr"}},
      {"Set Attributes/sec", {"setattr"}},
      {"Lookups/sec", {"lookup", "lookup_root"}},
      {"Access Checks/sec", {"access"}},
      {"Read Directories/sec", {"readdir", "readdirplus"}},
      {"Creates/sec",
       {"create", "mkdir", "symlink", "mknod", "link", "create4"}},
      {"Removes/sec", {"remove", "rmdir"}},
      {"Renames/sec", {"rename"}}};
  const Reading reading = Sample("Linux NFS Client");
  NfsRequests requests;
  for (const WordList& line : Lines(path)) {
    if (line.empty()) continue;
    if (line[0] == "rpc") {
      EXPECT_EQ(reading.Get("", "Calls/sec"), Number(line[1]));
      EXPECT_EQ(reading.Get("", "Retransmissions/sec"), Number(line[2]));
      EXPECT_EQ(reading.Get("", "Authentication Refreshes/sec"),
                Number(line[3]));
    }
    if (line[0] == "proc3") requests.Add(line, kVersion3);
    if (line[0] == "proc4") requests.Add(line, kVersion4);
  }
  for (const auto& [counter, names] : kCounters) {
    EXPECT_EQ(reading.Get("", counter), requests.Sum(names)) << counter;
  }
  EXPECT_EQ(reading.rows.at("").size(), kCounters.size() + 3);
}

class RecordedNfsClientTest : public RecordedDevicesTest,
                              public ::testing::WithParamInterface<int> {};

TEST_P(RecordedNfsClientTest, AgreesWithTheTree) {
  Unpack(absl::StrCat("nfsrpc-root-00", GetParam()));
  ExpectNfsClient("proc/net/rpc/nfs");
}

INSTANTIATE_TEST_SUITE_P(Trees, RecordedNfsClientTest, ::testing::Range(1, 3));

// Lines of a mount in /proc/self/mountstats.
struct NfsMount {
  WordList bytes;
  std::vector<WordList> transports;
  std::vector<WordList> operations;  // name, numbers

  // The sum of a field, from 1, of all operations or of one.
  uint64_t Sum(size_t field, const std::string& operation = "") const {
    uint64_t sum = 0;
    for (const WordList& words : operations) {
      if (!operation.empty() && words[0] != operation) continue;
      if (field < words.size()) sum += std::stoull(words[field]);
    }
    return sum;
  }
};

// By mount point; of several mounts at one, the first.
std::map<std::string, NfsMount> ParseMountstats(
    const std::vector<WordList>& lines) {
  std::map<std::string, NfsMount> mounts;
  NfsMount* mount = nullptr;
  NfsMount ignored;
  for (const WordList& words : lines) {
    if (words.empty()) continue;
    if (words[0] == "device") {
      const auto on = std::find(words.begin(), words.end(), "on");
      const bool is_nfs = *(on + 4) == "nfs" || *(on + 4) == "nfs4";
      mount = &ignored;
      if (is_nfs && !mounts.contains(*(on + 1))) mount = &mounts[*(on + 1)];
    } else if (words[0] == "bytes") {
      mount->bytes = words;
    } else if (words[0] == "xprt") {
      mount->transports.push_back(words);
    } else if (absl::ascii_isupper(static_cast<unsigned char>(words[0][0])) &&
               words[0] != "RPC") {
      mount->operations.push_back(words);
    }
  }
  return mounts;
}

void RecordedDevicesTest::ExpectNfsMounts() {
  constexpr uint64_t kMillisecond = 10'000;
  const Reading reading = Sample("Linux NFS Mount");
  const auto mounts = ParseMountstats(Lines("proc/self/mountstats"));
  EXPECT_EQ(reading.names.size(), mounts.size());
  for (const auto& [name, mount] : mounts) {
    uint64_t connects = 0;
    for (const WordList& words : mount.transports) {
      if (words[1] != "udp") connects += Number(words[4]);
    }
    uint64_t repeated = 0;
    uint64_t errors = 0;
    bool has_errors = false;  // since Linux 5.3
    for (const WordList& words : mount.operations) {
      const uint64_t requests = Number(words[1]);
      const uint64_t sent = Number(words[2]);
      repeated += sent > requests ? sent - requests : 0;
      if (words.size() > 9) {
        has_errors = true;
        errors += Number(words[9]);
      }
    }
    const std::map<std::string, uint64_t> kExpected = {
        {"Operations/sec", mount.Sum(1)},
        {"id:1100", mount.Sum(1)},
        {"Reads/sec", mount.Sum(1, "READ")},
        {"id:1101", mount.Sum(1, "READ")},
        {"Writes/sec", mount.Sum(1, "WRITE")},
        {"id:1102", mount.Sum(1, "WRITE")},
        {"Read Bytes/sec", Number(mount.bytes.at(5))},
        {"Write Bytes/sec", Number(mount.bytes.at(6))},
        {"Avg. Queue sec/Operation", mount.Sum(6) * kMillisecond},
        {"Avg. Response sec/Operation", mount.Sum(7) * kMillisecond},
        {"Avg. sec/Operation", mount.Sum(8) * kMillisecond},
        {"Avg. sec/Read", mount.Sum(8, "READ") * kMillisecond},
        {"Avg. sec/Write", mount.Sum(8, "WRITE") * kMillisecond},
        {"Retransmissions", repeated},
        {"Timeouts", mount.Sum(3)},
        {"Connects", connects}};
    for (const auto& [counter, value] : kExpected) {
      EXPECT_EQ(reading.Get(name, counter).value_or(0), value)
          << name << " " << counter;
    }
    EXPECT_EQ(reading.Get(name, "Errors"),
              has_errors ? std::optional(errors) : std::nullopt)
        << name;
  }
}

TEST_F(RecordedDevicesTest, NfsMounts) {
  for (const char* file :
       {"mountstats.qa", "mountstats3.qa", "mountstats42.qa",
        "mountstats-4.18.0-80.el8-rpc-v1.0.qa",
        "mountstats-4.18.0-105.el8.rpc-v1.1.qa", "mountstats-el8.7-rdma.qa"}) {
    SCOPED_TRACE(file);
    Copy(absl::StrCat("../nfsclient/", file), "proc/self/mountstats");
    clock_.Advance(absl::Seconds(1));
    ExpectNfsMounts();
    EXPECT_FALSE(Sample("Linux NFS Mount").names.empty());
  }
  Copy("../nfsclient/nonfsmounts.qa", "proc/self/mountstats");
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Sample("Linux NFS Mount").names.empty());
}

// The kernel numbers zones in hexadecimal.
TEST_F(RecordedDevicesTest, EnergyOfTheTenthPackage) {
  UnpackProcfs("sys/class/powercap/");
  ExpectEnergy({{"intel-rapl:0", "RAPL_Package0_PKG"},
                {"intel-rapl:0:0", "RAPL_Package0_PP0"},
                {"intel-rapl:a", "RAPL_Package10_PKG"}});
}

// Adapters of Mellanox and of Intel (Omni-Path).
TEST_F(RecordedDevicesTest, RdmaPorts) {
  UnpackProcfs("sys/class/infiniband/");
  struct PortCounter {
    const char* counter;
    const char* file;
    uint64_t unit = 1;
  };
  constexpr PortCounter kCounters[] = {
      // In units of four bytes: the kernel's
      // Documentation/ABI/stable/sysfs-class-infiniband.
      {"RDMA Inbound Bytes/sec", "port_rcv_data", 4},
      {"RDMA Outbound Bytes/sec", "port_xmit_data", 4},
      {"RDMA Inbound Frames/sec", "port_rcv_packets"},
      {"RDMA Outbound Frames/sec", "port_xmit_packets"},
      {"Transmit Waits/sec", "port_xmit_wait"},
      {"Transmit Discards", "port_xmit_discards"},
      {"Transmit Constraint Errors", "port_xmit_constraint_errors"},
      {"Receive Errors", "port_rcv_errors"},
      {"Receive Remote Errors", "port_rcv_remote_physical_errors"},
      {"Receive Constraint Errors", "port_rcv_constraint_errors"},
      {"Symbol Errors", "symbol_error"},
      {"Link Integrity Errors", "local_link_integrity_errors"},
      {"Link Recoveries", "link_error_recovery"},
      {"Link Downs", "link_downed"},
      {"Buffer Overruns", "excessive_buffer_overrun_errors"},
      {"Management Drops", "VL15_dropped"}};
  const Reading reading = Sample("RDMA Activity");
  EXPECT_THAT(reading.names,
              UnorderedElementsAre("hfi1_0:1", "mlx4_0:1", "mlx4_0:2"));
  for (const std::string& name : reading.names) {
    const std::pair<std::string, std::string> port = absl::StrSplit(name, ':');
    const std::string directory = absl::StrCat(
        "sys/class/infiniband/", port.first, "/ports/", port.second, "/");
    for (const auto& [counter, file, unit] : kCounters) {
      EXPECT_EQ(reading.Get(name, counter),
                Number(Line(directory + "counters/" + file)) * unit)
          << name << " " << counter;
    }
    EXPECT_EQ(
        absl::StrCat(reading.Get(name, "Port State").value_or(0), ": ACTIVE"),
        Line(directory + "state"));
    // And the state.
    EXPECT_EQ(reading.rows.at(name).size(), std::size(kCounters) + 1);
  }
}

}  // namespace
}  // namespace fleetperf::agent
