// Fuzzes the contents of files in /proc and /sys. The providers of the Linux
// countersets build valid blocks on every tick, whatever the files contain.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/cgroup/cgroups.h"
#include "agent/source/linux/cgroup/job_object.h"
#include "agent/source/linux/cgroup/linux_cgroup.h"
#include "agent/source/linux/disk/disk_countersets.h"
#include "agent/source/linux/disk/filesystems.h"
#include "agent/source/linux/disk/linux_filesystem.h"
#include "agent/source/linux/disk/linux_md_raid.h"
#include "agent/source/linux/disk/linux_nfs_client.h"
#include "agent/source/linux/disk/linux_nfs_mount.h"
#include "agent/source/linux/disk/logical_disk.h"
#include "agent/source/linux/gpu/gpu.h"
#include "agent/source/linux/memory/linux_memory.h"
#include "agent/source/linux/memory/memory.h"
#include "agent/source/linux/memory/numa_node_memory.h"
#include "agent/source/linux/memory/paging_file.h"
#include "agent/source/linux/network/linux_conntrack.h"
#include "agent/source/linux/network/linux_socket.h"
#include "agent/source/linux/network/linux_softnet.h"
#include "agent/source/linux/network/network_interface.h"
#include "agent/source/linux/network/network_protocols.h"
#include "agent/source/linux/network/rdma_activity.h"
#include "agent/source/linux/process/process_countersets.h"
#include "agent/source/linux/process/thread.h"
#include "agent/source/linux/processor/linux_interrupts.h"
#include "agent/source/linux/processor/linux_scheduler.h"
#include "agent/source/linux/processor/processor.h"
#include "agent/source/linux/processor/processor_information.h"
#include "agent/source/linux/system/energy_meter.h"
#include "agent/source/linux/system/linux_hardware_monitor.h"
#include "agent/source/linux/system/linux_pressure.h"
#include "agent/source/linux/system/system.h"
#include "agent/source/linux/system/thermal_zone_information.h"
#include "agent/source/provider_source.h"
#include "driver/perf_event/system.h"
#include "perflib/block_reader.h"
#include "tests/fuzz/check.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

constexpr int kTicks = 2;

// A directory tree that stands in for a machine's /proc and /sys.
class Machine {
 public:
  Machine() { std::filesystem::create_directories(PathOf("sys/block/sda")); }

  const std::string& root() const { return directory_.path(); }

  // Replaces the contents of a file in place, so that open descriptors see the
  // new contents.
  void Write(const std::string& path, absl::string_view text) {
    const auto [entry, is_new] = contents_.try_emplace(path);
    if (!is_new && entry->second == text) return;
    const std::filesystem::path file = PathOf(path);
    if (is_new) std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    entry->second = std::string(text);
  }

 private:
  std::string PathOf(const std::string& path) const {
    return directory_.File(path);
  }

  testing::TempDirectory directory_;
  std::map<std::string, std::string> contents_;
};

// A provider and the files that it reads.
struct Subject {
  std::unique_ptr<Provider> (*make)(const std::string& root);
  std::vector<std::string> files;
};

template <typename T>
std::unique_ptr<Provider> Make(const std::string& root) {
  return std::make_unique<T>(root);
}

std::unique_ptr<Provider> MakeProcesses(const std::string& root) {
  return std::make_unique<ProcessV2>(
      root, std::make_shared<ProcessReader>(root, /*max_open_files=*/1));
}

// A provider whose plan names all counters.
template <typename T>
std::unique_ptr<Provider> MakeNamed(const std::string& root) {
  auto provider = std::make_unique<T>(
      root, std::make_shared<ProcessReader>(root, /*max_open_files=*/1));
  std::vector<PlannedQuery> queries = {{.counterset = "*"}};
  for (const auto& counter : provider->registration().counters) {
    queries[0].counters.push_back(counter.name);
  }
  provider->DefineCounters(&queries);
  return provider;
}

std::unique_ptr<Provider> MakeProcessorInformation(const std::string& root) {
  return std::make_unique<ProcessorInformation>(root, perf_event::LinuxSystem(),
                                                /*max_descriptors=*/0);
}

std::unique_ptr<Provider> MakeSystem(const std::string& root) {
  return std::make_unique<System>(
      root, std::make_shared<ProcessReader>(root, /*max_open_files=*/1),
      [] { return std::nullopt; });
}

