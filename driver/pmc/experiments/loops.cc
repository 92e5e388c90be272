// Loops whose turns take a known number of cycles.

#include <vector>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "driver/pmc/experiments/experiment.h"

namespace fleetperf::pmc {
namespace {

std::optional<double> Each(std::optional<double> count, uint64_t turns) {
  if (!count) return std::nullopt;
  return *count / static_cast<double>(turns);
}

Row LoopRow(const Loop& loop, const Growth& growth, uint64_t turns) {
  return {
      loop.name,
      {{"instructions", growth.instructions},
       {"cycles", growth.cycles},
       {"reference", growth.reference_cycles},
       {"IPC", growth.ipc(), 2},
       {"cycles/turn", Each(growth.cycles, turns), 2},
       {"TSC cycles/turn", Each(growth.timestamp, turns), 2},
       {"ns/turn", Each(absl::ToDoubleNanoseconds(growth.time), turns), 3}}};
}

absl::StatusOr<Report> MeasureLoops(Lab& lab, std::vector<const Loop*> loops) {
  Report report;
  if (!kHasCode) {
    report.notes.emplace_back("the code of this experiment is for x86-64");
    return report;
  }
  for (const Loop* loop : loops) {
    ASSIGN_OR_RETURN(const Growth growth, lab.Measure([&] {
      lab.processor().Run(*loop, lab.turns());
    }));
    report.rows.push_back(LoopRow(*loop, growth, lab.turns()));
  }
  lab.NoteCounters(&report);
  return report;
}

absl::StatusOr<Report> RunLoops(Lab& lab) {
  return MeasureLoops(lab, {&kFiveALoop, &kFourALoop, &kThreeALoop});
}

absl::StatusOr<Report> RunThreeNops(Lab& lab) {
  return MeasureLoops(lab, {&kFiveALoop, &kThreeNopsLoop});
}

absl::StatusOr<Report> RunNineNops(Lab& lab) {
  return MeasureLoops(lab, {&kFiveALoop, &kNineNopsLoop});
}

absl::StatusOr<Report> RunAdds(Lab& lab) {
  return MeasureLoops(
      lab, {&kFiveALoop, &kAddLoop, &kSameAddsLoop, &kOtherAddsLoop});
}

// Without counters, the cycles are those that imul's latency implies.
absl::StatusOr<Report> RunFrequency(Lab& lab) {
  ASSIGN_OR_RETURN(Report report, MeasureLoops(lab, {&kFiveALoop}));
  if (report.rows.empty()) return report;
  ASSIGN_OR_RETURN(const Growth growth, lab.Measure([&] {
    lab.processor().Run(kFiveALoop, lab.turns());
  }));
  const double base = static_cast<double>(lab.timestamp_hertz());
  if (base == 0) {
    report.notes.emplace_back("the base frequency is not known");
  } else {
    report.notes.push_back(
        absl::StrFormat("base frequency: %.3f GHz", base / 1e9));
  }
  if (growth.cycles && growth.reference_cycles &&
      *growth.reference_cycles > 0 && base > 0) {
    report.notes.push_back(absl::StrFormat(
        "frequency: %.3f GHz, base x cycles / reference cycles",
        base / 1e9 * *growth.cycles / *growth.reference_cycles));
  } else {
    report.notes.push_back(absl::StrFormat(
        "frequency: about %.3f GHz, if a turn takes the 3 cycles of imul",
        kFiveALoop.cycles * static_cast<double>(lab.turns()) /
            absl::ToDoubleNanoseconds(growth.time)));
  }
  return report;
}

}  // namespace

const Experiment kLoopsExperiment = {
    "loops", "5, 4 and 3 instructions a turn, in the same time",
    "10^9 turns of the factorial's loop (five instructions: cmp, jle, imul,\n"
    "dec, jmp), of imul, dec, cmp, jg (four), and of imul, dec, jnz (three).\n"
    "Expected: 5.0, 4.0 and 3.0 G instructions, all in 3.0 G cycles: IPC "
    "1.65,\n"
    "1.32 and 0.99. The latency of imul, 3 cycles on Intel and AMD, bounds "
    "the\n"
    "loop, not the number of instructions.",
    RunLoops};

const Experiment kThreeNopsExperiment = {
    "nops-3", "Three more instructions a turn, at no cost",
    "The loop of five with a nop after each of jle, imul and dec: eight a "
    "turn,\n"
    "10^9 turns.\n"
    "Expected: 8.0 G instructions in the same 3.0 G cycles: imul leaves slots\n"
    "free.",
    RunThreeNops};

const Experiment kNineNopsExperiment = {
    "nops-9", "Nine more instructions a turn, which cost time",
    "The loop of five with three nops after each of jle, imul and dec: "
    "fourteen\n"
    "a turn, 10^9 turns.\n"
    "Expected: 14.0 G instructions in 3.5 G cycles on a core of four\n"
    "instructions a cycle (Haswell, Skylake): now the front end bounds the\n"
    "loop. Wider cores still take 3.0 G cycles.",
    RunNineNops};

const Experiment kFrequencyExperiment = {
    "frequency", "The frequency of the core, from two counters",
    "The loop of five. Core cycles against reference cycles give the "
    "frequency:\n"
    "base x cycles / reference.\n"
    "Expected: the same cycles at any frequency. At a fixed 1.2 GHz of a base\n"
    "of 3.5 GHz, 3.1 G cycles take 8.9 G reference cycles. To fix the "
    "frequency\n"
    "on Linux, before and after:\n"
    "  cpupower frequency-set --min 1.2GHz --max 1.2GHz\n"
    "  cpupower frequency-set --min 1.2GHz --max 3.6GHz\n"
    "Without a PMU the frequency is derived from the time of a turn.",
    RunFrequency};

const Experiment kAddsExperiment = {
    "adds", "Dependency chains: add for imul, and two adds",
    "The loop of five; the same with add for imul; with two adds to the same\n"
    "register; with two adds to different registers. 10^9 turns each.\n"
    "Expected: add takes a third of imul's cycles (1 a turn). Two adds to one\n"
    "register wait for each other, 2 cycles a turn; those to two registers do\n"
    "not, at most 1.5.",
    RunAdds};

}  // namespace fleetperf::pmc
