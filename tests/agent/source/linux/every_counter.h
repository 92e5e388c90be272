// Compares every counter of a counterset with an independent reading of the
// same source, before and after the agent's.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_EVERY_COUNTER_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_EVERY_COUNTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/agent/source/linux/machine_files.h"

namespace fleetperf::testing {

// By the instance's name, "" without instances.
using FieldsByInstance = std::map<std::string, Fields>;

// A counter that is a sum of fields.
struct CounterFormula {
  std::string counter;  // the name, or "id:N" without one
  std::vector<std::string> fields;
  uint64_t unit = 1;     // of a field in units of the counter
  uint64_t divisor = 1;  // of the sum
  // How far the value may lie outside of the readings, because these change it.
  uint64_t slack = 0;

  // Fields that the kernel lacks are left out; without any, the counter is
  // absent.
  std::optional<uint64_t> ValueIn(const Fields& numbers) const;
};

// The formulas of a counterset's counters.
struct CountersetFormulas {
  std::string counterset;
  std::vector<CounterFormula> counters;
  std::function<FieldsByInstance(const MachineFiles& files)> read = {};
  // The counters that are in none of the formulas, because another test
  // compares them or the tree lacks their files.
  std::set<std::string> elsewhere = {};
  // Whether the counterset has instances that `read` leaves out. Totals may
  // always be left out.
  bool has_more_instances = false;
};

class EveryCounterFixture : public LinuxFixture {
 protected:
  // Makes this machine the one whose files are read: those below the given
  // directories.
  void UseThisMachine(const WordList& directories = {"proc", "sys"});

  // Leaves out counters whose files the machine lacks.
  static CountersetFormulas Without(const std::set<std::string>& counters,
                                    CountersetFormulas formulas);
  MachineFiles Files() const { return MachineFiles(PathOf("")); }

  // Expects each value to lie between the readings before and after. Values
  // that rise and fall meanwhile may not, so that the comparison is repeated
  // until each value has agreed once. A counter without a formula that is not
  // in `elsewhere` fails. Skips the test if this machine lacks the source.
  void ExpectEveryCounter(const CountersetFormulas& formulas);

 private:
  using Differences = std::map<std::string, std::string>;

  // Returns the ids of the formulas' counters.
  std::vector<uint32_t> IdsOf(const CountersetFormulas& formulas);
  Differences Compare(const CountersetFormulas& formulas,
                      const std::vector<uint32_t>& ids);

  bool is_this_machine_ = false;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_EVERY_COUNTER_H_
