#include "agent/source/linux/linux_countersets.h"

#include "agent/source/linux/cgroup/job_object.h"
#include "agent/source/linux/cgroup/linux_cgroup.h"
#include "agent/source/linux/collection_costs.h"
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

namespace fleetperf::agent {

std::vector<const LinuxCounterset*> LinuxCountersets() {
  return {
      // Processors, memory and the whole machine.
      &ProcessorInformation::kCounterset,
      &Processor::kCounterset,
      &LinuxScheduler::kCounterset,
      &LinuxInterrupts::kCounterset,
      &System::kCounterset,
      &Memory::kCounterset,
      &LinuxMemory::kCounterset,
      &PagingFile::kCounterset,
      &NumaNodeMemory::kCounterset,
      &LinuxPressure::kCounterset,
      // Processes and groups of them.
      &ProcessV2::kCounterset,
      &Process::kCounterset,
      &CgroupProcess::kCounterset,
      &Thread::kCounterset,
      &LinuxCgroup::kCounterset,
      &JobObject::kCounterset,
      // Disks and filesystems.
      &PhysicalDisk::kCounterset,
      &LinuxBlockDevice::kCounterset,
      &LogicalDisk::kCounterset,
      &LinuxFilesystem::kCounterset,
      &LinuxMdRaid::kCounterset,
      &LinuxNfsClient::kCounterset,
      &LinuxNfsMount::kCounterset,
      // The network.
      &NetworkInterface::kCounterset,
      &NetworkInterface::kAdapterCounterset,
      &kTcpV4,
      &kUdpV4,
      &kUdpV6,
      &kIpV4,
      &kIpV6,
      &kIcmp,
      &kIcmpV6,
      &kLinuxNetworkProtocol,
      &LinuxSocket::kCounterset,
      &LinuxTcpConnection::kCounterset,
      &LinuxSoftnet::kCounterset,
      &LinuxConntrack::kCounterset,
      &RdmaActivity::kCounterset,
      // Graphics devices.
      &GpuEngine::kCounterset,
      &GpuProcessMemory::kCounterset,
      &GpuAdapterMemory::kCounterset,
      // Sensors.
      &LinuxHardwareMonitor::kCounterset,
      &ThermalZoneInformation::kCounterset,
      &EnergyMeter::kCounterset,
      // The agent's work.
      &CollectionCosts::kCounterset,
  };
}

}  // namespace fleetperf::agent