std::unique_ptr<Provider> MakeNetstat(const std::string& root) {
  return std::make_unique<NetworkProtocol<LinePairs>>(
      kLinuxNetworkProtocol,
      std::make_shared<SharedProcFile>(root + "/proc/net/netstat"));
}

template <const LinuxCounterset& counterset>
std::unique_ptr<Provider> MakeSnmp(const std::string& root) {
  return std::make_unique<NetworkProtocol<LinePairs>>(
      counterset, std::make_shared<SharedProcFile>(root + "/proc/net/snmp"));
}

template <const LinuxCounterset& counterset>
std::unique_ptr<Provider> MakeSnmp6(const std::string& root) {
  return std::make_unique<NetworkProtocol<NamedLines>>(
      counterset, std::make_shared<SharedProcFile>(root + "/proc/net/snmp6"));
}

// For the countersets of graphics devices. The process has a descriptor.
template <typename T>
std::unique_ptr<Provider> MakeGpu(const std::string& root) {
  std::error_code exists;
  std::filesystem::create_directories(root + "/sys/class/drm/card0");
  std::filesystem::create_directories(root + "/proc/7/fd");
  std::filesystem::create_symlink("/dev/dri/card0", root + "/proc/7/fd/3",
                                  exists);
  return std::make_unique<T>(std::make_shared<GpuUse>(root));
}

// For PhysicalDisk and LinuxBlockDevice.
template <typename T>
std::unique_ptr<Provider> MakeDisks(const std::string& root) {
  return std::make_unique<T>(std::make_shared<BlockDevices>(root));
}

// Without threads.
std::unique_ptr<Provider> MakeLogicalDisk(const std::string& root) {
  return std::make_unique<LogicalDisk>(
      std::make_shared<Filesystems>(root, nullptr),
      std::make_shared<BlockDevices>(root));
}

// Without threads.
std::unique_ptr<Provider> MakeLinuxFilesystem(const std::string& root) {
  return std::make_unique<LinuxFilesystem>(
      root, std::make_shared<Filesystems>(root, nullptr));
}

std::unique_ptr<Provider> MakeLinuxCgroup(const std::string& root) {
  return std::make_unique<LinuxCgroup>(
      root, std::make_shared<Cgroups>(root, /*max_open_files=*/4));
}

// In a tree of its own, because the files of version 2 stay.
std::unique_ptr<Provider> MakeCgroupVersion1(const std::string& root) {
  return MakeLinuxCgroup(root + "/version1");
}

std::unique_ptr<Provider> MakeJobObject(const std::string& root) {
  return std::make_unique<JobObject>(
      std::make_shared<Cgroups>(root, /*max_open_files=*/2));
}

