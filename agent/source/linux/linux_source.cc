#include "agent/source/linux/linux_source.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/hardware_counters.h"
#include "agent/source/linux/cgroups.h"
#include "agent/source/linux/collection_costs.h"
#include "agent/source/linux/energy_meter.h"
#include "agent/source/linux/gpu.h"
#include "agent/source/linux/job_object.h"
#include "agent/source/linux/linux_block_device.h"
#include "agent/source/linux/linux_cgroup.h"
#include "agent/source/linux/linux_conntrack.h"
#include "agent/source/linux/linux_filesystem.h"
#include "agent/source/linux/linux_hardware_monitor.h"
#include "agent/source/linux/linux_interrupts.h"
#include "agent/source/linux/linux_md_raid.h"
#include "agent/source/linux/linux_memory.h"
#include "agent/source/linux/linux_nfs_client.h"
#include "agent/source/linux/linux_nfs_mount.h"
#include "agent/source/linux/linux_perf.h"
#include "agent/source/linux/linux_pressure.h"
#include "agent/source/linux/linux_scheduler.h"
#include "agent/source/linux/linux_socket.h"
#include "agent/source/linux/linux_softnet.h"
#include "agent/source/linux/linux_tcp_connection.h"
#include "agent/source/linux/logical_disk.h"
#include "agent/source/linux/memory.h"
#include "agent/source/linux/network_interface.h"
#include "agent/source/linux/network_protocols.h"
#include "agent/source/linux/numa_node_memory.h"
#include "agent/source/linux/paging_file.h"
#include "agent/source/linux/physical_disk.h"
#include "agent/source/linux/process_countersets.h"
#include "agent/source/linux/process_reader.h"
#include "agent/source/linux/processor.h"
#include "agent/source/linux/processor_information.h"
#include "agent/source/linux/rdma_activity.h"
#include "agent/source/linux/system.h"
#include "agent/source/linux/thermal_zone_information.h"
#include "agent/source/linux/thread.h"
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
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<ProcessorInformation>(
      options.root, *options.events, options.max_event_descriptors / 4));
  providers.push_back(std::make_unique<Processor>(options.root));
  providers.push_back(std::make_unique<LinuxScheduler>(options.root));
  providers.push_back(std::make_unique<LinuxInterrupts>(options.root));
  const auto processes =
      std::make_shared<ProcessReader>(options.root, options.max_open_files);
  providers.push_back(std::make_unique<System>(options.root, processes,
                                               options.read_clock_discipline));
  providers.push_back(std::make_unique<Memory>(options.root));
  providers.push_back(std::make_unique<LinuxMemory>(options.root));
  providers.push_back(std::make_unique<PagingFile>(options.root));
  providers.push_back(std::make_unique<PhysicalDisk>(options.root));
  const auto filesystems = std::make_shared<Filesystems>(
      options.root, options.ask_for_space, options.filesystem_patience);
  providers.push_back(std::make_unique<LogicalDisk>(options.root, filesystems));
  providers.push_back(std::make_unique<LinuxBlockDevice>(options.root));
  providers.push_back(
      std::make_unique<LinuxFilesystem>(options.root, filesystems));
  providers.push_back(std::make_unique<LinuxPressure>(options.root));
  const auto cgroups =
      std::make_shared<Cgroups>(options.root, options.max_cgroup_files);
  providers.push_back(std::make_unique<LinuxCgroup>(options.root, cgroups));
  providers.push_back(std::make_unique<JobObject>(cgroups));
  providers.push_back(std::make_unique<NetworkInterface>(options.root));
  providers.push_back(std::make_unique<NetworkInterface>(
      options.root, NetworkInterface::kAdapterCounterset));
  AddNetworkProtocols(options.root, &providers);
  providers.push_back(std::make_unique<LinuxSocket>(options.root));
  providers.push_back(
      std::make_unique<LinuxTcpConnection>(TcpCounter(options.root)));
  providers.push_back(std::make_unique<LinuxSoftnet>(options.root));
  providers.push_back(std::make_unique<LinuxConntrack>(options.root));
  providers.push_back(std::make_unique<LinuxNfsClient>(options.root));
  providers.push_back(std::make_unique<LinuxNfsMount>(options.root));
  providers.push_back(std::make_unique<RdmaActivity>(options.root));
  providers.push_back(std::make_unique<LinuxHardwareMonitor>(options.root));
  providers.push_back(std::make_unique<ThermalZoneInformation>(options.root));
  providers.push_back(std::make_unique<EnergyMeter>(options.root));
  const auto gpus = std::make_shared<GpuUse>(options.root);
  providers.push_back(std::make_unique<GpuEngine>(gpus));
  providers.push_back(std::make_unique<GpuProcessMemory>(gpus));
  providers.push_back(std::make_unique<GpuAdapterMemory>(gpus));
  providers.push_back(std::make_unique<NumaNodeMemory>(options.root));
  providers.push_back(std::make_unique<LinuxMdRaid>(options.root));
  providers.push_back(std::make_unique<ProcessV2>(options.root, processes));
  providers.push_back(std::make_unique<Process>(options.root, processes));
  providers.push_back(std::make_unique<CgroupProcess>(options.root, processes));
  providers.push_back(std::make_unique<Thread>(options.root, processes));
  providers.push_back(std::make_unique<LinuxPerf>(
      *options.events, options.root, options.max_event_descriptors / 2));
  if (hardware::CheckPmu(*options.events).ok()) {
    providers.push_back(
        std::make_unique<HardwareCounters>(hardware::MakePerfEventReader(
            *options.events, options.max_event_descriptors / 4)));
  }
  const auto costs = std::make_shared<ProviderCosts>();
  providers.push_back(std::make_unique<CollectionCosts>(costs));
  return MakeProviderSource(std::move(providers), *options.clock, costs);
}

}  // namespace fleetperf::agent
