// Reading memory in strides, which shows the size of a cache line.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "driver/pmc/experiments/experiment.h"

namespace fleetperf::pmc {
namespace {

constexpr size_t kMemory = size_t{1} << 30;
constexpr size_t kQuickMemory = size_t{4} << 20;
constexpr size_t kLargestStride = 1024;
constexpr size_t kPage = 4096;

Row StrideRow(size_t stride, size_t size, const Growth& growth) {
  const double nanoseconds = absl::ToDoubleNanoseconds(growth.time);
  std::optional<double> bandwidth;
  if (nanoseconds > 0) bandwidth = static_cast<double>(size) / nanoseconds;
  return {absl::StrCat(stride),
          {{"GB/s", bandwidth, 2},
           {"L1 hits", growth.l1_hits()},
           {"L1 misses", growth.l1_misses}}};
}

absl::StatusOr<Report> RunStrides(Lab& lab) {
  Report report;
  const size_t size = lab.is_quick() ? kQuickMemory : kMemory;
  const std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[size]);
  if (memory == nullptr) {
    report.notes.push_back(absl::StrCat("no ", size, " bytes of memory"));
    return report;
  }
  // Pages that were never written share one page of zeros.
  for (size_t i = 0; i < size; i += kPage) memory[i] = 1;
  for (size_t stride = 1; stride <= kLargestStride; stride *= 2) {
    ASSIGN_OR_RETURN(const Growth growth, lab.Measure([&] {
      lab.processor().ReadInStrides(absl::MakeConstSpan(memory.get(), size),
                                    stride);
    }));
    report.rows.push_back(StrideRow(stride, size, growth));
  }
  report.plot =
      PlotColumn(report.rows, "GB/s") + PlotColumn(report.rows, "L1 misses");
  lab.NoteCounters(&report);
  return report;
}

}  // namespace

const Experiment kStridesExperiment = {
    "strides", "Memory read in strides of 1 to 1024 bytes, with a plot",
    "Writes a byte to each 4 KiB of 1 GiB (4 MiB with --quick). Then, for\n"
    "strides of 1, 2, 4, ... 1024 bytes, reads all bytes in as many passes as\n"
    "the stride has bytes. Takes half a minute to a minute.\n"
    "Expected: GB/s falls until a stride of 64 and then hardly: 2.44 2.41 "
    "2.11\n"
    "1.55 0.94 0.47 0.23 0.16 0.13 0.13 0.12 on a Xeon of 2014. L1 misses "
    "rise\n"
    "from one in 64 reads to each read at a stride of 64, since a cache line\n"
    "has 64 bytes; prefetching hides some at small strides. The bandwidth "
    "needs\n"
    "no PMU.",
    RunStrides};

}  // namespace fleetperf::pmc
