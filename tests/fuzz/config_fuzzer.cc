// Fuzzes configuration files. A file is read, or rejected with an error that
// names the file.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "aggregator/plan/plan_entry.h"
#include "base/config/config.h"
#include "tests/fuzz/check.h"

namespace fleetperf {
namespace {

void Check(const std::string& text) {
  auto file = ConfigFile::Parse(text, "fuzz.yaml");
  if (!file.ok()) {
    FUZZ_CHECK(absl::StartsWith(file.status().message(), "fuzz.yaml"));
    return;
  }
  ConfigSection root = file->root();
  std::string text_value;
  int64_t number = 0;
  bool flag = false;
  uint64_t size = 0;
  absl::Duration duration;
  std::vector<std::string> list;
  std::map<std::string, std::string> map;
  root.Read("name", &text_value);
  root.Read("count", &number, -10, 10);
  root.Read("on", &flag);
  root.ReadByteSize("size", &size, 0, uint64_t{1} << 40);
  root.Read("interval", &duration, absl::ZeroDuration(), absl::Hours(1));
  root.Read("list", &list);
  root.Read("map", &map);
  root.ReadPath("path", &text_value);
  ConfigSection section = root.Section("section");
  section.Read("name", &text_value);
  for (ConfigSection element : root.Sections("queries")) {
    element.Require("name", &text_value);
  }
  const std::vector<aggregator::PlanEntry> plans = aggregator::ReadPlans(root);
  const absl::Status status = file->Finish();
  FUZZ_CHECK(status.ok() || absl::StartsWith(status.message(), "fuzz.yaml"));
  FUZZ_CHECK(number >= -10 && number <= 10);
  if (!status.ok()) return;
  for (const aggregator::PlanEntry& plan : plans) {
    FUZZ_CHECK(!plan.name.empty());
    for (const PlannedQuery& query : plan.queries) {
      FUZZ_CHECK(!query.counterset.empty());
      FUZZ_CHECK(CheckInterval(query.interval).ok());
    }
  }
}

}  // namespace
}  // namespace fleetperf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
