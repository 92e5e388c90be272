// Sources of PerfLib V1 over a scripted registry.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_WINDOWS_V1_SOURCE_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_WINDOWS_V1_SOURCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/windows/v1/v1_source.h"
#include "perflib/block_reader.h"
#include "perflib/registration.h"
#include "perflib/v1/counterset.h"
#include "tests/scripted_perflib/exports.h"
#include "tests/scripted_perflib/scripted_perflib.h"
#include "tests/scripted_perflib/scripted_registry.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {

inline nlohmann::json Memory() {
  return {{"index", 4},
          {"name", "Memory"},
          {"counters",
           {{{"index", 24},
             {"name", "Available Bytes"},
             {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
             {"value", 4096}}}}};
}

inline nlohmann::json Objects() {
  nlohmann::json objects = Memory();
  objects["index"] = 260;
  objects["name"] = "Objects";
  return objects;
}

inline nlohmann::json Process() {
  return {{"index", 230},
          {"name", "Process"},
          {"counters",
           {{{"index", 6},
             {"name", "% Processor Time"},
             {"type", "PERF_100NSEC_TIMER"}},
            {{"index", 784},
             {"name", "ID Process"},
             {"type", "PERF_COUNTER_RAWCOUNT"},
             {"size", 4}}}},
          {"instances",
           {{{"name", "cmd"},
             {"values", {{"0", {{"value", 11}}}, {"1", {{"value", 100}}}}}},
            {{"name", "cmd"},
             {"values", {{"0", {{"value", 22}}}, {"1", {{"value", 200}}}}}},
            {{"name", "_Total"}, {"values", {{"0", {{"value", 33}}}}}}}}};
}

// A counterset of V2.
inline nlohmann::json Numbers() {
  return {{"guid", "{0000005e-0000-0000-0000-000000000000}"},
          {"name", "Numbers"},
          {"counters",
           {{{"id", 1},
             {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
             {"name", "Number"},
             {"value", 5}}}}};
}

inline const perflib::Guid kMemoryGuid = perflib::V1CountersetGuid("Memory");
inline const perflib::Guid kProcessGuid = perflib::V1CountersetGuid("Process");
inline const perflib::Guid kProcessV2Guid =
    perflib::V1CountersetGuid("Process V2");

class V1SourceTest : public ::testing::Test {
 protected:
  static void Play(const nlohmann::json& machines) {
    const auto scenario =
        testing::ParseScenario(nlohmann::json{{"machines", machines}}.dump());
    testing::ScriptedRegistry::Instance().Play(scenario);
    testing::ScriptedPerfLib::Instance().Play(scenario);
  }
  static void PlayObjects(const std::vector<nlohmann::json>& objects) {
    Play({{"", {{"v1", objects}}}});
  }

  static std::unique_ptr<Source> Open(const std::string& machine = "") {
    return MakeV1Source(
        [machine] {
          return MakeRegistryPerformanceData(
              testing::ScriptedRegistryFunctions(), machine);
        },
        absl::InfiniteDuration(), &Clock());
  }
  // Threads may use the clock after the end of their test.
  static testing::SimulatedClock& Clock() {
    static auto* const clock = new testing::SimulatedClock;
    return *clock;
  }
  static void ListAgain(Source& source) {
    Clock().Advance(absl::Minutes(10));
    EXPECT_OK(source.EnumerateCounterSet());
    EXPECT_TRUE(source.AwaitList(absl::InfiniteDuration()));
  }

  static std::vector<std::string> Names(Source& source) {
    std::vector<std::string> names;
    const auto guids = source.EnumerateCounterSet();
    EXPECT_OK(guids);
    for (const perflib::Guid& guid :
         guids.value_or(std::vector<perflib::Guid>())) {
      names.push_back(NameOf(source, guid));
    }
    return names;
  }
  static std::string NameOf(Source& source, const perflib::Guid& guid) {
    return perflib::ReadString(
               source
                   .QueryCounterSetRegistrationInfo(
                       guid,
                       perflib::RegistrationRequest::kCountersetEnglishName, 0)
                   .value())
        .value();
  }

  static std::unique_ptr<QueryHandle> Handle(
      Source& source,
      const std::vector<perflib::CounterIdentifier>& identifiers) {
    auto handle = source.OpenQueryHandle().value();
    auto added = identifiers;
    EXPECT_OK(handle->AddCounters(&added));
    for (const auto& one : added) EXPECT_EQ(one.status, 0);
    return handle;
  }

  // Returns "name:id=value,value ..." of a result.
  std::string Text(size_t result) const {
    const perflib::QueryResult& found = block_.results[result];
    std::string text;
    const auto values = block_.Values(found);
    const auto instances = block_.Instances(found);
    const size_t rows = instances.empty() ? 1 : instances.size();
    for (size_t row = 0; row < rows; ++row) {
      if (!instances.empty()) {
        absl::StrAppend(&text, row > 0 ? " " : "", block_.Name(instances[row]),
                        ":", instances[row].instance_id, "=");
      }
      const size_t columns = values.size() / rows;
      for (size_t i = 0; i < columns; ++i) {
        absl::StrAppend(&text, i > 0 ? "," : "", values[row * columns + i]);
      }
    }
    return text;
  }

  void Read(QueryHandle& handle) {
    ASSERT_OK(handle.QueryCounterData(&bytes_));
    perflib::ReadBlock(bytes_, &block_);
    ASSERT_EQ(block_.defect_count, 0);
  }

  std::string bytes_;
  perflib::ParsedBlock block_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_WINDOWS_V1_SOURCE_FIXTURE_H_
