#include "aggregator/cli/missing.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/path_hint.h"
#include "aggregator/cli/times.h"
#include "aggregator/cli/values.h"
#include "base/clock.h"
#include "base/excerpt.h"
#include "base/printable.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The limit of silent machines on standard error.
constexpr size_t kMaxShown = 10;

// Standard output precedes standard error where both are one terminal.
void PrintNote(absl::string_view text) {
  std::fflush(stdout);
  std::fprintf(stderr, "fleetperf: %s\n", Printable(text).c_str());
}

}  // namespace

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

std::string UnreachableText(const v1::UnreachablePeer& peer) {
  return absl::StrCat("the machines of the aggregator at ", peer.address(),
                      " are missing: ", peer.reason());
}

void PrintUnreachable(const v1::UnreachablePeer& peer, Format format) {
  if (format == Format::kJson) {
    PutLine(ToJson({{.name = "aggregator", .value = peer.address()},
                    {.name = "value"},
                    {.name = "status", .value = std::string("unreachable")},
                    {.name = "reason", .value = peer.reason()}}));
  }
  PrintNote(UnreachableText(peer));
}

std::string SilenceText(const v1::SilentMachine& machine, absl::Time now) {
  return absl::StrCat("no samples of ", machine.machine(),
                      " in this time: its newest is of ",
                      AgeText(FromProto(machine.newest_sample()), now));
}

void PrintSilent(const std::vector<v1::SilentMachine>& machines,
                 Format format) {
  if (format == Format::kJson) {
    for (const v1::SilentMachine& machine : machines) {
      PutLine(
          ToJson({{.name = "machine", .value = machine.machine()},
                  {.name = "value"},
                  {.name = "status", .value = std::string("silent")},
                  {.name = "newest_sample",
                   .value = TimeText(FromProto(machine.newest_sample()))}}));
    }
  }
  const absl::Time now = Clock::Real().Now();
  for (size_t i = 0; i < machines.size() && i < kMaxShown; ++i) {
    PrintNote(SilenceText(machines[i], now));
  }
  if (machines.size() > kMaxShown) {
    PrintNote(absl::StrCat("no samples of ", machines.size() - kMaxShown,
                           " further machines in this time; see: fleetperf "
                           "machines"));
  }
}

}  // namespace fleetperf::cli