// Returns the subjects, indexed by the first byte of an input: the corpus
// depends on their order. Lists of nodes and CPUs are left out, because a few
// bytes in them can name thousands of files to open.
const std::vector<Subject>& Subjects() {
  static const std::string cpu = "sys/devices/system/cpu/cpu0/";
  static const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  static const auto& subjects = *new std::vector<Subject>{
      {&MakeProcessorInformation,
       {"proc/stat", "proc/interrupts", "proc/softirqs",
        cpu + "cpufreq/scaling_cur_freq", cpu + "cpufreq/cpuinfo_max_freq",
        cpu + "cpuidle/state0/latency", cpu + "cpuidle/state0/name",
        cpu + "cpuidle/state0/time", cpu + "cpuidle/state0/usage"}},
      {&MakeSystem, {"proc/stat", "proc/loadavg", "proc/uptime"}},
      {&Make<Memory>, {"proc/meminfo", "proc/vmstat"}},
      {&MakeDisks<PhysicalDisk>, {"proc/diskstats"}},
      {&Make<NetworkInterface>,
       {"proc/net/dev", "sys/class/net/eth0/ifindex",
        "sys/class/net/eth0/speed", "sys/class/net/eth0/operstate",
        "sys/class/net/eth0/duplex", "sys/class/net/eth0/carrier"}},
      {&MakeProcesses,
       {"proc/uptime", "proc/7/stat", "proc/7/status", "proc/7/io",
        "proc/2/stat"}},
      {&Make<Processor>, {"proc/stat", "proc/interrupts", "proc/softirqs"}},
      {&Make<LinuxMemory>, {"proc/meminfo", "proc/vmstat"}},
      {&Make<PagingFile>, {"proc/swaps"}},
      {&Make<LinuxScheduler>, {"proc/schedstat"}},
      {&Make<LinuxInterrupts>, {"proc/interrupts", "proc/softirqs"}},
      {&MakeSystem,
       {"proc/stat", "proc/loadavg", "proc/uptime", "proc/sys/fs/file-nr",
        "proc/sys/fs/inode-nr", "proc/sys/fs/dentry-state"}},
      {&MakeProcesses,
       {"proc/uptime", "sys/devices/system/cpu/online", "proc/7/stat",
        "proc/7/statm", "proc/7/cmdline"}},
      {&MakeNetstat, {"proc/net/netstat"}},
      {&MakeSnmp6<kIcmpV6>, {"proc/net/snmp6"}},
      {&Make<LinuxSocket>,
       {"proc/net/sockstat", "proc/net/sockstat6",
        "proc/sys/net/ipv4/tcp_mem"}},
      {&Make<LinuxSoftnet>, {"proc/net/softnet_stat"}},
      {&Make<LinuxConntrack>,
       {"proc/net/stat/nf_conntrack",
        "proc/sys/net/netfilter/nf_conntrack_count",
        "proc/sys/net/netfilter/nf_conntrack_max"}},
      {&Make<LinuxNfsClient>, {"proc/net/rpc/nfs"}},
      {&Make<RdmaActivity>,
       {port + "state", port + "counters/port_rcv_data",
        port + "hw_counters/req_cqe_error"}},
      {&MakeDisks<LinuxBlockDevice>,
       {"proc/diskstats", "sys/block/dm-0/dm/name"}},
      {&MakeLogicalDisk,
       {"proc/self/mountinfo", "proc/diskstats", "sys/class/block/sda2/dev"}},
      {&MakeLinuxFilesystem,
       {"proc/self/mountinfo", "sys/dev/block/8:1/uevent",
        "sys/fs/ext4/sda1/errors_count"}},
      {&Make<LinuxPressure>, {"proc/pressure/cpu", "proc/pressure/irq"}},
      {&MakeLinuxCgroup,
       {"sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cpu.stat",
        "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.current",
        "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.events",
        "sys/fs/cgroup/memory.stat", "sys/fs/cgroup/io.stat",
        "sys/fs/cgroup/cpu.pressure"}},
      {&MakeJobObject,
       {"sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cpu.stat",
        "sys/fs/cgroup/memory.stat", "sys/fs/cgroup/pids.current"}},
      {&Make<LinuxHardwareMonitor>,
       {"sys/class/hwmon/hwmon0/name", "sys/class/hwmon/hwmon0/temp1_input",
        "sys/class/hwmon/hwmon0/temp1_label",
        "sys/class/hwmon/hwmon0/temp1_crit",
        "sys/class/hwmon/hwmon0/fan1_input",
        "sys/class/hwmon/hwmon0/power1_average"}},
      {&Make<ThermalZoneInformation>,
       {"sys/class/thermal/thermal_zone0/type",
        "sys/class/thermal/thermal_zone0/temp"}},
      {&Make<EnergyMeter>,
       {"sys/class/powercap/intel-rapl:0/name",
        "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
        "sys/class/powercap/intel-rapl:0/energy_uj",
        "sys/class/powercap/intel-rapl:0:0/name",
        "sys/class/powercap/intel-rapl:0:0/energy_uj"}},
      {&Make<NumaNodeMemory>,
       {"sys/devices/system/node/node0/meminfo",
        "sys/devices/system/node/node0/numastat"}},
      {&Make<LinuxMdRaid>,
       {"sys/block/md0/dev", "sys/block/md0/md/array_state",
        "sys/block/md0/md/raid_disks", "sys/block/md0/md/degraded",
        "sys/block/md0/md/sync_action", "sys/block/md0/md/sync_completed",
        "sys/block/md0/md/sync_speed", "sys/block/md0/md/dev-sda1/state"}},
      {&MakeNamed<CgroupProcess>,
       {"proc/uptime", "proc/7/stat", "proc/7/cgroup", "proc/7/task/7/status",
        "proc/7/task/7/schedstat", "proc/7/task/8/status",
        "proc/7/smaps_rollup", "proc/7/oom_score", "proc/7/cmdline"}},
      {&MakeNamed<Thread>,
       {"proc/uptime", "proc/7/stat", "proc/7/task/7/stat",
        "proc/7/task/7/status", "proc/7/task/7/schedstat"}},
      {&MakeCgroupVersion1,
       {"version1/sys/fs/cgroup/cpu/cpu.stat",
        "version1/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "version1/sys/fs/cgroup/cpu/cpu.cfs_period_us",
        "version1/sys/fs/cgroup/cpuacct/cpuacct.usage",
        "version1/sys/fs/cgroup/cpuacct/cpuacct.stat",
        "version1/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "version1/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "version1/sys/fs/cgroup/memory/memory.stat",
        "version1/sys/fs/cgroup/memory/memory.oom_control",
        "version1/sys/fs/cgroup/blkio/"
        "blkio.throttle.io_service_bytes_recursive"}},
      {&Make<LinuxNfsMount>, {"proc/self/mountstats"}},
      {&MakeSnmp<kTcpV4>, {"proc/net/snmp"}},
      {&MakeSnmp<kUdpV4>, {"proc/net/snmp"}},
      {&MakeSnmp<kIpV4>, {"proc/net/snmp"}},
      {&MakeSnmp<kIcmp>, {"proc/net/snmp"}},
      {&MakeSnmp6<kUdpV6>, {"proc/net/snmp6"}},
      {&MakeSnmp6<kIpV6>, {"proc/net/snmp6"}},
      {&MakeProcessorInformation,
       {"proc/stat", "proc/interrupts", "proc/softirqs",
        cpu + "cpufreq/scaling_max_freq", cpu + "cpufreq/cpuinfo_max_freq",
        cpu + "thermal_throttle/core_throttle_count",
        cpu + "thermal_throttle/core_throttle_total_time_ms"}},
      {&MakeGpu<GpuEngine>, {"proc/7/fdinfo/3"}},
      {&MakeGpu<GpuProcessMemory>, {"proc/7/fdinfo/3"}},
      {&MakeGpu<GpuAdapterMemory>, {"proc/7/fdinfo/3"}},
  };
  return subjects;
}

