// Fuzzes names of perf events and the files of sysfs and tracefs that describe
// them. Canonical texts stay the same, and do not depend on the files.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/pmu.h"
#include "tests/driver/perf_event/file_system.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perf_event {
namespace {

constexpr char kPmu[] = "/sys/bus/event_source/devices/cpu/";

// The files, in the order of their texts in an input.
const std::vector<std::string>& Files() {
  static const auto& files = *new std::vector<std::string>{
      absl::StrCat(kPmu, "format/event"),
      absl::StrCat(kPmu, "format/umask"),
      absl::StrCat(kPmu, "events/named"),
      absl::StrCat(kPmu, "events/named.scale"),
      absl::StrCat(kPmu, "events/named.unit"),
      absl::StrCat(kPmu, "cpumask"),
      absl::StrCat(kPmu, "type"),
      "/sys/kernel/tracing/events/sched/sched_switch/id"};
  return files;
}

// An input ends early if its last files are as usual.
testing::FileSystem MakeSystem(const std::vector<absl::string_view>& texts) {
  testing::FileSystem system(
      {{absl::StrCat(kPmu, "type"), "4\n"},
       {absl::StrCat(kPmu, "format/umask"), "config:8-15\n"}});
  for (size_t i = 0; i < Files().size() && i + 1 < texts.size(); ++i) {
    system.Write(Files()[i], std::string(texts[i + 1]));
  }
  return system;
}

void CheckName(absl::string_view text, System& system) {
  const absl::StatusOr<std::string> canonical = CanonicalEventText(text);
  const absl::StatusOr<Event> event = ParseEvent(text, system);
  if (!canonical.ok()) {
    FUZZ_CHECK(!event.ok());
    return;
  }
  FUZZ_CHECK(CanonicalEventText(*canonical).value() == *canonical);
  const absl::StatusOr<Event> again = ParseEvent(*canonical, system);
  FUZZ_CHECK(event.ok() == again.ok());
  if (!event.ok()) {
    FUZZ_CHECK(event.status().code() == again.status().code());
    return;
  }
  FUZZ_CHECK(event->name == *canonical && again->name == *canonical);
  FUZZ_CHECK(event->type == again->type && event->config == again->config &&
             event->config1 == again->config1 &&
             event->config2 == again->config2 &&
             event->config3 == again->config3 && event->flags == again->flags &&
             event->breakpoint_type == again->breakpoint_type);
  FUZZ_CHECK(event->scale > 0);
  const absl::StatusOr<std::vector<Event>> all = ParseEvents(text, system);
  FUZZ_CHECK(all.ok() && all->size() == 1 && all->front().name == *canonical);
}

void CheckField(absl::string_view text) {
  const absl::StatusOr<Field> field = ParseField(text);
  if (!field.ok()) return;
  FUZZ_CHECK(field->Spread(field->max()) == field->mask);
  FUZZ_CHECK(field->Spread(0) == 0);
}

}  // namespace
}  // namespace fleetperf::perf_event

// 0xFF separates the name from the contents of files, and these.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace perf_event = fleetperf::perf_event;
  const std::vector<absl::string_view> texts = absl::StrSplit(
      absl::string_view(reinterpret_cast<const char*>(data), size), '\xFF');
  if (texts.empty()) return 0;
  perf_event::testing::FileSystem system = perf_event::MakeSystem(texts);
  perf_event::CheckName(texts[0], system);
  perf_event::CheckName("cpu/named/", system);
  for (const absl::string_view text : texts) perf_event::CheckField(text);
  const auto names = perf_event::ListEvents(system);
  FUZZ_CHECK(names.ok());
  return 0;
}
