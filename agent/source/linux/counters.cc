#include "agent/source/linux/counters.h"

#include <vector>

namespace fleetperf::agent {

perflib::CountersetRegistration MakeRegistration(
    const LinuxCounterset& counterset) {
  std::vector<CounterSpec> counters;
  for (const LinuxCounter& counter : counterset.counters) {
    counters.push_back(counter.spec);
  }
  return MakeRegistration(counterset.guid, counterset.name, counterset.help,
                          counterset.instance_type, counters);
}

}  // namespace fleetperf::agent
