#include "cli/missing.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "cli/path_hint.h"
#include "cli/times.h"
#include "cli/values.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The limit of silent machines on standard error.
constexpr size_t kMaxShown = 10;

}  // namespace

// Standard output precedes standard error where both are one terminal.
void PrintNote(absl::string_view text) {
  std::fflush(stdout);
  std::fprintf(stderr, "fleetperf: %s\n", Printable(text).c_str());
}

std::vector<v1::Missing> MissingInAll(
    const std::vector<std::vector<v1::Missing>>& of_each) {
  std::map<std::string, size_t> answers;  // by path
  std::vector<v1::Missing> in_all;
  for (const std::vector<v1::Missing>& of_one : of_each) {
    for (const v1::Missing& missing : of_one) {
      if (++answers[missing.path()] == of_each.size()) {
        in_all.push_back(missing);
      }
    }
  }
  return in_all;
}

void PrintMissing(const v1::Missing& missing, Format format) {
  if (format == Format::kJson) {
    PutLine(ToJson({{.name = "path", .value = missing.path()},
                    {.name = "value"},
                    {.name = "status", .value = std::string("missing")},
                    {.name = "reason", .value = missing.reason()}}));
  }
  PrintNote(absl::StrCat(Excerpt(missing.path()), ": ", missing.reason(),
                         ShellHint(missing.path())));
}

std::string SilenceText(const v1::SilentMachine& machine, absl::Time now) {
  const absl::Time newest = FromProto(machine.newest_sample());
  const std::string start = absl::StrCat(
      machine.has_samples() ? "not all samples of " : "no samples of ",
      machine.machine(), " in this time: its newest is of ");
  if (!machine.has_clock_skew()) {
    return absl::StrCat(start, AgeText(newest, now));
  }
  const absl::Duration skew = FromProto(machine.clock_skew());
  const bool is_behind = skew < absl::ZeroDuration();
  return absl::StrCat(
      start, TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(newest))),
      ", since its clock is ",
      absl::FormatDuration(
          absl::Trunc(absl::AbsDuration(skew), absl::Seconds(1))),
      is_behind ? " behind" : " ahead of",
      " the other machines' clocks; set it",
      is_behind ? ", unless the machine is still sending older samples" : "");
}

void PrintSilent(const std::map<std::string, v1::SilentMachine>& machines,
                 Format format) {
  if (format == Format::kJson) {
    for (const auto& [name, machine] : machines) {
      Field skew{.name = "clock_skew_seconds", .detail = true};
      if (machine.has_clock_skew()) {
        skew.value = absl::ToDoubleSeconds(FromProto(machine.clock_skew()));
      }
      PutLine(ToJson({{.name = "machine", .value = machine.machine()},
                      {.name = "value"},
                      {.name = "status",
                       .value = std::string(
                           machine.has_samples() ? "partly_silent" : "silent")},
                      {.name = "newest_sample",
                       .value = TimeText(FromProto(machine.newest_sample()))},
                      skew}));
    }
  }
  const absl::Time now = Clock::Real().Now();
  size_t shown = 0;
  for (const auto& [name, machine] : machines) {
    if (++shown <= kMaxShown) PrintNote(SilenceText(machine, now));
  }
  if (machines.size() > kMaxShown) {
    PrintNote(absl::StrCat("no samples of ", machines.size() - kMaxShown,
                           " further machines in this time; see: fleetperf "
                           "machines"));
  }
}

}  // namespace fleetperf::cli
