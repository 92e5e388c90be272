// What a whole CPU does while this thread sleeps or works.

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/pmc/experiments/experiment.h"
#include "driver/pmc/pcm_table.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReader;
using hardware::HardwareReading;

// Counts of this thread's CPU, until now.
absl::StatusOr<HardwareReading> ReadCpu(HardwareReader& reader, int cpu) {
  RETURN_IF_ERROR(reader.Update());
  return reader.ReadingOf(cpu);
}

Cell CountCell(const char* column, const HardwareReading& growth,
               HardwareCount count) {
  Cell cell{.column = column};
  if (growth[count]) cell.value = static_cast<double>(*growth[count]);
  return cell;
}

// Returns the reader, or notes why there is none.
HardwareReader* NotedReader(Lab& lab, Report* report) {
  const auto reader = lab.Reader();
  if (!reader.ok()) {
    report->notes.push_back(
        absl::StrCat("not counted: ", reader.status().message()));
    return nullptr;
  }
  report->notes.push_back(absl::StrCat("counts: ", (*reader)->origin(),
                                       ", all that CPU ", lab.cpu(),
                                       " executes"));
  return *reader;
}

absl::StatusOr<Report> RunSleep(Lab& lab) {
  Report report;
  const auto sleep = [&] { lab.processor().Sleep(lab.period()); };
  HardwareReader* const reader = NotedReader(lab, &report);
  if (reader == nullptr) {
    ASSIGN_OR_RETURN(const Growth growth, lab.Measure(sleep));
    report.rows = {{"asleep", {{"TSC cycles", growth.timestamp}}}};
    return report;
  }
  ASSIGN_OR_RETURN(const HardwareReading before, ReadCpu(*reader, lab.cpu()));
  sleep();
  ASSIGN_OR_RETURN(const HardwareReading after, ReadCpu(*reader, lab.cpu()));
  const HardwareReading growth = GrowthOf(before, after);
  report.rows = {
      {"asleep",
       {CountCell("instructions", growth, HardwareCount::kInstructions),
        CountCell("cycles", growth, HardwareCount::kCycles),
        CountCell("reference", growth, HardwareCount::kReferenceCycles),
        CountCell("TSC cycles", growth, HardwareCount::kTimestamp)}}};
  return report;
}

Row PcmCells(const char* label, const PcmRow& row) {
  return {label,
          {{"UTIL", row.utilization, 2},
           {"IPC", row.ipc, 2},
           {"FREQ", row.average_frequency_ratio, 2},
           {"CFREQ", row.active_frequency, 2}}};
}

absl::StatusOr<Report> RunLoad(Lab& lab) {
  Report report;
  HardwareReader* const reader = NotedReader(lab, &report);
  if (reader == nullptr) return report;
  const uint64_t hertz = reader->timestamp_hertz();
  ASSIGN_OR_RETURN(const HardwareReading start, ReadCpu(*reader, lab.cpu()));
  lab.processor().Sleep(lab.period());
  ASSIGN_OR_RETURN(const HardwareReading idle, ReadCpu(*reader, lab.cpu()));
  lab.BeBusy();
  ASSIGN_OR_RETURN(const HardwareReading loaded, ReadCpu(*reader, lab.cpu()));
  report.rows = {PcmCells("idle", MakePcmRow(GrowthOf(start, idle), hertz)),
                 PcmCells("loaded", MakePcmRow(GrowthOf(idle, loaded), hertz))};
  return report;
}

}  // namespace

const Experiment kSleepExperiment = {
    "sleep", "What a CPU counts while this program sleeps",
    "Instructions, cycles and reference cycles of this CPU, of all programs,\n"
    "around a second of sleep.\n"
    "Expected: on an idle machine some 10^8 of each, e.g. 84 M instructions,\n"
    "157 M cycles, 184 M reference cycles, against 3.5 G cycles of the\n"
    "timestamp counter. Reference cycles stop in idle states; the timestamp\n"
    "counter does not.",
    RunSleep};

const Experiment kLoadExperiment = {
    "load", "PCM's columns of a CPU, idle and loaded",
    "PCM's UTIL, IPC, FREQ and CFREQ of this CPU over a second of sleep, and\n"
    "over a second of work.\n"
    "Expected: UTIL rises from near 0 (0.13 on a desktop) to 1.00; CFREQ, the\n"
    "frequency while not halted, rises from e.g. 2.47 to 3.60 GHz; FREQ, "
    "which\n"
    "includes halted time, rises to CFREQ / base frequency.",
    RunLoad};

}  // namespace fleetperf::pmc
