// A Linux machine made of files written by a test, and its countersets as seen
// by a PerfLib consumer.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/collect/registrations.h"
#include "agent/source/linux/linux_source.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "perflib/block_reader.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {

// /proc counts time in jiffies of 10 ms, PerfLib in units of 100 ns.
inline constexpr uint64_t kJiffy = 100'000;
inline constexpr uint64_t kKib = 1024;

// The values of an instance by counter name, or "id:N" for a counter without a
// name. Absent values are omitted.
using Values = std::map<std::string, uint64_t>;

// One counterset in a block.
struct Reading {
  uint32_t error_status = 0;       // from a PERF_ERROR_RETURN
  std::vector<std::string> names;  // the instances in the block's order
  std::map<std::string, uint32_t> ids;
  std::map<std::string, Values> rows;  // the row "" if there are no instances

  // std::nullopt if the value, or the instance, is absent.
  std::optional<uint64_t> Get(const std::string& instance,
                              const std::string& counter) const {
    const auto row = rows.find(instance);
    if (row == rows.end()) return std::nullopt;
    const auto value = row->second.find(counter);
    if (value == row->second.end()) return std::nullopt;
    return value->second;
  }
};

class LinuxFixture : public ::testing::Test {
 protected:
  // Replaces the contents of a file such as "proc/stat". Open descriptors see
  // the new contents.
  void Write(const std::string& path, absl::string_view text) {
    const std::filesystem::path file = PathOf(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void Remove(const std::string& path) {
    std::filesystem::remove_all(PathOf(path));
  }
  std::string PathOf(const std::string& path) const {
    return directory_.File(path);
  }

  // As when the agent is started again.
  void Restart() { source_.reset(); }

  agent::Source& source() {
    if (source_ == nullptr) {
      source_ = agent::MakeLinuxSource(
          {.root = directory_.path(),
           .clock = &clock_,
           .max_open_files = max_open_files_,
           .events = events_.get(),
           .max_event_descriptors = max_event_descriptors_,
           .read_clock_discipline = [this] { return clock_discipline_; },
           .ask_for_space = ask_for_space_,
           .filesystem_patience = filesystem_patience_});
    }
    return *source_;
  }

  std::vector<perflib::CountersetRegistration>& registrations() {
    if (registrations_.empty()) {
      std::vector<std::string> warnings;
      registrations_ = agent::LoadRegistrations(
                           source(), {}, std::atomic<bool>(false), &warnings)
                           .value();
      EXPECT_TRUE(warnings.empty());
    }
    return registrations_;
  }

  const perflib::CountersetRegistration& Registration(
      absl::string_view counterset) {
    for (const auto& registration : registrations()) {
      if (registration.name == counterset) return registration;
    }
    throw std::invalid_argument(absl::StrCat("no counterset ", counterset));
  }

  // Takes a block of the counterset with all counters and instances.
  Reading Sample(absl::string_view counterset) {
    return Sample(counterset, {perflib::kWildcardCounter});
  }
  // Same, with one query per counter.
  Reading Sample(absl::string_view counterset,
                 const std::vector<uint32_t>& counter_ids) {
    return Sample(Open(counterset, counter_ids).get(), counterset, counter_ids);
  }

  std::unique_ptr<agent::QueryHandle> Open(
      absl::string_view counterset, const std::vector<uint32_t>& counter_ids) {
    const perflib::CountersetRegistration& registration =
        Registration(counterset);
    auto handle = source().OpenQueryHandle().value();
    std::vector<perflib::CounterIdentifier> identifiers;
    for (const uint32_t id : counter_ids) {
      identifiers.push_back(
          {.counterset = registration.guid,
           .counter_id = id,
           .instance = registration.HasInstances() ? "*" : ""});
    }
    EXPECT_OK(handle->AddCounters(&identifiers));
    for (const perflib::CounterIdentifier& identifier : identifiers) {
      EXPECT_EQ(identifier.status, perflib::kErrorSuccess);
    }
    return handle;
  }

  // Takes a block of a handle with one query per counter.
  Reading Sample(agent::QueryHandle* handle, absl::string_view counterset,
                 const std::vector<uint32_t>& counter_ids) {
    std::string bytes;
    EXPECT_OK(handle->QueryCounterData(&bytes));
    perflib::ParsedBlock block;
    perflib::ReadBlock(bytes, &block);
    EXPECT_TRUE(block.defects.empty()) << block.defects[0].ToString();
    EXPECT_EQ(block.warning_count, 0);
    EXPECT_EQ(block.results.size(), counter_ids.size());
    Reading reading;
    for (size_t i = 0; i < block.results.size(); ++i) {
      AddResult(Registration(counterset), counter_ids[i], block,
                block.results[i], &reading);
    }
    return reading;
  }

  SimulatedClock clock_;
  size_t max_open_files_ = 1024;
  // A machine without a PMU.
  std::shared_ptr<perf_event::System> events_ =
      std::make_shared<perf_event::SimulatedSystem>(
          perf_event::SimulatedMachine{.hardware_counters = 0});
  size_t max_event_descriptors_ = 1024;
  std::optional<agent::ClockDiscipline> clock_discipline_;
  // Filesystems that answer late have no values.
  agent::AskForSpace ask_for_space_ = agent::SpaceOf;
  absl::Duration filesystem_patience_ = absl::Seconds(60);

 private:
  static void AddResult(const perflib::CountersetRegistration& registration,
                        uint32_t counter_id, const perflib::ParsedBlock& block,
                        const perflib::QueryResult& result, Reading* reading) {
    reading->error_status = result.status;
    if (result.type == perflib::HeaderType::kErrorReturn) return;
    std::vector<uint32_t> columns = {counter_id};
    if (counter_id == perflib::kWildcardCounter) {
      const auto ids = block.CounterIds(result);
      columns.assign(ids.begin(), ids.end());
    }
    auto instances = block.Instances(result);
    const perflib::InstanceView nameless[1] = {};
    if (!registration.HasInstances()) instances = nameless;
    reading->names.clear();
    size_t position = 0;
    for (const perflib::InstanceView& instance : instances) {
      const std::string name = block.Name(instance);
      reading->names.push_back(name);
      reading->ids[name] = instance.instance_id;
      Values& values = reading->rows[name];
      for (const uint32_t column : columns) {
        const uint32_t size = block.ValueSizes(result)[position];
        // Linux writes every value with 8 bytes.
        EXPECT_TRUE(size == 0 || size == 8) << size;
        const std::string& counter = registration.FindCounter(column)->name;
        if (size == 8) {
          values[counter.empty() ? absl::StrCat("id:", column) : counter] =
              block.Values(result)[position];
        }
        ++position;
      }
    }
  }

  TempDirectory directory_{MemoryDirectory()};
  std::unique_ptr<agent::Source> source_;
  std::vector<perflib::CountersetRegistration> registrations_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_FIXTURE_H_
