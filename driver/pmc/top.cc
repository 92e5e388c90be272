#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/pmc/commands.h"
#include "driver/pmc/pcm_table.h"
#include "driver/pmc/terminal.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareReader;

constexpr char kHomeAndClear[] = "\x1b[H\x1b[J";

absl::StatusOr<Readings> ReadAll(HardwareReader& reader) {
  RETURN_IF_ERROR(reader.Update());
  Readings readings;
  for (const int cpu : reader.cpus()) readings[cpu] = reader.ReadingOf(cpu);
  return readings;
}

}  // namespace

absl::Status RunTop(const Machine& machine, const TopOptions& options) {
  ASSIGN_OR_RETURN(const auto reader, machine.open_reader({}));
  ASSIGN_OR_RETURN(Readings last, ReadAll(*reader));
  const bool replaces = !options.json && CanMoveCursor();
  for (uint32_t i = 0; options.count == 0 || i < options.count; ++i) {
    machine.processor->Sleep(options.interval);
    ASSIGN_OR_RETURN(Readings now, ReadAll(*reader));
    const uint64_t hertz = reader->timestamp_hertz();
    const std::string text =
        options.json
            ? PcmJson(last, now, hertz)
            : absl::StrCat(replaces ? kHomeAndClear : (i > 0 ? "\n" : ""),
                           PcmTable(last, now, hertz));
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      return absl::DataLossError("cannot write to standard output");
    }
    last = std::move(now);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::pmc
