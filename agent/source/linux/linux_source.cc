#include "agent/source/linux/linux_source.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/hardware_counters.h"
#include "agent/source/linux/cgroup/cgroups.h"
#include "agent/source/linux/cgroup/job_object.h"
#include "agent/source/linux/cgroup/linux_cgroup.h"
#include "agent/source/linux/collection_costs.h"
#include "agent/source/linux/disk/block_devices.h"
#include "agent/source/linux/disk/disk_countersets.h"
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
#include "agent/source/linux/network/linux_tcp_connection.h"
#include "agent/source/linux/network/network_interface.h"
#include "agent/source/linux/network/network_protocols.h"
#include "agent/source/linux/network/rdma_activity.h"
#include "agent/source/linux/process/process_countersets.h"
#include "agent/source/linux/process/process_reader.h"
#include "agent/source/linux/process/thread.h"
#include "agent/source/linux/processor/linux_interrupts.h"
#include "agent/source/linux/processor/linux_perf.h"
#include "agent/source/linux/processor/linux_scheduler.h"
#include "agent/source/linux/processor/processor.h"
#include "agent/source/linux/processor/processor_information.h"
#include "agent/source/linux/system/energy_meter.h"
#include "agent/source/linux/system/linux_hardware_monitor.h"
#include "agent/source/linux/system/linux_pressure.h"
#include "agent/source/linux/system/system.h"
#include "agent/source/linux/system/thermal_zone_information.h"
#include "agent/source/provider_source.h"
#include "driver/hardware/linux/perf_event_reader.h"

namespace fleetperf::agent {
namespace {

// A machine that is only files has no sockets.
LinuxTcpConnection::Count TcpCounter(const std::string& root) {
  if (root.empty()) return &CountTcpSockets;
  return [] { return absl::NotFoundError("no socket diagnostics"); };
}

}  // namespace

std::unique_ptr<Source> MakeLinuxSource(const LinuxSourceOptions& options) {
  const std::string& root = options.root;
  const auto processes =
      std::make_shared<ProcessReader>(root, options.max_open_files);
  const auto cgroups =
      std::make_shared<Cgroups>(root, options.max_cgroup_files);
  const auto filesystems = std::make_shared<Filesystems>(
      root, options.ask_for_space, options.filesystem_patience);
  const auto disks = std::make_shared<BlockDevices>(root);
  const auto gpus = std::make_shared<GpuUse>(root);
  const auto costs = std::make_shared<ProviderCosts>();

  // In the order of LinuxCountersets().
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<ProcessorInformation>(
      root, *options.events, options.max_event_descriptors / 4));
  providers.push_back(std::make_unique<Processor>(root));
  providers.push_back(std::make_unique<LinuxScheduler>(root));
  providers.push_back(std::make_unique<LinuxInterrupts>(root));
  providers.push_back(
      std::make_unique<System>(root, processes, options.read_clock_discipline));
  providers.push_back(std::make_unique<Memory>(root));
  providers.push_back(std::make_unique<LinuxMemory>(root));
  providers.push_back(std::make_unique<PagingFile>(root));
  providers.push_back(std::make_unique<NumaNodeMemory>(root));
  providers.push_back(std::make_unique<LinuxPressure>(root));

  providers.push_back(std::make_unique<ProcessV2>(root, processes));
  providers.push_back(std::make_unique<Process>(root, processes));
  providers.push_back(std::make_unique<CgroupProcess>(root, processes));
  providers.push_back(std::make_unique<Thread>(root, processes));
  providers.push_back(std::make_unique<LinuxCgroup>(root, cgroups));
  providers.push_back(std::make_unique<JobObject>(cgroups));

  providers.push_back(std::make_unique<PhysicalDisk>(disks));
  providers.push_back(std::make_unique<LinuxBlockDevice>(disks));
  providers.push_back(std::make_unique<LogicalDisk>(filesystems, disks));
  providers.push_back(std::make_unique<LinuxFilesystem>(root, filesystems));
  providers.push_back(std::make_unique<LinuxMdRaid>(root));
  providers.push_back(std::make_unique<LinuxNfsClient>(root));
  providers.push_back(std::make_unique<LinuxNfsMount>(root));

  const auto interfaces = std::make_shared<SharedSelection>();
  providers.push_back(std::make_unique<NetworkInterface>(
      root, NetworkInterface::kCounterset, interfaces));
  providers.push_back(std::make_unique<NetworkInterface>(
      root, NetworkInterface::kAdapterCounterset, interfaces));
  AddNetworkProtocols(root, &providers);
  providers.push_back(std::make_unique<LinuxSocket>(root));
  providers.push_back(std::make_unique<LinuxTcpConnection>(TcpCounter(root)));
  providers.push_back(std::make_unique<LinuxSoftnet>(root));
  providers.push_back(std::make_unique<LinuxConntrack>(root));
  providers.push_back(std::make_unique<RdmaActivity>(root));

  providers.push_back(std::make_unique<GpuEngine>(gpus));
  providers.push_back(std::make_unique<GpuProcessMemory>(gpus));
  providers.push_back(std::make_unique<GpuAdapterMemory>(gpus));

  providers.push_back(std::make_unique<LinuxHardwareMonitor>(root));
  providers.push_back(std::make_unique<ThermalZoneInformation>(root));
  providers.push_back(std::make_unique<EnergyMeter>(root));

  providers.push_back(std::make_unique<CollectionCosts>(costs));

  providers.push_back(std::make_unique<LinuxPerf>(
      *options.events, root, options.max_event_descriptors / 2));
  if (hardware::CheckPmu(*options.events).ok()) {
    providers.push_back(
        std::make_unique<HardwareCounters>(hardware::MakePerfEventReader(
            *options.events, options.max_event_descriptors / 4)));
  }
  return MakeProviderSource(std::move(providers), *options.clock, costs);
}

}  // namespace fleetperf::agent
