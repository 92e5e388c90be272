#include "agent/source/linux/linux_countersets.h"

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
#include "agent/source/linux/processor.h"
#include "agent/source/linux/processor_information.h"
#include "agent/source/linux/rdma_activity.h"
#include "agent/source/linux/system.h"
#include "agent/source/linux/thermal_zone_information.h"
#include "agent/source/linux/thread.h"

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
