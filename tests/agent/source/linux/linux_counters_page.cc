#include "tests/agent/source/linux/linux_counters_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "perflib/counter_type.h"

namespace fleetperf::testing {
namespace {

using agent::LinuxCounter;
using agent::LinuxCounterset;

constexpr char kIntroduction[] =
    R"(# Counters of the Linux countersets

This page lists the counters that agents serve on Linux, with the files and fields of their raw values; `cpuN`, `PID` and
`NAME` stand for the instance. [Counters](counters.md) explains the types, ids and GUIDs, and counters without names, which
only serve the formulas of others and the agent, are left out.

`tests/linux_counters_page` in the build directory prints this page from the agent's tables.
)";

std::string Cell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}});
}

std::string AsSentence(absl::string_view text) {
  if (text.empty()) return "";
  std::string sentence = absl::StrCat(" ", text);
  sentence[1] = absl::ascii_toupper(static_cast<unsigned char>(sentence[1]));
  if (sentence.back() != '.') sentence += '.';
  return sentence;
}

std::string Row(const LinuxCounter& counter) {
  const perflib::CounterSpec& spec = counter.spec;
  const std::string description =
      absl::StrCat(spec.help, AsSentence(counter.remarks));
  return absl::StrCat(
      "| ",
      absl::StrJoin({Cell(spec.name), absl::StrCat(spec.id),
                     perflib::CounterTypeName(spec.type), Cell(counter.unit),
                     Cell(counter.source), Cell(description)},
                    " | "),
      " |\n");
}

void AppendSection(const LinuxCounterset& counterset, std::string* page) {
  absl::StrAppend(page, "\n## ", counterset.name, "\n\n", counterset.help,
                  " GUID `", counterset.guid, "`.");
  if (!counterset.instances.empty()) {
    absl::StrAppend(page, " Instances: ", counterset.instances, ".");
  }
  if (!counterset.absent.empty()) {
    absl::StrAppend(page, " Without a source in Linux: ", counterset.absent,
                    ".");
  }
  absl::StrAppend(page,
                  "\n\n| counter | id | type | unit | source | remarks |\n"
                  "|---|---|---|---|---|---|\n");
  for (const LinuxCounter& counter : counterset.counters) {
    if (!counter.spec.name.empty()) absl::StrAppend(page, Row(counter));
  }
}

}  // namespace

std::string LinuxCountersPage(
    absl::Span<const LinuxCounterset* const> countersets) {
  std::string page = kIntroduction;
  for (const LinuxCounterset* counterset : countersets) {
    AppendSection(*counterset, &page);
  }
  return page;
}

}  // namespace fleetperf::testing