void CheckBlock(const std::string& bytes) {
  perflib::ParsedBlock block;
  perflib::ReadBlock(bytes, &block);
  FUZZ_CHECK(block.has_header);
  FUZZ_CHECK(block.defect_count == 0 && block.warning_count == 0);
  FUZZ_CHECK(block.results.size() == 1);
}

// Collects two ticks. `texts` holds the contents of the files for the first
// tick, then for the second. A file without a text is empty in the first tick
// and unchanged in the second.
void Check(const Subject& subject, const std::vector<absl::string_view>& texts,
           Machine* machine) {
  testing::SimulatedClock clock;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(subject.make(machine->root()));
  const perflib::CountersetRegistration registration =
      providers.front()->registration();
  const auto source = MakeProviderSource(std::move(providers), clock);
  const auto handle = source->OpenQueryHandle();
  std::vector<perflib::CounterIdentifier> identifiers = {
      {.counterset = registration.guid,
       .counter_id = perflib::kWildcardCounter,
       .instance = registration.HasInstances() ? "*" : ""}};
  FUZZ_CHECK((*handle)->AddCounters(&identifiers).ok());
  FUZZ_CHECK(identifiers[0].status == perflib::kErrorSuccess);
  std::string block;
  for (size_t tick = 0, next = 0; tick < kTicks; ++tick) {
    for (const std::string& file : subject.files) {
      const bool has_text = next < texts.size();
      if (has_text || tick == 0) {
        machine->Write(file, has_text ? texts[next] : "");
      }
      ++next;
    }
    clock.Advance(absl::Seconds(1));
    FUZZ_CHECK((*handle)->QueryCounterData(&block).ok());
    CheckBlock(block);
  }
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte selects the provider. 0xFF separates the contents of files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fleetperf::agent::Machine machine;
  if (size == 0) return 0;
  const auto& subjects = fleetperf::agent::Subjects();
  const absl::string_view rest(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  fleetperf::agent::Check(subjects[data[0] % subjects.size()],
                          absl::StrSplit(rest, '\xFF'), &machine);
  return 0;
}
