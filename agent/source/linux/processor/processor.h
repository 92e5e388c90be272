// The counterset "Processor". Instances are the CPUs' numbers and "_Total".

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/processor/processor_reader.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class Processor : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit Processor(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  ProcessorReader reader_;
  std::map<uint32_t, std::string> utf16_names_;  // by CPU
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_H_
