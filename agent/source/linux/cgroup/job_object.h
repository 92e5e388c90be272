// The counterset "Job Object" of Windows, whose jobs are cgroups here.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_JOB_OBJECT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_JOB_OBJECT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/cgroup/cgroups.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/keyed_text.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class JobObject : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit JobObject(std::shared_ptr<Cgroups> cgroups);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  void AddTimes(Cgroup& cgroup, const perflib::Clocks& clocks,
                CountersetSample* sample);

  const std::shared_ptr<Cgroups> cgroups_;
  KeyedText cpu_stat_;
  KeyedText memory_stat_;
  KeyedText version1_memory_stat_;
  const std::string utf16_total_name_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_JOB_OBJECT_H_
