#include "driver/pmc/stat.h"

#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "driver/pmc/table.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using Json = nlohmann::ordered_json;

std::string ValueText(const StatCount& count) {
  if (!count.value) return "not counted";
  return count.unit.empty()
             ? absl::StrFormat("%.0f", *count.value)
             : absl::StrFormat("%.2f %s", *count.value, count.unit);
}

std::optional<double> ValueOf(const StatResult& result, const char* event) {
  for (const StatCount& count : result.counts) {
    if (count.event == event || count.event == absl::StrCat(event, ":u")) {
      return count.value;
    }
  }
  return std::nullopt;
}

std::optional<double> QuotientOf(const StatResult& result, const char* part,
                                 const char* whole) {
  const auto above = ValueOf(result, part);
  const auto below = ValueOf(result, whole);
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::string CommentOf(const StatResult& result, const StatCount& count) {
  if (count.event == "task-clock" && count.value) {
    return absl::StrFormat(
        "%.3f CPUs used",
        *count.value / absl::ToDoubleMilliseconds(result.elapsed));
  }
  if (count.counted < 1 && count.value) {
    return absl::StrFormat("counted for %.0f %% of the time",
                           100 * count.counted);
  }
  return "";
}

// Each reason once.
void AppendReasons(const StatResult& result, std::string* text) {
  std::map<std::string, std::vector<std::string>> events;
  for (const StatCount& count : result.counts) {
    if (!count.status.ok()) {
      events[std::string(count.status.message())].push_back(count.event);
    }
  }
  for (const auto& [reason, names] : events) {
    absl::StrAppend(text, "\nnot counted: ", absl::StrJoin(names, ", "), ". ",
                    Printable(reason), "\n");
  }
}

std::string TextOf(const StatOptions& options, const StatResult& result) {
  std::string text =
      absl::StrCat("\ncounts of ", result.scope, ": ",
                   Printable(absl::StrJoin(options.command, " ")), "\n\n");
  for (const StatCount& count : result.counts) {
    const std::string comment = CommentOf(result, count);
    absl::StrAppendFormat(
        &text, "%18s  %s\n", ValueText(count),
        comment.empty() ? count.event
                        : absl::StrFormat("%-24s  %s", count.event, comment));
  }
  if (const auto ipc = QuotientOf(result, "instructions", "cycles")) {
    absl::StrAppendFormat(&text, "%18.2f  instructions per cycle\n", *ipc);
  }
  absl::StrAppendFormat(
      &text, "\n%.6f s elapsed, %.6f s in user mode, %.6f s in the kernel\n",
      absl::ToDoubleSeconds(result.elapsed), absl::ToDoubleSeconds(result.user),
      absl::ToDoubleSeconds(result.system));
  AppendReasons(result, &text);
  return text;
}

std::string JsonOf(const StatOptions& options, const StatResult& result) {
  Json events = Json::array();
  for (const StatCount& count : result.counts) {
    Json event = {{"event", count.event}};
    if (count.value) event["value"] = *count.value;
    if (!count.unit.empty()) event["unit"] = count.unit;
    if (count.value) event["counted"] = count.counted;
    if (!count.status.ok()) event["problem"] = count.status.message();
    events.push_back(std::move(event));
  }
  const Json object = {{"command", options.command},
                       {"scope", result.scope},
                       {"exit_status", result.exit_status},
                       {"elapsed_s", absl::ToDoubleSeconds(result.elapsed)},
                       {"user_s", absl::ToDoubleSeconds(result.user)},
                       {"system_s", absl::ToDoubleSeconds(result.system)},
                       {"events", std::move(events)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string FormatStat(const StatOptions& options, const StatResult& result) {
  return options.json ? JsonOf(options, result) : TextOf(options, result);
}

absl::StatusOr<int> RunStat(const Machine& machine,
                            const StatOptions& options) {
  ASSIGN_OR_RETURN(const StatResult result, MeasureCommand(machine, options));
  if (!result.problem.ok()) {
    std::fprintf(stderr, "fleetperf-pmc: %s\n",
                 Printable(result.problem.message()).c_str());
    return result.exit_status;
  }
  const std::string text = FormatStat(options, result);
  if (options.output.empty()) {
    std::fputs(text.c_str(), stderr);
  } else {
    RETURN_IF_ERROR(WriteFile(options.output, text));
  }
  return result.exit_status;
}

}  // namespace fleetperf::pmc
