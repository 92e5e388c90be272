// The files of a made-up machine that has every counter whose source is a file,
// with one CPU, disk, interface and so on: no sum hides what a file lacks.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_WHOLE_MACHINE_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_WHOLE_MACHINE_H_

#include <map>
#include <string>

namespace fleetperf::testing {

// Contents by path, without the root.
using MachineTexts = std::map<std::string, std::string>;

enum class CgroupVersion { kOne, kTwo };

MachineTexts WholeMachine(CgroupVersion cgroups);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_WHOLE_MACHINE_H_
