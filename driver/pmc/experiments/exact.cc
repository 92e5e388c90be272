// Code whose instructions are counted exactly.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/pmc/experiments/experiment.h"

namespace fleetperf::pmc {
namespace {

constexpr int kRepetitions = 5;

// The second value minus the first, in a counter of `width` bits.
uint64_t CutToWidth(uint64_t difference, unsigned width) {
  return width >= 64 ? difference : difference & ((uint64_t{1} << width) - 1);
}

absl::StatusOr<Report> MeasureExactly(Lab& lab,
                                      std::vector<const ExactCode*> codes) {
  Report report;
  if (!kHasCode) {
    report.notes.emplace_back("the code of this experiment is for x86-64");
    return report;
  }
  lab.NoteCounters(&report);
  if (!lab.counters().ok()) return report;
  ThreadCounters& counters = **lab.counters();
  lab.processor().Run(kThreeALoop, 1);  // the counter is in use from here on
  const auto counter = counters.InstructionCounter();
  if (!counter.ok()) {
    report.notes.push_back(absl::StrCat("RDPMC: ", counter.status().message()));
    return report;
  }
  for (const ExactCode* code : codes) {
    for (int i = 0; i < kRepetitions; ++i) {
      const uint64_t count =
          CutToWidth(lab.processor().RunBetweenReads(*code, counter->index),
                     counter->width);
      report.rows.push_back(
          {absl::StrCat(code->name, ", ", i + 1),
           {{"instructions", static_cast<double>(count)},
            {"expected", static_cast<double>(code->instructions)}}});
    }
  }
  return report;
}

absl::StatusOr<Report> RunBackToBack(Lab& lab) {
  return MeasureExactly(lab, {&kBackToBack, &kBackToBackWithNops});
}

absl::StatusOr<Report> RunFactorial(Lab& lab) {
  return MeasureExactly(lab, {&kFactorial});
}

}  // namespace

const Experiment kBackToBackExperiment = {
    "back-to-back", "Two RDPMC one after the other",
    "Reads the counter of instructions twice. Between the reads are shl, or,\n"
    "mov, cpuid and mov; the first RDPMC itself is counted, too. Then the "
    "same\n"
    "with two nops.\n"
    "Expected: 6 instructions, every time; with two nops 8. Instructions\n"
    "retired are exact.",
    RunBackToBack};

const Experiment kFactorialExperiment = {
    "factorial", "The factorial of 20, counted to the instruction",
    "  mov r11, 20; mov r12, 1\n"
    "  turn: cmp r11, 1; jle done; imul r12, r11; dec r11; jmp turn; done:\n"
    "between two RDPMC. The count is that RDPMC, 4 instructions that follow "
    "it\n"
    "(two save its value, two set the registers), 19 turns of 5, and the last\n"
    "cmp and jle.\n"
    "Expected: 102, every time. Counts stay exact for about a million turns;\n"
    "then interrupts are counted, too, if the kernel's instructions are.",
    RunFactorial};

}  // namespace fleetperf::pmc
