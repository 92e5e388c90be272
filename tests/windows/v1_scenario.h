// Objects of PerfLib V1 that the scripted registry serves in tests under Wine.

#ifndef FLEETPERF_TESTS_WINDOWS_V1_SCENARIO_H_
#define FLEETPERF_TESTS_WINDOWS_V1_SCENARIO_H_

#include <nlohmann/json.hpp>
#include <string>

namespace fleetperf::testing {

inline nlohmann::json V1Counter(uint32_t index, const std::string& name,
                                const std::string& type, uint64_t value,
                                uint64_t per_second, uint32_t size = 8) {
  return {{"index", index}, {"name", name}, {"type", type},
          {"value", value}, {"size", size}, {"per_second", per_second}};
}

inline nlohmann::json V1Process(const std::string& name, uint64_t pid,
                                uint64_t time_per_second) {
  return {
      {"name", name},
      {"values",
       {{"0", {{"per_second", time_per_second}}}, {"1", {{"value", pid}}}}}};
}

// Memory, PhysicalDisk, Network Interface and Process, with twins, of which one
// comes and goes.
inline nlohmann::json V1ObjectsJson() {
  using nlohmann::json;
  json memory = {{"index", 4}, {"name", "Memory"}};
  memory["counters"] = json::array({V1Counter(
      24, "Available Bytes", "PERF_COUNTER_LARGE_RAWCOUNT", 8'000'000'000, 0)});
  json disk = {{"index", 234}, {"name", "PhysicalDisk"}};
  disk["counters"] = json::array(
      {V1Counter(218, "Disk Bytes/sec", "PERF_COUNTER_BULK_COUNT", 0, 5'000)});
  disk["instances"] = json::array({{{"name", "0 C:"}}, {{"name", "_Total"}}});
  json network = {{"index", 510}, {"name", "Network Interface"}};
  network["counters"] = json::array({V1Counter(
      388, "Bytes Total/sec", "PERF_COUNTER_BULK_COUNT", 0, 70'000)});
  network["instances"] = json::array({{{"name", "Ethernet"}}});
  json process = {{"index", 230}, {"name", "Process"}};
  process["counters"] = json::array(
      {V1Counter(6, "% Processor Time", "PERF_100NSEC_TIMER", 0, 0),
       V1Counter(784, "ID Process", "PERF_COUNTER_RAWCOUNT", 0, 0, 4)});
  json guest = V1Process("cmd", 300, 1'000'000);
  guest["from"] = 4;
  guest["until"] = 8;
  process["instances"] = json::array({V1Process("cmd", 100, 2'500'000), guest,
                                      V1Process("cmd", 200, 5'000'000),
                                      V1Process("_Total", 0, 9'000'000)});
  return json::array({memory, disk, network, process});
}

// An object with one gauge, which is 1.
inline nlohmann::json V1Gauge(uint32_t index, const std::string& name) {
  nlohmann::json object = {{"index", index}, {"name", name}};
  object["counters"] = nlohmann::json::array({V1Counter(
      index + 2, name + " Value", "PERF_COUNTER_LARGE_RAWCOUNT", 1, 0)});
  return object;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_WINDOWS_V1_SCENARIO_H_
