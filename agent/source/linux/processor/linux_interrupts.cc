#include "agent/source/linux/processor/linux_interrupts.h"

#include <iterator>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t { kInterruptsPerSec, kNumColumns };

constexpr LinuxCounter kCounters[] = {
    {{kFirstLinuxCounterId + 0, kPerfCounterBulkCount, "Interrupts/sec",
      "Interrupts, or runs of a softirq, of all processors."},
     "interrupts/s",
     "/proc/interrupts, /proc/softirqs",
     "The cost of a reading grows with sources times CPUs."},
};
static_assert(std::size(kCounters) == kNumColumns);

// Instance ids: the number of a device's interrupt, or a hash of the label,
// which is the processor's own, such as "LOC", or a softirq's.
constexpr uint32_t kLabelId = uint32_t{1} << 30;
constexpr uint32_t kSoftirqId = uint32_t{1} << 31;

uint32_t IdOf(absl::string_view label, bool is_softirq) {
  uint32_t number;
  if (!is_softirq && absl::SimpleAtoi(label, &number) && number < kLabelId) {
    return number;
  }
  uint32_t hash = 0x811c9dc5;  // FNV-1a
  for (const char c : label) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  }
  return (hash & (kLabelId - 1)) | (is_softirq ? kSoftirqId : kLabelId);
}

// Returns the names of the devices in "IO-APIC   16-fasteoi   ehci, i801": the
// part after the last two spaces. Empty for an interrupt without a device.
absl::string_view Devices(absl::string_view description) {
  const size_t gap = description.rfind("  ");
  return gap == absl::string_view::npos ? "" : description.substr(gap + 2);
}

std::string NameOf(const InterruptRow& row, bool is_softirq) {
  if (is_softirq) return absl::StrCat("softirq ", row.label);
  const bool is_device = row.label[0] >= '0' && row.label[0] <= '9';
  const absl::string_view devices = Devices(row.description);
  if (!is_device || devices.empty()) return std::string(row.label);
  return absl::StrCat(devices, ":", row.label);
}

}  // namespace

constinit const LinuxCounterset LinuxInterrupts::kCounterset = {
    .guid = "{1cc029bc-f8b1-588b-8394-ca5ae50b02e5}",
    .name = "Linux Interrupts",
    .help = "Interrupts and softirqs by source.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "sources that have fired: devices and their interrupt, "
        "`eth0-TxRx-0:36`; labels of the processor's own, `LOC`; "
        "`softirq NET_RX`",
    .counters = kCounters,
};

LinuxInterrupts::LinuxInterrupts(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      interrupts_{.file = ProcFile(root + "/proc/interrupts"),
                  .is_of_softirqs = false},
      softirqs_{.file = ProcFile(root + "/proc/softirqs"),
                .is_of_softirqs = true} {}

absl::Status LinuxInterrupts::Sample(ColumnSet, const Clocks&,
                                     CountersetSample* sample) {
  ++pass_;
  AddTable(interrupts_, sample);
  AddTable(softirqs_, sample);
  absl::erase_if(sources_, [this](const auto& entry) {
    return entry.second.last_pass != pass_;
  });
  return absl::OkStatus();
}

void LinuxInterrupts::AddTable(Table& table, CountersetSample* sample) {
  const auto text = ReadOrNote(table.file, &buffer_, sample);
  if (!text.has_value()) return;
  bool same_cpus = true;
  ForEachInterruptRow(*text, &table_memory_, [&](const InterruptRow& row) {
    same_cpus = row.cpus == absl::MakeConstSpan(table.cpus);
    AddRow(row, table, same_cpus, sample);
  });
  if (!same_cpus) table.cpus = table_memory_.cpus;
}

void LinuxInterrupts::AddRow(const InterruptRow& row, const Table& table,
                             bool same_cpus, CountersetSample* sample) {
  const uint64_t sum =
      std::accumulate(row.counts.begin(), row.counts.end(), uint64_t{0});
  if (row.label.empty() || sum == 0) return;
  const uint32_t id = IdOf(row.label, table.is_of_softirqs);
  Source& source = sources_[id];
  if (source.last_pass == pass_) return;  // a label that is not unique
  if (source.utf16_name.empty() || source.description != row.description) {
    source = {.description = std::string(row.description),
              .utf16_name = Utf16FromUtf8(NameOf(row, table.is_of_softirqs))};
  }
  source.last_pass = pass_;
  if (same_cpus) {
    source.count.Update(sum);
  } else {  // the earlier counts of a CPU that came online are not growth
    source.count.UpdateWithoutGrowth(sum);
  }
  sample->AddInstance(source.utf16_name, id);
  sample->Set(kInterruptsPerSec, source.count.total());
}

}  // namespace fleetperf::agent
