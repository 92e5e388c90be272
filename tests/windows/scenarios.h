// Countersets that the scripted PerfLib serves in these tests, and the values
// that fleetperf must calculate from them.

#ifndef FLEETPERF_TESTS_WINDOWS_SCENARIOS_H_
#define FLEETPERF_TESTS_WINDOWS_SCENARIOS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fleetperf::testing {

struct ExpectedCounter {
  int id;
  std::string name;  // empty for a base, which is not shown
  std::string type;
  uint64_t per_second;  // growth of the raw value
  uint64_t value;       // the raw value at the start
  double expected;      // the calculated value
  int base = -1;
  int size = 8;
};

// Returns all counters of Processor Information that Microsoft's published
// sample reads, by id, and the counters that their formulas need. Expected
// values follow from arithmetic: a 100 ns timer that grows by 2,500,000 per
// second is at 25 %.
inline std::vector<ExpectedCounter> ProcessorInformation() {
  constexpr char kTimer[] = "PERF_100NSEC_TIMER";
  constexpr char kInverse[] = "PERF_100NSEC_TIMER_INV";
  constexpr char kCount[] = "PERF_COUNTER_COUNTER";
  constexpr char kBulk[] = "PERF_COUNTER_BULK_COUNT";
  constexpr char kRaw[] = "PERF_COUNTER_RAWCOUNT";
  constexpr char kAverage[] = "PERF_AVERAGE_BULK";
  return {
      {0, "% Processor Time", kInverse, 2'500'000, 0, 75},
      {1, "% User Time", kTimer, 4'000'000, 0, 40},
      {2, "% Privileged Time", kTimer, 3'500'000, 0, 35},
      {3, "Interrupts/sec", kCount, 1'000, 7, 1'000, -1, 4},
      {4, "% DPC Time", kTimer, 100'000, 0, 1},
      {5, "% Interrupt Time", kTimer, 200'000, 0, 2},
      {6, "DPCs Queued/sec", kCount, 50, 0, 50, -1, 4},
      {7, "DPC Rate", kRaw, 0, 3, 3, -1, 4},
      {8, "% Idle Time", kTimer, 2'500'000, 0, 25},
      {9, "% C1 Time", kTimer, 1'000'000, 0, 10},
      {10, "% C2 Time", kTimer, 800'000, 0, 8},
      {11, "% C3 Time", kTimer, 600'000, 0, 6},
      {12, "C1 Transitions/sec", kBulk, 120, 0, 120},
      {13, "C2 Transitions/sec", kBulk, 80, 0, 80},
      {14, "C3 Transitions/sec", kBulk, 40, 0, 40},
      {15, "% Priority Time", kInverse, 9'000'000, 0, 10},
      {16, "Parking Status", kRaw, 0, 1, 1, -1, 4},
      {17, "Processor Frequency", kRaw, 0, 2'904, 2'904, -1, 4},
      {18, "% of Maximum Frequency", kRaw, 0, 81, 81, -1, 4},
      {19, "Processor State Flags", kRaw, 0, 0, 0, -1, 4},
      {20, "Clock Interrupts/sec", kCount, 64, 0, 64, -1, 4},
      {21, "Average Idle Time", "PERF_PRECISION_100NS_TIMER", 2'000'000, 0, 20,
       22},
      {22, "", "PERF_PRECISION_TIMESTAMP", 10'000'000, 0, 0},
      {23, "Idle Break Events/sec", kBulk, 90, 0, 90},
      {24, "% Processor Performance", kAverage, 980'000, 0, 98, 25},
      {25, "", "PERF_AVERAGE_BASE", 10'000, 0, 0, -1, 4},
      {26, "% Processor Utility", kAverage, 625'000 * 42, 0, 42, 27},
      {27, "", "PERF_AVERAGE_BASE", 625'000, 0, 0, -1, 4},
      {28, "% Privileged Utility", kAverage, 625'000 * 12, 0, 12, 27},
      {30, "% Performance Limit", kRaw, 0, 100, 100, -1, 4},
      {31, "Performance Limit Flags", kRaw, 0, 2, 2, -1, 4},
  };
}

// Returns the script of Processor Information with these instances.
inline nlohmann::json ProcessorInformationJson(
    const std::vector<std::string>& instances) {
  nlohmann::json counterset = {
      {"guid", "{b4fc721a-0378-476f-89ba-a5a79f810b36}"},
      {"name", "Processor Information"},
      {"localized_name", "Prozessorinformationen"},
      {"help", "The processors."},
      {"provider", "Microsoft-Windows-Kernel-Processor-Power"},
      {"instance_type", 6}};
  for (const ExpectedCounter& counter : ProcessorInformation()) {
    nlohmann::json json = {{"id", counter.id},
                           {"type", counter.type},
                           {"size", counter.size},
                           {"value", counter.value},
                           {"per_second", counter.per_second}};
    if (!counter.name.empty()) json["name"] = counter.name;
    if (counter.base >= 0) json["base"] = counter.base;
    counterset["counters"].push_back(json);
  }
  for (const std::string& instance : instances) {
    counterset["instances"].push_back({{"name", instance}});
  }
  return counterset;
}

// Returns the script of a counterset without instances and with one gauge.
inline nlohmann::json NumbersJson(uint64_t value) {
  return {{"guid", "{0000005e-0000-0000-0000-000000000000}"},
          {"name", "Numbers"},
          {"counters",
           {{{"id", 1},
             {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
             {"name", "Number"},
             {"value", value}}}}};
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_WINDOWS_SCENARIOS_H_
