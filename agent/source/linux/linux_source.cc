#include "agent/source/linux/linux_source.h"

#include <utility>
#include <vector>

#include "agent/source/hardware_counters.h"
#include "agent/source/linux/linux_perf.h"
#include "agent/source/linux/memory.h"
#include "agent/source/linux/network_interface.h"
#include "agent/source/linux/physical_disk.h"
#include "agent/source/linux/process_v2.h"
#include "agent/source/linux/processor_information.h"
#include "agent/source/linux/system.h"
#include "agent/source/provider_source.h"
#include "driver/hardware/linux/perf_event_reader.h"

namespace fleetperf::agent {

std::unique_ptr<Source> MakeLinuxSource(const LinuxSourceOptions& options) {
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<ProcessorInformation>(options.root));
  providers.push_back(std::make_unique<System>(options.root));
  providers.push_back(std::make_unique<Memory>(options.root));
  providers.push_back(std::make_unique<PhysicalDisk>(options.root));
  providers.push_back(std::make_unique<NetworkInterface>(options.root));
  providers.push_back(
      std::make_unique<ProcessV2>(options.root, options.max_open_files));
  providers.push_back(std::make_unique<LinuxPerf>(
      *options.events, options.root, options.max_event_descriptors / 2));
  if (hardware::CheckPmu(*options.events).ok()) {
    providers.push_back(
        std::make_unique<HardwareCounters>(hardware::MakePerfEventReader(
            *options.events, options.max_event_descriptors / 2)));
  }
  return MakeProviderSource(std::move(providers), *options.clock);
}

}  // namespace fleetperf::agent
